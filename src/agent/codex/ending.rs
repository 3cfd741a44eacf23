//! How a turn ended, as the session is told, and what is left of it on the other side.

use super::current::Current;
use super::failure;
use super::link::{Link, Purpose};
use super::turn::End;
use super::wire::thread::ThreadParams;
use super::wire::turn::TurnInterruptParams;
use crate::agent::{AgentEvent, AgentFailure, Threads, TurnId};

/// The app-server has ended a running turn: the event, and the thread when it no longer equals any record.
pub(super) fn ended(
    link: Option<&mut Link>,
    current: Current,
    end: End,
) -> (AgentEvent, Option<String>) {
    let Current {
        turn,
        request,
        running,
        cancelled,
        ..
    } = current;
    let thread = running.map(|running| running.thread).unwrap_or_default();
    let params = ThreadParams { thread_id: &thread };
    let whole = matches!(end, End::Completed);
    let session = request.settings.threads == Threads::Session;
    if let Some(link) = link {
        if !whole {
            // What the turn started in the background goes with it.
            let method = "thread/backgroundTerminals/clean";
            link.ask(Purpose::Courtesy, method, &params);
        }
        if !(whole && session) {
            link.threads.remove(&thread);
            link.ask(Purpose::Courtesy, "thread/unsubscribe", &params);
        }
    }
    let event = match end {
        End::Completed => AgentEvent::Finished {
            turn,
            interrupted: false,
            thread: session.then(|| thread.clone()),
        },
        End::Interrupted => interrupted(turn),
        End::Failed(_) if cancelled.is_some() => interrupted(turn),
        End::Failed(error) => AgentEvent::Failed {
            turn,
            failure: failure::upstream(error.as_ref()),
        },
    };
    (event, (!whole).then_some(thread))
}

/// A turn could not go on: the same. One that the user had stopped is told as stopped.
pub(super) fn failed(current: Current, failure: AgentFailure) -> (AgentEvent, Option<String>) {
    let turn = current.turn;
    let event = match current.cancelled {
        Some(_) => interrupted(turn),
        None => AgentEvent::Failed { turn, failure },
    };
    (event, current.running.map(|running| running.thread))
}

/// The turn was stopped.
pub(super) fn interrupted(turn: TurnId) -> AgentEvent {
    AgentEvent::Finished {
        turn,
        interrupted: true,
        thread: None,
    }
}

/// Asks for the end of a cancelled turn, once, and once its id is known.
pub(super) fn interrupt(link: &mut Link, current: &mut Current) {
    if current.cancelled.is_none() || current.interrupt_sent {
        return;
    }
    if let Some(running) = &current.running
        && let Some(turn_id) = &running.wire
    {
        let params = TurnInterruptParams {
            thread_id: &running.thread,
            turn_id,
        };
        link.ask(Purpose::Courtesy, "turn/interrupt", &params);
        current.interrupt_sent = true;
    }
}
