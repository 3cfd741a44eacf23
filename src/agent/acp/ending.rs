//! How a turn ended, as the session is told: the last events of it.
//!
//! Pure. Exactly one end comes out, as the last.

use serde_json::{Value, json};

use super::current::Current;
use super::{failure, telling};
use crate::agent::{AgentEvent, AgentFailure, FailureKind, LoginMethod, Threads, TurnId};
use crate::rpc::RpcError;

/// The agent has answered the prompt.
pub(super) fn answered(
    name: &str,
    mut current: Current,
    outcome: Result<Value, RpcError>,
    methods: &[LoginMethod],
) -> Vec<AgentEvent> {
    let turn = current.turn;
    let mut events = current.telling.close();
    let answer = match outcome {
        Ok(answer) => answer,
        Err(_) if current.cancelled.is_some() => json!({"stopReason": "cancelled"}),
        Err(error) => {
            let failure = match error.code {
                failure::LOGIN_NEEDED => failure::logged_out(name, &error, methods),
                _ => AgentFailure {
                    kind: FailureKind::Upstream,
                    ..failure::refused(name, "session/prompt", &error)
                },
            };
            events.push(AgentEvent::Failed { turn, failure });
            return events;
        }
    };
    let mut usage = telling::usage(&answer);
    if let Some(cost) = current.telling.cost() {
        usage.get_or_insert_default().cost = Some(cost);
    }
    events.extend(usage.map(|usage| AgentEvent::Usage { turn, usage }));
    let reason = answer["stopReason"].as_str().unwrap_or_default();
    let said = match reason {
        "max_tokens" => Some("the answer was cut off at the model's token limit"),
        "max_turn_requests" => Some("the agent stopped at its request limit for one turn"),
        "refusal" => Some("the agent declined to answer"),
        _ => None,
    };
    events.extend(said.map(|said| AgentEvent::Progress {
        turn,
        message: said.to_owned(),
    }));
    let interrupted = reason == "cancelled";
    // What was declined is no part of the agent's conversation.
    let kept = current.request.settings.threads == Threads::Session && reason != "refusal";
    events.push(AgentEvent::Finished {
        turn,
        interrupted,
        thread: current.session.filter(|_| kept && !interrupted),
    });
    events
}

/// The turn could not go on. One that the user had stopped is told as stopped.
pub(super) fn failed(current: &Current, failure: AgentFailure) -> AgentEvent {
    let turn = current.turn;
    match current.cancelled {
        Some(_) => interrupted(turn),
        None => AgentEvent::Failed { turn, failure },
    }
}

/// The session is open, which was all that was wanted.
pub(super) fn opened(current: &Current) -> AgentEvent {
    AgentEvent::Finished {
        turn: current.turn,
        interrupted: false,
        thread: current.session.clone(),
    }
}

/// The turn was stopped.
pub(super) fn interrupted(turn: TurnId) -> AgentEvent {
    AgentEvent::Finished {
        turn,
        interrupted: true,
        thread: None,
    }
}
