//! One turn of the agent, from its start to its end; the session it is in.
//!
//! While it goes on: what the agent tells is shown, what it asks is answered by the permission mode or by the user, and
//! an interrupt stops it. Invariants: every request of the agent is answered; a turn that was stopped is followed to
//! its end, so that nothing of it shows in the next cell.

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use super::conversation::{Session, request};
use super::desk::Desk;
use super::logs::AGENT;
use super::page::Page;
use super::permissions::Verdict;
use crate::agent::{
    AgentEvent, AgentFailure, AgentQuestion, AgentReply, FailureKind, InputPart, McpServer,
    QuestionAnswer, TurnId, TurnRequest,
};
use crate::display::Spoken;
use crate::jupyter::Request;
use crate::kernel::asking::{Asked, Heard, What};
use crate::session::{About, Question, attached_files};

/// Why a turn did not come to its end.
#[derive(Debug, Clone)]
pub(super) enum Cut {
    /// The user wanted it so.
    Stopped,
    /// Something went wrong.
    Failed(AgentFailure),
}

/// A question that is open.
struct Open {
    asked: Asked,
    question: AgentQuestion,
}

/// Sends a prompt, in the session there is or a new one.
///
/// # Errors
/// It was stopped, or went wrong.
pub(super) async fn prompt(
    desk: &mut Desk,
    page: &mut Page<'_>,
    text: &str,
    asks: bool,
) -> Result<(), Cut> {
    ready(desk, page).await?;
    let Some(session) = desk.conversation.session.clone() else {
        return Ok(());
    };
    let place = (
        desk.cwd.clone(),
        session.servers,
        desk.permissions.mode.sandbox(),
    );
    let input = input(desk, page, text).await;
    let wanted = request(input, Some(session.id.clone()), place);
    if let Some(session) = &mut desk.conversation.session {
        session.used = true;
    }
    let thread = follow(desk, page, wanted, asks).await?;
    if let (Some(id), Some(session)) = (thread, &mut desk.conversation.session)
        && id != session.id
    {
        session.id = id;
        let what = "the agent goes on in a new session: it does not know what was said before";
        page.say("⚠️", what).await;
    }
    Ok(())
}

/// A prompt as it is, and the files that it names.
async fn input(desk: &Desk, page: &mut Page<'_>, text: &str) -> Vec<InputPart> {
    let (cwd, home) = (desk.cwd.clone(), desk.configured.home());
    let prompt = text.to_owned();
    let read = tokio::task::spawn_blocking(move || attached_files(&prompt, &cwd, home));
    let (files, notices) = read.await.unwrap_or_default();
    for notice in notices {
        let mark = if notice.warning { "⚠️" } else { "📎" };
        page.say(mark, &notice.message).await;
    }
    let mut input = vec![InputPart::Text(text.to_owned())];
    input.extend(files);
    input
}

/// Opens a session where none is open: the one there was, if the agent still has it.
pub(super) async fn ready(desk: &mut Desk, page: &mut Page<'_>) -> Result<(), Cut> {
    if desk.conversation.connected() {
        return Ok(());
    }
    if let Some(id) = desk.conversation.id().map(str::to_owned) {
        match open(desk, page, Some(id)).await {
            Err(Cut::Failed(failure)) if failure.kind == FailureKind::Refused => {
                let what =
                    "the agent no longer has the session: it does not know what was said before";
                page.say("⚠️", what).await;
            }
            other => return other,
        }
    }
    open(desk, page, None).await
}

/// Opens a session: this one, or a new one.
pub(super) async fn open(
    desk: &mut Desk,
    page: &mut Page<'_>,
    id: Option<String>,
) -> Result<(), Cut> {
    let codex = desk.of_codex();
    for trouble in &codex.troubles {
        page.say("⚠️", trouble).await;
    }
    let servers = desk.servers.active(&codex);
    enter(desk, page, id, servers).await
}

/// Opens a session with these servers, or tells one that is open of them.
pub(super) async fn enter(
    desk: &mut Desk,
    page: &mut Page<'_>,
    id: Option<String>,
    servers: Vec<McpServer>,
) -> Result<(), Cut> {
    let place = (
        desk.cwd.clone(),
        servers.clone(),
        desk.permissions.mode.sandbox(),
    );
    let used = id.is_some();
    let thread = follow(desk, page, request(Vec::new(), id, place), false).await?;
    log::info!(target: AGENT, "session {} with {} MCP servers", thread.as_deref().unwrap_or("none"), servers.len());
    desk.conversation.session = thread.map(|id| Session {
        id,
        open: true,
        servers,
        used,
    });
    Ok(())
}

