//! Checks Jupyter: the installed kernels, ours among them, a configured gateway, and the gateways that our
//! processes share.
//!
//! In: the environment and the settings. Out: findings.

use std::path::{Path, PathBuf};

use super::finding::{DoctorContext, Finding};
use crate::assemble::{gateways, python_of};
use crate::config::RuntimeChoice;
use crate::jupyter::{Gateway, data_dirs, find_kernelspec};
use crate::kernel::{self, KernelspecDir};
use crate::runtime::connect::{SharedGateway, check_gateway_packages, shared_gateways};
use crate::text::counted;

/// Subject of findings about shared gateways.
const SHARED: &str = "our gateway";

pub(super) fn look(context: &DoctorContext<'_>) -> Vec<Finding> {
    let python = python_of(context.environment, context.settings);
    let prefix = python.as_deref().and_then(Path::parent);
    let prefix = prefix.and_then(Path::parent);
    let folders = data_dirs(&context.environment.variables, prefix);
    let mut findings = vec![installed(&folders, context)];
    if let RuntimeChoice::Jupyter(name) = &context.settings.choices.runtime
        && !name.ends_with(".json")
    {
        findings.push(chosen(name, &folders));
    }
    findings.push(gateway(context));
    findings.extend(shared(context, python.as_deref()));
    findings
}

/// Checks that the programs of our own kernels exist.
fn installed(folders: &[PathBuf], context: &DoctorContext<'_>) -> Finding {
    let specs = folders.iter().map(|folder| folder.join("kernels"));
    let specs = specs.filter_map(|folder| std::fs::read_dir(folder).ok());
    let specs = specs.flatten().flatten();
    let count = specs.filter(|it| it.path().join("kernel.json").is_file());
    let all = counted(count.count(), "kernelspec");
    let places: Vec<KernelspecDir> = folders.iter().cloned().map(KernelspecDir).collect();
    let ours = kernel::list_installed(&places);
    let gone = ours.iter().find(|one| {
        let program = one.argv.first().map_or("", String::as_str);
        context.environment.find_program(program).is_none()
    });
    match (gone, ours.first()) {
        (Some(gone), _) => Finding::error(
            "kernelspecs",
            format!(
                "{} starts `{}`, which is gone",
                context.shown(&gone.folder),
                gone.argv.first().map_or("", String::as_str)
            ),
            "`ipycodex kernel install` writes it anew, `ipycodex kernel uninstall` removes it",
        ),
        (None, Some(first)) => Finding::ok(
            "kernelspecs",
            format!(
                "{all}, that of ipycodex in {}",
                context.shown(&first.folder)
            ),
        ),
        (None, None) => Finding::ok(
            "kernelspecs",
            format!("{all}, none for ipycodex; `ipycodex kernel install` adds one"),
        ),
    }
}

fn chosen(name: &str, folders: &[PathBuf]) -> Finding {
    match find_kernelspec(name, folders) {
        Ok(_) => Finding::ok("kernel", format!("`{name}` runs the cells")),
        Err(why) => Finding::error(
            "kernel",
            why.to_string(),
            "install it, or name another with `--runtime jupyter:NAME`",
        ),
    }
}

fn gateway(context: &DoctorContext<'_>) -> Finding {
    let variable = |name| context.environment.variable(name);
    let address = match &context.settings.choices.runtime {
        RuntimeChoice::Gateway(address) if !is_auto(address) => Some(address.as_str()),
        _ => variable("IPYCODEX_GATEWAY_URL"),
    };
    let Some(address) = address else {
        return Finding::ok("gateway", "no gateway is configured");
    };
    let url = address.split(['#', '?']).next().unwrap_or_default();
    let named = address.split('#').next().unwrap_or_default();
    let token = variable("IPYCODEX_GATEWAY_TOKEN").map(str::to_owned);
    let Some(gateway) = Gateway::at(named, token) else {
        return Finding::error(
            "gateway",
            format!("`{url}` is not the address of a gateway"),
            "write `gateway:http://HOST:PORT`, or set IPYCODEX_GATEWAY_URL to `http://HOST:PORT`",
        );
    };
    let authorities = variable("IPYCODEX_GATEWAY_CA").map(PathBuf::from);
    match gateway.with_ca_file(authorities).kernels() {
        Ok(kernels) => {
            let count = counted(kernels.len(), "kernel");
            Finding::ok("gateway", format!("{url} has {count}"))
        }
        Err(why) => Finding::error("gateway", why.to_string(), why.hint()),
    }
}

fn is_auto(address: &str) -> bool {
    address.split('#').next() == Some("auto")
}

/// Lists the running shared gateways, and checks that one could be started where the settings need one.
fn shared(context: &DoctorContext<'_>, python: Option<&Path>) -> Vec<Finding> {
    let running = shared_gateways(&gateways(context.settings));
    let wanted = match &context.settings.choices.runtime {
        RuntimeChoice::Gateway(address) => {
            is_auto(address)
                && context
                    .environment
                    .variable("IPYCODEX_GATEWAY_URL")
                    .is_none()
        }
        _ => false,
    };
    if !running.is_empty() {
        return running.iter().map(|one| runs(one, context)).collect();
    }
    let Some(python) = python.filter(|_| wanted) else {
        return Vec::new();
    };
    vec![
        match check_gateway_packages(python, &context.environment.variables) {
            Ok(()) => Finding::ok(
                SHARED,
                format!(
                    "none runs; the next shell starts one in {}",
                    context.shown(python)
                ),
            ),
            Err(failure) => Finding::error(SHARED, failure.message, failure.hint),
        },
    ]
}

fn runs(one: &SharedGateway, context: &DoctorContext<'_>) -> Finding {
    let (url, keeper) = (one.gateway.url(), one.keeper);
    let python = context.shown(&one.python);
    if !one.gateway.answers() {
        return Finding::warning(
            SHARED,
            format!(
                "{url} (started with {python}) does not answer; it belongs to process {keeper}"
            ),
            format!(
                "the next shell with `--runtime gateway:auto` replaces it; `kill {keeper}` ends it"
            ),
        );
    }
    let kernels = match one.gateway.running() {
        Ok(count) => format!(", {} running", counted(count, "kernel")),
        Err(_) => String::new(),
    };
    Finding::ok(
        SHARED,
        format!("{url} (started with {python}) runs in process {keeper}{kernels}"),
    )
}
