//! The last event of a turn, and the clean-up of its thread.

use super::active_turn::ActiveTurn;
use super::failure;
use super::process::{AgentProcess, Purpose};
use super::turn::TurnEnd;
use super::wire::thread::ThreadParams;
use super::wire::turn::TurnInterruptParams;
use crate::driver::interrupted;
use crate::{AgentEvent, ThreadMode};

/// The app-server has ended a running turn: the event, and the thread if it no longer equals any record.
pub(super) fn ended(
    process: Option<&mut AgentProcess>,
    current: ActiveTurn,
    end: TurnEnd,
) -> (AgentEvent, Option<String>) {
    let ActiveTurn {
        turn,
        request,
        cancelled,
        state,
        ..
    } = current;
    let thread = state
        .running
        .map(|running| running.thread)
        .unwrap_or_default();
    let params = ThreadParams { thread_id: &thread };
    let whole = matches!(end, TurnEnd::Completed);
    let session = request.settings.threads == ThreadMode::Session;
    if let Some(process) = process {
        if !whole {
            // Ends the background commands of the turn.
            let method = "thread/backgroundTerminals/clean";
            process.send_as(Purpose::Courtesy, method, &params);
        }
        if !(whole && session) {
            process.known.threads.remove(&thread);
            process.send_as(Purpose::Courtesy, "thread/unsubscribe", &params);
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

/// Interrupts a cancelled turn, once, when its id is known.
pub(super) fn interrupt(process: &mut AgentProcess, current: &mut ActiveTurn) {
    if current.cancelled.is_none() || current.state.interrupt_sent {
        return;
    }
    if let Some(running) = &current.state.running
        && let Some(turn_id) = &running.turn_id
    {
        let params = TurnInterruptParams {
            thread_id: &running.thread,
            turn_id,
        };
        process.send_as(Purpose::Courtesy, "turn/interrupt", &params);
        current.state.interrupt_sent = true;
    }
}
