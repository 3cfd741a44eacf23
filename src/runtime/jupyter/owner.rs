//! The thread that owns a kernel: starts it, asks who it is, hands requests over, tells what comes, starts it again.
//!
//! In: orders, news of the kernel. Out: events. Invariants: requests wait until the kernel has said who it is; every
//! request ends once, whatever becomes of the kernel; one that dies twice within a minute is started again only for the
//! next cell. Absent on purpose: what messages mean (`conversation.rs`).

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{Permit, Receiver, Sender, UnboundedReceiver, channel};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::able::{Able, capabilities_of};
use super::conversation::{Conversation, dead, stopped};
use super::kernel::{Kernel, News};
use super::outbox::Outbox;
use super::presence::Presence;
use super::stage::Stage;
use super::waiting::{Awaited, PATIENCE, Waiting};
use super::{bash, failure, wording};
use crate::jupyter::{Channel, Heard, Incoming, Outgoing};
use crate::runtime::{
    Death, RequestId, RuntimeAnswer, RuntimeEvent, RuntimeInfo, RuntimeRequest, StartFailure,
};

/// It is asked again after this time: what is sent before it subscribes is lost.
const AGAIN: Duration = Duration::from_millis(500);
/// Two deaths within this time stop the starting.
const WINDOW: Duration = Duration::from_secs(60);
/// News that may wait.
const IN_FLIGHT: usize = 1024;

/// What the handle wants.
#[derive(Debug)]
pub(super) enum Order {
    /// A request.
    Request(RequestId, Box<RuntimeRequest>),
    /// What runs is interrupted.
    Interrupt,
    /// The kernel ends at once.
    Kill,
    /// The handle is gone.
    Leave,
}

/// What there is to do.
enum Step<'a> {
    Order(Order),
    /// An event, if anybody listens.
    Tell(Option<Permit<'a, RuntimeEvent>>),
    Look,
    News(News),
}

pub(super) struct Owner {
    kernel: Box<dyn Kernel>,
    news: Receiver<News>,
    orders: UnboundedReceiver<Order>,
    events: Sender<RuntimeEvent>,
    outbox: Outbox,
    able: Able,
    stage: Stage,
    talk: Conversation,
    waiting: VecDeque<(RequestId, RuntimeRequest)>,
    /// What the cell in front was told that it waits for.
    awaited: Waiting,
    presence: Presence,
    died: Option<Instant>,
    restarted: bool,
}

impl Owner {
    pub(super) fn new(
        kernel: Box<dyn Kernel>,
        events: Sender<RuntimeEvent>,
        able: Able,
        orders: UnboundedReceiver<Order>,
    ) -> Self {
        Owner {
            kernel,
            news: channel(1).1,
            orders,
            events,
            outbox: Outbox::default(),
            able,
            stage: Stage::Away,
            talk: Conversation::default(),
            waiting: VecDeque::new(),
            awaited: Waiting::default(),
            presence: Presence::default(),
            died: None,
            restarted: false,
        }
    }

    pub(super) fn run(mut self) {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match executor {
            Ok(executor) => executor.block_on(self.work()),
            Err(error) => self.fail_at_once(&error),
        }
    }

    fn fail_at_once(&mut self, error: &std::io::Error) {
        // The channel is new: there is room.
        let _ = self
            .events
            .try_send(RuntimeEvent::StartFailed(StartFailure {
                message: format!("could not open sockets for the Jupyter kernel: {error}"),
                hint: "close other programs, or raise the limit on open files (ulimit -n)".into(),
            }));
    }

