//! The thread that owns a kernel: starts it, identifies it, sends requests, forwards events, restarts it.
//!
//! In: commands of the handle, events of the kernel. Out: runtime events. Invariants: requests wait until the kernel
//! has answered `kernel_info_request`; every request ends once, whatever happens to the kernel; after two deaths within
//! a minute the next start waits for a cell. Absent on purpose: what messages mean (`request_tracker.rs`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{
    Permit, Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};
use tokio::time::{MissedTickBehavior, interval};

use super::capabilities::capabilities_of;
use super::kernel::{Kernel, KernelEvent};
use super::kernel_phase::KernelPhase;
use super::liveness::Liveness;
use super::outbox::Outbox;
use super::request_tracker::{RequestTracker, SKIPPED};
use super::wait_status::{PATIENCE, WaitReason, WaitStatus};
use super::{bash, convert};
use crate::request_kind::{dead, interrupted};
use crate::supervisor::{LastDeath, Orders, SharedCapabilities, SupervisedRuntime, Supervisor};
use crate::{
    Death, Interrupter, RequestId, RuntimeCapabilities, RuntimeEvent, RuntimeInfo, RuntimeReply,
    RuntimeRequest, StartFailure,
};
use ipycodex_jupyter::{Channel, ChannelEvent, IncomingMessage, OutgoingMessage};

/// Interval between `kernel_info_request`s: messages published before our subscription are lost.
const AGAIN: Duration = Duration::from_millis(500);
const IN_FLIGHT: usize = 1024;

#[derive(Debug)]
enum SupervisorCommand {
    Request(RequestId, Box<RuntimeRequest>),
    Interrupt,
    Kill,
    Leave,
}

enum LoopStep<'a> {
    SupervisorCommand(SupervisorCommand),
    /// A permit to send an event; `None`: the receiver is gone.
    Tell(Option<Permit<'a, RuntimeEvent>>),
    Look,
    KernelEvent(KernelEvent),
}

struct KernelSupervisor {
    kernel: Box<dyn Kernel>,
    news: Receiver<KernelEvent>,
    orders: UnboundedReceiver<SupervisorCommand>,
    events: Sender<RuntimeEvent>,
    outbox: Outbox,
    capabilities: SharedCapabilities,
    phase: KernelPhase,
    tracker: RequestTracker,
    waiting: VecDeque<(RequestId, RuntimeRequest)>,
    /// Wait status last sent for the first cell.
    awaited: WaitStatus,
    liveness: Liveness,
    last_death: LastDeath,
    restarted: bool,
    /// The process that was ready last, where it is ours: connected to again, it is no new kernel.
    process: Option<u32>,
}

/// Starts the runtime, with the capabilities that its kernel is assumed to have until it has identified itself.
pub(super) fn start(
    kernel: Box<dyn Kernel>,
    capabilities: RuntimeCapabilities,
    events: Sender<RuntimeEvent>,
) -> SupervisedRuntime {
    let (commands, orders) = unbounded_channel();
    let capabilities = Arc::new(Mutex::new(capabilities));
    let supervisor = KernelSupervisor {
        kernel,
        news: channel(1).1,
        orders,
        events: events.clone(),
        outbox: Outbox::default(),
        capabilities: Arc::clone(&capabilities),
        phase: KernelPhase::Absent,
        tracker: RequestTracker::default(),
        waiting: VecDeque::new(),
        awaited: WaitStatus::default(),
        liveness: Liveness::default(),
        last_death: LastDeath::default(),
        restarted: false,
        process: None,
    };
    SupervisedRuntime::start(supervisor, Arc::new(commands), capabilities, None, events)
}

// Sending fails when the supervisor has ended, which has sent the reason.
impl Orders for UnboundedSender<SupervisorCommand> {
    fn submit(&self, id: RequestId, request: RuntimeRequest) {
        let _ = self.send(SupervisorCommand::Request(id, Box::new(request)));
    }

