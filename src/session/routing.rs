//! What the runtime is asked and says, and whom it concerns: the running cell, a prompt's tool, whoever asked, or the
//! background.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::history::History;
use crate::runtime::{RecordPlace, RequestId, RuntimeAnswer, RuntimeEvent, RuntimeRequest};
use crate::session::cell::CellStep;
use crate::session::events::{CellEvent, Notice, SessionEvent};
use crate::session::floor::{FloorEvent, Holder};
use crate::session::handle::Command;
use crate::session::prompt::PromptEvent;
use crate::session::runtimes::Role;
use crate::session::slots::Waiter;
use crate::session::task::Session;
use crate::session::toolbox::ToolEvent;

impl Session {
    pub(super) fn on_runtime(&mut self, role: Role, event: RuntimeEvent) {
        if let RuntimeEvent::InputRequested { .. } = event {
            self.runtimes.asks(role);
        }
        match role {
            Role::User => self.on_users_runtime(event),
            Role::Shell => self.on_shell(event),
            Role::Agent(number) => self.on_kernel(number, event),
        }
    }

    fn on_users_runtime(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Ready(info) => {
                self.runtimes.user.is_ready();
                let language = self.runtimes.user.able().language.clone();
                self.shared.speaks(language);
                if !info.restarted {
                    return;
                }
                self.runtimes.user.tell_checkpoints();
                self.runtimes.user.go_to_place();
                let message = "a new interpreter is ready; the variables of the old one are gone";
                self.out_or_background().send(Notice::note(message));
            }
            RuntimeEvent::StartFailed(failure) => {
                self.runtimes.user.cannot_start();
                let notice = Notice::warning(failure.message).hint(failure.hint);
                match self.floor.holder() {
                    // A cell ends with it, and says it.
                    Some(Holder::Cell(cell)) if cell.run.says_why_not() => {}
                    Some(Holder::Recording { .. }) => {}
                    // Nobody sits before a prompt: an input that needs it says it.
                    None | Some(Holder::Cell(_)) if !self.setup.asks => self.unsaid = Some(notice),
                    _ => self.out_or_background().send(notice),
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                let death = self.runtimes.user.death(death);
                self.runtimes.user.has_died();
                self.numbering.all_gone();
                if !self.toolbox.awaits_restart() {
                    self.out_or_background()
                        .send(SessionEvent::RuntimeDied { death, restarting });
                }
                self.tools_go_on();
                self.on_floor(FloorEvent::DeathTold);
            }
            RuntimeEvent::Lost { why } => {
                self.runtimes.user.is_gone();
                let language = &self.runtimes.user.able().language;
                let notice = Notice::warning(format!(
                    "the connection to the {language} interpreter was lost: {why}"
                ));
                let notice =
                    notice.hint("the cell may still be running, and its variables may still exist");
                self.out_or_background().send(notice);
                self.tools_go_on();
                self.on_floor(FloorEvent::DeathTold);
            }
            RuntimeEvent::Notice(text) => {
                self.out_or_background().send(Notice::note(text));
            }
            RuntimeEvent::Answered { id, answer } => self.on_answer(Role::User, id, answer),
            RuntimeEvent::RecordRequested { call, .. } => {
                let path = self.outputs.record().to_owned();
                tell_record(call, self.history.clone(), path, self.inbox.clone());
            }
            RuntimeEvent::Called { id, call } => self.code_called(id, call),
            RuntimeEvent::CalledOff { call } => self.code_called_off(call),
            event => self.on_cell_event(Role::User, event),
        }
    }

    /// Asks the user's runtime for `waiter`; its refusal is an answer, too.
    pub(super) fn ask_runtime(&mut self, request: RuntimeRequest, waiter: Waiter) {
        if let Some((waiter, refused)) = self.runtimes.user.ask(request, waiter) {
            self.on_answer_for(waiter, refused);
        }
    }

    /// Asks the user's runtime; its answer comes there.
    pub(super) fn ask_for(&mut self, request: RuntimeRequest) -> oneshot::Receiver<RuntimeAnswer> {
        let (answer, told) = oneshot::channel();
        self.ask_runtime(request, Waiter::Asker(answer));
        told
    }

