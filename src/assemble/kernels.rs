//! Kernels of Jupyter as `--runtime` names them: an installed or running one, one behind a gateway.
//!
//! In: the environment, settings, what was written behind the colon. Out: plans, or what is wrong with it.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::environment::Environment;
use crate::jupyter::Gateway;
use crate::report::Report;
use crate::runtime::connect::{GatewayPlan, JupyterPlan, JupyterTarget, STARTS};

/// A kernel of this machine: the installed one of this name, or the running one whose connection file this is.
pub(super) fn jupyter_plan(
    environment: &Environment,
    settings: &Settings,
    name: &str,
    cwd: PathBuf,
    python: Option<&Path>,
) -> JupyterPlan {
    let prefix = python.and_then(|program| program.parent()?.parent());
    let target = if name.contains('/') || name.ends_with(".json") {
        let home = environment.home.as_ref();
        let at_home = name.strip_prefix("~/").zip(home);
        let path = at_home.map_or_else(|| cwd.join(name), |(rest, home)| home.join(rest));
        JupyterTarget::Running(path)
    } else {
        JupyterTarget::Installed(name.to_owned())
    };
    JupyterPlan {
        target,
        folders: crate::jupyter::data_folders(&environment.variables, prefix),
        variables: environment.variables.clone(),
        connections: settings.paths.state_dir.join("kernels"),
        patience: STARTS,
        cwd,
    }
}

/// A kernel behind the gateway at this address; `auto`: behind the one that the environment names.
pub(super) fn gateway_plan(
    environment: &Environment,
    address: &str,
) -> Result<GatewayPlan, Report> {
    let variable = |name: &str| {
        let value = environment.variables.get(std::ffi::OsStr::new(name))?;
        value.to_str().map(str::to_owned)
    };
    let address = match address {
        "auto" => variable("IPYCODEX_GATEWAY_URL").ok_or_else(|| {
            Report::usage("no gateway is known for `gateway:auto`")
                .hint("set IPYCODEX_GATEWAY_URL to its address, or name it: `--runtime gateway:http://HOST:PORT`")
        })?,
        address => address.to_owned(),
    };
    let (url, kernel) = match address.split_once('#') {
        Some((url, kernel)) => (url, Some(kernel.to_owned())),
        None => (address.as_str(), None),
    };
    let gateway = Gateway::at(url, variable("IPYCODEX_GATEWAY_TOKEN")).ok_or_else(|| {
        let shown = url.split('?').next().unwrap_or_default();
        Report::usage(format!("`{shown}` is no address of a gateway"))
            .hint("write `gateway:http://HOST:PORT`, with `#NAME` for one of its kernels; open a tunnel to one \
                   behind TLS")
    })?;
    Ok(GatewayPlan {
        gateway,
        kernel: kernel.filter(|name| !name.is_empty()),
        patience: STARTS,
    })
}
