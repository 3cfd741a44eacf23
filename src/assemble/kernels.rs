//! Kernels of Jupyter as `--runtime` names them: an installed or running one, one behind a gateway.
//!
//! In: the environment, settings, what was written behind the colon. Out: plans, or what is wrong with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::environment::Environment;
use crate::jupyter::{Gateway, certificates};
use crate::report::Report;
use crate::runtime::connect::{
    GatewayPlan, GatewayTarget, IDLE_TIMEOUT, JupyterPlan, JupyterTarget, START_TIMEOUT, SharedPlan,
};

/// Names a file of certificates that gateways are believed by.
const AUTHORITIES: &str = "IPYCODEX_GATEWAY_CA";

/// A kernel of this machine: the installed one of this name, or the running one whose connection file this is.
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

/// What is written behind `jupyter:` is a file, not the name of a kernel.
pub fn is_connection_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".json")
}

/// Where the gateways that all our processes share have their folders.
pub fn gateways(settings: &Settings) -> PathBuf {
    settings.paths.state_dir.join("gateways")
}

/// A kernel behind the gateway at this address; `auto`: behind the one that the environment names, else behind the one
/// that all our processes on this machine share, in the Python that cells would run in.
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
        // As Jupyter's own client does: to an Enterprise Gateway they say whose kernel it is and what it may use.
        variables: environment
            .variables
            .iter()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"KERNEL_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        patience: START_TIMEOUT,
    })
}
