//! The embedded Python runtime: one child process, two private pipes, and its terminal or output pipes.
//!
//! In: requests of the contract. Out: its events. Our runner (`assets/python`) is staged (`stage.rs`) and started
//! with an interpreter of this machine (`find.rs`, `start.rs`); one thread (`supervisor.rs`) exchanges lines with
//! it (`wire.rs`, `map.rs`), reads the output of cells itself (`interpreter.rs`) and orders both by marks in the
//! output (`sequencer.rs`). Invariant: control and output never share a descriptor, so no output of a cell can be
//! taken for a frame. Absent on purpose: sanitising output, sizes of results, the user's own terminal.

mod branch;
mod claim;
mod control;
mod deferred_finish;
mod ends;
mod find;
mod host_calls;
mod interpreter;
mod managed;
mod map;
mod plan;
mod requests;
mod sequencer;
mod shutdown_phase;
mod stage;
mod start;
mod startup;
mod supervisor;
mod wire;

use super::RuntimeCapabilities;
pub use find::{Candidate, InterpreterSearch, best as best_interpreter, find as interpreters};
pub use managed::{ManagedPython, ManagedState};
pub(super) use map::answer_of;
pub use plan::{Confinement, PythonPlan, ScriptRun};
pub(super) use requests::request_line;
#[cfg(test)]
pub(super) use sequencer::RunnerMark;
pub(super) use stage::injectable_modules;
pub(super) use supervisor::start;

/// Returns its capabilities with or without a terminal for cells.
pub(super) fn capabilities(terminal: bool) -> RuntimeCapabilities {
    RuntimeCapabilities {
        cells: "Magics, `!command` and top-level await work.".into(),
        terminal,
        ..RuntimeCapabilities::all(plan::LANGUAGE)
    }
}
