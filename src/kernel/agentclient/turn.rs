//! One turn of the agent, from its start to its end, and the session it runs in.
//!
//! In: a prompt, the agent's events, replies of the user. Out: the output of the cell. The permission mode or the
//! user answers the agent's questions, and an interrupt stops the turn. Invariants: every request of the agent is
//! answered; a turn that was stopped is followed to its end, so that none of its output appears in the next cell.

use super::client_output::ClientOutput;
use super::connection::{AgentSession, request};
use super::context::AgentContext;
use super::logger::AGENT;
use super::permissions::PermissionDecision;
use crate::agent::{
    AgentEvent, AgentFailure, AgentQuestion, AgentReply, FailureKind, InputPart, McpServer,
    QuestionAnswer, TurnId, TurnRequest,
};
use crate::display::LineQuestion;
use crate::jupyter::ClientRequest;
use crate::kernel::input_request::{InputOutcome, InputRequest, InputTarget, discard_replies};
use crate::kernel::stream_buffer::sleep_until;
use crate::session::{Question, QuestionSubject, read_attachments};

/// Why a turn or a request of the agent did not succeed.
#[derive(Debug, Clone)]
pub(super) enum TurnError {
    Interrupted,
    Failed(AgentFailure),
}

struct OpenQuestion {
    asked: InputRequest,
    question: AgentQuestion,
}

/// Sends a prompt, in the current session or a new one.
///
/// # Errors
/// When the turn was interrupted or has failed.
pub(super) async fn prompt(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    text: &str,
    asks: bool,
) -> Result<(), TurnError> {
    ensure_session(context, output).await?;
    let Some(session) = context.connection.session.clone() else {
        return Ok(());
    };
    let place = (
        context.cwd.clone(),
        session.servers,
        context.permissions.mode.sandbox(),
    );
    let input = input(context, output, text).await;
    let wanted = request(input, Some(session.id.clone()), place);
    if let Some(session) = &mut context.connection.session {
        session.used = true;
    }
    let thread = follow(context, output, wanted, asks).await?;
    if let (Some(id), Some(session)) = (thread, &mut context.connection.session)
        && id != session.id
    {
        session.id = id;
        let what = "the agent goes on in a new session: it does not know what was said before";
        output.note("⚠️", what).await;
    }
    Ok(())
}

/// A prompt unchanged, followed by the files that it names.
async fn input(context: &AgentContext, output: &mut ClientOutput, text: &str) -> Vec<InputPart> {
    let (cwd, home) = (context.cwd.clone(), context.config.home());
    let prompt = text.to_owned();
    let read = tokio::task::spawn_blocking(move || read_attachments(&prompt, &cwd, home));
    let (files, notices) = read.await.unwrap_or_default();
    for notice in notices {
        let mark = if notice.warning { "⚠️" } else { "📎" };
        output.note(mark, &notice.message).await;
    }
    let mut input = vec![InputPart::Text(text.to_owned())];
    input.extend(files);
    input
}

/// Opens a session where none is open: the last one, if the agent still has it.
pub(super) async fn ensure_session(
    context: &mut AgentContext,
    output: &mut ClientOutput,
) -> Result<(), TurnError> {
    if context.connection.is_connected() {
        return Ok(());
    }
    if let Some(id) = context.connection.id().map(str::to_owned) {
        match open_session(context, output, Some(id)).await {
            Err(TurnError::Failed(failure)) if failure.kind == FailureKind::Refused => {
                let what =
                    "the agent no longer has the session: it does not know what was said before";
                output.note("⚠️", what).await;
            }
            other => return other,
        }
    }
    open_session(context, output, None).await
}

/// Opens this session, or a new one.
pub(super) async fn open_session(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    id: Option<String>,
) -> Result<(), TurnError> {
    let codex = context.codex_servers();
    for warning in &codex.warnings {
        output.note("⚠️", warning).await;
    }
    let servers = context.servers.active(&codex);
    set_session(context, output, id, servers).await
}

/// Opens a session with these servers, or passes them to one that is open.
pub(super) async fn set_session(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    id: Option<String>,
    servers: Vec<McpServer>,
) -> Result<(), TurnError> {
    let place = (
        context.cwd.clone(),
        servers.clone(),
        context.permissions.mode.sandbox(),
    );
    let used = id.is_some();
    let thread = follow(context, output, request(Vec::new(), id, place), false).await?;
    log::info!(target: AGENT, "session {} with {} MCP servers", thread.as_deref().unwrap_or("none"), servers.len());
    context.connection.session = thread.map(|id| AgentSession {
        id,
        open: true,
        servers,
        used,
    });
    Ok(())
}