    fn close(&self) {
        let _ = self.send(SupervisorCommand::Leave);
    }
}

impl Interrupter for UnboundedSender<SupervisorCommand> {
    fn interrupt(&self) {
        let _ = self.send(SupervisorCommand::Interrupt);
    }

    fn kill(&self) {
        let _ = self.send(SupervisorCommand::Kill);
    }
}

impl Supervisor for KernelSupervisor {
    const THREAD: &'static str = "jupyter";
    const OWNED: &'static str = "the Jupyter kernel";

    fn run(mut self) {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match executor {
            Ok(executor) => executor.block_on(self.work()),
            Err(error) => end_requests(&error, &mut self.orders, &self.events),
        }
    }
}

impl KernelSupervisor {
    async fn work(&mut self) {
        self.begin();
        let events = self.events.clone();
        let mut clock = interval(AGAIN);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let watched =
                matches!(self.phase, KernelPhase::Starting { .. }) || self.tracker.is_busy();
            let tells = !self.outbox.is_empty();
            let step = tokio::select! {
                biased;
                order = self.orders.recv() => LoopStep::SupervisorCommand(order.unwrap_or(SupervisorCommand::Leave)),
                room = events.reserve(), if tells => LoopStep::Tell(room.ok()),
                _ = clock.tick(), if watched => LoopStep::Look,
                Some(news) = self.news.recv() => LoopStep::KernelEvent(news),
            };
            match step {
                LoopStep::SupervisorCommand(SupervisorCommand::Request(id, request)) => {
                    match *request {
                        RuntimeRequest::Shutdown { .. } => {
                            let (held, left) = self.shut_down().await;
                            let answer = RuntimeReply::Done;
                            self.outbox.push(RuntimeEvent::Replied { id, answer });
                            if left {
                                return;
                            }
                            held.into_iter()
                                .for_each(|(id, request)| self.request(id, request));
                        }
                        request => self.request(id, request),
                    }
                }
                LoopStep::SupervisorCommand(SupervisorCommand::Interrupt) => self.interrupt(),
                LoopStep::SupervisorCommand(SupervisorCommand::Kill) => self.kernel.kill(),
                // The receiver is gone.
                LoopStep::SupervisorCommand(SupervisorCommand::Leave) | LoopStep::Tell(None) => {
                    return self.leave().await;
                }
                LoopStep::Tell(Some(room)) => {
                    if let Some(event) = self.outbox.pop() {
                        room.send(event);
                    }
                }
                LoopStep::Look => self.on_tick(),
                LoopStep::KernelEvent(news) => self.on_kernel_event(news),
            }
        }
    }

    fn begin(&mut self) {
        let (news, hears) = channel(IN_FLIGHT);
        self.news = hears;
        self.phase = KernelPhase::starting(false);
        self.liveness = Liveness::default();
        self.kernel.begin(news);
    }

    fn request(&mut self, id: RequestId, request: RuntimeRequest) {
        match self.phase {
            KernelPhase::Ready => self.ask(id, &request),
            KernelPhase::Starting { .. } => self.waiting.push_back((id, request)),
            KernelPhase::Absent => {
                let starts = matches!(request, RuntimeRequest::Execute(_));
                self.waiting.push_back((id, request));
                if starts {
                    self.begin();
                } else {
                    let failure = StartFailure {
                        message: "no kernel runs".to_owned(),
                        hint: "run a cell: it starts one".to_owned(),
                    };
                    self.end_waiting(&Death::NotStarted(failure));
                }
            }
        }
    }

    fn ask(&mut self, id: RequestId, request: &RuntimeRequest) {
        if let RuntimeRequest::Execute(cell) = request {
            self.kernel.add_environment(&cell.environment);
            if self.tracker.bash
                && let Some(events) = bash::refusal(id, &cell.code)
            {
                return self.outbox.push_all(events);
            }
        }
        let (messages, end) = self.tracker.ask(id, request);
        messages
            .into_iter()
            .for_each(|message| self.kernel.send(message));
        self.outbox.push_all(end);
    }

    fn interrupt(&mut self) {
        self.report_wait(None);
        let waiting = std::mem::take(&mut self.waiting);
        for (id, request) in waiting {
            self.outbox.push_all(interrupted(id, &request));
        }
        if !self.tracker.is_busy() {
            return;
        }
        self.tracker.interrupted();
        if !self.kernel.interrupt() {
            let message = OutgoingMessage::new(Channel::Control, "interrupt_request", json!({}));
            self.kernel.send(message);
        }
        // A kernel that is gone answers no interrupt.
        self.kernel.check_liveness();
    }

    fn on_tick(&mut self) {
        let overdue = self.tracker.overdue();
        self.push_events(overdue);
        if matches!(self.phase, KernelPhase::Ready) && self.liveness.is_due(self.tracker.silent()) {
            self.kernel.check_liveness();
        }
        self.update_wait();
        let KernelPhase::Starting { since, open, .. } = &self.phase else {
            return;
        };
        let patience = self.kernel.patience();
        if since.elapsed() < patience {
            if *open {
                self.request_kernel_info();
            }
            return;
        }
        let failure = self.kernel.unanswered();
        self.on_failure(failure);
    }

    fn push_events(&mut self, events: Vec<RuntimeEvent>) {
        if !events.is_empty() {
            self.report_wait(None);
        }
        self.outbox.push_all(events);
    }

    /// Updates the status line of the first cell, if it waits long.
    fn update_wait(&mut self) {
        let is_cell = |request: &RuntimeRequest| matches!(request, RuntimeRequest::Execute(_));
        let waits = match &self.phase {
            KernelPhase::Starting { since, .. } if since.elapsed() > PATIENCE => {
                let awaited = match (self.kernel.attached(), self.restarted) {
                    (true, _) => WaitReason::Answer,
                    (false, true) => WaitReason::Restart,
                    (false, false) => WaitReason::Start,
                };
                let cell = self.waiting.iter().find(|(_, request)| is_cell(request));
                cell.map(|(id, _)| (*id, awaited))
            }
            KernelPhase::Ready => match self.liveness.unreachable_reason() {
                Some(why) => {
                    let word = WaitReason::Word(why.to_owned());
                    self.tracker.cell().map(|id| (id, word))
                }
                None => {
                    let cell = self.tracker.blocked_cell(PATIENCE);
                    cell.map(|id| (id, WaitReason::Turn))
                }
            },
            KernelPhase::Starting { .. } | KernelPhase::Absent => None,
        };
        self.report_wait(waits);
    }

    fn report_wait(&mut self, waits: Option<(RequestId, WaitReason)>) {
        self.outbox.push_all(self.awaited.now(waits));
    }

    fn request_kernel_info(&mut self) {
        let attached = self.kernel.attached();
        for message in self.phase.questions(attached) {
            self.kernel.send(message);
        }
    }

    fn on_kernel_event(&mut self, news: KernelEvent) {
        match news {
            KernelEvent::Open => {
                if let KernelPhase::Starting { open, .. } = &mut self.phase {
                    *open = true;
                }
                self.request_kernel_info();
            }
            KernelEvent::Heard(ChannelEvent::Message(message)) => match self.phase {
                KernelPhase::Ready => self.on_kernel_message(*message),
                KernelPhase::Starting { .. } => self.on_startup_message(*message),
                KernelPhase::Absent => {}
            },
            KernelEvent::Heard(ChannelEvent::Lost(why)) | KernelEvent::Lost(why) => {
                self.on_loss(why)
            }
            KernelEvent::Failed(failure) => self.on_failure(failure),
            KernelEvent::Died(death) => self.on_death(death),
            KernelEvent::Runs(works) => {
                self.liveness.reached();
                // Not every kernel processes requests in order.
                if self.tracker.python || !works {
                    let probe = self.liveness.probe(self.tracker.unanswered());
                    probe
                        .into_iter()
                        .for_each(|message| self.kernel.send(message));
                }
                self.update_wait();
            }
            KernelEvent::Unknown(why) => {
                self.liveness.unreachable(why);
                self.update_wait();
            }
        }
    }

    fn on_kernel_message(&mut self, message: IncomingMessage) {
        self.liveness.reached();
        if self.liveness.is_restart(&message) {
            // Restarted by another client, or by itself: a new kernel in its place, without any variables.
            self.kernel.kill();
            return self.on_death(Death::Reported("somebody has restarted it".to_owned()));
        }
        if let Some(names) = self.liveness.skipped(&message) {
            return self.on_skipped(&names);
        }
        let events = self.tracker.on_message(message);
        self.push_events(events);
    }

    /// Ends requests that the kernel has skipped. If one was a cell, another kernel has probably taken its place, whose
    /// output may not arrive yet: it is waited for as at a start. The connection stays, since the kernel may also be
    /// the same one, with its variables.
    fn on_skipped(&mut self, names: &[String]) {
        let ends = self.tracker.skipped(names);
        let is_cell = |end: &RuntimeEvent| matches!(end, RuntimeEvent::Finished { .. });
        let cell = ends.iter().any(is_cell);
        self.push_events(ends);
        if cell {
            self.on_loss(SKIPPED.to_owned());
            self.liveness = Liveness::default();
            self.restarted = false;
            self.phase = KernelPhase::starting(true);
            self.request_kernel_info();
        }
    }

    fn on_startup_message(&mut self, message: IncomingMessage) {
        // No request has been sent that a restarted kernel could have lost.
        let _ = self.liveness.is_restart(&message);
        let Some((answer, milliseconds)) = self.phase.on_message(message) else {
            return;
        };
        let who = convert::who(&answer);
        self.tracker.bash = who.language == "Bash";
        self.tracker.python = !who.banner.is_empty();
        let mut capabilities = capabilities_of(&who.language, self.kernel.attached());
        if !self.tracker.python {
            (
                capabilities.tools,
                capabilities.references,
                capabilities.snapshot,
            ) = (false, false, false);
        }
        *self
            .capabilities
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = capabilities;
        self.report_wait(None);
        let process = self.kernel.process();
        let same = process.is_some() && process == std::mem::replace(&mut self.process, process);
        self.outbox.push(RuntimeEvent::Ready(RuntimeInfo {
            location: self.kernel.place(),
            process,
            milliseconds,
            restarted: self.restarted && !same,
            ..who
        }));
        self.phase = KernelPhase::Ready;
        self.restarted = true;
        for (id, request) in std::mem::take(&mut self.waiting) {
            self.ask(id, &request);
        }
    }

    fn on_failure(&mut self, failure: StartFailure) {
        // One that cannot be used stays nobody's.
        self.kernel.kill();
        self.report_wait(None);
        self.phase = KernelPhase::Absent;
        self.outbox.push(RuntimeEvent::StartFailed(failure.clone()));
        self.end_waiting(&Death::NotStarted(failure));
    }

    fn end_waiting(&mut self, death: &Death) {
        for (id, request) in std::mem::take(&mut self.waiting) {
            self.outbox.push_all(dead(id, &request, death));
        }
    }

    fn on_loss(&mut self, why: String) {
        if matches!(self.phase, KernelPhase::Absent) {
            return;
        }
        let lost = self.tracker.lose(&why);
        self.push_events(lost);
        self.end_waiting(&Death::Reported(why.clone()));
        self.phase = KernelPhase::Absent;
        self.outbox.push(RuntimeEvent::Lost { why });
    }

    fn on_death(&mut self, death: Death) {
        match self.phase {
            KernelPhase::Absent => return,
            KernelPhase::Starting { .. } => {
                let failure = self.kernel.ended_early(&death);
                return self.on_failure(failure);
            }
            KernelPhase::Ready => {}
        }
        let abandoned = self.tracker.abandon(&death);
        self.push_events(abandoned);
        let restarting = self.last_death.restarts(&death);
        self.outbox.push(RuntimeEvent::Died { death, restarting });
        self.phase = KernelPhase::Absent;
        if restarting {
            self.begin();
        }
    }
}

