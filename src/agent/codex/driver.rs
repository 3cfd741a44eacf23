//! The one owner of the conversation with the app-server: a thread that turns commands and messages into each other.
//!
//! In: [`Command`]s of the handle (unbounded, so that nobody above ever waits), messages of the process, the clock.
//! Out: events, in order, waiting for room. Commands go first: a cancel overtakes a flood of deltas. Invariant: a turn
//! leaves [`Driver::current`] exactly when its `Finished` or `Failed` is told. The way to a running turn is
//! `opening`'s, requests of the process are `asked`'s; each has fields of its own, or none.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, from_value, json};

use super::asked::Replied;
use super::completion::Completions;
use super::current::Current;
use super::facts::Lookups;
use super::link::{Link, Purpose};
use super::opening::{Opening, Step};
use super::program::Program;
use super::turn::End;
use super::wire::account::GetAccountResponse;
use super::{asked, ending, failure, opening};
use crate::agent::handle::{Command, Orders};
use crate::agent::plan::ProcessPlan;
use crate::agent::trouble;
use crate::agent::{AgentEvent, AgentFailure, AgentReply, TurnId, TurnRequest};
use crate::rpc::{RpcError, RpcMessage};

/// See the module.
pub(super) struct Driver {
    program: Program,
    plan: ProcessPlan,
    orders: Orders,
    link: Option<Link>,
    current: Option<Current>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    opening: Opening,
    lookups: Lookups,
    completions: Completions,
}

