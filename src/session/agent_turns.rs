//! The agent's turns: carries out the effects of prompts on the record, the runtime and the agent.
//!
//! Owns the agent, its recorded thread, and the turn in progress. A cancelled turn is over for the user at once;
//! the agent may still be finishing it, and the next turn waits for that.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use crate::agent::{
    Agent, AgentCapabilities, AgentEvent, AgentReply, ToolRoute, TurnId, TurnRequest,
};
use crate::config::Choices;
use crate::dialog::Dialog;
use crate::record::{RecordedOutcome, RecordedThread, SessionTail, TurnKey};
use crate::session::agent_profile::AgentProfile;
use crate::session::approvals::{ApprovalEvent, ApprovalRequester};
use crate::session::attachments::Attachments;
use crate::session::deps::SessionDeps;
use crate::session::event::Event;
use crate::session::event_loop::Session;
use crate::session::events::{Notice, TurnOutcome};
use crate::session::exact_log;
use crate::session::ids::JobId;
use crate::session::peers::{AgentPeer, ConnectAgent, RuntimeRequester};
use crate::session::prompt::{
    PromptContext, PromptEffect, PromptEvent, PromptOutcome, RequestContext, TurnEffect,
};
use crate::session::question::QuestionSubject;
use crate::session::resume;
use crate::session::runtimes::RuntimePeer;
use crate::session::tools::{SkillRegistry, ToolOffer};

pub(super) struct AgentTurns {
    pub(super) agent: AgentPeer,
    instructions: String,
    tool_instructions: String,
    thread: Option<RecordedThread>,
    /// The thread was recorded by another process.
    thread_is_older: bool,
    /// Missing capabilities that were reported to the user; each is reported once.
    reported_missing: HashSet<&'static str>,
    pub(super) profile: AgentProfile,
    recorded_turn: Option<TurnKey>,
    running: Option<TurnId>,
    /// A stopped turn the agent has not ended yet.
    cancelling: Option<TurnId>,
}

impl AgentTurns {
    pub(super) fn new(agent: AgentPeer, instructions: String) -> Self {
        AgentTurns {
            agent,
            instructions,
            tool_instructions: String::new(),
            thread: None,
            thread_is_older: false,
            reported_missing: HashSet::new(),
            profile: AgentProfile::default(),
            recorded_turn: None,
            running: None,
            cancelling: None,
        }
    }

    /// Replaces the agent; drops the old one's recorded thread and any turn that it has not ended.
    pub(super) fn replace_agent(
        &mut self,
        connect: ConnectAgent,
    ) -> Option<(Box<dyn Agent>, Receiver<AgentEvent>)> {
        self.thread = None;
        self.reported_missing.clear();
        self.profile = AgentProfile::default();
        self.cancelling = None;
        self.agent.replace(connect)
    }

    /// Appends to the instructions of every turn that can call tools.
    pub(super) fn add_tool_instructions(&mut self, section: &str) {
        self.tool_instructions.push_str(section);
    }

    pub(super) fn tool_instructions(&self) -> &str {
        &self.tool_instructions
    }

    pub(super) fn running(&self) -> Option<TurnId> {
        self.running
    }

    /// Sets the thread that an earlier process recorded: its id and digest.
    pub(super) fn set_recorded_thread(&mut self, thread: Option<RecordedThread>) {
        self.thread = thread;
        self.thread_is_older = true;
    }

