//! The persistent shell: the user's own bash or zsh on a pseudo-terminal.
//!
//! In: requests of the contract, of which it runs commands. Out: its events. A script of ours (`assets/shell`) is
//! read after the user's own settings (`launch.rs`) and lets one thread (`supervisor.rs`, `shell_process.rs`) pass
//! commands to the shell's top level; marks in the terminal's output (`marks.rs`) report when one begins and how it
//! ends. `plan.rs` chooses the shell. Absent on purpose: the shell's language, sanitising output, the user's own
//! terminal.

mod control;
mod launch;
mod marks;
mod plan;
mod shell_process;
mod supervisor;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::Sender;

use super::channel::EventSender;
use super::terminal::CellPty;
use super::{
    CellTerminal, Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent,
    RuntimeRequest, StartFailure,
};
use crate::process::SuspendKey;
use control::Control;
pub use plan::ShellPlan;
use supervisor::ShellSupervisor;

/// The handle of a shell, which starts with its first command. Dropping the handle ends the shell.
#[derive(Debug)]
pub(super) struct ShellRuntime {
    /// Name of the shell that was found, or `shell`.
    name: &'static str,
    control: Arc<Control>,
    terminal: Arc<CellPty>,
    last_id: u64,
    owner: Option<JoinHandle<()>>,
}

pub(super) fn capabilities(name: &str) -> RuntimeCapabilities {
    RuntimeCapabilities {
        input: true,
        terminal: true,
        interrupt: true,
        restart: true,
        ..RuntimeCapabilities::cells_only(name)
    }
}

impl ShellRuntime {
    pub(super) fn start(plan: ShellPlan, events: Sender<RuntimeEvent>) -> Self {
        let name = plan.program().map_or("shell", |it| it.dialect.name());
        let control = Arc::new(Control::new());
        let keys = Arc::clone(&control) as _;
        let terminal = Arc::new(CellPty::new(plan.terminal, SuspendKey::Enabled, keys));
        let way_up = EventSender::new(events.clone(), Arc::clone(&control) as _);
        let owner = ShellSupervisor::new(plan, Arc::clone(&control), Arc::clone(&terminal), way_up);
        let thread = std::thread::Builder::new()
            .name("shell".into())
            .spawn(move || owner.run());
        if let Err(error) = &thread {
            let failure = StartFailure {
                message: format!("could not start a thread for the shell: {error}"),
                hint: "end other programs, or raise the limit on processes (ulimit -u)".into(),
            };
            // The channel is new and has room.
            let _ = events.try_send(RuntimeEvent::StartFailed(failure));
        }
        ShellRuntime {
            name,
            control,
            terminal,
            last_id: 0,
            owner: thread.ok(),
        }
    }
}

impl Runtime for ShellRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        capabilities(self.name)
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.control.submit(id, request);
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.control) as Arc<dyn Interrupter>
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        Some(Arc::clone(&self.terminal) as Arc<dyn CellTerminal>)
    }
}

impl Drop for ShellRuntime {
    fn drop(&mut self) {
        self.control.close();
        if let Some(owner) = self.owner.take() {
            // The thread has sent its last events; its panic was reported by the hook.
            let _ = owner.join();
        }
    }
}