impl KernelSupervisor {
    /// As [`KernelSupervisor::leave`], but an interrupt, a kill or the end of the handle kills a kernel of ours at
    /// once. Returns the requests received meanwhile, and true when the handle is gone.
    async fn shut_down(&mut self) -> (Vec<(RequestId, RuntimeRequest)>, bool) {
        if self.kernel.attached() {
            return (Vec::new(), false);
        }
        let up = matches!(self.phase, KernelPhase::Ready);
        let ours = self.kernel.process().is_some();
        let mut held = Vec::new();
        let orders = &mut self.orders;
        let hurried = async {
            loop {
                match orders.recv().await {
                    Some(SupervisorCommand::Request(id, request)) => held.push((id, *request)),
                    Some(SupervisorCommand::Interrupt | SupervisorCommand::Kill) => return false,
                    Some(SupervisorCommand::Leave) | None => return true,
                }
            }
        };
        let left = tokio::select! {
            () = self.kernel.end(up) => None,
            left = hurried, if ours => Some(left),
        };
        if left.is_some() {
            self.kernel.end(false).await;
        }
        self.phase = KernelPhase::Absent;
        (held, left == Some(true))
    }

    /// Ends a kernel that we started, and leaves one that was found.
    async fn leave(&mut self) {
        if self.kernel.attached() {
            return;
        }
        let up = matches!(self.phase, KernelPhase::Ready);
        self.kernel.end(up).await;
        self.phase = KernelPhase::Absent;
    }
}

