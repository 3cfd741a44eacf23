//! The one owner of the conversation with the app-server: a thread that turns commands and messages into each other.
//!
//! In: [`Command`]s of the handle (unbounded, so that nobody above ever waits), messages of the process, the clock.
//! Out: events, in order, waiting for room. Commands go first: a cancel overtakes a flood of deltas. Invariant: a turn
//! leaves [`Driver::current`] exactly when its `Finished` or `Failed` is told. The stages before a turn runs are in
//! `opening`, requests of the process in `asked`.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::completion::Completions;
use super::facts::Lookups;
use super::link::{Link, Purpose};
use super::names::Names;
use super::request::Requests;
use super::turn::{End, Running};
use super::wire::thread::ThreadParams;
use super::wire::turn::TurnInterruptParams;
use super::{Command, Program, failure};
use crate::agent::connect::AgentPlan;
use crate::agent::{AgentEvent, AgentFailure, Threads, TurnId, TurnRequest};
use crate::rpc::Message;

/// See the module.
pub(super) struct Driver {
    pub(super) program: Program,
    pub(super) plan: AgentPlan,
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::Sender<AgentEvent>,
    closed: watch::Receiver<()>,
    pub(super) link: Option<Link>,
    pub(super) current: Option<Current>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    /// Threads that took a prompt without a whole answer: they no longer equal any record.
    pub(super) spoiled: HashSet<String>,
    /// The thread that is being seeded.
    pub(super) seeding: Option<String>,
    pub(super) lookups: Lookups,
    pub(super) completions: Completions,
}

/// The turn at hand.
pub(super) struct Current {
    pub(super) turn: TurnId,
    pub(super) request: Box<TurnRequest>,
    /// What its tools are called on the wire.
    pub(super) names: Names,
    /// Present once `turn/start` was sent.
    pub(super) running: Option<Running>,
    pub(super) requests: Requests,
    /// When patience with a cancelled turn ends.
    pub(super) cancelled: Option<Instant>,
    interrupt_sent: bool,
}

impl Driver {
    pub(super) fn new(
        program: Program,
        plan: AgentPlan,
        commands: mpsc::UnboundedReceiver<Command>,
        events: mpsc::Sender<AgentEvent>,
        closed: watch::Receiver<()>,
    ) -> Self {
        Driver {
            program,
            plan,
            commands,
            events,
            closed,
            link: None,
            current: None,
            queue: VecDeque::new(),
            spoiled: HashSet::new(),
            seeding: None,
            lookups: Lookups::default(),
            completions: Completions::default(),
        }
    }

    /// Where the events go.
    pub(super) fn events(&self) -> mpsc::Sender<AgentEvent> {
        self.events.clone()
    }

