//! The current turn: its state, the requests that wait for the session, its end and the clean-up of its thread.

use super::failure;
use super::open_requests::OpenRequests;
use super::process::{AgentProcess, Purpose};
use super::tool_names::ToolNames;
use super::turn::{RunningTurn, TurnEnd};
use super::wire::thread::ThreadParams;
use super::wire::turn::TurnInterruptParams;
use crate::driver::{self, interrupted};
use crate::{AgentEvent, ThreadMode, TurnRequest};

pub(super) type ActiveTurn = driver::ActiveTurn<TurnState>;

/// What the client keeps of a turn.
pub(crate) struct TurnState {
    pub(super) names: ToolNames,
    /// Present once `turn/start` was sent.
    pub(super) running: Option<RunningTurn>,
    pub(super) requests: OpenRequests,
    pub(super) interrupt_sent: bool,
}

impl TurnState {
    pub(super) fn new(request: &TurnRequest) -> Self {
        TurnState {
            names: ToolNames::new(&request.tools),
            running: None,
            requests: OpenRequests::default(),
            interrupt_sent: false,
        }
    }
}

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
    let (thread, turn_id) = state
        .running
        .map(|running| (running.thread, running.turn_id))
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
            point: turn_id.filter(|_| session),
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
    let running = current.state.running.as_ref();
    current.state.interrupt_sent = running.is_some_and(|running| send_interrupt(process, running));
}

/// Interrupts a turn; false while its id is not known.
pub(super) fn send_interrupt(process: &mut AgentProcess, running: &RunningTurn) -> bool {
    let params = running.turn_id.as_ref().map(|turn_id| TurnInterruptParams {
        thread_id: &running.thread,
        turn_id,
    });
    if let Some(params) = &params {
        process.send_as(Purpose::Courtesy, "turn/interrupt", params);
    }
    params.is_some()
}

#[cfg(test)]
mod tests;