/// Without an executor no kernel starts: requests end with that reason, until the session leaves.
fn end_requests(
    error: &std::io::Error,
    orders: &mut UnboundedReceiver<SupervisorCommand>,
    events: &Sender<RuntimeEvent>,
) {
    let failure = StartFailure {
        message: format!("could not open sockets for the Jupyter kernel: {error}"),
        hint: "close other programs, or raise the limit on open files (ulimit -n)".into(),
    };
    let mut end = Some(RuntimeEvent::StartFailed(failure.clone()));
    let death = Death::NotStarted(failure);
    // Sending fails when the session has left.
    while end
        .take()
        .is_none_or(|end| events.blocking_send(end).is_ok())
    {
        match orders.blocking_recv() {
            Some(SupervisorCommand::Request(id, request)) => end = dead(id, &request, &death),
            Some(SupervisorCommand::Interrupt | SupervisorCommand::Kill) => {}
            Some(SupervisorCommand::Leave) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Execute;

    #[test]
    fn without_sockets_a_cell_ends_with_the_reason() {
        let (commands, mut orders) = unbounded_channel();
        let (events, mut seen) = channel(4);
        let cell = RuntimeRequest::Execute(Execute::numbered("1 + 1".into(), 1));
        commands.interrupt();
        commands.submit(RequestId(7), cell);
        commands.close();
        let error = std::io::Error::from_raw_os_error(24);
        end_requests(&error, &mut orders, &events);
        drop(events);
        let failure = match seen.blocking_recv() {
            Some(RuntimeEvent::StartFailed(failure)) => failure,
            other => panic!("{other:?}"),
        };
        assert!(failure.message.contains("open files"), "{failure:?}");
        let end = seen.blocking_recv();
        assert!(
            matches!(
                &end,
                Some(RuntimeEvent::Finished {
                    id: RequestId(7),
                    ..
                })
            ),
            "{end:?}"
        );
        assert!(seen.blocking_recv().is_none());
    }
}
