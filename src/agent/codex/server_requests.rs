//! Requests of the app-server on their way to the session, and the session's answers on their way back.
//!
//! In: requests of the running turn, replies of the session. Out: one answer for each request. Invariants: a
//! request that cannot be decoded, belongs to no turn or comes after a cancel is answered at once; with approvals
//! off, the chosen sandbox answers approval requests, and the user is notified. `serverRequest/resolved` for an
//! open request was never seen from 0.169.0 (it follows our answer); if one comes, the request is withdrawn from
//! the session.

use serde_json::{Value, from_value, json};

use super::active_turn::ActiveTurn;
use super::images::checked;
use super::open_requests::{ServerRequest, result};
use super::process::{AgentProcess, Purpose};
use super::questions::{self, AnswerFormat, AnswerOutcome};
use super::seed;
use super::turn::{Edits, tool_key};
use super::wire::request::DynamicToolCallParams;
use super::wire::turn::TurnSteerParams;
use crate::failure::one_line;
use crate::rpc::{RpcError, RpcId};
use crate::text::cut;
use crate::text::escape::visible;
use crate::{
    AgentEvent, AgentQuestion, AgentReply, Approvals, Decision, InputPart, PlanMode,
    QuestionAnswer, Sandbox, Subject, ToolCall, TurnSettings,
};

/// Handles a request and returns the event for the session. `current` is the turn it belongs to, while that runs.
pub(super) fn on_request(
    process: &AgentProcess,
    current: Option<&mut ActiveTurn>,
    id: RpcId,
    method: &str,
    params: Value,
) -> Option<AgentEvent> {
    let Some(current) = current else {
        process.respond(id, Err(RpcError::new(-32600, "no such turn")));
        return None;
    };
    let turn = current.turn;
    let request = match parse_request(current, &id, method, params) {
        Ok(request) => request,
        Err(error) => {
            let message = format!(
                "a request of the agent (`{}`) was refused: {}",
                one_line(method),
                one_line(&error.message)
            );
            process.respond(id, Err(error));
            return Some(AgentEvent::Progress { turn, message });
        }
    };
    if current.cancelled.is_some() {
        // After an interrupt the app-server ignores the content of the answer.
        process.respond(id, Ok(request.refusal()));
        return None;
    }
    let settings = &current.request.settings;
    if let ServerRequest::Question(question, answer_format, item) = &request
        && let Some((decision, answer, message)) =
            auto_answer(settings, &question.subject, answer_format)
    {
        process.respond(id, Ok(answer));
        if decision == Decision::RejectOnce
            && let Some(running) = &mut current.state.running
        {
            running.denied.insert(item.clone(), String::new());
        }
        return Some(AgentEvent::Progress { turn, message });
    }
    let request = current.state.requests.open(id, request);
    request.map(|request| request.event(turn))
}

pub(super) enum ReplyEffect {
    Done,
    Tell(AgentEvent),
    StopTurn,
}

/// Handles a reply of the session to a request of the current turn; late ones are ignored.
pub(super) fn on_reply(
    process: &mut AgentProcess,
    current: &mut ActiveTurn,
    reply: AgentReply,
) -> ReplyEffect {
    match reply {
        AgentReply::ToolResult {
            call,
            success,
            content,
        } => {
            if let Some(id) = current.state.requests.settle_call(&call) {
                process.respond(id, Ok(result(success, checked(content))));
            }
            ReplyEffect::Done
        }
        AgentReply::Answer { question, answer } => {
            answer_question(process, current, &question, &answer)
        }
        AgentReply::Steer(text) => steer(process, current, text),
    }
}

/// Sends more input to the turn, unless it has no id yet or is being stopped.
fn steer(process: &mut AgentProcess, current: &ActiveTurn, text: String) -> ReplyEffect {
    let turn = current.turn;
    let running = current.state.running.as_ref();
    let running = running.filter(|_| current.cancelled.is_none());
    let Some((running, turn_id)) = running.and_then(|it| Some((it, it.turn_id.as_deref()?))) else {
        return ReplyEffect::Tell(AgentEvent::Steered { turn, taken: false });
    };
    let input = [InputPart::Text(text)];
    let params = TurnSteerParams {
        thread_id: &running.thread,
        expected_turn_id: turn_id,
        input: seed::user_input(&input),
    };
    process.send(Purpose::Steer(turn), &params);
    ReplyEffect::Done
}

fn answer_question(
    process: &mut AgentProcess,
    current: &mut ActiveTurn,
    id: &str,
    answer: &QuestionAnswer,
) -> ReplyEffect {
    let turn = current.turn;
    let Some(asked) = current.state.requests.question(id) else {
        return ReplyEffect::Done;
    };
    let number = asked.number;
    let why = match (answer, answer.decision()) {
        (QuestionAnswer::RejectedWithReason(why), _) => Some(why.as_str()),
        (_, Some(decision)) if !decision.allows() => Some(""),
        _ => None,
    };
    if let (Some(why), Some(running)) = (why, &mut current.state.running) {
        running.denied.insert(asked.item.to_owned(), why.to_owned());
        if let Some(turn_id) = running.turn_id.as_deref().filter(|_| !why.is_empty()) {
            let told = [InputPart::Text(denial_text(&asked.question.subject, why))];
            let params = TurnSteerParams {
                thread_id: &running.thread,
                expected_turn_id: turn_id,
                input: seed::user_input(&told),
            };
            process.send(Purpose::Explain(turn, number), &params);
            return ReplyEffect::Done;
        }
    }
    let outcome = match asked.answer_format.answer(answer) {
        AnswerOutcome::AskAgain(why) if current.cancelled.is_none() => {
            ask_again(asked.question, asked.answer_format, &why);
            let question = asked.question.clone();
            return ReplyEffect::Tell(AgentEvent::QuestionAsked { turn, question });
        }
        outcome => outcome,
    };
    if let Some((id, refusal)) = current.state.requests.settle(number) {
        let value = match outcome {
            AnswerOutcome::Answer(value) => value,
            AnswerOutcome::AskAgain(_) => refusal,
        };
        process.respond(id, Ok(value));
    }
    // Some kinds of question have no answer that stops the turn, so the turn is interrupted for each kind.
    match *answer == QuestionAnswer::from_decision(Decision::Stop) {
        true => ReplyEffect::StopTurn,
        false => ReplyEffect::Done,
    }
}

