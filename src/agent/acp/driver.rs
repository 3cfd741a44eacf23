//! The one owner of the conversation with the agent: a thread that turns commands and messages into each other.
//!
//! In: commands of the handle, messages of the process, what terminals show, files that were read or written, the
//! clock. Out: events, in order. Commands go first: a cancel overtakes a flood of updates. Invariants: a turn leaves
//! `current` exactly when its end is told; every request of the agent is answered; what is replayed by `session/load`
//! is not told.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agreed::Agreed;
use super::asides::{Asides, Ready};
use super::current::Current;
use super::link::{Link, Purpose, next_of, until};
use super::program::{Known, Program};
use super::served::{Does, Served};
use super::sessions::{Sessions, Step};
use super::{asked, content, ending, failure, sessions};
use crate::agent::handle::{Command, Orders};
use crate::agent::plan::ProcessPlan;
use crate::agent::trouble;
use crate::agent::{
    AgentEvent, AgentFailure, AgentReply, Decision, News, QuestionAnswer, TurnId, TurnRequest,
};
use crate::rpc::{RpcError, RpcId, RpcMessage};
use crate::trace::UPDATES;

/// See the module.
pub(super) struct Driver {
    program: Program,
    plan: ProcessPlan,
    orders: Orders,
    known: Known,
    link: Option<Link>,
    /// How long its start may take.
    start: Duration,
    /// What the process of the link can; none until it has said so.
    agreed: Option<Agreed>,
    sessions: Sessions,
    current: Option<Current>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    asides: Asides,
    served: Served,
}

impl Driver {
    pub(super) fn new(program: Program, plan: ProcessPlan, orders: Orders, known: Known) -> Self {
        Driver {
            served: Served::new(plan.clone(), program.handing),
            program,
            orders,
            known,
            link: None,
            start: plan.patience.initialize,
            agreed: None,
            sessions: Sessions::default(),
            current: None,
            queue: VecDeque::new(),
            asides: Asides::default(),
            plan,
        }
    }

