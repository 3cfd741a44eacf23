//! Events of the runtimes, routed to the active cell, a prompt's tool, the requester of an answer, or the background.

use std::path::PathBuf;

use crate::branches;
use crate::branches::event::BranchEvent;
use crate::cell::{CellProgress, CellResult};
use crate::effect::{Effect, Event};
use crate::events::{CellEvent, Notice, SessionEvent};
use crate::host_calls;
use crate::jobs;
use crate::kernels;
use crate::peers::RuntimeRequester;
use crate::prompt::PromptEvent;
use crate::runtime::{
    Death, RecordLocation, RuntimeEvent, RuntimeReply, RuntimeRequest, StartFailure,
};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, SchedulerEvent};
use crate::step::Step;
use crate::tools::{self, ToolEvent};
use crate::workbook::ExecutedCell;

pub(super) fn on_runtime(step: &mut Step<'_>, role: RuntimeRole, event: RuntimeEvent) {
    match role {
        RuntimeRole::User => on_users(step, event),
        RuntimeRole::Shell => on_shell(step, event),
        RuntimeRole::Agent(number) => on_kernel(step, number, event),
        RuntimeRole::Branch(number) => branches::driver::on_runtime(step, number, event),
    }
}

fn on_users(step: &mut Step<'_>, event: RuntimeEvent) {
    match event {
        RuntimeEvent::Ready(info) => {
            if info.restarted {
                let message = "a new interpreter is ready; the variables of the old one are gone";
                step.show(Notice::note(message));
            }
        }
        RuntimeEvent::StartFailed(failure) => on_start_failure(step, failure),
        RuntimeEvent::Died { death, restarting } => {
            step.state.ended_cells.clear();
            step.state.numbering.mark_interpreter_lost();
            if !step.state.tool_runner.awaits_restart() {
                step.show(SessionEvent::RuntimeDied { death, restarting });
            }
            tools::driver::resume(step);
            step.raise(Event::DeathTold);
        }
        RuntimeEvent::Lost { why } => {
            step.state.ended_cells.clear();
            let language = &step.ctx.user().able().language;
            let notice = Notice::warning(format!(
                "the connection to the {language} interpreter was lost: {why}"
            ));
            step.show(notice.hint("the cell may still run, and variables may be gone"));
            tools::driver::resume(step);
            step.raise(Event::DeathTold);
        }
        RuntimeEvent::Notice(text) => step.show(Notice::note(text)),
        RuntimeEvent::RecordRequested { call, .. } => send_record(step, call),
        RuntimeEvent::HostCalled { id, call } => {
            let cell = id.and_then(|id| step.state.scheduler.cell(RuntimeRole::User, id));
            match cell.is_some() {
                true => host_calls::driver::on_cell_call(step, call),
                false => host_calls::driver::on_agent_call(step, RuntimeRole::User, id, call),
            }
        }
        RuntimeEvent::HostCallCancelled { call } => {
            host_calls::driver::on_call_cancelled(step, call)
        }
        event => on_code_or_cell(step, RuntimeRole::User, event),
    }
}

fn on_start_failure(step: &mut Step<'_>, failure: StartFailure) {
    let notice = Notice::warning(failure.message).hint(failure.hint);
    match step.state.scheduler.active() {
        // The cell ends with the interpreter and reports the failure.
        Some(ActiveJob::Cell(cell)) if cell.run.reports_start_failure() => {}
        Some(ActiveJob::Recording { .. }) => {}
        // Without a user, the notice waits for the next prompt.
        None | Some(ActiveJob::Cell(_)) if !step.ctx.deps.asks => {
            step.state.unreported = Some(notice);
        }
        _ => step.show(notice),
    }
}

/// Replies with the location of earlier inputs; reads the session's number now, since it may have come late or have
/// changed.
fn send_record(step: &mut Step<'_>, call: u64) {
    let (path, record) = (
        step.ctx.outputs.record().to_owned(),
        step.ctx.record.clone(),
    );
    step.spawn(async move {
        let start = record.session().await.ok();
        let start = start.filter(|start| start.recorded && start.number > 0);
        let place = start.map(|start| RecordLocation {
            path,
            session: start.number,
        });
        let reply = RuntimeRequest::ReplyRecord { call, place };
        vec![Effect::Notify(RuntimeRole::User, reply)]
    });
}

fn on_shell(step: &mut Step<'_>, event: RuntimeEvent) {
    match event {
        // The command that needs the shell reports why it cannot be started.
        RuntimeEvent::Ready(_) | RuntimeEvent::StartFailed(_) => {}
        RuntimeEvent::Died { death, .. } => {
            let text = format!("the shell ended ({death}); the next command starts a new one");
            step.show(match death {
                Death::Exited(0) => Notice::note(text),
                _ => Notice::warning(text),
            });
            step.raise(Event::DeathTold);
        }
        RuntimeEvent::Notice(text) => step.show(Notice::note(text)),
        RuntimeEvent::Output {
            id: None,
            stream,
            bytes,
            ..
        } => {
            let foreign = false;
            step.send_to_background(CellEvent::Output {
                stream,
                bytes,
                foreign,
            });
        }
        event => on_code_or_cell(step, RuntimeRole::Shell, event),
    }
}