    pub(super) fn on_answer(&mut self, role: Role, id: RequestId, answer: RuntimeAnswer) {
        let runtime = self.runtimes.of(role);
        if let Some(waiter) = runtime.and_then(|runtime| runtime.waiter(id)) {
            self.on_answer_for(waiter, answer);
        }
    }

    pub(super) fn on_answer_for(&mut self, waiter: Waiter, answer: RuntimeAnswer) {
        match waiter {
            // Whoever asked may have gone.
            Waiter::Asker(asker) => drop(asker.send(answer)),
            Waiter::Tool(call) => self.on_call(call, ToolEvent::Answered(answer)),
            Waiter::Prompt(ticket) => self.on_prompt_of(ticket, PromptEvent::Answered(answer)),
        }
    }

    /// What goes on of a cell that has ended shows something: nobody's run, but the cell's.
    fn on_late(&self, line: u32, event: RuntimeEvent) {
        let event = match event {
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => CellEvent::Output {
                stream,
                bytes,
                foreign,
            },
            RuntimeEvent::Display { display, .. } => CellEvent::Display(display),
            RuntimeEvent::Comm { message, .. } => CellEvent::Comm(message),
            RuntimeEvent::Clear { wait, .. } => CellEvent::Clear { wait },
            _ => return,
        };
        let event = Box::new(event);
        self.background.send(CellEvent::Late { line, event });
    }

    /// An event of a running cell, of a tool call, or of the background.
    pub(super) fn on_cell_event(&mut self, role: Role, event: RuntimeEvent) {
        let id = event.request();
        if let (RuntimeEvent::Finished { .. }, Some(id)) = (&event, id)
            && self.floor.is_beneath(role, id)
        {
            self.asking_cell_ended();
        }
        if let Some(cell) = id.and_then(|id| self.floor.cell(role, id)) {
            let (id, line) = (cell.id, cell.line());
            let step = cell.on(event, &self.history);
            if let (CellStep::Ended(_), Some(line), Role::User) = (&step, line, role) {
                self.runtimes.user.cell_ended(id, line);
            }
            match step {
                CellStep::On => {}
                CellStep::Died(mut remains) => {
                    let out = self.out_or_background().clone();
                    self.workbook.keep_ran(&mut remains, out);
                    self.on_floor(FloorEvent::CellDied(&remains));
                }
                CellStep::Ended(mut remains) => {
                    let out = self.out_or_background().clone();
                    self.workbook.keep_ran(&mut remains, out);
                    if let Some(cwd) = &remains.cwd {
                        self.goes_to(role, PathBuf::from(cwd));
                    }
                    self.on_floor(FloorEvent::CellEnded(&remains));
                }
            }
            return;
        }
        let event = match id {
            Some(id) => match self.on_code(role, id, event) {
                Some(event) => event,
                None => return,
            },
            None => event,
        };
        if let Some(line) = id.and_then(|id| self.runtimes.user.line_of(id)) {
            return self.on_late(line, event);
        }
        let out = match (self.floor.holder(), id) {
            (Some(Holder::Prompt(_) | Holder::Call { .. }), Some(_)) => self.out_or_background(),
            _ => &self.background,
        };
        match event {
            RuntimeEvent::Status { text, .. } => out.send(CellEvent::Status(text)),
            RuntimeEvent::Comm { message, .. } => out.send(CellEvent::Comm(message)),
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => {
                out.send(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            RuntimeEvent::Display { display, .. } => out.send(CellEvent::Display(display)),
            RuntimeEvent::Clear { wait, .. } => out.send(CellEvent::Clear { wait }),
            RuntimeEvent::InputRequested {
                call,
                prompt,
                password,
                ..
            } => {
                out.send(CellEvent::InputRequested {
                    call,
                    prompt,
                    password,
                });
            }
            _ => {}
        }
    }
}

/// Code asks where earlier inputs are: the number of the session may have been told late, or have changed.
fn tell_record(call: u64, history: History, path: PathBuf, inbox: UnboundedSender<Command>) {
    tokio::spawn(async move {
        let start = history.session().await.ok();
        let start = start.filter(|start| start.recorded && start.number > 0);
        let place = start.map(|start| RecordPlace {
            path,
            session: start.number,
        });
        let _ = inbox.send(Command::ReplyRecord(call, place));
    });
}