    /// Runs until the handle is dropped, then ends the process.
    pub(super) fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no operating system resource");
        runtime.block_on(self.serve());
        self.served.end_all();
        if let Some(link) = self.link.take() {
            // Nobody is left to be told how it ended.
            let _ = match self.agreed {
                Some(_) => link.end(self.plan.patience.end),
                // One that is still starting has nothing to put away.
                None => link.end_soon(),
            };
        }
        // A file on a disk that does not answer is not waited for.
        runtime.shutdown_background();
    }

    async fn serve(&mut self) {
        loop {
            let deadline = self.deadline();
            let message = next_of(&mut self.link);
            tokio::select! {
                biased;
                command = self.orders.next() => match command {
                    Some(command) => self.obey(command).await,
                    None => return,
                },
                does = self.served.next() => self.act(does).await,
                message = message => match message {
                    Some(message) => self.hear(message).await,
                    None => self.bury().await,
                },
                () = until(deadline) => self.overdue().await,
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::WarmUp => {
                // A failure is told by the first turn, which tries again.
                let _ = self.linked();
            }
            Command::Start(turn, request) => {
                self.queue.push_back((turn, request));
                self.begin_next().await;
            }
            Command::Reply(turn, AgentReply::Answered { question, answer }) => {
                self.replied(turn, &question, &answer).await;
            }
            Command::Reply(_, AgentReply::ToolResult { .. }) => {}
            Command::Cancel(turn) => self.cancel(turn).await,
            Command::LogIn(way, done) if self.current.is_none() && self.known.elsewhere(&way) => {
                // The next process finds the new login; how this one ends matters to nobody.
                drop(self.unlink().map(Link::end_soon));
                let _ = done.send(Ok(()));
            }
            beside => {
                let options = &self.sessions.options;
                if self.asides.take(&self.program.name, beside, options) {
                    match self.linked() {
                        Ok(true) => self.send_asides(),
                        Ok(false) => {}
                        Err(failure) => self.asides.fail(&failure),
                    }
                }
            }
        }
    }

    fn send_asides(&mut self) {
        if let (Some(link), Some(agreed)) = (&mut self.link, &self.agreed) {
            self.asides.send(Ready {
                link,
                agreed,
                options: &self.sessions.options,
                session: self.sessions.conversation(),
                cwd: &self.plan.cwd,
            });
        }
    }

    /// The process, started when it does not run; true when it is ready.
    fn linked(&mut self) -> Result<bool, AgentFailure> {
        if self.link.is_none() {
            let opened = Link::open(&self.program, &self.plan);
            let failed = |error| failure::not_started(&self.program.name, &error);
            self.link = Some(opened.map_err(failed)?);
        }
        Ok(self.agreed.is_some())
    }

    async fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            self.start = request.settings.start.unwrap_or(self.start);
            self.current = Some(Current::new(turn, request));
            match self.linked() {
                Ok(true) => self.open_session().await,
                Ok(false) => {}
                Err(failure) => self.end_failed(failure).await,
            }
        }
    }

    /// Finds the session for the turn at hand.
    async fn open_session(&mut self) {
        if let (Some(agreed), Some(current)) = (&self.agreed, &mut self.current) {
            let step = self.sessions.choose(current, agreed);
            self.take(step).await;
        }
    }

    async fn take(&mut self, step: Step) {
        match (step, &mut self.link) {
            (Step::Ask(purpose, method, params), Some(link)) => {
                link.ask_as(purpose, method, params);
            }
            (Step::Ask(..), None) => {}
            (Step::Prompt, _) => self.send_prompt().await,
            (Step::Fail(failure), _) => self.end_failed(failure).await,
        }
    }

    async fn answered(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name.clone();
        match purpose {
            Purpose::Initialize => match sessions::greeted(&self.program, outcome) {
                Ok(agreed) => {
                    self.known.set(agreed.capabilities(&name));
                    self.agreed = Some(agreed);
                    self.send_asides();
                    self.open_session().await;
                    self.begin_next().await;
                }
                Err(failure) => self.give_up(failure).await,
            },
            Purpose::New(turn) | Purpose::Resume(turn) | Purpose::Load(turn) => {
                let Some(agreed) = &self.agreed else {
                    return;
                };
                let current = self.current.as_mut().filter(|it| it.turn == turn);
                let (news, step) = self
                    .sessions
                    .opened(&name, purpose, outcome, current, agreed);
                self.tell_news(news).await;
                if let Some(step) = step {
                    self.take(step).await;
                    self.begin_next().await;
                }
            }
            // One that cannot be closed is opened again as it is.
            Purpose::Close(turn) if self.at_hand(turn) => self.open_session().await,
            Purpose::Model(turn) if self.at_hand(turn) => {
                let events = self.sessions.model_set(turn, outcome);
                self.tell(events).await;
                self.send_prompt().await;
                self.begin_next().await;
            }
            Purpose::Prompt(turn) if self.at_hand(turn) => self.prompted(outcome).await,
            Purpose::Close(_) | Purpose::Model(_) | Purpose::Prompt(_) | Purpose::Courtesy => {}
            Purpose::Authenticate(_) | Purpose::Choose(_) | Purpose::Sessions(_) => {
                let options = &mut self.sessions.options;
                let news = self.asides.answered(&name, purpose, outcome, options);
                self.tell_news(news).await;
            }
        }
    }

    fn at_hand(&self, turn: TurnId) -> bool {
        self.current.as_ref().is_some_and(|it| it.turn == turn)
    }

    async fn send_prompt(&mut self) {
        let (Some(link), Some(agreed), Some(current)) =
            (&mut self.link, &self.agreed, &mut self.current)
        else {
            return;
        };
        let turn = current.turn;
        if current.only_opens() {
            let opened = ending::opened(current);
            self.settle();
            return self.orders.tell(opened).await;
        }
        let (blocks, left_out) = content::blocks(&current.request, current.fresh, agreed);
        let params = json!({"sessionId": current.session, "prompt": blocks});
        link.ask(Purpose::Prompt(turn), params);
        current.sent = true;
        self.orders.tell(AgentEvent::Sent { turn }).await;
        let said = left_out.map(|message| AgentEvent::Progress { turn, message });
        self.tell(said).await;
    }

    /// The agent has ended the turn.
    async fn prompted(&mut self, outcome: Result<Value, RpcError>) {
        if let Some(current) = self.settle() {
            let methods = self.agreed.as_ref().map_or(&[][..], |it| &it.methods);
            let events = ending::answered(&self.program.name, current, outcome, methods);
            self.tell(events).await;
            self.begin_next().await;
        }
    }

    /// Takes the turn away: nobody answers its questions any more, and its commands end.
    fn settle(&mut self) -> Option<Current> {
        let mut current = self.current.take()?;
        for (id, outcome) in current.refuse_all() {
            self.answer(id, outcome);
        }
        self.served.end_all();
        Some(current)
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
        if !current.sent {
            // Nothing reached the model yet.
            self.settle();
            self.orders.tell(ending::interrupted(turn)).await;
            return self.begin_next().await;
        }
        if current.cancelled.is_none()
            && let Some(link) = &self.link
        {
            current.cancelled = Some(Instant::now() + patience);
            link.notify("session/cancel", json!({"sessionId": current.session}));
            for (id, outcome) in current.refuse_all() {
                link.answer(id, outcome);
            }
            self.served.end_all();
        }
    }

    async fn hear(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Response { id, outcome } => {
                let purpose = self.link.as_mut().and_then(|link| link.close(&id));
                if let Some(purpose) = purpose {
                    self.answered(purpose, outcome).await;
                }
            }
            RpcMessage::Request { id, method, params } => self.asked(id, &method, params).await,
            RpcMessage::Notification { method, params } => match method.as_str() {
                "session/update" => self.updated(&params).await,
                "$/cancel_request" => {
                    let current = self.current.as_mut();
                    let withdrawn = current.and_then(|it| it.withdraw(&params["requestId"]));
                    if let Some((id, event)) = withdrawn {
                        self.answer(id, Err(asked::cancelled()));
                        self.orders.tell(event).await;
                    }
                }
                _ => {}
            },
        }
    }

    async fn updated(&mut self, params: &Value) {
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let session = params["sessionId"].as_str().unwrap_or_default();
        log::debug!(target: UPDATES, "{kind} of {session}");
        let news = self.sessions.options.update(kind, update);
        self.tell_news(news).await;
        // What comes before the prompt was sent is a conversation that is replayed: it was told long ago.
        let terminals = self.served.terminals();
        let current = self.current.as_mut().filter(|it| it.runs_in(session));
        let shown = |terminal: &str| terminals.shown(terminal);
        let events = current.map(|it| it.update(update, &shown));
        self.tell(events.into_iter().flatten()).await;
    }

    async fn tell_news(&mut self, news: Vec<News>) {
        self.tell(news.into_iter().map(AgentEvent::News)).await;
    }

    async fn tell(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.orders.tell(event).await;
        }
    }

    fn answer(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        if let Some(link) = &self.link {
            link.answer(id, outcome);
        }
    }

    /// Takes a request of the agent.
    async fn asked(&mut self, id: RpcId, method: &str, params: Value) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let current = self.current.as_mut();
        let current = current.filter(|it| it.runs_in(session) && it.cancelled.is_none());
        let does = self.served.asked(id, method, params, current);
        self.act(does).await;
    }

    async fn act(&mut self, does: Vec<Does>) {
        for does in does {
            match (does, &mut self.current) {
                (Does::Answer(id, outcome), _) => self.answer(id, outcome),
                (does, Some(current)) => {
                    let event = does.event(current);
                    self.tell(event).await;
                }
                (_, None) => {}
            }
        }
    }

    async fn replied(&mut self, turn: TurnId, question: &str, answer: &QuestionAnswer) {
        let current = self.current.as_mut().filter(|it| it.turn == turn);
        if let Some(answered) = current.and_then(|it| it.answer(question, answer)) {
            let does = self.served.answered(answered);
            self.act(does).await;
            if answer.decision() == Some(Decision::Stop) {
                self.cancel(turn).await;
            }
        }
    }

    /// Fails the turn at hand and goes on with the next.
    async fn fail(&mut self, failure: AgentFailure) {
        self.end_failed(failure).await;
        self.begin_next().await;
    }

    async fn end_failed(&mut self, failure: AgentFailure) {
        if self.link.is_none() {
            self.asides.fail(&failure);
        }
        if let Some(current) = self.settle() {
            self.orders.tell(ending::failed(&current, failure)).await;
        }
    }

    /// Forgets the process: another one knows nothing of it.
    fn unlink(&mut self) -> Option<Link> {
        self.agreed = None;
        self.sessions = Sessions::default();
        self.link.take()
    }

    /// Kills a process that cannot be worked with.
    async fn give_up(&mut self, failure: AgentFailure) {
        if let Some(link) = self.unlink() {
            link.kill();
        }
        self.fail(failure).await;
    }

    /// The process has closed its output: whatever its exit code, an open turn has failed.
    async fn bury(&mut self) {
        if let Some(link) = self.unlink() {
            let junk = link.junk();
            let failure = trouble::died(&self.program.name, link.end_soon(), junk);
            self.fail(failure).await;
        }
    }
}

