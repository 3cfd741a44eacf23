//! The embedded Python runtime: one child process, two private pipes, and its terminal or output pipes.
//!
//! In: requests of the contract. Out: its events. Our runner (`assets/python`) is staged (`stage.rs`) and started
//! with an interpreter of this machine (`find.rs`, `start.rs`); one thread (`supervisor.rs`) exchanges lines with
//! it (`wire.rs`, `map.rs`), reads the output of cells itself (`interpreter.rs`) and orders both by marks in the
//! output (`sequencer.rs`). Invariant: control and output never share a descriptor, so no output of a cell can be
//! taken for a frame. Absent on purpose: sanitising output, sizes of results, the user's own terminal.

mod comm;
mod control;
mod deferred_finish;
mod find;
mod host_calls;
mod interpreter;
mod managed;
mod map;
mod plan;
mod requests;
mod sequencer;
mod stage;
mod start;
mod startup;
mod supervisor;
mod wire;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::Sender;

use super::channel::EventSender;
use super::terminal::CellPty;
use super::{
    CellTerminal, Death, Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent,
    RuntimeRequest, StartFailure,
};
use crate::process::SuspendKey;
use control::Control;
pub use find::{Candidate, InterpreterSearch, best as best_interpreter, find as interpreters};
pub use managed::{ManagedPython, ManagedState};
pub(super) use map::{RequestKind, answer_of, finished, interrupted};
pub use plan::{Confinement, PythonPlan, ScriptRun};
pub(super) use requests::request_line;
#[cfg(test)]
pub(super) use sequencer::RunnerMark;
pub(super) use stage::injectable_modules;
use supervisor::PythonSupervisor;

/// The handle of a running runtime. Dropping it shuts the interpreter down; one that does not exit by itself is
/// killed within two seconds.
#[derive(Debug)]
pub(crate) struct PythonRuntime {
    control: Arc<Control>,
    terminal: Option<Arc<CellPty>>,
    last_id: u64,
    owner: Option<JoinHandle<()>>,
    stillborn: Option<Stillborn>,
}

/// Stands in for the supervisor when the system refuses the thread.
#[derive(Debug)]
struct Stillborn {
    events: Sender<RuntimeEvent>,
    failure: StartFailure,
}

/// Returns its capabilities with or without a terminal for cells.
pub(super) fn capabilities(terminal: bool) -> RuntimeCapabilities {
    RuntimeCapabilities {
        cells: "Magics, `!command` and top-level await work.".into(),
        terminal,
        ..RuntimeCapabilities::all(plan::LANGUAGE)
    }
}

impl PythonRuntime {
    pub(super) fn start(plan: PythonPlan, events: Sender<RuntimeEvent>) -> Self {
        let control = Arc::new(Control::new());
        let terminal = plan.terminal.map(|size| {
            Arc::new(CellPty::new(
                size,
                SuspendKey::Disabled,
                Arc::clone(&control) as _,
            ))
        });
        let owner = PythonSupervisor::new(
            plan,
            Arc::clone(&control),
            terminal.clone(),
            EventSender::new(events.clone(), Arc::clone(&control) as _),
        );
        let thread = std::thread::Builder::new()
            .name("python".into())
            .spawn(move || owner.run());
        let (owner, stillborn) = match thread {
            Ok(owner) => (Some(owner), None),
            Err(error) => (None, Some(Stillborn::new(events, &error))),
        };
        PythonRuntime {
            control,
            terminal,
            last_id: 0,
            owner,
            stillborn,
        }
    }
}

impl Stillborn {
    fn new(events: Sender<RuntimeEvent>, error: &std::io::Error) -> Self {
        let failure = StartFailure {
            message: format!("could not start a thread for the Python interpreter: {error}"),
            hint: "end other programs, or raise the limit on processes (ulimit -u)".into(),
        };
        // The channel is new and has room.
        let _ = events.try_send(RuntimeEvent::StartFailed(failure.clone()));
        Stillborn { events, failure }
    }
}

impl Runtime for PythonRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        capabilities(self.terminal.is_some())
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        match (&self.stillborn, RequestKind::from_request(&request)) {
            (None, _) => self.control.submit(id, request),
            (Some(stillborn), Some(kind)) => {
                let death = Death::NotStarted(stillborn.failure.clone());
                // Full only when hundreds of events were never read.
                let _ = stillborn.events.try_send(kind.end(id, &death));
            }
            (Some(_), None) => {}
        }
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.control) as Arc<dyn Interrupter>
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        let terminal = self.terminal.as_ref()?;
        Some(Arc::clone(terminal) as Arc<dyn CellTerminal>)
    }
}

impl Drop for PythonRuntime {
    fn drop(&mut self) {
        self.control.close();
        if let Some(owner) = self.owner.take() {
            // The thread has sent its last events; its panic was reported by the hook.
            let _ = owner.join();
        }
    }
}
