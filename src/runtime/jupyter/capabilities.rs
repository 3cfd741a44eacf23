//! Capabilities of kernels, by language.
//!
//! Invariant: only Python kernels have tools, references and inspections of ours, since the code for them is Python.

use super::convert;
use super::local::{JupyterPlan, JupyterTarget};
use crate::{CompletionSupport, RuntimeCapabilities};
use ipycodex_jupyter::find_kernelspec;

/// Most kernels' language; the language of a kernel is known for certain before the first cell.
const USUAL: &str = "Python";

/// Returns the capabilities of this plan's kernel, as far as its files tell.
pub(crate) fn capabilities(plan: &JupyterPlan) -> RuntimeCapabilities {
    let JupyterTarget::Installed(name) = &plan.target else {
        return capabilities_of(USUAL, true);
    };
    let spec = find_kernelspec(name, &plan.folders);
    let language = spec.map(|spec| convert::language(&spec.spec.language));
    capabilities_of(language.as_deref().unwrap_or(USUAL), false)
}

/// Returns the capabilities assumed for a kernel behind a gateway until it answers.
pub(crate) fn capabilities_of_served() -> RuntimeCapabilities {
    capabilities_of(USUAL, false)
}

pub(super) fn capabilities_of(language: &str, attached: bool) -> RuntimeCapabilities {
    let base = match language {
        "Python" => RuntimeCapabilities {
            cells: "Magics, `!command` and top-level await work.".into(),
            completion: CompletionSupport::Quick,
            startup: false,
            checkpoints: false,
            saved_variables: false,
            terminal: false,
            ..RuntimeCapabilities::all(language)
        },
        _ => RuntimeCapabilities {
            completion: CompletionSupport::Quick,
            inspection: true,
            expressions: true,
            input: true,
            interrupt: true,
            comms: true,
            ..RuntimeCapabilities::cells_only(language)
        },
    };
    RuntimeCapabilities {
        restart: !attached,
        attached,
        ..base
    }
}
