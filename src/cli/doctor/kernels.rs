//! Jupyter: the kernels that are installed, ours among them, and the gateway, where one is named.

use std::path::{Path, PathBuf};

use super::finding::{Finding, Patient, counted};
use crate::assemble::python_of;
use crate::config::RuntimeChoice;
use crate::jupyter::{Gateway, data_folders, find};
use crate::kernel::{self, KernelPlace};

pub(super) fn look(patient: &Patient<'_>) -> Vec<Finding> {
    let python = python_of(patient.environment, patient.settings);
    let prefix = python.as_deref().and_then(Path::parent);
    let prefix = prefix.and_then(Path::parent);
    let folders = data_folders(&patient.environment.variables, prefix);
    let mut findings = vec![installed(&folders, patient)];
    if let RuntimeChoice::Jupyter(name) = &patient.settings.choices.runtime
        && !name.ends_with(".json")
    {
        findings.push(chosen(name, &folders));
    }
    findings.push(gateway(patient));
    findings
}

/// Our own kernels: whether what they start is there.
fn installed(folders: &[PathBuf], patient: &Patient<'_>) -> Finding {
    let specs = folders.iter().map(|folder| folder.join("kernels"));
    let specs = specs.filter_map(|folder| std::fs::read_dir(folder).ok());
    let specs = specs.flatten().flatten();
    let count = specs.filter(|it| it.path().join("kernel.json").is_file());
    let all = counted(count.count(), "kernelspec");
    let places: Vec<KernelPlace> = folders.iter().cloned().map(KernelPlace).collect();
    let ours = kernel::installed(&places);
    let gone = ours.iter().find(|one| {
        let program = one.argv.first().map_or("", String::as_str);
        patient.environment.program_named(program).is_none()
    });
    match (gone, ours.first()) {
        (Some(gone), _) => Finding::error(
            "kernelspecs",
            format!(
                "{} starts `{}`, which is gone",
                patient.shown(&gone.folder),
                gone.argv.first().map_or("", String::as_str)
            ),
            "`ipycodex kernel install` writes it anew, `ipycodex kernel uninstall` removes it",
        ),
        (None, Some(first)) => Finding::ok(
            "kernelspecs",
            format!("{all}, ours in {}", patient.shown(&first.folder)),
        ),
        (None, None) => Finding::ok(
            "kernelspecs",
            format!("{all}, none of ours; `ipycodex kernel install` adds it to Jupyter's list"),
        ),
    }
}

/// The kernel that runs the cells.
fn chosen(name: &str, folders: &[PathBuf]) -> Finding {
    match find(name, folders) {
        Ok(_) => Finding::ok("kernel", format!("`{name}` runs the cells")),
        Err(why) => Finding::error(
            "kernel",
            why.to_string(),
            "install it, or name another with `--runtime jupyter:NAME`",
        ),
    }
}

/// The gateway that runs the cells, or that the environment names.
fn gateway(patient: &Patient<'_>) -> Finding {
    let variable = |name| patient.environment.variable(name);
    let address = match &patient.settings.choices.runtime {
        RuntimeChoice::Gateway(address) if !address.starts_with("auto") => Some(address.as_str()),
        _ => variable("IPYCODEX_GATEWAY_URL"),
    };
    let Some(address) = address else {
        return Finding::ok("gateway", "none is named");
    };
    let url = address.split(['#', '?']).next().unwrap_or_default();
    let named = address.split('#').next().unwrap_or_default();
    let token = variable("IPYCODEX_GATEWAY_TOKEN").map(str::to_owned);
    let Some(gateway) = Gateway::at(named, token) else {
        return Finding::error(
            "gateway",
            "its address is none of a gateway",
            "write `gateway:http://HOST:PORT`, or set IPYCODEX_GATEWAY_URL to `http://HOST:PORT`",
        );
    };
    let authorities = variable("IPYCODEX_GATEWAY_CA").map(PathBuf::from);
    match gateway.trusting(authorities).kernels() {
        Ok(kernels) => {
            let count = counted(kernels.len(), "kernel");
            Finding::ok("gateway", format!("{url} has {count}"))
        }
        Err(why) => Finding::error("gateway", why.to_string(), why.hint()),
    }
}