    async fn work(&mut self) {
        self.begin();
        let events = self.events.clone();
        let mut clock = interval(AGAIN);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let watched = matches!(self.stage, Stage::Coming { .. }) || self.talk.is_busy();
            let tells = !self.outbox.is_empty();
            let step = tokio::select! {
                biased;
                order = self.orders.recv() => Step::Order(order.unwrap_or(Order::Leave)),
                room = events.reserve(), if tells => Step::Tell(room.ok()),
                _ = clock.tick(), if watched => Step::Look,
                Some(news) = self.news.recv() => Step::News(news),
            };
            match step {
                Step::Order(Order::Request(id, request)) => match *request {
                    RuntimeRequest::Shutdown { .. } => {
                        let (held, left) = self.shut_down().await;
                        let answer = RuntimeAnswer::Done;
                        self.outbox.push(RuntimeEvent::Answered { id, answer });
                        if left {
                            return;
                        }
                        held.into_iter()
                            .for_each(|(id, request)| self.request(id, request));
                    }
                    request => self.request(id, request),
                },
                Step::Order(Order::Interrupt) => self.interrupt(),
                Step::Order(Order::Kill) => self.kernel.kill(),
                // Nobody listens any more.
                Step::Order(Order::Leave) | Step::Tell(None) => return self.leave().await,
                Step::Tell(Some(room)) => {
                    if let Some(event) = self.outbox.pop() {
                        room.send(event);
                    }
                }
                Step::Look => self.on_time(),
                Step::News(news) => self.on_news(news),
            }
        }
    }

    fn begin(&mut self) {
        let (news, hears) = channel(IN_FLIGHT);
        self.news = hears;
        self.stage = Stage::coming();
        self.presence = Presence::default();
        self.kernel.begin(news);
    }

    fn request(&mut self, id: RequestId, request: RuntimeRequest) {
        match self.stage {
            Stage::Up => self.ask(id, &request),
            Stage::Coming { .. } => self.waiting.push_back((id, request)),
            Stage::Away => {
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
            self.kernel.tell(&cell.environment);
            if self.talk.bash
                && let Some(events) = bash::refusal(id, &cell.code)
            {
                return events.into_iter().for_each(|event| self.outbox.push(event));
            }
        }
        let (messages, end) = self.talk.ask(id, request);
        messages
            .into_iter()
            .for_each(|message| self.kernel.send(message));
        if let Some(end) = end {
            self.outbox.push(end);
        }
    }

    fn interrupt(&mut self) {
        self.tell_wait(None);
        let waiting = std::mem::take(&mut self.waiting);
        for (id, request) in waiting {
            if let Some(end) = stopped(id, &request) {
                self.outbox.push(end);
            }
        }
        if !self.talk.is_busy() {
            return;
        }
        self.talk.interrupted();
        if !self.kernel.interrupt() {
            let message = Outgoing::new(Channel::Control, "interrupt_request", json!({}));
            self.kernel.send(message);
        }
        // One that is gone ends nothing.
        self.kernel.look();
    }

    fn on_time(&mut self) {
        let overdue = self.talk.overdue();
        self.heard(overdue);
        if matches!(self.stage, Stage::Up) && self.presence.is_due(self.talk.silent()) {
            self.kernel.look();
        }
        self.look_at_wait();
        let Stage::Coming { since, open, .. } = &self.stage else {
            return;
        };
        let patience = self.kernel.patience();
        if since.elapsed() < patience {
            if *open {
                self.ask_who_it_is();
            }
            return;
        }
        let failure = failure::silent(self.kernel.as_ref());
        self.on_failure(failure);
        self.kernel.kill();
    }

    /// What became of requests.
    fn heard(&mut self, events: Vec<RuntimeEvent>) {
        if !events.is_empty() {
            self.tell_wait(None);
        }
        events.into_iter().for_each(|event| self.outbox.push(event));
    }

    /// Tells the cell in front what it waits for, where that takes long.
    fn look_at_wait(&mut self) {
        let is_cell = |request: &RuntimeRequest| matches!(request, RuntimeRequest::Execute(_));
        let waits = match &self.stage {
            Stage::Coming { since, .. } if since.elapsed() > PATIENCE => {
                let awaited = match (self.kernel.attached(), self.restarted) {
                    (true, _) => Awaited::Answer,
                    (false, true) => Awaited::Restart,
                    (false, false) => Awaited::Start,
                };
                let cell = self.waiting.iter().find(|(_, request)| is_cell(request));
                cell.map(|(id, _)| (*id, awaited))
            }
            Stage::Up => match self.presence.trouble() {
                Some(why) => {
                    let word = Awaited::Word(why.to_owned());
                    self.talk.cell().map(|id| (id, word))
                }
                None => {
                    let cell = self.talk.kept_waiting(PATIENCE);
                    cell.map(|id| (id, Awaited::Turn))
                }
            },
            Stage::Coming { .. } | Stage::Away => None,
        };
        self.tell_wait(waits);
    }

    fn tell_wait(&mut self, waits: Option<(RequestId, Awaited)>) {
        if let Some(told) = self.awaited.now(waits) {
            self.outbox.push(told);
        }
    }

    fn ask_who_it_is(&mut self) {
        let attached = self.kernel.attached();
        for message in self.stage.questions(attached) {
            self.kernel.send(message);
        }
    }

    fn on_news(&mut self, news: News) {
        match news {
            News::Open => {
                if let Stage::Coming { open, .. } = &mut self.stage {
                    *open = true;
                }
                self.ask_who_it_is();
            }
            News::Heard(Heard::Message(message)) => match self.stage {
                Stage::Up => self.on_word(*message),
                Stage::Coming { .. } => self.on_first_words(*message),
                Stage::Away => {}
            },
            // One of ours tells of its end itself, and how it ended.
            News::Heard(Heard::Lost(_)) if !self.kernel.attached() => {}
            News::Heard(Heard::Lost(why)) | News::Lost(why) => self.on_loss(why),
            News::Failed(failure) => self.on_failure(failure),
            News::Died(death) => self.on_death(death),
            News::Runs(works) => {
                self.presence.reached();
                // Not every kernel works requests off in their order.
                if self.talk.python || !works {
                    let probe = self.presence.probe(self.talk.unanswered());
                    probe
                        .into_iter()
                        .for_each(|message| self.kernel.send(message));
                }
                self.look_at_wait();
            }
            News::Unknown(why) => {
                self.presence.unreachable(why);
                self.look_at_wait();
            }
        }
    }

    fn on_word(&mut self, message: Incoming) {
        self.presence.reached();
        if self.presence.begins_anew(&message) {
            // Not by us: another one is at its place, without any variables.
            return self.on_death(Death::Told("somebody has restarted it".to_owned()));
        }
        if let Some(names) = self.presence.passed_over(&message) {
            let lost = self.talk.passed_over(&names);
            return self.heard(lost);
        }
        let events = self.talk.hear(message);
        self.heard(events);
    }

    fn on_first_words(&mut self, message: Incoming) {
        // Nothing has been asked of it that another one could have forgotten.
        let _ = self.presence.begins_anew(&message);
        let Some((answer, milliseconds)) = self.stage.hear(message) else {
            return;
        };
        let who = wording::who(&answer);
        self.talk.bash = who.language == "Bash";
        self.talk.python = !who.banner.is_empty();
        let mut able = capabilities_of(&who.language, self.kernel.attached());
        if !self.talk.python {
            (able.tools, able.references, able.snapshot) = (false, false, false);
        }
        *self.able.lock().unwrap_or_else(PoisonError::into_inner) = able;
        self.tell_wait(None);
        self.outbox.push(RuntimeEvent::Ready(RuntimeInfo {
            place: self.kernel.place(),
            process: self.kernel.process(),
            milliseconds,
            restarted: self.restarted,
            ..who
        }));
        self.stage = Stage::Up;
        self.restarted = true;
        for (id, request) in std::mem::take(&mut self.waiting) {
            self.ask(id, &request);
        }
    }

    fn on_failure(&mut self, failure: StartFailure) {
        self.tell_wait(None);
        self.stage = Stage::Away;
        self.outbox.push(RuntimeEvent::StartFailed(failure.clone()));
        self.end_waiting(&Death::NotStarted(failure));
    }

    fn end_waiting(&mut self, death: &Death) {
        for (id, request) in std::mem::take(&mut self.waiting) {
            if let Some(end) = dead(id, &request, death) {
                self.outbox.push(end);
            }
        }
    }

    fn on_loss(&mut self, why: String) {
        if matches!(self.stage, Stage::Away) {
            return;
        }
        let lost = self.talk.lose(&why);
        self.heard(lost);
        self.stage = Stage::Away;
        self.outbox.push(RuntimeEvent::Lost { why });
    }

    fn on_death(&mut self, death: Death) {
        match self.stage {
            Stage::Away => return,
            Stage::Coming { .. } => {
                let failure = failure::ended(self.kernel.as_ref(), &death);
                return self.on_failure(failure);
            }
            Stage::Up => {}
        }
        let abandoned = self.talk.abandon(&death);
        self.heard(abandoned);
        let now = Instant::now();
        let wanted = death == Death::Killed;
        let often = self.died.is_some_and(|before| before + WINDOW > now);
        self.died = (!wanted).then_some(now);
        let restarting = wanted || !often;
        self.outbox.push(RuntimeEvent::Died { death, restarting });
        self.stage = Stage::Away;
        if restarting {
            self.begin();
        }
    }
}

impl Owner {
    /// As [`Owner::leave`], until somebody does not want to wait: then one of ours is killed. What else was asked for
    /// meanwhile, and whether nobody listens any more.
    async fn shut_down(&mut self) -> (Vec<(RequestId, RuntimeRequest)>, bool) {
        if self.kernel.attached() {
            return (Vec::new(), false);
        }
        let up = matches!(self.stage, Stage::Up);
        let ours = self.kernel.process().is_some();
        let mut held = Vec::new();
        let orders = &mut self.orders;
        let hurried = async {
            loop {
                match orders.recv().await {
                    Some(Order::Request(id, request)) => held.push((id, *request)),
                    Some(Order::Interrupt | Order::Kill) => return false,
                    Some(Order::Leave) | None => return true,
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
        self.stage = Stage::Away;
        (held, left == Some(true))
    }

    /// Ends what is ours, and leaves what is not.
    async fn leave(&mut self) {
        if self.kernel.attached() {
            return;
        }
        let up = matches!(self.stage, Stage::Up);
        self.kernel.end(up).await;
        self.stage = Stage::Away;
    }
}
