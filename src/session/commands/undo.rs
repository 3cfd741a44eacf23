//! `undo` and `retry`: removes the last exchange from the conversation; the interpreter steps back as well if the user
//! agrees.
//!
//! Invariant: where cells of an undone exchange keep their effects in the interpreter, a notice says so, with the
//! reason and the remedy; the user's answer is never assumed, and an interrupt at the question undoes nothing.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::steps::{self, StepScope};
use crate::approvals::ApprovalRequester;
use crate::dialog::{CellEntry, Dialog};
use crate::effect::{Effect, Event, Found, RecordWrite, emit, warn};
use crate::events::{Notice, TextEvent};
use crate::input::is_ipycodex_input;
use crate::question::{QuestionChoice, QuestionSubject, Reply, SteppedCell};
use crate::record::RecordHandle;
use crate::rewind::FileHistory;
use crate::rewind_plan::{RewindFollowUp, RewindRequest, RewindScope};
use crate::run::RunSender;
use crate::runtime::{CheckpointRequest, Checkpoints, RuntimeReply, RuntimeRequest};
use crate::step::Step;
use crate::undo::{InterpreterSessions, UndoFollowUp, UndoRequest};

const NONE_TO_TAKE_BACK: &str = "there is no exchange to take back";

/// Characters of a prompt that identify it in a line.
const NAMED: usize = 60;

/// Undoes an exchange that has run cells, after asking the interpreter whether it can step back over them.
pub(crate) fn undo(step: &mut Step<'_>, request: UndoRequest, out: &RunSender) {
    let request = request.since(step.state.numbering.gone_before());
    if request.over.is_empty() || !step.ctx.user().is_up() {
        return step.extend_for(rewind_files(request), out);
    }
    let told = step.ask_runtime(RuntimeRequest::Checkpoints(CheckpointRequest::List));
    let sessions = step.state.step_log.sessions.clone();
    step.wait(out, on_checkpoints(told, sessions, request));
}

/// Asks the user whether the interpreter steps back as well.
pub(crate) fn offer_step_back(step: &mut Step<'_>, request: UndoRequest, out: &RunSender) {
    if !step.ctx.deps.asks {
        let effects = remove_exchange_only(&request, &nobody_to_ask(&request));
        return step.extend_for(effects, out);
    }
    step.hold_for_question(out);
    let about = QuestionSubject::StepBack {
        exchange: request.line,
        over: request.over.clone(),
    };
    step.ask_user(about, ApprovalRequester::Undo(request));
}

pub(crate) fn on_step_back_answer(step: &mut Step<'_>, request: UndoRequest, reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    let why = match reply {
        Reply::Chosen(QuestionChoice::Once) => {
            let sessions = step.state.step_log.sessions.clone();
            let wish = sessions.back(request.first());
            let told = step.ask_runtime(RuntimeRequest::Checkpoints(wish));
            let (record, files) = (step.ctx.record.clone(), step.files());
            let done = on_stepped(told, wish, record, sessions, files, request);
            return step.wait_firmly(&out, done);
        }
        Reply::Declined => nobody_to_ask(&request),
        _ => String::new(),
    };
    step.extend_for(remove_exchange_only(&request, &why), &out);
    step.raise(Event::Advance);
}

/// Undoes the last exchange; `ran_for` maps the agent's cells to their prompts.
pub(super) async fn undo_last(
    record: RecordHandle,
    then: UndoFollowUp,
    ran_for: BTreeMap<u32, u32>,
    sessions: InterpreterSessions,
) -> Vec<Effect> {
    let dialog = record.dialog().await;
    let Some(last) = dialog.last_exchange() else {
        return warn(NONE_TO_TAKE_BACK);
    };
    let request = UndoRequest {
        line: last.line,
        prompt: last.prompt.clone(),
        then,
        over: over(&dialog, last.line, &ran_for),
        session: sessions.ran(last.line),
    };
    match request.over.is_empty() {
        true => rewind_files(request),
        false => vec![Effect::found(Found::Undo(request))],
    }
}

/// Returns the cells of the conversation, starting at the first one that the exchange at `line` ran.
fn over(dialog: &Dialog, line: u32, ran_for: &BTreeMap<u32, u32>) -> Vec<SteppedCell> {
    let own = |cell: &CellEntry| ran_for.get(&cell.line) == Some(&line);
    let cells = dialog.cells.iter().filter(|cell| !cell.is_excluded());
    let cells = cells.skip_while(|cell| !own(cell));
    let cells = cells.filter(|cell| cell.shell.is_none() && !is_ipycodex_input(&cell.source));
    let stepped = cells.map(|cell| SteppedCell {
        line: cell.line,
        code: cell.source.trim().lines().next().unwrap_or_default().into(),
        own: own(cell),
    });
    stepped.collect()
}