fn on_kernel(step: &mut Step<'_>, number: u32, event: RuntimeEvent) {
    let role = RuntimeRole::Agent(number);
    match event {
        RuntimeEvent::Ready(info) => kernels::driver::on_ready(step, number, info.unprotected),
        RuntimeEvent::StartFailed(failure) => {
            kernels::driver::on_start_failure(step, number, failure)
        }
        RuntimeEvent::Died { death, restarting } => {
            kernels::driver::on_death(step, number, &death, restarting);
            if step.state.tool_runner.role() == role {
                tools::driver::resume(step);
            }
        }
        RuntimeEvent::RecordRequested { call, .. } => {
            // The agent's kernels do not get the record's address.
            let reply = RuntimeRequest::ReplyRecord { call, place: None };
            step.push(Effect::Notify(role, reply));
        }
        RuntimeEvent::HostCalled { id, call } => {
            host_calls::driver::on_agent_call(step, role, id, call)
        }
        RuntimeEvent::HostCallCancelled { call } => {
            host_calls::driver::on_agent_call_cancelled(step, role, call);
        }
        RuntimeEvent::Notice(text) => {
            step.show(Notice::note(format!("the agent's kernel: {text}")));
        }
        event => {
            if let Some(id) = event.request() {
                // Output after the end of its cell is dropped.
                drop(tools::driver::on_code_event(step, role, id, event));
            }
        }
    }
}

pub(super) fn on_reply(step: &mut Step<'_>, requester: RuntimeRequester, reply: RuntimeReply) {
    match requester {
        // Fails when the caller has gone.
        RuntimeRequester::Handle(asker) => drop(asker.send(reply)),
        RuntimeRequester::Tool(call) => {
            step.raise(Event::ToolOf(call, ToolEvent::RuntimeAnswered(reply)));
        }
        RuntimeRequester::Branch(number, question) => {
            let answered = BranchEvent::Answered(question, reply);
            step.raise(Event::Branch(number, answered));
        }
        RuntimeRequester::Prompt(job) => {
            step.raise(Event::Prompt(job, PromptEvent::RuntimeAnswered(reply)));
        }
    }
}

/// As [`on_cell_event`]; the calls of a cell that has ended are stopped first.
fn on_code_or_cell(step: &mut Step<'_>, role: RuntimeRole, event: RuntimeEvent) {
    let ended = matches!(event, RuntimeEvent::Finished { .. });
    let ended = event.request().filter(|_| ended);
    let suspended = ended.is_some_and(|id| step.state.scheduler.is_suspended(role, id));
    if suspended && step.state.cell_calls.cell_ended() {
        step.raise(Event::Interrupted);
        step.raise(Event::CallsAbandoned);
        return step.raise(Event::Cell(role, event));
    }
    on_cell_event(step, role, event);
}

pub(super) fn on_cell_event(step: &mut Step<'_>, role: RuntimeRole, event: RuntimeEvent) {
    let id = event.request();
    if let Some(cell) = id.and_then(|id| step.state.scheduler.cell(role, id)) {
        let (own, line) = (cell.id, cell.line());
        let (effects, progress) = cell.on(event, step.ctx.outputs);
        step.extend(effects);
        if let (CellProgress::Ended(_), Some(id), Some(line), RuntimeRole::User) =
            (&progress, own, line, role)
        {
            step.state.ended_cells.insert(id, line);
        }
        return on_cell_progress(step, role, progress);
    }
    let event = match id {
        Some(id) => match tools::driver::on_code_event(step, role, id, event) {
            Some(event) => event,
            None => return,
        },
        None => event,
    };
    if let Some(line) = id.and_then(|id| step.state.ended_cells.get(&id).copied()) {
        return on_late_output(step, line, event);
    }
    let Some(event) = cell_event(event) else {
        return;
    };
    match (step.state.scheduler.active(), id) {
        (Some(ActiveJob::Prompt(_) | ActiveJob::Call { .. }), Some(_)) => step.show(event),
        _ => step.send_to_background(event),
    }
}

fn on_cell_progress(step: &mut Step<'_>, role: RuntimeRole, progress: CellProgress) {
    match progress {
        CellProgress::On => {}
        CellProgress::Died(mut result) => {
            write_cell(step, role, &mut result);
            step.on_scheduler(SchedulerEvent::CellDied(&result));
        }
        CellProgress::Ended(mut result) => {
            write_cell(step, role, &mut result);
            if let Some(cwd) = &result.cwd {
                jobs::change_directory(step, role, PathBuf::from(cwd));
            }
            step.on_scheduler(SchedulerEvent::CellEnded(&result));
        }
    }
}

/// Writes the cell into the open notebook, if it is for one.
fn write_cell(step: &mut Step<'_>, role: RuntimeRole, result: &mut CellResult) {
    if let Some(ran) = ExecutedCell::take(result) {
        let out = step.state.out_or_background().clone();
        step.push(Effect::WriteCell(Box::new(ran), role, out));
    }
}

/// Sends output of tasks and threads of an ended cell to the background, under the cell's number.
fn on_late_output(step: &mut Step<'_>, line: u32, event: RuntimeEvent) {
    let event = match cell_event(event) {
        None | Some(CellEvent::Status(_) | CellEvent::InputRequested { .. }) => return,
        Some(event) => event,
    };
    let event = Box::new(event);
    step.send_to_background(CellEvent::Late { line, event });
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