impl Driver {
    pub(super) fn new(program: Program, plan: ProcessPlan, orders: Orders) -> Self {
        Driver {
            program,
            plan,
            orders,
            link: None,
            current: None,
            queue: VecDeque::new(),
            opening: Opening::default(),
            lookups: Lookups::default(),
            completions: Completions::default(),
        }
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
                command = self.orders.next() => match command {
                    Some(command) => self.obey(command).await,
                    None => return,
                },
                key = self.completions.abandoned() => {
                    self.completions.leave(key, self.link.as_mut());
                }
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
            Command::LookUp(lookup, tell) => {
                self.lookups.take(lookup, tell);
                self.send_waiting().await;
            }
            asked @ (Command::Suggest(..) | Command::Consult(..)) => {
                self.completions.take(asked);
                self.send_waiting().await;
            }
            // The handle has neither: logging in is a command line, and there is nothing to choose.
            Command::LogIn(..) | Command::Choose(..) => {}
            Command::Cancel(turn) => self.cancel(turn).await,
        }
    }

    async fn tell(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.orders.tell(event).await;
        }
    }

    /// Sends what is asked beside turns, when the process is ready; one that cannot be had fails it.
    async fn send_waiting(&mut self) {
        match (self.linked(), &mut self.link) {
            (Ok(true), Some(link)) => {
                self.lookups.send_all(link);
                self.completions.send_all(link);
            }
            (Ok(_), _) => {}
            (Err(failure), _) => self.fail(failure).await,
        }
    }

    /// The process, started when it does not run; true when it is ready.
    fn linked(&mut self) -> Result<bool, AgentFailure> {
        if self.link.is_none() {
            let opened = Link::open(&self.program, &self.plan);
            let failed = |error| failure::not_started(self.program.name, &error);
            self.link = Some(opened.map_err(failed)?);
        }
        Ok(self.link.as_ref().is_some_and(|link| link.ready))
    }

    async fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            self.current = Some(Current::new(turn, request));
            match self.linked() {
                Ok(true) => self.choose_thread().await,
                Ok(false) => {}
                Err(failure) => self.take_failed(failure).await,
            }
        }
    }

    /// Finds the thread for the turn at hand.
    async fn choose_thread(&mut self) {
        if let (Some(link), Some(current)) = (&mut self.link, &mut self.current) {
            let step = self.opening.choose(link, current);
            self.step(step).await;
        }
    }

    /// Does what comes next; a turn that failed leaves room for the one after it.
    async fn step(&mut self, step: Step) {
        match step {
            Step::Wait => self.interrupt(),
            Step::Sent => {
                if let Some(turn) = self.current.as_ref().map(|it| it.turn) {
                    self.orders.tell(AgentEvent::Sent { turn }).await;
                }
            }
            Step::Fail(failure) => self.take_failed(failure).await,
            Step::Broken(failure) => {
                self.drop_link();
                self.take_failed(failure).await;
            }
        }
    }

    /// Takes the answer to a request of ours. One for a turn that is not at hand does nothing.
    async fn answered(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        let Some(link) = &mut self.link else {
            return;
        };
        let at_hand = |turn: TurnId| move |it: &&mut Current| it.turn == turn;
        match (purpose, outcome) {
            (Purpose::Courtesy, _) => {}
            (Purpose::Models(_) | Purpose::Limits(_), outcome) => {
                self.lookups.answered(name, purpose, outcome, link);
            }
            (Purpose::OpenCompletion(key), outcome) => {
                self.completions.opened(name, key, outcome, link);
            }
            (Purpose::BeginCompletion(key), outcome) => {
                self.completions.begun(name, key, outcome, link);
            }
            (Purpose::Initialize, Ok(_)) => {
                link.notify("initialized");
                link.ask(Purpose::Account, "account/read", &json!({}));
            }
            (Purpose::Initialize, Err(error)) => {
                self.drop_link();
                self.fail(failure::refused(name, "initialize", &error))
                    .await;
            }
            (Purpose::Account, outcome) => self.admitted(outcome).await,
            (Purpose::Explain(turn, number), outcome) => {
                let current = self.current.as_mut().filter(at_hand(turn));
                let event = current.and_then(|it| asked::explained(link, it, number, outcome));
                self.tell(event).await;
            }
            (
                Purpose::Resume(turn)
                | Purpose::Open(turn)
                | Purpose::Seed(turn)
                | Purpose::Begin(turn),
                outcome,
            ) => match self.current.as_mut().filter(at_hand(turn)) {
                Some(current) => {
                    let step = self.opening.answered(name, purpose, outcome, link, current);
                    self.step(step).await;
                    self.begin_next().await;
                }
                None if matches!(purpose, Purpose::Open(_)) => {
                    opening::leave_unused(link, outcome);
                }
                None => {}
            },
        }
    }

    async fn admitted(&mut self, outcome: Result<Value, RpcError>) {
        // An app-server that cannot tell is asked no further: the turn will show.
        let account: GetAccountResponse = outcome
            .ok()
            .and_then(|value| from_value(value).ok())
            .unwrap_or_default();
        if account.logged_out() {
            // It reads the login once, at its start; after `codex login` another process is needed.
            let link = self.link.take();
            self.fail(failure::logged_out()).await;
            if let Some(link) = link {
                // Nobody asks how it ended.
                let _ = link.peer.end(self.plan.patience.end);
            }
            return;
        }
        if let Some(link) = &mut self.link {
            link.ready = true;
            link.chatgpt = account.chatgpt();
            self.send_waiting().await;
            self.choose_thread().await;
            self.begin_next().await;
        }
    }

    /// Takes an answer of the session; a late one is ignored.
    async fn replied(&mut self, turn: TurnId, reply: AgentReply) {
        let current = self.current.as_mut().filter(|it| it.turn == turn);
        let (Some(link), Some(current)) = (&mut self.link, current) else {
            return;
        };
        match asked::replied(link, current, reply) {
            Replied::Done => {}
            Replied::Again(event) => self.orders.tell(event).await,
            Replied::Stop => self.cancel(turn).await,
        }
    }

    async fn hear(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Response { id, outcome } => {
                let purpose = self.link.as_mut().and_then(|link| link.pending.close(&id));
                if let Some(purpose) = purpose {
                    self.answered(purpose, outcome).await;
                }
            }
            RpcMessage::Request { id, method, params } => {
                let runs = |it: &&mut Current| {
                    let running = it.running.as_ref();
                    running.is_some_and(|running| running.concerns(&params))
                };
                let current = self.current.as_mut().filter(runs);
                let link = self.link.as_ref();
                let event = link.and_then(|it| asked::asked(it, current, id, &method, params));
                self.tell(event).await;
            }
            RpcMessage::Notification { method, params } => {
                match (method.as_str(), &mut self.link) {
                    ("serverRequest/resolved", _) => {
                        let current = self.current.as_mut();
                        let event = current.and_then(|it| asked::resolved(it, &params));
                        return self.tell(event).await;
                    }
                    ("account/rateLimits/updated", Some(link)) => {
                        return link.limits.update(params);
                    }
                    _ => {}
                }
                if self
                    .completions
                    .noticed(&method, &params, self.link.as_mut())
                {
                    return;
                }
                let mut events = Vec::new();
                let running = self.current.as_mut().and_then(|it| it.running.as_mut());
                let end = running.and_then(|it| it.notice(&method, params, &mut events));
                self.tell(events).await;
                match end {
                    Some(end) => self.ended(end).await,
                    None => self.interrupt(),
                }
            }
        }
    }

    async fn cancel(&mut self, turn: TurnId) {
        if let Some(at) = self.queue.iter().position(|(queued, _)| *queued == turn) {
            self.queue.remove(at);
            return self.orders.tell(ending::interrupted(turn)).await;
        }
        let patience = self.plan.patience.cancel;
        let Some(current) = self.current.as_mut().filter(|it| it.turn == turn) else {
            return;
        };
        if current.running.is_none() {
            // Nothing reached the model yet.
            self.current = None;
            self.orders.tell(ending::interrupted(turn)).await;
            return self.begin_next().await;
        }
        current
            .cancelled
            .get_or_insert_with(|| Instant::now() + patience);
        self.interrupt();
    }

    /// Asks for the end of a cancelled turn, once its id is known.
    fn interrupt(&mut self) {
        if let (Some(link), Some(current)) = (&mut self.link, &mut self.current) {
            ending::interrupt(link, current);
        }
    }

    async fn ended(&mut self, end: End) {
        if let Some(current) = self.current.take_if(|it| it.running.is_some()) {
            let (event, spoiled) = ending::ended(self.link.as_mut(), current, end);
            spoiled.into_iter().for_each(|it| self.opening.spoil(it));
            self.orders.tell(event).await;
            self.begin_next().await;
        }
    }

    /// Fails the turn at hand and goes on with the next.
    async fn fail(&mut self, failure: AgentFailure) {
        self.take_failed(failure).await;
        self.begin_next().await;
    }

    async fn take_failed(&mut self, failure: AgentFailure) {
        if self.link.is_none() {
            self.lookups.fail(&failure);
            self.completions.fail(&failure);
        }
        if let Some(current) = self.current.take() {
            let (event, spoiled) = ending::failed(current, failure);
            spoiled.into_iter().for_each(|it| self.opening.spoil(it));
            self.orders.tell(event).await;
        }
    }

    /// The process has closed its output: whatever its exit code, an open turn has failed.
    async fn bury(&mut self) {
        if let Some(link) = self.link.take() {
            let junk = link.peer.junk();
            let grace = self.plan.patience.end.min(Duration::from_millis(200));
            let outcome = link.peer.end(grace);
            self.fail(trouble::died(self.program.name, outcome, junk))
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
            let failure = trouble::silent(name, "turn/interrupt", patience, 0);
            return self.fail(failure).await;
        }
        self.completions.overdue(name, now, self.link.as_mut());
        let purpose = self.link.as_mut().and_then(|link| link.pending.expire(now));
        let patience = match purpose {
            None | Some(Purpose::Courtesy) => return,
            Some(purpose @ (Purpose::Models(_) | Purpose::Limits(_))) => {
                let patience = self.plan.patience.request;
                let failure = trouble::unanswered(name, purpose.method(), patience);
                return self.lookups.expired(purpose, failure);
            }
            Some(Purpose::OpenCompletion(key) | Purpose::BeginCompletion(key)) => {
                let method = Purpose::OpenCompletion(key).method();
                let failure = trouble::unanswered(name, method, self.plan.patience.request);
                return self.completions.expired(key, failure, self.link.as_mut());
            }
            Some(Purpose::Initialize) => self.plan.patience.initialize,
            Some(_) => self.plan.patience.request,
        };
        let method = purpose.map_or("", Purpose::method);
        let junk = self.link.as_ref().map_or(0, |link| link.peer.junk());
        self.drop_link();
        self.fail(trouble::silent(name, method, patience, junk))
            .await;
    }

    /// Kills a process that cannot be trusted any more.
    fn drop_link(&mut self) {
        if let Some(link) = self.link.take() {
            link.peer.kill();
        }
    }
}