    /// Runs until the handle is dropped, then ends the process.
    pub(super) fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no operating system resource");
        runtime.block_on(self.serve());
        if let Some(link) = self.link.take() {
            // Nobody is left to be told how it ended.
            let _ = link.peer.end(self.plan.patience.end);
        }
    }

    async fn serve(&mut self) {
        loop {
            let deadline = self.deadline();
            let due = async move {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            let link = &mut self.link;
            let message = async move {
                match link {
                    Some(link) => link.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => return,
                },
                key = self.completions.abandoned() => self.leave_completion(key),
                message = message => match message {
                    Some(message) => self.hear(message).await,
                    None => self.bury().await,
                },
                () = due => self.overdue().await,
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let request = self.link.as_ref().and_then(|link| link.pending.deadline());
        let cancel = self.current.as_ref().and_then(|current| current.cancelled);
        let completion = self.completions.deadline();
        [request, cancel, completion].into_iter().flatten().min()
    }

    /// Tells the session, waiting for room unless the handle is gone.
    pub(super) async fn tell(&mut self, event: AgentEvent) {
        tokio::select! {
            biased;
            _ = self.closed.changed() => {}
            // A session that dropped the receiver does not want to know.
            _ = self.events.send(event) => {}
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::WarmUp => {
                if self.link.is_none() {
                    // A failure is told by the first turn, which tries again.
                    self.link = Link::open(&self.program, &self.plan).ok();
                }
            }
            Command::Start(turn, request) => {
                self.queue.push_back((turn, request));
                self.begin_next().await;
            }
            Command::Reply(turn, reply) => self.replied(turn, reply).await,
            Command::LookUp(lookup, tell) => self.look_up(lookup, tell).await,
            Command::Suggest(request, tell) => self.complete(request, tell).await,
            Command::Cancel(turn) => self.cancel(turn).await,
        }
    }

    /// The process, started when it does not run; true when it is ready.
    pub(super) fn linked(&mut self) -> Result<bool, AgentFailure> {
        if self.link.is_none() {
            let opened = Link::open(&self.program, &self.plan);
            let failed = |error| failure::not_started(self.program.name, &error);
            self.link = Some(opened.map_err(failed)?);
        }
        Ok(self.link.as_ref().is_some_and(|link| link.ready))
    }

    pub(super) async fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            self.current = Some(Current {
                turn,
                names: Names::of(&request.tools),
                request,
                running: None,
                requests: Requests::default(),
                cancelled: None,
                interrupt_sent: false,
            });
            match self.linked() {
                Ok(true) => self.choose_thread().await,
                Ok(false) => {}
                Err(failure) => self.take_failed(failure).await,
            }
        }
    }

    async fn hear(&mut self, message: Message) {
        match message {
            Message::Response { id, outcome } => {
                let purpose = self.link.as_mut().and_then(|link| link.pending.close(&id));
                if let Some(purpose) = purpose {
                    self.answered(purpose, outcome).await;
                }
            }
            Message::Request { id, method, params } => self.asked(id, &method, params).await,
            Message::Notification { method, params } => {
                match (method.as_str(), &mut self.link) {
                    ("serverRequest/resolved", _) => return self.resolved(&params).await,
                    ("account/rateLimits/updated", Some(link)) => {
                        return link.limits.update(params);
                    }
                    _ => {}
                }
                if self.completion_noticed(&method, &params) {
                    return;
                }
                let mut events = Vec::new();
                let running = self.current.as_mut().and_then(|it| it.running.as_mut());
                let end = running.and_then(|it| it.notice(&method, params, &mut events));
                for event in events {
                    self.tell(event).await;
                }
                match end {
                    Some(end) => self.ended(end).await,
                    None => self.interrupt(),
                }
            }
        }
    }

    pub(super) async fn cancel(&mut self, turn: TurnId) {
        if let Some(at) = self.queue.iter().position(|(queued, _)| *queued == turn) {
            self.queue.remove(at);
            return self.tell(interrupted(turn)).await;
        }
        let patience = self.plan.patience.cancel;
        let Some(current) = self.current.as_mut().filter(|it| it.turn == turn) else {
            return;
        };
        if current.running.is_none() {
            // Nothing reached the model yet.
            self.current = None;
            self.tell(interrupted(turn)).await;
            return self.begin_next().await;
        }
        current
            .cancelled
            .get_or_insert_with(|| Instant::now() + patience);
        self.interrupt();
    }

    /// Asks for the end of a cancelled turn, once its id is known.
    pub(super) fn interrupt(&mut self) {
        let (Some(link), Some(current)) = (&mut self.link, &mut self.current) else {
            return;
        };
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

    async fn ended(&mut self, end: End) {
        let Some(Current {
            turn,
            request,
            running: Some(running),
            cancelled,
            ..
        }) = self.current.take()
        else {
            return;
        };
        let thread = running.thread;
        let params = ThreadParams { thread_id: &thread };
        let whole = matches!(end, End::Completed);
        let session = request.settings.threads == Threads::Session;
        if let Some(link) = &mut self.link {
            if !whole {
                // What the turn started in the background goes with it.
                link.ask(
                    Purpose::Courtesy,
                    "thread/backgroundTerminals/clean",
                    &params,
                );
            }
            if !(whole && session) {
                link.threads.remove(&thread);
                link.ask(Purpose::Courtesy, "thread/unsubscribe", &params);
            }
        }
        if !whole {
            self.spoiled.insert(thread.clone());
        }
        let event = match end {
            End::Completed => AgentEvent::Finished {
                turn,
                interrupted: false,
                thread: session.then_some(thread),
            },
            End::Interrupted => interrupted(turn),
            End::Failed(_) if cancelled.is_some() => interrupted(turn),
            End::Failed(error) => AgentEvent::Failed {
                turn,
                failure: failure::upstream(error.as_ref()),
            },
        };
        self.tell(event).await;
        self.begin_next().await;
    }

    /// Fails the turn at hand and goes on with the next.
    pub(super) async fn fail(&mut self, failure: AgentFailure) {
        self.take_failed(failure).await;
        self.begin_next().await;
    }

    async fn take_failed(&mut self, failure: AgentFailure) {
        if self.link.is_none() {
            self.fail_lookups(&failure);
            self.fail_completions(&failure);
        }
        let Some(current) = self.current.take() else {
            return;
        };
        let turn = current.turn;
        if let Some(running) = current.running {
            self.spoiled.insert(running.thread);
        }
        let event = match current.cancelled {
            Some(_) => interrupted(turn),
            None => AgentEvent::Failed { turn, failure },
        };
        self.tell(event).await;
    }

    /// The process has closed its output: whatever its exit code, an open turn has failed.
    async fn bury(&mut self) {
        if let Some(link) = self.link.take() {
            let junk = link.peer.junk();
            let grace = self.plan.patience.end.min(Duration::from_millis(200));
            let outcome = link.peer.end(grace);
            self.fail(failure::died(self.program.name, outcome, junk))
                .await;
        }
    }

    async fn overdue(&mut self) {
        let now = Instant::now();
        let name = self.program.name;
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        if cancel.is_some_and(|deadline| deadline <= now) {
            self.drop_link();
            // Told as interrupted, which is what was asked for.
            let patience = self.plan.patience.cancel;
            let failure = failure::silent(name, "turn/interrupt", patience, 0);
            return self.fail(failure).await;
        }
        self.completions_overdue(now);
        let purpose = self.link.as_mut().and_then(|link| link.pending.expire(now));
        let patience = match purpose {
            None | Some(Purpose::Courtesy) => return,
            Some(purpose @ (Purpose::Models(_) | Purpose::Limits(_))) => {
                return self.lookup_expired(purpose);
            }
            Some(Purpose::OpenCompletion(key) | Purpose::BeginCompletion(key)) => {
                return self.completion_expired(key);
            }
            Some(Purpose::Initialize) => self.plan.patience.initialize,
            Some(_) => self.plan.patience.request,
        };
        let method = purpose.map_or("", Purpose::method);
        let junk = self.link.as_ref().map_or(0, |link| link.peer.junk());
        self.drop_link();
        self.fail(failure::silent(name, method, patience, junk))
            .await;
    }

    /// Kills a process that cannot be trusted any more.
    pub(super) fn drop_link(&mut self) {
        if let Some(link) = self.link.take() {
            link.peer.kill();
        }
    }
}

fn interrupted(turn: TurnId) -> AgentEvent {
    AgentEvent::Finished {
        turn,
        interrupted: true,
        thread: None,
    }
}
