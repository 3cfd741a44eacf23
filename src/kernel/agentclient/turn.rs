//! One turn of the agent, from its start to its end, and the session it runs in.
//!
//! In: a prompt, the agent's events, replies of the user. Out: the output of the cell. The permission mode or the
//! user answers the agent's questions, and an interrupt stops the turn. Invariants: every request of the agent is
//! answered; a turn that was stopped is followed to its end, so that none of its output appears in the next cell.

use std::collections::VecDeque;
use std::future::pending;

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
use crate::kernel::event_mapper::UserRequest;
use crate::kernel::inputs::{InputOutcome, Wake};
use crate::session::{Question, QuestionSubject, read_attachments};

/// Why a turn or a request of the agent did not succeed.
#[derive(Debug, Clone)]
pub(super) enum TurnError {
    Interrupted,
    Failed(AgentFailure),
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
    let mut stopped = false;
    // The first one is asked.
    let mut questions: VecDeque<AgentQuestion> = VecDeque::new();
    let end = loop {
        let AgentContext {
            inputs,
            stop,
            connection,
            ..
        } = &mut *context;
        let stop = async {
            match stopped {
                true => pending().await,
                false => drop(stop.changed().await),
            }
        };
        let woken = inputs.next(&mut output.output, stop, connection.next());
        let event = match woken.await {
            Wake::First(()) => {
                stopped = true;
                context.connection.cancel(turn);
                continue;
            }
            Wake::Second(Some(event)) => event,
            Wake::Second(None) => break Err(gone()),
            Wake::Input(outcome) => {
                if let (InputOutcome::Answered(_, chosen, said), Some(question)) =
                    (outcome, questions.pop_front())
                {
                    context.permissions.remember(&said);
                    output.note("🔐", &said).await;
                    let answer = chosen.for_agent(&question.options);
                    reply(context, turn, &question, answer);
                    ask_first(context, output, &questions).await;
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
                        questions.push_back(question);
                        if questions.len() == 1 {
                            ask_first(context, output, &questions).await;
                        }
                    }
                }
            }
            AgentEvent::RequestWithdrawn { id, .. } => {
                let is_asked = questions.front().is_some_and(|it| it.id == id);
                questions.retain(|question| question.id != id);
                if is_asked {
                    context.inputs.cancel();
                    let what = "the agent no longer waits for the answer";
                    output.note("🔐", what).await;
                    ask_first(context, output, &questions).await;
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
    context.inputs.cancel();
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

/// Asks the first of these questions.
async fn ask_first(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    questions: &VecDeque<AgentQuestion>,
) {
    let Some(question) = questions.front() else {
        return;
    };
    let spoken = Box::new(LineQuestion::new(Question {
        id: 0,
        caller: None,
        about: QuestionSubject::Agent(question.subject.clone()),
        options: question.options.clone(),
        reasons: question.accepts_reason,
        lasting: None,
    }));
    output
        .note("🔐", spoken.body().trim_start_matches("? "))
        .await;
    let request = UserRequest::Question(spoken);
    context.inputs.ask(&mut output.output, request).await;
}
