//! A step of the session: what it changes, what it may read, and the effects so far.
//!
//! Files that join machines are functions over a [`Step`]. An effect for the job's stream is bound to it when it is
//! added.

use tokio::sync::oneshot;

use crate::approvals::{ApprovalEvent, ApprovalRequester, may_last};
use crate::config::RewindFiles;
use crate::context::StepContext;
use crate::effect::{Effect, Event, To};
use crate::events::{Notice, SessionEvent};
use crate::ids::JobId;
use crate::lasting::Lasting;
use crate::peers::RuntimeRequester;
use crate::plan_mode;
use crate::prompt::PromptEvent;
use crate::question::QuestionSubject;
use crate::rewind::FileHistory;
use crate::run::RunSender;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, SchedulerEvent};
use crate::state::SessionState;

pub(super) struct Step<'a> {
    pub(super) state: &'a mut SessionState,
    pub(super) ctx: &'a StepContext<'a>,
    effects: Vec<Effect>,
}

impl<'a> Step<'a> {
    pub(super) fn new(state: &'a mut SessionState, ctx: &'a StepContext<'a>) -> Self {
        Step {
            state,
            ctx,
            effects: Vec::new(),
        }
    }

    pub(super) fn into_effects(self) -> Vec<Effect> {
        self.effects
    }

    /// Adds an effect of the active job, or of none.
    pub(super) fn push(&mut self, effect: Effect) {
        let out = self.state.out_or_background().clone();
        self.push_for(effect, &out);
    }

    /// Adds an effect of the job with this stream.
    pub(super) fn push_for(&mut self, effect: Effect, out: &RunSender) {
        self.effects.extend(self.state.bind(effect, out));
    }

    pub(super) fn extend(&mut self, effects: impl IntoIterator<Item = Effect>) {
        let out = self.state.out_or_background().clone();
        self.extend_for(effects, &out);
    }

    pub(super) fn extend_for(
        &mut self,
        effects: impl IntoIterator<Item = Effect>,
        out: &RunSender,
    ) {
        let effects = effects.into_iter();
        effects.for_each(|effect| self.push_for(effect, out));
    }

    pub(super) fn raise(&mut self, event: Event) {
        self.effects.push(Effect::Raise(event));
    }

    /// Raises an event for the active prompt.
    pub(super) fn raise_prompt(&mut self, event: PromptEvent) {
        if let Some(job) = self.state.scheduler.ticket() {
            self.raise(Event::Prompt(job, event));
        }
    }

    /// Publishes an event to the run of the active job, else to the background.
    pub(super) fn show(&mut self, event: impl Into<SessionEvent>) {
        self.push(Effect::show(event));
    }

    pub(super) fn send(&mut self, out: &RunSender, event: impl Into<SessionEvent>) {
        self.effects
            .push(Effect::Emit(To::Run(out.clone()), event.into()));
    }

    pub(super) fn send_to_background(&mut self, event: impl Into<SessionEvent>) {
        self.send(&self.state.background.clone(), event);
    }

    pub(super) fn on_scheduler(&mut self, event: SchedulerEvent<'_>) {
        let effects = self.state.scheduler.on(event);
        self.extend(effects);
    }

    pub(super) fn on_approval(&mut self, event: ApprovalEvent) {
        let effects = self.state.approvals.on(event, self.ctx.at);
        self.extend(effects);
    }

