//! `edit`, `fork N`, and prompts that take the place of earlier ones: what goes is asked first, in one question.
//!
//! Invariants: nothing is replaced and nothing steps before the user's yes; where nobody can be asked, the conversation
//! alone changes, as with `undo`; entries that go are marked in the record when the answer joins the conversation, and
//! never deleted.

use tokio::sync::oneshot;

use super::steps::{self, StepScope};
use super::turns::{self, why_no_prompt};
use crate::Submission;
use crate::approvals::ApprovalRequester;
use crate::dialog::{Dialog, PromptEntry};
use crate::editor::EditorRequest;
use crate::effect::{Effect, Event, Found, To, emit, warn};
use crate::events::{AfterEvent, Notice};
use crate::input::prompt_source;
use crate::numbering::in_words;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::record::RecordHandle;
use crate::replacement_plan::{ReplacementFollowUp, ReplacementRequest};
use crate::resume;
use crate::rewind::FileHistory;
use crate::rewind_plan::{RewindFollowUp, RewindRequest, RewindScope};
use crate::run::RunSender;
use crate::runtime::{CheckpointRequest, RuntimeReply, RuntimeRequest};
use crate::step::Step;
use crate::undo::InterpreterSessions;
use crate::variables;

const NOT_SENT: &str = "nothing was replaced, and the prompt was not sent";

/// Puts a prompt of the conversation into the editor: this one, else the last.
pub(super) async fn edit(record: RecordHandle, line: Option<u32>) -> Vec<Effect> {
    let dialog = record.dialog().await;
    match find_prompt(&dialog, line) {
        Ok(prompt) => {
            let request = EditorRequest::EditPrompt {
                line: prompt.line,
                text: prompt_source(&prompt.prompt),
            };
            vec![Effect::RequestEditor(To::Job, request)]
        }
        Err(why) => warn(why),
    }
}

/// Forks the session before this prompt, else before the command itself, which is In number `own`.
pub(super) async fn fork(record: RecordHandle, line: Option<u32>, own: u32) -> Vec<Effect> {
    let dialog = record.dialog().await;
    if line.is_none() {
        if !turns::has_entry(&dialog) {
            return warn("there is nothing to fork yet: no cell and no exchange");
        }
        let (before, text) = (own, None);
        return vec![Effect::found(Found::Fork { before, text })];
    }
    match find_prompt(&dialog, line) {
        Ok(prompt) => {
            let text = prompt_source(&prompt.prompt);
            let request = ReplacementRequest::fork(&dialog, prompt.line, text);
            vec![Effect::found(Found::Replacement(request))]
        }
        Err(why) => warn(why),
    }
}

/// Goes on in a session that holds the entries before this number, with this text in the editor.
pub(crate) fn go_on_in_fork(
    step: &mut Step<'_>,
    before: u32,
    text: Option<String>,
    out: &RunSender,
) {
    let kept = variables::keep(step);
    let (record, outputs) = (step.ctx.record.clone(), step.ctx.outputs.clone());
    let forked = resume::fork_session(record, outputs, before, text);
    step.wait_firmly(out, variables::join(kept, forked));
}

/// Finds this prompt of the conversation, else the last.
///
/// # Errors
/// Returns why there is none, in one line.
pub(super) fn find_prompt(dialog: &Dialog, line: Option<u32>) -> Result<&PromptEntry, String> {
    let Some(line) = line else {
        let last = dialog.last_exchange();
        return last.ok_or_else(|| "there is no prompt to edit yet".to_owned());
    };
    let mut visible = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let found = visible.find(|prompt| prompt.line == line);
    found.ok_or_else(|| why_no_prompt(dialog, line))
}

/// Finds out what goes for a prompt that takes the place of the exchange at `line` and of all that came after it;
/// begins the prompt where that exchange is all.
pub(crate) async fn plan(record: RecordHandle, line: u32, submission: Submission) -> Vec<Effect> {
    let dialog = record.dialog().await;
    vec![Effect::found(
        match ReplacementRequest::replace(&dialog, line, submission.clone()) {
            Some(request) => Found::Replacement(request),
            None => Found::Input(Box::new(submission)),
        },
    )]
}

/// Asks the interpreter how far it can step back.
pub(crate) fn find_step(step: &mut Step<'_>, request: ReplacementRequest, out: &RunSender) {
    let mut request = request.since(step.state.numbering.gone_before());
    let told = match step.ctx.user().is_up() {
        _ if request.cells.is_empty() => None,
        true => Some(step.ask_runtime(RuntimeRequest::Checkpoints(CheckpointRequest::List))),
        false => {
            request.stays("it is not running".to_owned());
            None
        }
    };
    let files = step.files();
    if told.is_none() && files.is_none() {
        return offer(step, request, out);
    }
    let sessions = step.state.step_log.sessions.clone();
    let cwd = step.state.cwd.clone();
    step.wait(out, async move {
        if let Some(told) = told {
            find_interpreter_step(told, &sessions, &mut request).await;
        }
        if let Some(files) = files {
            let scope = rewind_scope(&request, &sessions);
            request.plan.files = scope.planned(files, cwd).await;
        }
        vec![Effect::found(Found::ReplacementReady(request))]
    });
}