/// The agent has received the reason for a rejection, or could not: now the rejection itself is sent. In the
/// opposite order the turn might be over before the reason arrives.
pub(super) fn on_reason_sent(
    process: &AgentProcess,
    current: &mut ActiveTurn,
    number: usize,
    outcome: Result<Value, RpcError>,
) -> Option<AgentEvent> {
    if let Some((id, refusal)) = current.state.requests.settle(number) {
        process.respond(id, Ok(refusal));
    }
    let why = one_line(&outcome.err()?.message);
    Some(AgentEvent::Progress {
        turn: current.turn,
        message: format!("the agent was told no, but your reason could not be sent: {why}"),
    })
}

pub(super) fn on_resolved(current: &mut ActiveTurn, params: &Value) -> Option<AgentEvent> {
    let id = match params.get("requestId")? {
        Value::String(id) => RpcId::Text(id.clone()),
        id => RpcId::Number(id.as_i64()?),
    };
    let turn = current.turn;
    let id = current.state.requests.withdraw(&id)?;
    Some(AgentEvent::RequestWithdrawn { turn, id })
}

fn parse_request(
    current: &ActiveTurn,
    id: &RpcId,
    method: &str,
    params: Value,
) -> Result<ServerRequest, RpcError> {
    if method == "item/tool/call" {
        let params: DynamicToolCallParams =
            from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        return Ok(ServerRequest::Call(ToolCall {
            id: params.call_id,
            name: current.state.names.python_name(params.tool),
            arguments: match params.arguments {
                Value::Null => json!({}),
                arguments => arguments,
            },
        }));
    }
    let none = Edits::new();
    let edits = current.state.running.as_ref().map_or(&none, |it| &it.edits);
    let item = params.get("itemId").and_then(Value::as_str);
    let mut item = item.unwrap_or_default().to_owned();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (server, tool) = (
        text(&params["serverName"]),
        text(&params["_meta"]["tool_name"]),
    );
    let (mut subject, answer_format) = questions::parse(method, params, edits)?;
    if let Subject::Input { .. } = subject {
        // The item is the command that started the program, which has been allowed.
        item.clear();
    }
    if let AnswerFormat::Tool { .. } = answer_format {
        // The request does not name the call.
        item = tool_key(&server, &tool);
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
    Ok(ServerRequest::Question(
        AgentQuestion::with_default_options(id, subject),
        answer_format,
        item,
    ))
}

/// The answer where neither the user nor the session is asked, and a line to report it. Grants no more than the
/// sandbox allows.
fn auto_answer(
    settings: &TurnSettings,
    subject: &Subject,
    answer_format: &AnswerFormat,
) -> Option<(Decision, Value, String)> {
    // In plan mode the session answers, with a reason.
    let answers = settings.approvals == Approvals::Ask || settings.plan == PlanMode::On;
    if answers || !answer_format.is_approval() {
        return None;
    }
    let what = match subject {
        Subject::Command { command, .. } => format!("to run: {command}"),
        Subject::Input { text, .. } => format!("to type into a program: {text}"),
        Subject::Edit { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            format!("to change: {}", paths.join(", "))
        }
        Subject::Permissions {
            requested: wanted, ..
        } => format!("to have: {}", wanted.join(", ")),
        Subject::Form { .. } | Subject::Link { .. } => return None,
    };
    let (decision, verdict) = match settings.sandbox {
        Sandbox::FullAccess => (Decision::AllowOnce, "allowed the agent"),
        Sandbox::ReadOnly | Sandbox::WorkspaceWrite => {
            (Decision::RejectOnce, "did not allow the agent")
        }
    };
    let answer = match answer_format.answer(&QuestionAnswer::from_decision(decision)) {
        AnswerOutcome::Answer(value) => value,
        AnswerOutcome::AskAgain(_) => answer_format.refusal(),
    };
    // What was allowed is shown whole: a sequence in it is spelled out.
    let message = one_line(&format!("{verdict} {}", visible(&what)));
    Some((decision, answer, message))
}

/// The reason of a rejection as user input, since Codex accepts no reason with a decision.
fn denial_text(subject: &Subject, why: &str) -> String {
    let what = match subject {
        Subject::Command { command, .. } => format!("the command `{command}`"),
        Subject::Input { text, .. } => format!("the input `{text}`"),
        Subject::Edit { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            format!("the change of {}", paths.join(", "))
        }
        Subject::Permissions {
            requested: wanted, ..
        } => format!("this: {}", wanted.join(", ")),
        Subject::Form { .. } | Subject::Link { .. } => "this".to_owned(),
    };
    format!("I did not allow {}. My reason: {why}", cut(&what, 400))
}

/// Gives `question` an id of its own and the reason why it is asked again.
fn ask_again(question: &mut AgentQuestion, answer_format: &AnswerFormat, why: &str) {
    question.id.push('+');
    if let (Subject::Form { message, .. }, AnswerFormat::Form(_, own)) =
        (&mut question.subject, answer_format)
    {
        *message = match own.as_str() {
            "" => why.to_owned(),
            own => format!("{why}\n\n{own}"),
        };
    }
}

#[cfg(test)]
mod tests;