impl Driver {
    /// When the first of it is due.
    fn deadline(&self) -> Option<Instant> {
        let request = self.link.as_ref().and_then(Link::deadline);
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        let start = self.starting().and_then(|(_, end)| end);
        let deadlines = [request, cancel, start, self.tells_start()];
        deadlines.into_iter().flatten().min()
    }

    /// What of the start the process has still to answer, and until when; `None`: as long as it takes.
    fn starting(&self) -> Option<(Purpose, Option<Instant>)> {
        let (purpose, since) = self.link.as_ref()?.starting()?;
        Some((purpose, since.checked_add(self.start)))
    }

    /// When the turn at hand is told that the agent is still starting.
    fn tells_start(&self) -> Option<Instant> {
        let current = self.current.as_ref().filter(|it| !it.sent);
        current.and_then(|it| it.tells_start)
    }

    async fn overdue(&mut self) {
        let name = self.program.name.clone();
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        if cancel.is_some_and(|deadline| deadline <= Instant::now()) {
            // Told as interrupted, which is what was asked for.
            let patience = self.plan.patience.cancel;
            let failure = trouble::silent(&name, "session/cancel", patience, 0);
            return self.give_up(failure).await;
        }
        let now = Instant::now();
        if self.tells_start().is_some_and(|due| due <= now)
            && let Some(current) = &mut self.current
        {
            current.tells_start = None;
            let starting = AgentEvent::Starting {
                turn: current.turn,
                agent: name,
                limit: now.checked_add(self.start).map(|_| self.start),
            };
            return self.orders.tell(starting).await;
        }
        if let Some((purpose, Some(end))) = self.starting()
            && end <= now
        {
            let junk = self.link.as_ref().map_or(0, Link::junk);
            let method = purpose.method();
            return self
                .give_up(failure::starts_too_slowly(&name, method, self.start, junk))
                .await;
        }
        let Some(purpose) = self.link.as_mut().and_then(Link::expire) else {
            return;
        };
        if purpose == Purpose::Courtesy {
            return;
        }
        let patience = self.plan.patience.request;
        let failure = trouble::unanswered(&name, purpose.method(), patience);
        if self.asides.expired(purpose, failure) {
            return;
        }
        let junk = self.link.as_ref().map_or(0, Link::junk);
        let failure = trouble::silent(&name, purpose.method(), patience, junk);
        self.give_up(failure).await;
    }
}
