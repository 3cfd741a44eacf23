//! Events of the runtimes, routed to the active cell, a prompt's tool, the requester of an answer, or the background.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::cell::CellProgress;
use crate::effect::{Effect, Event};
use crate::event_loop::Session;
use crate::events::{CellEvent, Notice, SessionEvent};
use crate::handle::{Command, Query};
use crate::peers::RuntimeRequester;
use crate::prompt::PromptEvent;
use crate::record::RecordHandle;
use crate::runtime::{RecordLocation, RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, SchedulerEvent};
use crate::tools::ToolEvent;

impl Session {
    pub(super) fn on_runtime(&mut self, role: RuntimeRole, event: RuntimeEvent) {
        if let RuntimeEvent::InputRequested { .. } = event {
            self.io.runtimes.asks(role);
        }
        match role {
            RuntimeRole::User => self.on_users_runtime(event),
            RuntimeRole::Shell => self.on_shell(event),
            RuntimeRole::Agent(number) => self.on_kernel(number, event),
        }
    }

    fn on_users_runtime(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Ready(info) => {
                self.io.runtimes.user.is_ready();
                let language = self.io.runtimes.user.able().language.clone();
                self.io.shared.set_language(language);
                if !info.restarted {
                    return;
                }
                self.io.runtimes.user.tell_checkpoints();
                self.io.runtimes.user.go_to_place();
                let message = "a new interpreter is ready; the variables of the old one are gone";
                self.state.out_or_background().send(Notice::note(message));
            }
            RuntimeEvent::StartFailed(failure) => {
                self.io.runtimes.user.cannot_start();
                let notice = Notice::warning(failure.message).hint(failure.hint);
                match self.state.scheduler.active() {
                    // The cell ends with the interpreter and reports the failure.
                    Some(ActiveJob::Cell(cell)) if cell.run.reports_start_failure() => {}
                    Some(ActiveJob::Recording { .. }) => {}
                    // Without a user, the notice waits for the next prompt.
                    None | Some(ActiveJob::Cell(_)) if !self.io.deps.asks => {
                        self.state.unreported = Some(notice)
                    }
                    _ => self.state.out_or_background().send(notice),
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                let death = self.io.runtimes.user.death(death);
                self.state.ended_cells.clear();
                self.io.runtimes.user.has_died();
                self.state.numbering.mark_interpreter_lost();
                if !self.state.tool_runner.awaits_restart() {
                    self.state
                        .out_or_background()
                        .send(SessionEvent::RuntimeDied { death, restarting });
                }
                self.resume_tools();
                self.raise(Event::DeathTold);
            }
            RuntimeEvent::Lost { why } => {
                self.state.ended_cells.clear();
                self.io.runtimes.user.is_gone();
                let language = &self.io.runtimes.user.able().language;
                let notice = Notice::warning(format!(
                    "the connection to the {language} interpreter was lost: {why}"
                ));
                let notice =
                    notice.hint("the cell may still be running, and its variables may still exist");
                self.state.out_or_background().send(notice);
                self.resume_tools();
                self.raise(Event::DeathTold);
            }
            RuntimeEvent::Notice(text) => {
                self.state.out_or_background().send(Notice::note(text));
            }
            RuntimeEvent::Replied { id, answer } => self.on_answer(RuntimeRole::User, id, answer),
            RuntimeEvent::RecordRequested { call, .. } => {
                let path = self.io.outputs.record().to_owned();
                reply_record(call, self.io.record.clone(), path, self.io.inbox.clone());
            }
            RuntimeEvent::HostCalled { id, call } => self.on_code_call(id, call),
            RuntimeEvent::HostCallCancelled { call } => self.on_code_call_cancelled(call),
            event => self.on_code_or_cell(RuntimeRole::User, event),
        }
    }

    /// Sends a request of `waiter` to the user's runtime; a refusal is an answer, too.
    pub(super) fn ask_runtime(&mut self, request: RuntimeRequest, waiter: RuntimeRequester) {
        self.carry_out(vec![Effect::AskRuntime(request, waiter)]);
    }

    /// Sends a request to the user's runtime; returns the receiver of its answer.
    pub(super) fn ask_for(&mut self, request: RuntimeRequest) -> oneshot::Receiver<RuntimeReply> {
        let (answer, told) = oneshot::channel();
        self.io.ask_for(request, answer);
        told
    }

    pub(super) fn on_answer(&mut self, role: RuntimeRole, id: RequestId, answer: RuntimeReply) {
        let runtime = self.io.runtimes.of(role);
        if let Some(waiter) = runtime.and_then(|runtime| runtime.waiter(id)) {
            self.on_answer_for(waiter, answer);
        }
    }

