//! The last events of a turn.
//!
//! Pure. Exactly one of them ends the turn, as the last.

use serde_json::{Value, json};

use super::active_turn::ActiveTurn;
use super::{event_mapper, failure};
use crate::rpc::RpcError;
use crate::{AgentEvent, AgentFailure, FailureKind, LoginMethod, ThreadMode};

pub(super) fn prompt_events(
    name: &str,
    mut current: ActiveTurn,
    outcome: Result<Value, RpcError>,
    methods: &[LoginMethod],
) -> Vec<AgentEvent> {
    let turn = current.turn;
    let mut events = current.state.mapper.close();
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
    let mut usage = event_mapper::usage(&answer);
    if let Some(cost) = current.state.mapper.cost() {
        usage.get_or_insert_default().cost = Some(cost);
    }
    events.extend(usage.map(|usage| AgentEvent::Usage { turn, usage }));
    let reason = answer["stopReason"].as_str().unwrap_or_default();
    let notice = match reason {
        "max_tokens" => Some("the answer was cut off at the model's token limit"),
        "max_turn_requests" => Some("the agent stopped at its request limit for one turn"),
        "refusal" => Some("the agent declined to answer"),
        _ => None,
    };
    events.extend(notice.map(|notice| AgentEvent::Progress {
        turn,
        message: notice.to_owned(),
    }));
    let interrupted = reason == "cancelled";
    // A refused exchange is no part of the agent's conversation.
    let kept = current.request.settings.threads == ThreadMode::Session && reason != "refusal";
    events.push(AgentEvent::Finished {
        turn,
        interrupted,
        thread: current.state.session.filter(|_| kept && !interrupted),
    });
    events
}
