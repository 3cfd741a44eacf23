//! The floor: what is being worked on, and what waits for its turn.
//!
//! In: what happened to the work in hand ([`FloorEvent`]). Out: what is to be done about it ([`FloorAction`]). Carries
//! the streams of events to front-ends and never writes to them. Invariants: one thing has the floor; a replay is on it
//! with the cell of its step, an interpreter's awaited death with the cell that died; a cell that asked for something
//! waits beneath it; what asked for something gets the
//! answer only while it still has the floor, by its [`Ticket`].

use std::collections::VecDeque;

use serde_json::Value;

use crate::runtime::{Ending, RequestId};
use crate::session::Submission;
use crate::session::cell::{CellRun, Remains};
use crate::session::loading::Loading;
use crate::session::outside::OutsideCall;
use crate::session::prompt::Prompt;
use crate::session::replay::{Replay, ReplayRun};
use crate::session::run::RunSender;
use crate::session::runtimes::Role;
use crate::session::ticket::Ticket;

/// What waits for its turn.
pub(super) enum Work {
    Input(Submission),
    Replay(Replay),
    Load(Loading),
    SetUp,
    BringBack,
    Call(OutsideCall),
}

/// What has the floor.
pub(super) enum Holder {
    Cell(Box<UserCell>),
    Prompt(Box<Prompt>),
    /// A cell that runs once it is in the record.
    Recording {
        /// The user stops it: it is interrupted as soon as it runs.
        interrupted: bool,
    },
    /// A tool that was called outside of any turn.
    Call {
        id: u64,
        /// Who called it.
        caller: String,
        /// Somebody answers its questions.
        asks: bool,
        /// The user has stopped it: only its code is waited for.
        stopped: bool,
        /// Whoever called it no longer wants it.
        left: bool,
        /// Who called it, where another shows it; and what was called, with what.
        told: Option<(RunSender, String, Value)>,
    },
    /// A command that waits for something.
    Command {
        /// What is waited for changes the session: nobody stops waiting.
        firm: bool,
    },
}

/// A stay on the floor.
struct Stay {
    ticket: Ticket,
    holder: Holder,
    out: RunSender,
}

/// A cell the user wants run, and the replay or file whose step it is.
pub(super) struct UserCell {
    pub(super) run: CellRun,
    replay: Option<Box<ReplayRun>>,
    /// Its interpreter died: it has the floor until it is said how.
    died: bool,
    /// When it fails, what waits is not run.
    stops: bool,
}