    pub(super) fn on_answer_for(&mut self, waiter: RuntimeRequester, answer: RuntimeReply) {
        match waiter {
            // Fails when the caller has gone.
            RuntimeRequester::Handle(asker) => drop(asker.send(answer)),
            RuntimeRequester::Tool(call) => {
                self.raise(Event::ToolOf(call, ToolEvent::RuntimeAnswered(answer)))
            }
            RuntimeRequester::Prompt(ticket) => {
                self.raise(Event::Prompt(ticket, PromptEvent::RuntimeAnswered(answer)))
            }
        }
    }

    /// Sends output of tasks and threads of an ended cell to the background, under the cell's number.
    fn on_late_output(&self, line: u32, event: RuntimeEvent) {
        let event = match cell_event(event) {
            None | Some(CellEvent::Status(_) | CellEvent::InputRequested { .. }) => return,
            Some(event) => event,
        };
        let event = Box::new(event);
        self.state.background.send(CellEvent::Late { line, event });
    }

    /// As [`Session::on_cell_event`]; the calls of a cell that has ended are stopped first.
    pub(super) fn on_code_or_cell(&mut self, role: RuntimeRole, event: RuntimeEvent) {
        let ended = matches!(event, RuntimeEvent::Finished { .. });
        let ended = event.request().filter(|_| ended);
        let suspended = ended.is_some_and(|id| self.state.scheduler.is_suspended(role, id));
        if suspended && self.state.cell_calls.cell_ended() {
            self.raise(Event::Interrupted);
            self.raise(Event::CallsAbandoned);
            return self.raise(Event::Cell(role, event));
        }
        self.on_cell_event(role, event);
    }

    pub(super) fn on_cell_event(&mut self, role: RuntimeRole, event: RuntimeEvent) {
        let id = event.request();
        if let Some(cell) = id.and_then(|id| self.state.scheduler.cell(role, id)) {
            let (own, line) = (cell.id, cell.line());
            let (effects, step) = cell.on(event, &self.io.outputs);
            self.carry_out(effects);
            if let (CellProgress::Ended(_), Some(id), Some(line), RuntimeRole::User) =
                (&step, own, line, role)
            {
                self.state.ended_cells.insert(id, line);
            }
            match step {
                CellProgress::On => {}
                CellProgress::Died(mut result) => {
                    let out = self.state.out_or_background().clone();
                    self.io.workbook.keep_ran(&mut result, out);
                    self.on_scheduler(SchedulerEvent::CellDied(&result));
                }
                CellProgress::Ended(mut result) => {
                    let out = self.state.out_or_background().clone();
                    self.io.workbook.keep_ran(&mut result, out);
                    if let Some(cwd) = &result.cwd {
                        self.goes_to(role, PathBuf::from(cwd));
                    }
                    self.on_scheduler(SchedulerEvent::CellEnded(&result));
                }
            }
            return;
        }
        let event = match id {
            Some(id) => match self.on_code_event(role, id, event) {
                Some(event) => event,
                None => return,
            },
            None => event,
        };
        if let Some(line) = id.and_then(|id| self.state.ended_cells.get(&id).copied()) {
            return self.on_late_output(line, event);
        }
        let out = match (self.state.scheduler.active(), id) {
            (Some(ActiveJob::Prompt(_) | ActiveJob::Call { .. }), Some(_)) => {
                self.state.out_or_background()
            }
            _ => &self.state.background,
        };
        if let Some(event) = cell_event(event) {
            out.send(event);
        }
    }
}

/// Returns the event as front-ends see it; `None` for events that are handled elsewhere.
fn cell_event(event: RuntimeEvent) -> Option<CellEvent> {
    Some(match event {
        RuntimeEvent::Status { text, .. } => CellEvent::Status(text),
        RuntimeEvent::Comm { message, .. } => CellEvent::Comm(message),
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
        RuntimeEvent::Clear { wait, .. } => CellEvent::Clear { wait },
        RuntimeEvent::InputRequested {
            call,
            prompt,
            password,
            ..
        } => CellEvent::InputRequested {
            call,
            prompt,
            password,
        },
        _ => return None,
    })
}

/// Replies with the location of earlier inputs; reads the session's number now, since it may have come late or have
/// changed.
fn reply_record(call: u64, record: RecordHandle, path: PathBuf, inbox: UnboundedSender<Command>) {
    tokio::spawn(async move {
        let start = record.session().await.ok();
        let start = start.filter(|start| start.recorded && start.number > 0);
        let place = start.map(|start| RecordLocation {
            path,
            session: start.number,
        });
        let _ = inbox.send(Query::ReplyRecord(call, place).into());
    });
}
