//! The last event of a turn, and the clean-up of its thread.

use super::active_turn::ActiveTurn;
use super::failure;
use super::process::{AgentProcess, Purpose};
use super::turn::TurnEnd;
use super::wire::thread::ThreadParams;
use super::wire::turn::TurnInterruptParams;
use crate::{AgentEvent, AgentFailure, ThreadMode, TurnId};

/// The app-server has ended a running turn: the event, and the thread if it no longer equals any record.
pub(super) fn ended(
    process: Option<&mut AgentProcess>,
    current: ActiveTurn,
    end: TurnEnd,
) -> (AgentEvent, Option<String>) {
    let ActiveTurn {
        turn,
        request,
        running,
        cancelled,
        ..
    } = current;
    let thread = running.map(|running| running.thread).unwrap_or_default();
    let params = ThreadParams { thread_id: &thread };
    let whole = matches!(end, TurnEnd::Completed);
    let session = request.settings.threads == ThreadMode::Session;
    if let Some(process) = process {
        if !whole {
            // Ends the background commands of the turn.
            let method = "thread/backgroundTerminals/clean";
            process.send_request(Purpose::Courtesy, method, &params);
        }
        if !(whole && session) {
            process.threads.remove(&thread);
            process.send_request(Purpose::Courtesy, "thread/unsubscribe", &params);
        }
    }
    let event = match end {
        TurnEnd::Completed => AgentEvent::Finished {
            turn,
            interrupted: false,
            thread: session.then(|| thread.clone()),
        },
        TurnEnd::Interrupted => interrupted(turn),
        TurnEnd::Failed(_) if cancelled.is_some() => interrupted(turn),
        TurnEnd::Failed(error) => AgentEvent::Failed {
            turn,
            failure: failure::upstream(error.as_ref()),
        },
    };
    (event, (!whole).then_some(thread))
}

/// As [`ended`], for a turn that failed; interrupted if the user had cancelled it.
pub(super) fn failed(current: ActiveTurn, failure: AgentFailure) -> (AgentEvent, Option<String>) {
    let turn = current.turn;
    let event = match current.cancelled {
        Some(_) => interrupted(turn),
        None => AgentEvent::Failed { turn, failure },
    };
    (event, current.running.map(|running| running.thread))
}

pub(super) fn interrupted(turn: TurnId) -> AgentEvent {
    AgentEvent::Finished {
        turn,
        interrupted: true,
        thread: None,
    }
}

/// Interrupts a cancelled turn, once, when its id is known.
pub(super) fn interrupt(process: &mut AgentProcess, current: &mut ActiveTurn) {
    if current.cancelled.is_none() || current.interrupt_sent {
        return;
    }
    if let Some(running) = &current.running
        && let Some(turn_id) = &running.turn_id
    {
        let params = TurnInterruptParams {
            thread_id: &running.thread,
            turn_id,
        };
        process.send_request(Purpose::Courtesy, "turn/interrupt", &params);
        current.interrupt_sent = true;
    }
}