    /// Queues a question for the user; it is shown when those before it are answered.
    pub(super) fn ask_user(&mut self, about: QuestionSubject, asker: ApprovalRequester) {
        let scheduler = &mut self.state.scheduler;
        let plans = self.state.choices.plan && scheduler.prompt().is_some();
        let refuses = plans && plan_mode::refuses_question(&about, &asker);
        let line = scheduler.prompt().map_or(0, |prompt| prompt.line());
        let caller = scheduler.caller().map(str::to_owned);
        let can_ask = scheduler.asks(self.ctx.deps.asks);
        let subject = may_last(&about, &asker, &self.state.choices, || {
            self.ctx.agent().capabilities()
        });
        let coverage = subject.filter(|_| caller.is_none()).map(|subject| {
            let lasting = &self.ctx.deps.lasting;
            lasting.coverage(subject, &self.state.cwd)
        });
        let requested = ApprovalEvent::Requested {
            coverage: coverage.unwrap_or_default(),
            about,
            asker,
            caller,
            line,
            can_ask,
            refusal: refuses.then_some(plan_mode::REFUSAL),
        };
        self.on_approval(requested);
    }

    /// Keeps a yes that lasts; where it cannot be kept, it was for once.
    pub(super) fn keep_lasting(&mut self, lasting: Lasting) {
        let deps = &self.ctx.deps;
        let agent = self.state.choices.agent.to_string();
        let session = self.state.numbering.session();
        if let Err(why) = deps.lasting.add(lasting, agent, session, self.ctx.at) {
            self.show(Notice::warning(format!("allowed this once only: {why}")));
        }
    }

    /// Makes a question the active job: the next input waits for its answer.
    pub(super) fn hold_for_question(&mut self, out: &RunSender) {
        let holder = ActiveJob::Command { firm: false };
        self.state.scheduler.start(holder, out.clone());
    }

    /// Ends the job of an answered question; returns its stream.
    pub(super) fn release_question(&mut self) -> Option<RunSender> {
        let out = self.state.scheduler.out().cloned();
        self.state.scheduler.release();
        out
    }

    /// Returns the history of files, unless the user wants none.
    pub(super) fn files(&self) -> Option<FileHistory> {
        let is_wanted = self.state.choices.rewind_files != RewindFiles::Off;
        self.ctx.files.filter(|_| is_wanted).cloned()
    }

    /// Sends a request to the user's runtime; returns the receiver of its answer.
    pub(super) fn ask_runtime(
        &mut self,
        request: RuntimeRequest,
    ) -> oneshot::Receiver<RuntimeReply> {
        let (answer, told) = oneshot::channel();
        let requester = RuntimeRequester::Handle(answer);
        self.effects
            .push(Effect::AskRuntime(RuntimeRole::User, request, requester));
        told
    }

    /// Runs the effects of a future as the active job, unless the user stops the wait; the next input waits.
    pub(super) fn wait(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        self.wait_as(ActiveJob::Command { firm: false }, out, wait);
    }

    /// As [`Step::wait`]; the user cannot stop the wait.
    pub(super) fn wait_firmly(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        self.wait_as(ActiveJob::Command { firm: true }, out, wait);
    }

    /// As [`Step::wait`], with `holder` as the active job.
    pub(super) fn wait_as(
        &mut self,
        holder: ActiveJob,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        let job = self.state.scheduler.start(holder, out.clone());
        self.effects.push(Effect::Await(job, Box::pin(wait)));
    }

    /// Runs the effects of a future outside of the queue. It holds no stream, so that a stopped job ends at once.
    pub(super) fn spawn(&mut self, wait: impl Future<Output = Vec<Effect>> + Send + 'static) {
        self.effects.push(Effect::Spawn(Box::pin(wait)));
    }

    /// Raises the event of work that may block, once it is done.
    pub(super) fn spawn_blocking(&mut self, work: impl FnOnce() -> Event + Send + 'static) {
        self.spawn(async move {
            let done = tokio::task::spawn_blocking(work).await;
            done.into_iter().map(Effect::Raise).collect()
        });
    }

    /// Ends the wait of a job, with its effects; nothing happens when the job is no longer active.
    pub(super) fn finish_wait(&mut self, job: JobId, effects: Vec<Effect>) {
        if let Some((out, wish)) = self.state.scheduler.finish_wait(job) {
            self.extend_for(effects, &out);
            wish.into_iter().for_each(|event| self.raise(event));
            self.raise(Event::Advance);
        }
    }
}
