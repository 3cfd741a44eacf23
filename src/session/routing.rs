//! What the runtime says, and whom it concerns: the running cell, a prompt's tool, whoever asked, or the background.

use std::path::PathBuf;

use crate::runtime::{Answer, RecordPlace, RequestId, RuntimeEvent};
use crate::session::Command;
use crate::session::cell::CellStep;
use crate::session::events::{Notice, SessionEvent};
use crate::session::task::{Current, Session};

impl Session {
    pub(super) fn on_runtime(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Ready(info) if info.restarted => {
                self.interpreter_is_up();
                let message = "a new interpreter is ready; the variables of the old one are gone";
                self.out_or_background()
                    .send(SessionEvent::Notice(Notice::note(message)));
            }
            RuntimeEvent::Ready(_) => self.interpreter_is_up(),
            RuntimeEvent::StartFailed(failure) => {
                let notice = Notice::warning(failure.message).hint(failure.hint);
                match &self.current {
                    // A cell ends with it, and says it.
                    Some(Current::Cell(_)) => {}
                    // Nobody sits before a prompt: an input that needs it says it.
                    None if !self.asking.somebody() => self.unsaid = Some(notice),
                    _ => self.out_or_background().send(SessionEvent::Notice(notice)),
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                self.asked.clear();
                self.cells_are_gone();
                if !self.interpreter_is_gone() {
                    self.out_or_background()
                        .send(SessionEvent::RuntimeDied { death, restarting });
                }
                self.tools_go_on();
                if std::mem::take(&mut self.death_awaited) {
                    self.finish_current();
                }
            }
            RuntimeEvent::Notice(text) => {
                self.out_or_background()
                    .send(SessionEvent::Notice(Notice::note(text)));
            }
            RuntimeEvent::Answered { id, answer } => self.on_answer(id, answer),
            RuntimeEvent::RecordRequested { call, .. } => self.on_record_requested(call),
            event => self.on_cell_event(event),
        }
    }

    fn on_answer(&mut self, id: RequestId, answer: Answer) {
        if let Some(asker) = self.asked.remove(&id) {
            // Whoever asked may have gone.
            let _ = asker.send(answer);
        } else if self.is_tools(id) {
            self.on_tool_answer(answer);
        } else {
            self.on_prompt_answer(id, answer);
        }
    }

    /// Code asks where earlier inputs are: the number of the session may have been told late, or have changed.
    fn on_record_requested(&self, call: u64) {
        let (start, path) = (self.history.session(), self.outputs.record().to_owned());
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let start = start.await.ok();
            let start = start.filter(|start| start.recorded && start.number > 0);
            let place = start.map(|start| RecordPlace {
                path,
                session: start.number,
            });
            let _ = inbox.send(Command::ReplyRecord(call, place));
        });
    }

    /// An event of a running cell, of a tool call, or of the background.
    fn on_cell_event(&mut self, event: RuntimeEvent) {
        let id = request_of(&event);
        if let (Some(Current::Cell(cell)), Some(id)) = (&mut self.current, id)
            && cell.id == id
        {
            match cell.on(event, &self.history) {
                CellStep::On => {}
                CellStep::Died(remains) => {
                    self.death_awaited = true;
                    self.replayed(&remains);
                }
                CellStep::Ended(remains) => {
                    self.replayed(&remains);
                    if let Some(cwd) = remains.cwd {
                        self.cwd = PathBuf::from(cwd);
                    }
                    self.finish_current();
                }
            }
            return;
        }
        if id.is_some_and(|id| self.is_live(id)) {
            return self.on_live(event);
        }
        let out = match (&self.current, id) {
            (Some(current @ Current::Prompt(_)), Some(_)) => current.out(),
            _ => &self.background,
        };
        match event {
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => {
                out.send(SessionEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            RuntimeEvent::Display { display, .. } => out.send(SessionEvent::Display(display)),
            RuntimeEvent::InputRequested {
                call,
                prompt,
                password,
                ..
            } => {
                out.send(SessionEvent::InputRequested {
                    call,
                    prompt,
                    password,
                });
            }
            _ => {}
        }
    }
}

/// The request an event belongs to.
fn request_of(event: &RuntimeEvent) -> Option<RequestId> {
    match event {
        RuntimeEvent::Output { id, .. } | RuntimeEvent::Display { id, .. } => *id,
        RuntimeEvent::Started { id }
        | RuntimeEvent::Clear { id, .. }
        | RuntimeEvent::Page { id, .. }
        | RuntimeEvent::InputRequested { id, .. }
        | RuntimeEvent::RecordRequested { id, .. }
        | RuntimeEvent::Error { id, .. }
        | RuntimeEvent::ExitRequested { id, .. }
        | RuntimeEvent::NextInput { id, .. }
        | RuntimeEvent::Finished { id, .. }
        | RuntimeEvent::Answered { id, .. } => Some(*id),
        _ => None,
    }
}
