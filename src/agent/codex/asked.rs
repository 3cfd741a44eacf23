//! Requests of the app-server on their way to the session, and its answers on their way back.
//!
//! In: requests of the running turn, replies of the session. Out: one answer for each request. Invariants: a request
//! that is not understood, belongs to no turn or comes after a cancel is answered at once; with approvals off, "may I?"
//! is answered by the sandbox that was chosen, and said. `serverRequest/resolved` for a request that is open was never
//! seen from 0.169.0 (it follows our answer); the session is told that what it names is no longer waited for.

use serde_json::{Value, from_value, json};

use super::current::Current;
use super::images::checked;
use super::link::{Link, Purpose};
use super::questions::{self, AnswerForm, AnswerOutcome};
use super::request::{Wanted, result};
use super::seed;
use super::turn::{Edits, called_tool};
use super::wire::request::DynamicToolCallParams;
use super::wire::turn::TurnSteerParams;
use crate::agent::trouble::joined_and_cut;
use crate::agent::{
    AgentEvent, AgentQuestion, AgentReply, Approvals, Decision, InputPart, QuestionAnswer, Sandbox,
    Subject, ToolCall, TurnSettings,
};
use crate::rpc::{RpcError, RpcId};
use crate::text::cut;

/// Takes a request; what the session is told. `current` is the turn it is of, if that runs.
pub(super) fn asked(
    link: &Link,
    current: Option<&mut Current>,
    id: RpcId,
    method: &str,
    params: Value,
) -> Option<AgentEvent> {
    let Some(current) = current else {
        let error = RpcError {
            code: -32600,
            message: "no such turn".into(),
            data: Value::Null,
        };
        link.answer(id, Err(error));
        return None;
    };
    let turn = current.turn;
    let wanted = match wanted(current, &id, method, params) {
        Ok(wanted) => wanted,
        Err(error) => {
            let message = format!(
                "a request of the agent (`{}`) was refused: {}",
                joined_and_cut(method),
                joined_and_cut(&error.message)
            );
            link.answer(id, Err(error));
            return Some(AgentEvent::Progress { turn, message });
        }
    };
    if current.cancelled.is_some() {
        // After an interrupt it is void on the other side.
        link.answer(id, Ok(wanted.refusal()));
        return None;
    }
    let settings = &current.request.settings;
    if let Wanted::Question(question, asking, item) = &wanted
        && let Some((decision, answer, message)) = settled(settings, &question.subject, asking)
    {
        link.answer(id, Ok(answer));
        if decision == Decision::RejectOnce
            && let Some(running) = &mut current.running
        {
            running.denied.insert(item.clone(), String::new());
        }
        return Some(AgentEvent::Progress { turn, message });
    }
    let wanted = current.requests.open(id, wanted);
    wanted.map(|wanted| wanted.event(turn))
}

/// What comes of an answer of the session.
pub(super) enum Replied {
    /// Nothing more.
    Done,
    /// The session is asked again.
    Again(AgentEvent),
    /// The turn is to be stopped.
    Stop,
}

/// Takes an answer of the session to something of the turn at hand; a late one is ignored.
pub(super) fn replied(link: &mut Link, current: &mut Current, reply: AgentReply) -> Replied {
    match reply {
        AgentReply::ToolResult {
            call,
            success,
            content,
        } => {
            if let Some(id) = current.requests.settle_call(&call) {
                link.answer(id, Ok(result(success, checked(content))));
            }
            Replied::Done
        }
        AgentReply::Answered { question, answer } => {
            answer_question(link, current, &question, &answer)
        }
    }
}

fn answer_question(
    link: &mut Link,
    current: &mut Current,
    id: &str,
    answer: &QuestionAnswer,
) -> Replied {
    let turn = current.turn;
    let Some(asked) = current.requests.question(id) else {
        return Replied::Done;
    };
    let number = asked.number;
    let why = match (answer, answer.decision()) {
        (QuestionAnswer::NoBecause(why), _) => Some(why.as_str()),
        (_, Some(decision)) if !decision.allows() => Some(""),
        _ => None,
    };
    if let (Some(why), Some(running)) = (why, &mut current.running) {
        running.denied.insert(asked.item.to_owned(), why.to_owned());
        if let Some(turn_id) = running.wire.as_deref().filter(|_| !why.is_empty()) {
            let told = [InputPart::Text(denied(&asked.question.subject, why))];
            let params = TurnSteerParams {
                thread_id: &running.thread,
                expected_turn_id: turn_id,
                input: seed::wire(&told),
            };
            link.ask(Purpose::Explain(turn, number), "turn/steer", &params);
            return Replied::Done;
        }
    }
    let outcome = match asked.asking.answer(answer) {
        AnswerOutcome::Again(why) if current.cancelled.is_none() => {
            asked_again(asked.question, asked.asking, &why);
            let question = asked.question.clone();
            return Replied::Again(AgentEvent::Asked { turn, question });
        }
        outcome => outcome,
    };
    if let Some((id, refusal)) = current.requests.settle(number) {
        let value = match outcome {
            AnswerOutcome::Answer(value) => value,
            AnswerOutcome::Again(_) => refusal,
        };
        link.answer(id, Ok(value));
    }
    // Some kinds of question know no such answer: the turn is stopped whatever was asked.
    match *answer == QuestionAnswer::usual(Decision::Stop) {
        true => Replied::Stop,
        false => Replied::Done,
    }
}

