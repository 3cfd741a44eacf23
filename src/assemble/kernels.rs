//! Jupyter kernels as `--runtime` names them: an installed or running one, or one behind a gateway.
//!
//! In: the environment, settings, the text after the colon. Out: plans, or a report of what is wrong with the text.
//! Absent on purpose: connecting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::environment::Environment;
use crate::jupyter::{Gateway, certificates};
use crate::runtime::connect::{
    GatewayPlan, GatewayTarget, IDLE_TIMEOUT, JupyterPlan, JupyterTarget, START_TIMEOUT, SharedPlan,
};
use crate::text::report::Report;

/// Environment variable with a file of certificates to trust for gateways.
const AUTHORITIES: &str = "IPYCODEX_GATEWAY_CA";

/// Returns the plan of a kernel on this machine: an installed one by name, or a running one by its connection file.
pub(super) fn jupyter_plan(
    environment: &Environment,
    settings: &Settings,
    name: &str,
    cwd: PathBuf,
    python: Option<&Path>,
) -> JupyterPlan {
    let prefix = python.and_then(|program| program.parent()?.parent());
    let target = if is_connection_file(name) {
        let home = environment.home.as_ref();
        let at_home = name.strip_prefix("~/").zip(home);
        let path = at_home.map_or_else(|| cwd.join(name), |(rest, home)| home.join(rest));
        JupyterTarget::Running(path)
    } else {
        JupyterTarget::Installed(name.to_owned())
    };
    JupyterPlan {
        target,
        folders: crate::jupyter::data_dirs(&environment.variables, prefix),
        variables: environment.variables.clone(),
        connections: settings.paths.state_dir.join("kernels"),
        patience: START_TIMEOUT,
        cwd,
    }
}

/// Returns true when the text after `jupyter:` is a file, and not the name of a kernel.
pub fn is_connection_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".json")
}

pub fn gateways(settings: &Settings) -> PathBuf {
    settings.paths.state_dir.join("gateways")
}

/// Returns the plan of a kernel behind the gateway at this address. `auto` means the gateway that the environment
/// names, else the one that our processes share on this machine, in the Python that cells would run in.
pub(super) fn gateway_plan(
    environment: &Environment,
    settings: &Settings,
    address: &str,
    cwd: PathBuf,
    python: impl FnOnce() -> Option<PathBuf>,
) -> Result<GatewayPlan, Report> {
    let variable = |name: &str| {
        let value = environment.variables.get(std::ffi::OsStr::new(name))?;
        value.to_str().map(str::to_owned)
    };
    let (url, kernel) = match address.split_once('#') {
        Some((url, kernel)) => (url, Some(kernel.to_owned())),
        None => (address, None),
    };
    let kernel = kernel.filter(|name| !name.is_empty());
    let named = variable("IPYCODEX_GATEWAY_URL").filter(|named| !named.is_empty());
    let (url, kernel) = match (url, named) {
        ("auto", None) => {
            let program = environment.program.clone();
            let shared = SharedPlan {
                folder: gateways(settings),
                python: python(),
                program: program.unwrap_or_else(|| "ipycodex".into()),
                cwd,
                variables: environment.variables.clone(),
                idle: IDLE_TIMEOUT,
            };
            return Ok(GatewayPlan {
                gateway: GatewayTarget::Shared(shared),
                kernel,
                variables: BTreeMap::new(),
                patience: START_TIMEOUT,
            });
        }
        ("auto", Some(named)) => match named.split_once('#') {
            Some((url, default)) => (url.to_owned(), kernel.or_else(|| Some(default.to_owned()))),
            None => (named, kernel),
        },
        (url, _) => (url.to_owned(), kernel),
    };
    let gateway = Gateway::at(&url, variable("IPYCODEX_GATEWAY_TOKEN")).ok_or_else(|| {
        let shown = url.split('?').next().unwrap_or_default();
        Report::usage(format!("`{shown}` is not the address of a gateway")).hint(
            "write `gateway:http://HOST:PORT` or `gateway:https://HOST`, with `#NAME` for one of its kernels",
        )
    })?;
    let authorities = variable(AUTHORITIES).filter(|file| !file.is_empty());
    let authorities = authorities.map(|file| cwd.join(file));
    if let Some(file) = &authorities {
        certificates(file).map_err(|why| {
            Report::usage(format!("{AUTHORITIES}={}: {why}", file.display()))
                .hint("name a PEM file with the gateway's certificate, or that of the authority that signed it")
        })?;
    }
    Ok(GatewayPlan {
        gateway: GatewayTarget::Running(gateway.with_ca_file(authorities)),
        kernel,
        // As Jupyter's own client does: these variables tell an Enterprise Gateway the kernel's user and resources.
        variables: environment
            .variables
            .iter()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"KERNEL_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        patience: START_TIMEOUT,
    })
}