/// Follows a turn to its end; returns the id of its session.
async fn follow(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    wanted: TurnRequest,
    asks: bool,
) -> Result<Option<String>, TurnError> {
    let turn = context.connection.agent(&context.config).start(wanted);
    let (mut stopped, mut open): (bool, Option<OpenQuestion>) = (false, None);
    let mut waiting: Vec<AgentQuestion> = Vec::new();
    let end = loop {
        output.send_due().await;
        let due = output.due();
        let event = tokio::select! {
            biased;
            () = context.stop.requested(), if !stopped => {
                stopped = true;
                context.connection.cancel(turn);
                continue;
            }
            event = context.connection.next() => match event {
                Some(event) => event,
                None => break Err(gone()),
            },
            () = sleep_until(due), if due.is_some() => continue,
            Some(reply) = context.stdin.recv() => {
                if let Some(answered) = open.take_if(|open| open.asked.is_answered_by(&reply)) {
                    open = heard(context, output, turn, answered, &reply).await;
                    if open.is_none() {
                        open = ask_next(context, output, &mut waiting).await;
                    }
                }
                continue;
            }
        };
        match event {
            AgentEvent::Update(news) => {
                if let Some((mark, words)) = context.connection.on_news(news) {
                    output.note(mark, &words).await;
                }
            }
            event if event.turn() != Some(turn) => {}
            AgentEvent::QuestionAsked { question, .. } => {
                match context.permissions.decide(&question, asks) {
                    PermissionDecision::Answer(answer, said) => {
                        output.note("🔐", &said).await;
                        reply(context, turn, &question, answer);
                    }
                    PermissionDecision::Ask => {
                        waiting.push(question);
                        if open.is_none() {
                            open = ask_next(context, output, &mut waiting).await;
                        }
                    }
                }
            }
            AgentEvent::RequestWithdrawn { id, .. } => {
                waiting.retain(|question| question.id != id);
                if open.take_if(|open| open.question.id == id).is_some() {
                    output
                        .note("🔐", "the agent no longer waits for the answer")
                        .await;
                    open = ask_next(context, output, &mut waiting).await;
                }
            }
            AgentEvent::Finished {
                interrupted,
                thread,
                ..
            } => break Ok((interrupted, thread)),
            AgentEvent::Failed { failure, .. } => break Err(failure),
            event => output.on(event).await,
        }
    };
    output.end_turn().await;
    match end {
        Ok(_) | Err(_) if stopped => Err(TurnError::Interrupted),
        Ok((false, thread)) => Ok(thread),
        Ok((true, _)) => {
            output.note("⚠️", "the agent has stopped this turn").await;
            Ok(None)
        }
        Err(failure) => {
            if matches!(failure.kind, FailureKind::Died | FailureKind::Silent) {
                context.connection.disconnect();
            }
            Err(TurnError::Failed(failure))
        }
    }
}

fn gone() -> AgentFailure {
    AgentFailure {
        kind: FailureKind::Died,
        message: "the agent is gone".to_owned(),
        hints: Vec::new(),
    }
}

fn reply(
    context: &mut AgentContext,
    turn: TurnId,
    question: &AgentQuestion,
    answer: QuestionAnswer,
) {
    let question = question.id.clone();
    let reply = AgentReply::Answer { question, answer };
    context.connection.reply(turn, reply);
}

async fn ask_next(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    waiting: &mut Vec<AgentQuestion>,
) -> Option<OpenQuestion> {
    if waiting.is_empty() {
        return None;
    }
    let question = waiting.remove(0);
    discard_replies(&mut context.stdin);
    let spoken = Box::new(LineQuestion::new(Question {
        id: 0,
        caller: None,
        about: QuestionSubject::Agent(question.subject.clone()),
        options: question.options.clone(),
        reasons: question.accepts_reason,
    }));
    output
        .note("🔐", spoken.body().trim_start_matches("? "))
        .await;
    let asked = put(output, spoken).await;
    Some(OpenQuestion { asked, question })
}

async fn put(output: &mut ClientOutput, spoken: Box<LineQuestion>) -> InputRequest {
    InputRequest {
        id: output.request_input(&spoken.line(), spoken.secret()).await,
        target: InputTarget::Question(spoken),
    }
}

/// Handles a reply of the user; returns the question if it is still open.
async fn heard(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    turn: TurnId,
    open: OpenQuestion,
    typed: &ClientRequest,
) -> Option<OpenQuestion> {
    let OpenQuestion { asked, question } = open;
    match asked.resolve(typed) {
        InputOutcome::Answered(_, chosen, said) => {
            context.permissions.remember(&said);
            output.note("🔐", &said).await;
            let answer = chosen.for_agent(&question.options);
            reply(context, turn, &question, answer);
            None
        }
        InputOutcome::AskAgain(spoken) => {
            let asked = put(output, spoken).await;
            Some(OpenQuestion { asked, question })
        }
        InputOutcome::Line(..) => None,
    }
}
