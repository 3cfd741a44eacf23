//! Capabilities of kernels, by language.
//!
//! Invariant: only Python kernels have tools, references and inspections of ours, since the code for them is Python.

use std::sync::{Arc, Mutex};

use crate::runtime::{CompletionSupport, RuntimeCapabilities};

/// What a kernel can do, as the handle tells it and the owner learns it.
pub(super) type SharedCapabilities = Arc<Mutex<RuntimeCapabilities>>;

/// What a kernel of this language can do.
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