/// What happened to the work in hand.
pub(super) enum FloorEvent<'a> {
    /// The cell ended.
    CellEnded(&'a Remains),
    /// The cell ended with its interpreter; how is about to be said.
    CellDied(&'a Remains),
    /// It has been said how the interpreter ended.
    DeathTold,
    /// The user stops what runs.
    Interrupted,
    /// The user wants nothing more of this step, but the rest of the replay.
    Skipped,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum FloorAction {
    /// Interrupt the interpreter.
    Interrupt,
    /// Stop the prompt.
    StopPrompt,
    /// Stop the tool that was called.
    StopCall,
    /// Say that nobody waits for the command any more; the floor is free.
    StoppedWaiting(RunSender),
    /// Say that these are not run.
    NotRun(Vec<RunSender>),
    /// The floor is free: what the cell was a step of goes on, then what waits.
    Free(Option<Box<ReplayRun>>),
}

/// Who works, who waits.
#[derive(Default)]
pub(super) struct Floor {
    held: Option<Stay>,
    /// The cell that waits for what has the floor: it asked for it.
    beneath: Option<Stay>,
    waiting: VecDeque<(Work, RunSender)>,
    tickets: u64,
}

impl UserCell {
    pub(super) fn new(run: CellRun, replay: Option<Box<ReplayRun>>) -> Self {
        UserCell {
            run,
            replay,
            died: false,
            stops: false,
        }
    }

    /// When it fails, what waits is not run.
    pub(super) fn stopping(mut self, stops: bool) -> Self {
        self.stops = stops;
        self
    }
}

impl Floor {
    /// Puts work at the end of what waits.
    pub(super) fn line_up(&mut self, work: Work, out: RunSender) {
        self.waiting.push_back((work, out));
    }

    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes a call out of what waits: where its events go.
    pub(super) fn drop_call(&mut self, id: u64) -> Option<RunSender> {
        let waits =
            |(work, _): &(Work, RunSender)| matches!(work, Work::Call(call) if call.id == id);
        let at = self.waiting.iter().position(waits)?;
        self.waiting.remove(at).map(|(_, out)| out)
    }

    /// Whoever called it no longer wants it; false when it does not have the floor.
    pub(super) fn leave_call(&mut self, call: u64) -> bool {
        match self.held.as_mut().map(|stay| &mut stay.holder) {
            Some(Holder::Call { id, left, .. }) if *id == call => {
                *left = true;
                true
            }
            _ => false,
        }
    }

    /// The next piece of work, when the floor is free.
    pub(super) fn next(&mut self) -> Option<(Work, RunSender)> {
        match self.held {
            Some(_) => None,
            None => self.waiting.pop_front(),
        }
    }

    /// Gives the floor, which is free.
    pub(super) fn give(&mut self, holder: Holder, out: RunSender) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.held = Some(Stay {
            ticket,
            holder,
            out,
        });
        ticket
    }

    /// Takes the floor from whoever has it.
    pub(super) fn take_back(&mut self) {
        self.held = None;
    }

    /// The cell that has the floor waits beneath what it asks for, which takes the floor next.
    pub(super) fn wait_beneath(&mut self) {
        self.beneath = self.held.take();
    }

    /// The cell that waited beneath has the floor again; false when none did.
    pub(super) fn come_up(&mut self) -> bool {
        self.held = self.beneath.take();
        self.held.is_some()
    }

    /// A cell has asked for what has the floor.
    pub(super) fn is_asked_from_beneath(&self) -> bool {
        self.beneath.is_some()
    }

    /// The cell that waits beneath is this request of the runtime of this role.
    pub(super) fn is_beneath(&self, role: Role, id: RequestId) -> bool {
        let holder = self.beneath.as_ref().map(|stay| &stay.holder);
        matches!(holder, Some(Holder::Cell(cell)) if (cell.run.role, cell.run.id) == (role, id))
    }

    /// Takes the floor from whoever waits with this ticket: where its events go, and whether it is to be interrupted.
    pub(super) fn end_wait(&mut self, ticket: Ticket) -> Option<(RunSender, bool)> {
        let waits = |stay: &mut Stay| {
            let waits = matches!(
                stay.holder,
                Holder::Command { .. } | Holder::Recording { .. }
            );
            waits && stay.ticket == ticket
        };
        let stay = self.held.take_if(waits)?;
        let interrupted = matches!(stay.holder, Holder::Recording { interrupted: true });
        Some((stay.out, interrupted))
    }

    /// What has the floor.
    pub(super) fn holder(&self) -> Option<&Holder> {
        self.held.as_ref().map(|stay| &stay.holder)
    }

    /// Where events of what has the floor go.
    pub(super) fn out(&self) -> Option<&RunSender> {
        self.held.as_ref().map(|stay| &stay.out)
    }

    /// The stay of whatever has the floor.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        self.held.as_ref().map(|stay| stay.ticket)
    }

    /// Whoever was given this ticket still has the floor.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.ticket() == Some(ticket)
    }

    /// The cell that is this request of the runtime of this role; it may wait beneath what it asked for.
    pub(super) fn cell(&mut self, role: Role, id: RequestId) -> Option<&mut CellRun> {
        let stays = [self.held.as_mut(), self.beneath.as_mut()];
        stays
            .into_iter()
            .flatten()
            .find_map(|stay| match &mut stay.holder {
                Holder::Cell(cell) if (cell.run.role, cell.run.id) == (role, id) => {
                    Some(&mut cell.run)
                }
                _ => None,
            })
    }

    /// Whose runtime runs the cell that has the floor.
    pub(super) fn role(&self) -> Option<Role> {
        match self.holder() {
            Some(Holder::Cell(cell)) => Some(cell.run.role),
            _ => None,
        }
    }

    /// The prompt that has the floor.
    pub(super) fn prompt(&mut self) -> Option<&mut Prompt> {
        match self.held.as_mut().map(|stay| &mut stay.holder) {
            Some(Holder::Prompt(prompt)) => Some(prompt),
            _ => None,
        }
    }

    /// Whether somebody answers questions about what has the floor; `usual` where that was not said.
    pub(super) fn asks(&self, usual: bool) -> bool {
        match self.holder() {
            Some(Holder::Prompt(prompt)) => prompt.asks().unwrap_or(usual),
            Some(Holder::Call { asks, .. }) => *asks,
            _ => usual,
        }
    }

    /// Who called the tool that has the floor, outside of any turn.
    pub(super) fn caller(&self) -> Option<&str> {
        match self.holder() {
            Some(Holder::Call { caller, .. }) => Some(caller),
            _ => None,
        }
    }

    /// The cell is over; when it `stops`, so is what waits behind it.
    fn free(&mut self, stops: bool) -> Vec<FloorAction> {
        let replay = match self.held.take() {
            Some(Stay {
                holder: Holder::Cell(cell),
                ..
            }) => cell.replay,
            _ => None,
        };
        let mut actions = Vec::new();
        if stops {
            let waiting = std::mem::take(&mut self.waiting).into_iter();
            actions.push(FloorAction::NotRun(waiting.map(|(_, out)| out).collect()));
        }
        actions.push(FloorAction::Free(replay));
        actions
    }

    /// Takes an event; says what is to be done.
    pub(super) fn on(&mut self, event: FloorEvent<'_>) -> Vec<FloorAction> {
        let Some(Stay { holder, out, .. }) = &mut self.held else {
            return Vec::new();
        };
        match (event, holder) {
            (FloorEvent::CellEnded(remains), Holder::Cell(cell)) => {
                if let Some(replay) = &mut cell.replay {
                    replay.on_cell(remains);
                }
                let stops = cell.stops && remains.ending != Ending::Ok;
                self.free(stops)
            }
            (FloorEvent::CellDied(remains), Holder::Cell(cell)) => {
                cell.died = true;
                if let Some(replay) = &mut cell.replay {
                    replay.on_cell(remains);
                }
                Vec::new()
            }
            (FloorEvent::DeathTold, Holder::Cell(cell)) if cell.died => {
                let stops = cell.stops;
                self.free(stops)
            }
            (FloorEvent::Interrupted, Holder::Cell(cell)) => {
                if let Some(replay) = &mut cell.replay {
                    replay.stop();
                }
                vec![FloorAction::Interrupt]
            }
            (FloorEvent::Interrupted, Holder::Prompt(_)) => vec![FloorAction::StopPrompt],
            (FloorEvent::Interrupted, Holder::Call { stopped, .. }) => {
                *stopped = true;
                vec![FloorAction::StopCall]
            }
            (FloorEvent::Interrupted, Holder::Recording { interrupted }) => {
                *interrupted = true;
                Vec::new()
            }
            (FloorEvent::Interrupted, Holder::Command { firm: false }) => {
                let out = out.clone();
                self.held = None;
                vec![FloorAction::StoppedWaiting(out)]
            }
            (FloorEvent::Skipped, Holder::Cell(cell)) => {
                let Some(replay) = &mut cell.replay else {
                    return Vec::new();
                };
                replay.skip();
                cell.run.skip();
                vec![FloorAction::Interrupt]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
