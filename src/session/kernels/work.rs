//! What is done about the agent's own kernels: started, waited for, told of, ended.
//!
//! Invariant: nothing here waits. A directory is looked at and a kernel is ended on threads of their own.

use std::path::Path;
use std::time::Instant;

use super::{KernelWish, Lent, Looked, Opened, Opening, Which};
use crate::runtime::{CallReply, Death, RuntimeEvent, RuntimeRequest};
use crate::session::events::Notice;
use crate::session::handle::Command;
use crate::session::runtimes::Role;
use crate::session::task::Session;
use crate::session::toolbox::ToolEvent;

impl Session {
    /// Finds the place a call wants its cells to run at, and the kernel there; [`ToolEvent::Opened`] comes.
    pub(in crate::session) fn open_kernel(&mut self, opening: Opening) {
        let (call, inbox) = (self.toolbox.call(), self.inbox.clone());
        let place = match &opening.cwd {
            Some(folder) => self.cwd.join(folder),
            None => self.cwd.clone(),
        };
        tokio::task::spawn_blocking(move || {
            // The session may have ended.
            let _ = inbox.send(Command::PlaceLookedAt(call, opening, looked_at(&place)));
        });
    }

    /// The place was looked at.
    pub(in crate::session) fn kernel_at(&mut self, opening: &Opening, looked: Looked) {
        let cwd = match looked {
            Err(why) => return self.on_tool(ToolEvent::Opened(Err(why))),
            Ok(cwd) if opening.which == Which::Live => {
                return self.on_tool(ToolEvent::Opened(Ok(Opened::live(cwd))));
            }
            Ok(cwd) => cwd,
        };
        let wish = KernelWish {
            cwd,
            sandbox: self.choices.sandbox,
        };
        let fresh = opening.which == Which::Fresh;
        let (lent, ends) = self
            .kernels
            .lend(wish.clone(), fresh, opening.reset, Instant::now());
        self.end_kernels(ends);
        match lent {
            Err(why) => self.on_tool(ToolEvent::Opened(Err(why))),
            Ok(Lent::Up(opened)) => self.on_tool(ToolEvent::Opened(Ok(opened))),
            Ok(Lent::Coming) => {}
            Ok(Lent::Start(number)) => self.start_kernel(number, &wish),
        }
    }

    fn start_kernel(&mut self, number: u32, wish: &KernelWish) {
        let planned = (self.setup.kernels)(wish);
        self.runtimes.add(number, planned);
    }

    /// One of the agent's own says something.
    pub(in crate::session) fn on_kernel(&mut self, number: u32, event: RuntimeEvent) {
        let role = Role::Agent(number);
        match event {
            RuntimeEvent::Ready(info) => {
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.is_ready();
                }
                if let Some(opened) = self.kernels.up(number, info.unprotected) {
                    self.on_tool(ToolEvent::Opened(Ok(opened)));
                }
            }
            RuntimeEvent::StartFailed(failure) => {
                let awaited = self.kernels.failed(number);
                self.end_kernels(vec![number]);
                let why = format!("{}; {}", failure.message, failure.hint);
                if awaited {
                    self.on_tool(ToolEvent::Opened(Err(why)));
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.has_died();
                }
                let counts = death != Death::Killed;
                let now = Instant::now();
                self.kernels
                    .died(number, &death.to_string(), counts, !restarting, now);
                if !restarting {
                    self.end_kernels(vec![number]);
                }
                if self.toolbox.role() == role {
                    self.tools_go_on();
                }
            }
            RuntimeEvent::Answered { id, answer } => self.on_answer(role, id, answer),
            RuntimeEvent::RecordRequested { call, .. } => {
                // Code of the agent's own reads nobody's record.
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.tell(RuntimeRequest::ReplyRecord { call, place: None });
                }
            }
            RuntimeEvent::Called { call, .. } => {
                let why = "only cells of the user can ask the session, not code the agent runs";
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.tell(RuntimeRequest::ReplyCall {
                        call: call.call,
                        reply: CallReply::Refused(why.into()),
                    });
                }
            }
            RuntimeEvent::Notice(text) => {
                let notice = Notice::note(format!("the agent's kernel: {text}"));
                self.out_or_background().send(notice);
            }
            event => {
                if let Some(id) = event.request() {
                    // What comes after its cell was asked for by nobody.
                    drop(self.on_code(role, id, event));
                }
            }
        }
    }

    /// No call needs a kernel any more.
    pub(in crate::session) fn give_kernel_back(&mut self) {
        let ends = self.kernels.give_back(Instant::now());
        self.end_kernels(ends);
    }

    /// Ends those that have done nothing for long.
    pub(in crate::session) fn sweep_kernels(&mut self) {
        let ends = self.kernels.sweep(Instant::now());
        self.end_kernels(ends);
    }

    /// Ends all of them; the session they were kept for is over.
    pub(in crate::session) fn end_all_kernels(&mut self) {
        self.give_kernel_back();
        let ends = self.kernels.clear();
        self.end_kernels(ends);
    }

    fn end_kernels(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            if let Some(runtime) = self.runtimes.remove(number) {
                // An interpreter may take two seconds to leave.
                tokio::task::spawn_blocking(move || drop(runtime));
            }
        }
    }
}

/// The directory itself, or why it is none.
fn looked_at(place: &Path) -> Looked {
    let shown = place.display();
    match place.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!("`cwd`: {shown} is no directory; no cell was run")),
        Err(error) => Err(format!("`cwd`: {shown}: {error}; no cell was run")),
    }
}
