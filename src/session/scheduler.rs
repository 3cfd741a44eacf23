//! The scheduler: the job that is active, a cell that is suspended beneath it, and the queue.
//!
//! In: what happened to the active job ([`SchedulerEvent`]). Out: effects. The
//! scheduler carries the event streams of front-ends and never writes to them. Invariants: one job is active; the
//! active job is a replay's current cell, or a cell whose interpreter died and waits for the report of how; a cell that
//! asked for a prompt or a tool is suspended while that is active; an answer reaches a job only while it is active, by
//! its [`JobId`].

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::cell::{CellResult, CellRun};
use crate::effect::{Effect, Event, To};
use crate::events::EndEvent;
use crate::ids::JobId;
use crate::prompt::{Prompt, PromptEvent};
use crate::replay::ReplayRun;
use crate::run::RunSender;
use crate::runtime::{Ending, RequestId};
use crate::runtimes::RuntimeRole;
use crate::submission::QueuedJob;

pub(super) enum ActiveJob {
    Cell(Box<CellJob>),
    Prompt(Box<Prompt>),
    /// A cell that runs once it is in the record.
    Recording {
        /// The user stops it: it is interrupted as soon as it runs.
        interrupted: bool,
        /// It goes to the background as soon as it runs.
        behind: bool,
    },
    Call {
        id: u64,
        caller: String,
        /// A user or the caller can answer questions.
        asks: bool,
        /// Stopped by the user; its code has not ended yet.
        stopped: bool,
        /// Cancelled by the caller.
        left: bool,
        /// The caller's stream when a front-end shows the call, the tool and its arguments.
        told: Option<(RunSender, String, Value)>,
    },
    /// A command that waits for the record or a peer.
    Command {
        /// The command changes the session; an interrupt does not stop it.
        firm: bool,
    },
    /// A command that waits for code in the user's interpreter, which an interrupt ends.
    Look,
    /// A command that works in an interpreter of its own, which ends when this is dropped.
    Elsewhere(#[expect(dead_code, reason = "dropped to be heard of")] oneshot::Sender<()>),
}

struct Job {
    ticket: JobId,
    holder: ActiveJob,
    out: RunSender,
}

/// A cell of the user, and the replay that it is a step of.
pub(super) struct CellJob {
    pub(super) run: CellRun,
    replay: Option<Box<ReplayRun>>,
    /// The interpreter died; the cell stays active until its end is reported.
    died: bool,
    /// A failure clears the queue.
    stops: bool,
}

/// Whether there is a cell that can go on elsewhere.
pub(super) enum MovableCell {
    None,
    /// It goes there once it has begun.
    Later,
    Now(JobId, RequestId),
}

pub(super) enum SchedulerEvent<'a> {
    CellEnded(&'a CellResult),
    /// The cell ended with its interpreter; `DeathTold` follows.
    CellDied(&'a CellResult),
    DeathTold,
    Interrupted,
    Skipped,
}

#[derive(Default)]
pub(super) struct Scheduler {
    running: Option<Job>,
    /// The cell that asked for the running job.
    suspended: Option<Job>,
    /// A replay between two steps.
    replay: Option<Box<ReplayRun>>,
    queue: VecDeque<(QueuedJob, RunSender)>,
    last_ticket: u64,
}

impl CellJob {
    pub(super) fn new(run: CellRun, replay: Option<Box<ReplayRun>>) -> Self {
        CellJob {
            run,
            replay,
            died: false,
            stops: false,
        }
    }

    /// With `stops`, a failure clears the queue.
    pub(super) fn stopping(mut self, stops: bool) -> Self {
        self.stops = stops;
        self
    }
}

impl Scheduler {
    pub(super) fn enqueue(&mut self, work: QueuedJob, out: RunSender) {
        self.queue.push_back((work, out));
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Removes a call from the queue; returns the stream of its events.
    pub(super) fn drop_call(&mut self, id: u64) -> Option<RunSender> {
        let waits = |(work, _): &(QueuedJob, RunSender)| matches!(work, QueuedJob::Call(call) if call.id == id);
        let at = self.queue.iter().position(waits)?;
        self.queue.remove(at).map(|(_, out)| out)
    }

    /// Marks the active call as cancelled by its caller; false when another job is active.
    pub(super) fn abandon_call(&mut self, call: u64) -> bool {
        match self.running.as_mut().map(|job| &mut job.holder) {
            Some(ActiveJob::Call { id, left, .. }) if *id == call => {
                *left = true;
                true
            }
            _ => false,
        }
    }

    /// The next job of the queue; `None` while a job is active.
    pub(super) fn next(&mut self) -> Option<(QueuedJob, RunSender)> {
        match self.running {
            Some(_) => None,
            None => self.queue.pop_front(),
        }
    }

    pub(super) fn start(&mut self, holder: ActiveJob, out: RunSender) -> JobId {
        self.last_ticket += 1;
        let ticket = JobId(self.last_ticket);
        self.running = Some(Job {
            ticket,
            holder,
            out,
        });
        ticket
    }

    /// The runtime has the cell of this job as this request.
    pub(super) fn submitted(&mut self, job: JobId, id: RequestId) {
        if let Some(Job {
            ticket,
            holder: ActiveJob::Cell(cell),
            ..
        }) = &mut self.running
            && *ticket == job
        {
            cell.run.id = Some(id);
        }
    }

    pub(super) fn release(&mut self) {
        self.running = None;
    }

    /// Suspends the active cell; the job that it asks for is started next.
    pub(super) fn suspend(&mut self) {
        self.suspended = self.running.take();
    }

    /// Makes the suspended cell active again; false when there is none.
    pub(super) fn resume(&mut self) -> bool {
        self.running = self.suspended.take();
        self.running.is_some()
    }

    /// A cell is suspended: it asked for the active job.
    pub(super) fn has_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// The suspended cell is this request of the runtime of this role.
    pub(super) fn is_suspended(&self, role: RuntimeRole, id: RequestId) -> bool {
        let holder = self.suspended.as_ref().map(|job| &job.holder);
        matches!(holder, Some(ActiveJob::Cell(cell)) if (cell.run.role, cell.run.id) == (role, Some(id)))
    }

    /// Ends the wait of the job with this ticket; returns its stream, and what the user wants of the cell that follows.
    pub(super) fn finish_wait(&mut self, ticket: JobId) -> Option<(RunSender, Option<Event>)> {
        let waits = |job: &mut Job| {
            let waits = matches!(
                job.holder,
                ActiveJob::Command { .. }
                    | ActiveJob::Look
                    | ActiveJob::Elsewhere(_)
                    | ActiveJob::Recording { .. }
            );
            waits && job.ticket == ticket
        };
        let job = self.running.take_if(waits)?;
        let wish = match job.holder {
            ActiveJob::Recording {
                interrupted: true, ..
            } => Some(Event::Interrupted),
            ActiveJob::Recording { behind: true, .. } => Some(Event::BackgroundWanted),
            _ => None,
        };
        Some((job.out, wish))
    }

    /// Finds out whether the active job is a cell of the user's that can go on elsewhere; one that has not begun does
    /// so as soon as it has.
    pub(super) fn movable_cell(&mut self) -> MovableCell {
        let has_suspended = self.suspended.is_some();
        let Some(job) = self.running.as_mut().filter(|_| !has_suspended) else {
            return MovableCell::None;
        };
        match &mut job.holder {
            ActiveJob::Recording { behind, .. } => {
                *behind = true;
                MovableCell::Later
            }
            ActiveJob::Cell(cell) if cell.replay.is_none() && cell.run.is_movable() => {
                match cell.run.id.filter(|_| cell.run.has_begun()) {
                    Some(id) => MovableCell::Now(job.ticket, id),
                    None => {
                        cell.run.start_behind(true);
                        MovableCell::Later
                    }
                }
            }
            _ => MovableCell::None,
        }
    }

    /// Takes the cell of this job, which goes on elsewhere, and the stream of its events.
    pub(super) fn take_cell(&mut self, job: JobId) -> Option<(CellRun, RunSender)> {
        let is_it = |it: &mut Job| it.ticket == job && matches!(it.holder, ActiveJob::Cell(_));
        let Job { holder, out, .. } = self.running.take_if(is_it)?;
        match holder {
            ActiveJob::Cell(cell) => Some((cell.run, out)),
            _ => None,
        }
    }

    /// Takes the replay that goes on now.
    pub(super) fn take_replay(&mut self) -> Option<Box<ReplayRun>> {
        self.replay.take()
    }

    pub(super) fn active(&self) -> Option<&ActiveJob> {
        self.running.as_ref().map(|job| &job.holder)
    }

    pub(super) fn out(&self) -> Option<&RunSender> {
        self.running.as_ref().map(|job| &job.out)
    }

    pub(super) fn ticket(&self) -> Option<JobId> {
        self.running.as_ref().map(|job| job.ticket)
    }

    /// The job with this ticket is still active.
    pub(super) fn is_current(&self, ticket: JobId) -> bool {
        self.ticket() == Some(ticket)
    }

    /// The cell, active or suspended, that is this request of the runtime of this role.
    pub(super) fn cell(&mut self, role: RuntimeRole, id: RequestId) -> Option<&mut CellRun> {
        let jobs = [self.running.as_mut(), self.suspended.as_mut()];
        jobs.into_iter()
            .flatten()
            .find_map(|job| match &mut job.holder {
                ActiveJob::Cell(cell) if (cell.run.role, cell.run.id) == (role, Some(id)) => {
                    Some(&mut cell.run)
                }
                _ => None,
            })
    }

    /// The In number of the active job, if it has one.
    pub(super) fn line(&self) -> Option<u32> {
        match self.active()? {
            ActiveJob::Cell(cell) => cell.run.line(),
            ActiveJob::Prompt(prompt) => Some(prompt.line()),
            _ => None,
        }
    }

    pub(super) fn role(&self) -> Option<RuntimeRole> {
        match self.active() {
            Some(ActiveJob::Cell(cell)) => Some(cell.run.role),
            _ => None,
        }
    }

    pub(super) fn prompt(&mut self) -> Option<&mut Prompt> {
        match self.running.as_mut().map(|job| &mut job.holder) {
            Some(ActiveJob::Prompt(prompt)) => Some(prompt),
            _ => None,
        }
    }

    /// Whether somebody answers questions of the active job; `usual` where the job does not say.
    pub(super) fn asks(&self, usual: bool) -> bool {
        match self.active() {
            Some(ActiveJob::Prompt(prompt)) => prompt.can_ask().unwrap_or(usual),
            Some(ActiveJob::Call { asks, .. }) => *asks,
            _ => usual,
        }
    }

    /// The caller's stream of the active call, where a front-end shows the call.
    pub(super) fn caller_out(&self) -> Option<&RunSender> {
        match self.active() {
            Some(ActiveJob::Call { told, .. }) => told.as_ref().map(|(back, ..)| back),
            _ => None,
        }
    }

    pub(super) fn caller(&self) -> Option<&str> {
        match self.active() {
            Some(ActiveJob::Call { caller, .. }) => Some(caller),
            _ => None,
        }
    }

    /// Ends the active cell; with `stops` the queue is cleared.
    fn free(&mut self, stops: bool) -> Vec<Effect> {
        self.replay = match self.running.take() {
            Some(Job {
                holder: ActiveJob::Cell(cell),
                ..
            }) => cell.replay,
            _ => None,
        };
        let mut actions = Vec::new();
        if stops {
            let waiting = std::mem::take(&mut self.queue).into_iter();
            let not_run = |(_, out)| Effect::Emit(To::Run(out), EndEvent::NotRun.into());
            actions.extend(waiting.map(not_run));
        }
        actions.push(Effect::Raise(Event::Free));
        actions
    }

    pub(super) fn on(&mut self, event: SchedulerEvent<'_>) -> Vec<Effect> {
        let Some(Job {
            ticket,
            holder,
            out,
        }) = &mut self.running
        else {
            return Vec::new();
        };
        match (event, holder) {
            (SchedulerEvent::CellEnded(result), ActiveJob::Cell(cell)) => {
                if let Some(replay) = &mut cell.replay {
                    replay.on_cell(result);
                }
                let stops = cell.stops && result.ending != Ending::Ok;
                self.free(stops)
            }
            (SchedulerEvent::CellDied(result), ActiveJob::Cell(cell)) => {
                cell.died = true;
                if let Some(replay) = &mut cell.replay {
                    replay.on_cell(result);
                }
                Vec::new()
            }
            (SchedulerEvent::DeathTold, ActiveJob::Cell(cell)) if cell.died => {
                let stops = cell.stops;
                self.free(stops)
            }
            (SchedulerEvent::Interrupted, ActiveJob::Cell(cell)) => {
                if let Some(replay) = &mut cell.replay {
                    replay.stop();
                }
                vec![interrupt(cell.run.role)]
            }
            (SchedulerEvent::Interrupted, ActiveJob::Prompt(_)) => {
                vec![Effect::Raise(Event::Prompt(
                    *ticket,
                    PromptEvent::Interrupted,
                ))]
            }
            (SchedulerEvent::Interrupted, ActiveJob::Call { stopped, .. }) => {
                *stopped = true;
                vec![Effect::Raise(Event::CallStopped)]
            }
            (SchedulerEvent::Interrupted, ActiveJob::Recording { interrupted, .. }) => {
                *interrupted = true;
                Vec::new()
            }
            (
                SchedulerEvent::Interrupted,
                ActiveJob::Command { firm: false } | ActiveJob::Elsewhere(_),
            ) => {
                let out = out.clone();
                self.running = None;
                vec![Effect::Raise(Event::WaitStopped(out))]
            }
            (SchedulerEvent::Interrupted, ActiveJob::Look) => vec![interrupt(RuntimeRole::User)],
            (SchedulerEvent::Skipped, ActiveJob::Cell(cell)) => {
                let Some(replay) = &mut cell.replay else {
                    return Vec::new();
                };
                replay.skip();
                cell.run.skip();
                vec![interrupt(cell.run.role)]
            }
            _ => Vec::new(),
        }
    }
}

fn interrupt(role: RuntimeRole) -> Effect {
    Effect::Interrupt {
        role,
        to: Some(To::Job),
    }
}

#[cfg(test)]
mod tests;
