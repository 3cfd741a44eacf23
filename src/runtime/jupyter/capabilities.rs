//! Capabilities of kernels, by language.
//!
//! Invariant: only Python kernels have tools, references and inspections of ours, since the code for them is Python.

use std::sync::{Arc, Mutex};

use crate::{CompletionSupport, RuntimeCapabilities};

/// Capabilities of a kernel, updated by the supervisor and read by the handle.
pub(super) type SharedCapabilities = Arc<Mutex<RuntimeCapabilities>>;

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