    /// Returns the parts of a request that do not come from the prompt.
    fn context<'a>(
        &'a mut self,
        setup: &'a SessionDeps,
        choices: &'a Choices,
        user: &RuntimePeer,
        skills: &SkillRegistry,
        cwd: &Path,
    ) -> RequestContext<'a> {
        let mut able = self.agent.get().capabilities();
        let own_server = match able.tools {
            Some(ToolRoute::McpServer) => setup.own_server.as_ref(),
            _ => None,
        };
        if able.tools == Some(ToolRoute::McpServer) && own_server.is_none() {
            able.tools = None;
        }
        let (tools, tool_instructions) = match able.tools {
            Some(_) => (
                ToolOffer::current(choices, user, skills).specs(),
                self.tool_instructions.as_str(),
            ),
            None => (Vec::new(), ""),
        };
        let commands = able.commands.then(|| self.profile.commands());
        RequestContext {
            instructions: format!("{}{tool_instructions}", self.instructions),
            choices,
            cwd: cwd.to_owned(),
            thread: self.thread_for(&able),
            commands: commands.unwrap_or_default(),
            tools,
            own_server,
            no_interpreter: user.is_unstartable(),
            agent_is_busy: self.cancelling.is_some(),
            agent: able,
        }
    }

    /// Returns the thread that an agent with these capabilities may continue.
    fn thread_for(&self, able: &AgentCapabilities) -> Option<&RecordedThread> {
        let thread = self.thread.as_ref();
        thread.filter(|_| able.resumes_threads || !self.thread_is_older)
    }

    pub(super) fn reply(&mut self, reply: AgentReply) {
        if let Some(turn) = self.running {
            self.agent.get().reply(turn, reply);
        }
    }

    fn start(&mut self, request: TurnRequest) {
        self.running = Some(self.agent.get().start(request));
    }
}

impl Session {
    /// Returns the notice that another agent answered earlier in this session.
    pub(super) fn other_agent(&self, earlier: &SessionTail) -> Option<Notice> {
        resume::other_agent(earlier, &self.choices, &self.deps.missing)
    }

    /// Takes the dialog that was read from the record for the prompt with this ticket.
    pub(super) fn on_read(&mut self, ticket: JobId, dialog: Box<Dialog>, attached: Attachments) {
        if self.scheduler.is_current(ticket) {
            self.skill_registry.scan_conversation(&dialog);
            self.on_prompt(PromptEvent::RecordRead(dialog, attached));
        }
    }

    /// Forwards an event to the prompt with this ticket; drops the event when that prompt is no longer active.
    pub(super) fn on_prompt_of(&mut self, ticket: JobId, event: PromptEvent) {
        if self.scheduler.is_current(ticket) {
            self.on_prompt(event);
        }
    }

    pub(super) fn on_prompt(&mut self, event: PromptEvent) {
        let (turns, setup, choices) = (&mut self.agent_turns, &self.deps, &self.choices);
        let (user, skills) = (&self.runtimes.user, &self.skill_registry);
        let around = PromptContext {
            now: Instant::now(),
            outputs: &self.outputs,
            skills: skills.newly_loaded(),
            runtime: user.able(),
        };
        let cwd = &self.cwd;
        let Some(prompt) = self.scheduler.prompt() else {
            return;
        };
        let actions = prompt.on(event, &around, move || {
            turns.context(setup, choices, user, skills, cwd)
        });
        self.outputs.save(self.out_or_background());
        for action in actions {
            self.run_prompt_action(action);
        }
    }

    fn run_prompt_action(&mut self, action: PromptEffect) {
        match action {
            PromptEffect::Show(event) => {
                let event = self.cell_calls.map_event(event);
                self.publish(event);
            }
            PromptEffect::WarnUnsupported(lines) => {
                for (what, line) in lines {
                    if self.agent_turns.reported_missing.insert(what) {
                        self.publish([Notice::note(line)]);
                    }
                }
            }
            PromptEffect::AskRuntime(request) => {
                if let Some(ticket) = self.scheduler.ticket() {
                    self.ask_runtime(request, RuntimeRequester::Prompt(ticket));
                }
            }
            PromptEffect::AskAboutPictures(lost) => {
                self.ask_user(QuestionSubject::Pictures(lost), ApprovalRequester::Prompt);
            }
            PromptEffect::WithdrawPictureQuestion => {
                self.on_approval(ApprovalEvent::Cancelled(ApprovalRequester::Prompt))
            }
            PromptEffect::InterruptRuntime => {
                let told = self.interrupt_code();
                self.publish(told);
            }
            PromptEffect::RecordStart(start) => {
                self.agent_turns.recorded_turn = Some(self.record.begin_prompt(start));
                self.skill_registry.clear_newly_loaded();
            }
            PromptEffect::StartTurn(request) => {
                self.set_offered_tools(&request.tools);
                self.agent_turns.start(*request);
            }
            PromptEffect::Turn(action) => self.run_turn_action(action),
            PromptEffect::SaveAnswer(stored) => {
                if let Some(key) = self.agent_turns.recorded_turn {
                    self.record.stream_answer(key, &stored);
                }
            }
            PromptEffect::CancelTools => {
                self.refuse_inside_calls();
                self.on_approval(ApprovalEvent::TurnOver);
                self.on_agent_code_end();
                if self.tool_runner.cancel() {
                    self.release_kernel();
                    self.raise(Event::Prompt(PromptEvent::ToolsStopped));
                }
            }
            PromptEffect::RecordEnd(finished) => self.finish_exchange(*finished),
            PromptEffect::Done => {
                self.end_branch();
                self.finish_current();
            }
        }
    }