/// Follows a turn to its end; the session it was in.
async fn follow(
    desk: &mut Desk,
    page: &mut Page<'_>,
    wanted: TurnRequest,
    asks: bool,
) -> Result<Option<String>, Cut> {
    let turn = desk.conversation.agent(&desk.configured).start(wanted);
    let (mut stopped, mut open): (bool, Option<Open>) = (false, None);
    let mut waiting: Vec<AgentQuestion> = Vec::new();
    let end = loop {
        page.send_due().await;
        let due = page.due();
        let event = tokio::select! {
            biased;
            () = desk.stop.wanted(), if !stopped => {
                stopped = true;
                desk.conversation.cancel(turn);
                continue;
            }
            event = desk.conversation.next() => match event {
                Some(event) => event,
                None => break Err(gone()),
            },
            () = until(due), if due.is_some() => continue,
            Some(reply) = desk.stdin.recv() => {
                if let Some(answered) = open.take_if(|open| open.asked.is_answered_by(&reply)) {
                    open = heard(desk, page, turn, answered, &reply).await;
                    if open.is_none() {
                        open = ask_next(desk, page, &mut waiting).await;
                    }
                }
                continue;
            }
        };
        match event {
            AgentEvent::News(news) => {
                if let Some((mark, words)) = desk.conversation.news(news) {
                    page.say(mark, &words).await;
                }
            }
            event if event.turn() != Some(turn) => {}
            AgentEvent::Asked { question, .. } => match desk.permissions.judge(&question, asks) {
                Verdict::Answer(answer, said) => {
                    page.say("🔐", &said).await;
                    reply(desk, turn, &question, answer);
                }
                Verdict::Ask => {
                    waiting.push(question);
                    if open.is_none() {
                        open = ask_next(desk, page, &mut waiting).await;
                    }
                }
            },
            AgentEvent::Withdrawn { id, .. } => {
                waiting.retain(|question| question.id != id);
                if open.take_if(|open| open.question.id == id).is_some() {
                    page.say("🔐", "the agent no longer waits for the answer")
                        .await;
                    open = ask_next(desk, page, &mut waiting).await;
                }
            }
            AgentEvent::Finished {
                interrupted,
                thread,
                ..
            } => break Ok((interrupted, thread)),
            AgentEvent::Failed { failure, .. } => break Err(failure),
            event => page.on(event).await,
        }
    };
    page.close().await;
    match end {
        Ok(_) | Err(_) if stopped => Err(Cut::Stopped),
        Ok((false, thread)) => Ok(thread),
        Ok((true, _)) => {
            page.say("⚠️", "the agent has stopped this turn").await;
            Ok(None)
        }
        Err(failure) => {
            if matches!(failure.kind, FailureKind::Died | FailureKind::Silent) {
                desk.conversation.lost();
            }
            Err(Cut::Failed(failure))
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

fn reply(desk: &mut Desk, turn: TurnId, question: &AgentQuestion, answer: QuestionAnswer) {
    let question = question.id.clone();
    let reply = AgentReply::Answered { question, answer };
    desk.conversation.reply(turn, reply);
}

/// Asks the user the next of what waits.
async fn ask_next(
    desk: &mut Desk,
    page: &mut Page<'_>,
    waiting: &mut Vec<AgentQuestion>,
) -> Option<Open> {
    if waiting.is_empty() {
        return None;
    }
    let question = waiting.remove(0);
    forget(&mut desk.stdin);
    let spoken = Box::new(Spoken::new(Question {
        id: 0,
        caller: None,
        about: About::Agent(question.subject.clone()),
        options: question.options.clone(),
        reasons: question.reasons,
    }));
    page.say("🔐", spoken.body().trim_start_matches("? ")).await;
    let asked = put(page, spoken).await;
    Some(Open { asked, question })
}

async fn until(due: Option<Instant>) {
    if let Some(due) = due {
        tokio::time::sleep_until(due).await;
    }
}

/// What was typed for an earlier question is no answer to the next one.
fn forget(stdin: &mut Receiver<Request>) {
    while stdin.try_recv().is_ok() {}
}

async fn put(page: &mut Page<'_>, spoken: Box<Spoken>) -> Asked {
    Asked {
        id: page.ask(&spoken.line(), spoken.secret()).await,
        what: What::Question(spoken),
    }
}

/// Takes an answer of the user; what is still open.
async fn heard(
    desk: &mut Desk,
    page: &mut Page<'_>,
    turn: TurnId,
    open: Open,
    typed: &Request,
) -> Option<Open> {
    let Open { asked, question } = open;
    match asked.answer(typed) {
        Heard::Answered(_, chosen, said) => {
            desk.permissions.remember(&said);
            page.say("🔐", &said).await;
            let answer = chosen.for_agent(&question.options);
            reply(desk, turn, &question, answer);
            None
        }
        Heard::Again(spoken) => {
            let asked = put(page, spoken).await;
            Some(Open { asked, question })
        }
        Heard::Line(..) => None,
    }
}
