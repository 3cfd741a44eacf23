//! The embedded Python runtime: one child process, two private pipes, and its terminal or output pipes.
//!
//! In: requests of the contract. Out: its events. A file of ours (`assets/python`) is staged (`stage.rs`) and started
//! with an interpreter of this machine (`find.rs`, `start.rs`); one thread (`supervisor.rs`) talks to it (`wire.rs`,
//! `map.rs`), reads what cells print itself (`interpreter.rs`) and puts both in order by marks in the output
//! (`sequencer.rs`). Invariant: control and output never share a descriptor, so nothing a cell prints can be
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

/// The handle of a running runtime. Dropping it ends the interpreter: at once when it leaves at once, by force within
/// two seconds otherwise.
#[derive(Debug)]
pub struct PythonRuntime {
    control: Arc<Control>,
    terminal: Option<Arc<CellPty>>,
    last_id: u64,
    owner: Option<JoinHandle<()>>,
    stillborn: Option<Stillborn>,
}

/// The system refused the thread.
#[derive(Debug)]
struct Stillborn {
    events: Sender<RuntimeEvent>,
    failure: StartFailure,
}

/// What it can do, with a terminal of its own or without.
pub(super) fn capabilities(terminal: bool) -> RuntimeCapabilities {
    RuntimeCapabilities {
        cells: "Magics, `!command` and top-level await work.".into(),
        terminal,
        ..RuntimeCapabilities::all(plan::LANGUAGE)
    }
}

impl PythonRuntime {
    /// Starts a runtime that tells `events`.
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
        // The channel is new: there is room.
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
                // Full only when nobody has listened for hundreds of requests.
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
            // It has already told what it had to tell; a panic of its own was reported by the hook.
            let _ = owner.join();
        }
    }
}
