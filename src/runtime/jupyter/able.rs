//! What kernels can do, by their language.
//!
//! Invariant: tools, references and looks are there on Python alone, since what they need is sent as Python.

use std::sync::{Arc, Mutex};

use crate::runtime::{Completing, RuntimeCapabilities};

/// What a kernel can do, as the handle tells it and the owner learns it.
pub(super) type Able = Arc<Mutex<RuntimeCapabilities>>;

/// What a kernel of this language can do.
pub(super) fn capabilities_of(language: &str, attached: bool) -> RuntimeCapabilities {
    let base = match language {
        "Python" => RuntimeCapabilities {
            cells: "Magics, `!command` and top-level await work.".into(),
            completion: Completing::Quick,
            set_up: false,
            checkpoints: false,
            keeps_variables: false,
            terminal: false,
            ..RuntimeCapabilities::all(language)
        },
        _ => RuntimeCapabilities {
            completion: Completing::Quick,
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