    fn run_turn_action(&mut self, action: TurnEffect) {
        match action {
            TurnEffect::Show(event) => {
                self.out_or_background().send(event);
            }
            TurnEffect::CallTool(call) => self.call_tool(call),
            TurnEffect::Ask(question) => {
                let asker = ApprovalRequester::Agent {
                    question: question.id,
                    options: question.options,
                    reasons: question.accepts_reason,
                };
                self.ask_user(QuestionSubject::Agent(question.subject), asker);
            }
            TurnEffect::WithdrawQuestion(question) => {
                self.on_approval(ApprovalEvent::Withdrawn { question })
            }
            TurnEffect::InterruptTool => {
                if self.tool_runner.is_running() {
                    let told = self.interrupt_code();
                    self.publish(told);
                }
            }
            TurnEffect::Reply(reply) => {
                if let Some(reply) = self.route_reply(reply) {
                    self.agent_turns.reply(reply);
                }
            }
            TurnEffect::CancelAgent => {
                if let Some(turn) = self.agent_turns.running.take() {
                    self.agent_turns.agent.get().cancel(turn);
                    self.agent_turns.cancelling = Some(turn);
                }
            }
            TurnEffect::End(_) => unreachable!("the prompt takes the end of its turn itself"),
        }
    }

    pub(super) fn on_agent(&mut self, event: AgentEvent) {
        if let AgentEvent::Update(news) = event {
            let line = self.agent_turns.profile.take(news);
            return self.publish(line.map(Notice::note));
        }
        let turn = event.turn();
        let over = matches!(
            event,
            AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
        );
        if turn.is_some() && self.agent_turns.cancelling == turn {
            if over {
                self.agent_turns.cancelling = None;
                self.on_prompt(PromptEvent::AgentIdle);
            }
        } else if turn.is_some() && self.agent_turns.running == turn {
            if over {
                self.agent_turns.running = None;
            }
            self.on_prompt(PromptEvent::Agent(event));
        }
    }

    /// Records and logs the finished exchange, and publishes it to the interpreter.
    fn finish_exchange(&mut self, finished: PromptOutcome) {
        let PromptOutcome {
            outcome,
            exchange,
            usage,
        } = finished;
        let Some(key) = self.agent_turns.recorded_turn.take() else {
            return;
        };
        let recorded = match outcome {
            TurnOutcome::Complete => RecordedOutcome::Complete,
            TurnOutcome::Interrupted => RecordedOutcome::Interrupted,
            TurnOutcome::Failed(_) => RecordedOutcome::Failed,
        };
        let Some(exchange) = exchange else {
            return self.record.finish_prompt(key, recorded, "", usage);
        };
        self.cell_calls.set_answer(&exchange.texts);
        let stored = exchange.stored;
        self.record.finish_prompt(key, recorded, &stored, usage);
        // After anything but a whole answer the thread no longer equals the record: the next turn seeds a new one.
        self.agent_turns.thread = exchange.thread;
        self.agent_turns.thread_is_older = false;
        let agent = self.choices.agent.to_string();
        self.record
            .set_thread(&agent, self.agent_turns.thread.clone());
        if recorded == RecordedOutcome::Failed {
            return;
        }
        if let Some(sent) = exchange.sent {
            let (path, session) = (self.deps.exact_log.clone(), self.numbering.session());
            let out = self.out_or_background().clone();
            exact_log::append(path, session, &sent, &stored, out);
        }
        self.runtimes
            .user
            .set_last_exchange(Some((exchange.prompt, stored)));
    }
}