/// Returns the steps whose files go back: all since the prompt.
fn rewind_scope(request: &ReplacementRequest, sessions: &InterpreterSessions) -> RewindScope {
    RewindScope::Since {
        session: sessions.ran(request.plan.line),
        line: request.plan.line,
    }
}

async fn find_interpreter_step(
    told: oneshot::Receiver<RuntimeReply>,
    sessions: &InterpreterSessions,
    request: &mut ReplacementRequest,
) {
    match told.await {
        Ok(RuntimeReply::Checkpoints(there)) => request.find_step(&there, sessions),
        Ok(RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why)) => request.stays(why),
        _ => request.stays("it gave no answer".to_owned()),
    }
}

/// Asks the user; where nobody can be asked, goes on with the conversation alone.
pub(crate) fn offer(step: &mut Step<'_>, request: ReplacementRequest, out: &RunSender) {
    let nothing_to_decide = request.is_fork() && !request.plan.moves_more();
    let asks = request.can_ask().unwrap_or(step.ctx.deps.asks);
    if nothing_to_decide || !asks {
        let why = match request.plan.steps_to() {
            Some(to) => format!("nobody can be asked here; `%ipycodex back {to}` steps back"),
            None => String::new(),
        };
        return step.extend_for(conversation_only(request, &why), out);
    }
    step.hold_for_question(out);
    let about = QuestionSubject::Replacement(request.plan.clone());
    step.ask_user(about, ApprovalRequester::Replacement(request));
}

pub(crate) fn on_answer(step: &mut Step<'_>, request: ReplacementRequest, reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    let effects = match (reply, request.plan.steps_to()) {
        (Reply::Chosen(QuestionChoice::Once), Some(to)) => {
            let sessions = step.state.step_log.sessions.clone();
            let wish = sessions.back(Some(to));
            let told = step.ask_runtime(RuntimeRequest::Checkpoints(wish));
            let (record, files) = (step.ctx.record.clone(), step.files());
            let done = on_stepped(told, wish, record, sessions, files, request);
            return step.wait_firmly(&out, done);
        }
        (Reply::Chosen(QuestionChoice::Once), None) if request.plan.moves_more() => {
            let sessions = &step.state.step_log.sessions;
            vec![with_files(request, sessions)]
        }
        (Reply::Chosen(QuestionChoice::Once | QuestionChoice::Conversation), _) => {
            conversation_only(request, "")
        }
        (Reply::Declined, _) => conversation_only(request, "nobody can be asked here"),
        _ => left(request),
    };
    step.extend_for(effects, &out);
    step.raise(Event::Advance);
}

/// Returns the effects of a step back that the user agreed to.
async fn on_stepped(
    told: oneshot::Receiver<RuntimeReply>,
    wish: CheckpointRequest,
    record: RecordHandle,
    sessions: InterpreterSessions,
    files: Option<FileHistory>,
    request: ReplacementRequest,
) -> Vec<Effect> {
    let here = sessions.clone();
    let scope = match request.is_fork() {
        true => StepScope::Fork,
        false => StepScope::Exchanges(request.plan.line..=u32::MAX),
    };
    let mut all = steps::on_answer(told, wish, record, sessions, files, scope).await;
    let moved = all
        .iter()
        .any(|effect| matches!(effect, Effect::InterpreterMoved));
    match moved {
        true => all.push(with_files(request, &here)),
        false => all.extend(left(request)),
    }
    all
}

/// Puts the files back that the question has shown, and goes on.
fn with_files(request: ReplacementRequest, sessions: &InterpreterSessions) -> Effect {
    let scope = rewind_scope(&request, sessions);
    let rewind = RewindRequest {
        rewind: request.plan.files.clone(),
        agreed: true,
        ..RewindRequest::new(scope, RewindFollowUp::Replacement(request))
    };
    Effect::found(Found::Rewind(Box::new(rewind)))
}

/// Goes on without a step of the interpreter, and says what it keeps and why.
fn conversation_only(request: ReplacementRequest, why: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    if !request.cells.is_empty() {
        let because = match why {
            "" => request.plan.why_it_stays().unwrap_or_default(),
            why => why,
        };
        let cells = in_words(request.cells.iter().copied());
        let colon = if because.is_empty() { "" } else { ": " };
        let note = format!("the interpreter keeps what {cells} did{colon}{because}");
        effects.extend(emit(Notice::note(note)));
    }
    effects.push(follow(request));
    effects
}

pub(super) fn follow(request: ReplacementRequest) -> Effect {
    Effect::found(match request.then {
        ReplacementFollowUp::Begin(submission) => Found::Input(submission),
        ReplacementFollowUp::Fork(text) => Found::Fork {
            before: request.plan.line,
            text: Some(text),
        },
    })
}

/// Leaves all as it is; a prompt goes back to the editor.
fn left(request: ReplacementRequest) -> Vec<Effect> {
    match request.then {
        ReplacementFollowUp::Begin(submission) => {
            let mut effects = emit(Notice::note(NOT_SENT));
            effects.extend(emit(AfterEvent::Refill(submission.text)));
            effects
        }
        ReplacementFollowUp::Fork(_) => emit(Notice::note("the session was not forked")),
    }
}