/// The agent has been told why the question of this number is answered by no, or could not be: now it gets the no
/// itself. The other way round the turn might be over before the reason comes.
pub(super) fn explained(
    link: &Link,
    current: &mut Current,
    number: usize,
    outcome: Result<Value, RpcError>,
) -> Option<AgentEvent> {
    if let Some((id, refusal)) = current.requests.settle(number) {
        link.answer(id, Ok(refusal));
    }
    let why = joined_and_cut(&outcome.err()?.message);
    Some(AgentEvent::Progress {
        turn: current.turn,
        message: format!("the agent was told no, but your reason could not be sent: {why}"),
    })
}

/// Takes `serverRequest/resolved`.
pub(super) fn resolved(current: &mut Current, params: &Value) -> Option<AgentEvent> {
    let id = match params.get("requestId")? {
        Value::String(id) => RpcId::Text(id.clone()),
        id => RpcId::Number(id.as_i64()?),
    };
    let turn = current.turn;
    let id = current.requests.withdraw(&id)?;
    Some(AgentEvent::Withdrawn { turn, id })
}

/// What a request wants of the session.
fn wanted(current: &Current, id: &RpcId, method: &str, params: Value) -> Result<Wanted, RpcError> {
    if method == "item/tool/call" {
        let params: DynamicToolCallParams =
            from_value(params).map_err(|error| questions::invalid(&error.to_string()))?;
        return Ok(Wanted::Call(ToolCall {
            id: params.call_id,
            name: current.names.python(params.tool),
            arguments: match params.arguments {
                Value::Null => json!({}),
                arguments => arguments,
            },
        }));
    }
    let none = Edits::new();
    let edits = current.running.as_ref().map_or(&none, |it| &it.edits);
    let item = params.get("itemId").and_then(Value::as_str);
    let mut item = item.unwrap_or_default().to_owned();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (server, tool) = (
        text(&params["serverName"]),
        text(&params["_meta"]["tool_name"]),
    );
    let (mut subject, asking) = questions::read(method, params, edits)?;
    if let Subject::Input { .. } = subject {
        // It names the program, which has been allowed.
        item.clear();
    }
    if let AnswerForm::Tool { .. } = asking {
        // The call itself is not named.
        item = called_tool(&server, &tool);
    }
    if let Subject::Permissions { cwd, .. } = &mut subject
        && cwd.is_empty()
    {
        *cwd = current.request.settings.cwd.display().to_string();
    }
    let id = match id {
        RpcId::Number(number) => number.to_string(),
        RpcId::Null => String::new(),
        RpcId::Text(text) => format!("\"{text}\""),
    };
    Ok(Wanted::Question(
        AgentQuestion::usual(id, subject),
        asking,
        item,
    ))
}

/// The answer of a user who is not to be asked, and a line for them. No more is granted than the sandbox allows.
fn settled(
    settings: &TurnSettings,
    subject: &Subject,
    asking: &AnswerForm,
) -> Option<(Decision, Value, String)> {
    if settings.approvals == Approvals::Ask || !asking.is_approval() {
        return None;
    }
    let what = match subject {
        Subject::Command { command, .. } => format!("to run: {command}"),
        Subject::Input { text, .. } => format!("to type into a program: {text}"),
        Subject::Edit { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            format!("to change: {}", paths.join(", "))
        }
        Subject::Permissions { wanted, .. } => format!("to have: {}", wanted.join(", ")),
        Subject::Form { .. } | Subject::Link { .. } => return None,
    };
    let (decision, verdict) = match settings.sandbox {
        Sandbox::FullAccess => (Decision::AllowOnce, "allowed the agent"),
        Sandbox::ReadOnly | Sandbox::WorkspaceWrite => {
            (Decision::RejectOnce, "did not allow the agent")
        }
    };
    let answer = match asking.answer(&QuestionAnswer::usual(decision)) {
        AnswerOutcome::Answer(value) => value,
        AnswerOutcome::Again(_) => asking.refusal(),
    };
    let message = joined_and_cut(&format!("{verdict} {what}"));
    Some((decision, answer, message))
}

/// A no with its reason, in words of the user: Codex takes no reason with a decision, only further input.
fn denied(subject: &Subject, why: &str) -> String {
    let what = match subject {
        Subject::Command { command, .. } => format!("the command `{command}`"),
        Subject::Input { text, .. } => format!("the input `{text}`"),
        Subject::Edit { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            format!("the change of {}", paths.join(", "))
        }
        Subject::Permissions { wanted, .. } => format!("this: {}", wanted.join(", ")),
        Subject::Form { .. } | Subject::Link { .. } => "this".to_owned(),
    };
    format!("I did not allow {}. My reason: {why}", cut(&what, 400))
}

/// Makes `question` one that says why it is asked again, under an id of its own.
fn asked_again(question: &mut AgentQuestion, asking: &AnswerForm, why: &str) {
    question.id.push('+');
    if let (Subject::Form { message, .. }, AnswerForm::Form(_, own)) =
        (&mut question.subject, asking)
    {
        *message = match own.as_str() {
            "" => why.to_owned(),
            own => format!("{why}\n\n{own}"),
        };
    }
}

#[cfg(test)]
mod tests;