/// Removes an exchange from the conversation, and nothing else.
pub(crate) fn remove_exchange(request: &UndoRequest) -> Vec<Effect> {
    let line = request.line;
    if request.then == UndoFollowUp::Resend {
        let (line, text) = (Some(line), request.prompt.clone());
        return vec![Effect::found(Found::Resend { line, text })];
    }
    let text = format!(
        "Taken out of the conversation: [{line}] {} (`%ipycodex show {line}` puts it back)",
        named(&request.prompt),
    );
    let hide = RecordWrite::Hide {
        lines: line..=line,
        hidden: true,
    };
    vec![Effect::Record(hide), Effect::show(TextEvent::Text(text))]
}

/// As `remove_exchange`, with a notice that the interpreter is unchanged.
pub(crate) fn remove_exchange_only(request: &UndoRequest, why: &str) -> Vec<Effect> {
    let note = format!("the interpreter keeps what {} did{why}", request.ran());
    let mut all = emit(Notice::note(note));
    all.extend(rewind_files(request.clone()));
    all
}

/// Puts back the files that the exchange has changed, if the user agrees; then removes it.
fn rewind_files(request: UndoRequest) -> Vec<Effect> {
    let own = request.over.iter().filter(|cell| cell.own);
    let scope = RewindScope::Exchange {
        session: request.session,
        line: request.line,
        cells: own.map(|cell| cell.line).collect(),
    };
    rewind_as(scope, request)
}

fn rewind_as(scope: RewindScope, request: UndoRequest) -> Vec<Effect> {
    let request = RewindRequest::new(scope, RewindFollowUp::Undo(request));
    vec![Effect::found(Found::Rewind(Box::new(request)))]
}

pub(crate) async fn on_checkpoints(
    told: oneshot::Receiver<RuntimeReply>,
    sessions: InterpreterSessions,
    request: UndoRequest,
) -> Vec<Effect> {
    let why = match told.await {
        Ok(RuntimeReply::Checkpoints(there)) => {
            match why_no_step_back(&there, &sessions, &request) {
                None => return vec![Effect::found(Found::StepBackPossible(request))],
                Some(why) => why,
            }
        }
        Ok(RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why)) => why,
        _ => "the interpreter gave no answer".to_owned(),
    };
    remove_exchange_only(&request, &format!(": {why}"))
}

/// Returns why the interpreter cannot step back over the exchange.
fn why_no_step_back(
    there: &Checkpoints,
    sessions: &InterpreterSessions,
    request: &UndoRequest,
) -> Option<String> {
    let first = request.first()?;
    let missing = !sessions.has_checkpoint(there, first);
    missing.then(|| sessions.why_no_checkpoint(there, first))
}

/// Returns the effects of a step back that the user agreed to.
pub(crate) async fn on_stepped(
    told: oneshot::Receiver<RuntimeReply>,
    wish: CheckpointRequest,
    record: RecordHandle,
    sessions: InterpreterSessions,
    files: Option<FileHistory>,
    request: UndoRequest,
) -> Vec<Effect> {
    let scope = StepScope::Exchanges(request.line..=request.line);
    let mut all = steps::on_answer(told, wish, record, sessions, files, scope).await;
    let moved = all
        .iter()
        .any(|effect| matches!(effect, Effect::InterpreterMoved));
    match request.then {
        UndoFollowUp::Resend if !moved => {
            all.extend(emit(Notice::note("the prompt was not sent again")));
        }
        _ if moved => {
            let scope = RewindScope::Since {
                session: request.session,
                line: request.line,
            };
            all.extend(rewind_as(scope, request));
        }
        _ => all.extend(remove_exchange(&request)),
    }
    all
}

pub(super) fn named(prompt: &str) -> String {
    let line = prompt.trim().replace('\n', " ");
    if line.chars().count() <= NAMED {
        return line;
    }
    let head: String = line.chars().take(NAMED - 3).collect();
    format!("{head}...")
}

pub(crate) fn nobody_to_ask(request: &UndoRequest) -> String {
    let first = request.first().unwrap_or_default();
    format!(": nobody can be asked here; `%ipycodex back {first}` steps back")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{CellStep, Checkpoint};

    #[test]
    fn a_cell_of_another_session_is_no_way_back() {
        let cell = SteppedCell {
            line: 3,
            code: String::new(),
            own: true,
        };
        let request = UndoRequest {
            line: 2,
            prompt: String::new(),
            then: UndoFollowUp::Nothing,
            over: vec![cell],
            session: 0,
        };
        let there = |session| {
            let before = CellStep {
                number: 3,
                session,
                ..CellStep::default()
            };
            let row = Checkpoint {
                before,
                ..Checkpoint::default()
            };
            Checkpoints {
                rows: vec![row],
                most: 10,
                ..Checkpoints::default()
            }
        };
        let why =
            |session| why_no_step_back(&there(session), &InterpreterSessions::default(), &request);
        assert_eq!(why(0), None);
        assert_eq!(
            why(1).unwrap(),
            "there is no checkpoint before In [3]: it is no longer kept"
        );
    }
}
