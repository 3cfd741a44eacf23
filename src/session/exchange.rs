//! What prompts say is done: the record is read and written, the runtime asked, the agent started and told.
//!
//! Owns the agent, what is known of its thread, and which of its turns is under way. A turn that was stopped is over
//! for the user at once; the agent may still be finishing it, and the next one waits for that.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use crate::agent::{
    Agent, AgentCapabilities, AgentEvent, AgentReply, ToolRoute, TurnId, TurnRequest,
};
use crate::config::Choices;
use crate::dialog::Dialog;
use crate::history::{Earlier, RecordedOutcome, RecordedThread, TurnKey};
use crate::session::asking::{Asker, AskingEvent};
use crate::session::attached::Attached;
use crate::session::events::{Notice, TurnOutcome};
use crate::session::exact_log;
use crate::session::given::Setup;
use crate::session::offers::Offers;
use crate::session::prompt::{
    Around, Finished, PromptAction, PromptEvent, Surroundings, TurnAction,
};
use crate::session::question::About;
use crate::session::resume;
use crate::session::runtimes::RuntimeSlot;
use crate::session::slots::{AgentSlot, ConnectAgent, Waiter};
use crate::session::task::Session;
use crate::session::ticket::Ticket;
use crate::session::tool_return::ToolReturn;
use crate::session::toolbox::{Offer, Shelf};

/// The agent and the threads it keeps for us.
pub(super) struct Exchanges {
    pub(super) agent: AgentSlot,
    instructions: String,
    /// More instructions, for agents that take tools.
    about_tools: String,
    thread: Option<RecordedThread>,
    /// The thread is one of another process.
    earlier: bool,
    /// What was said that the agent cannot do.
    unable: HashSet<&'static str>,
    /// What the agent has told of itself.
    pub(super) offers: Offers,
    /// The exchange the record knows to have begun.
    begun: Option<TurnKey>,
    /// The turn the agent works on.
    running: Option<TurnId>,
    /// A stopped turn the agent has not ended yet.
    ending: Option<TurnId>,
}

impl Exchanges {
    pub(super) fn new(agent: AgentSlot, instructions: String) -> Self {
        Exchanges {
            agent,
            instructions,
            about_tools: String::new(),
            thread: None,
            earlier: false,
            unable: HashSet::new(),
            offers: Offers::default(),
            begun: None,
            running: None,
            ending: None,
        }
    }

    /// Takes another agent: what is known of the old one's thread, and a turn it has not ended, goes with it.
    pub(super) fn replace_agent(
        &mut self,
        connect: ConnectAgent,
    ) -> Option<(Box<dyn Agent>, Receiver<AgentEvent>)> {
        self.thread = None;
        self.unable.clear();
        self.offers = Offers::default();
        self.ending = None;
        self.agent.replace(connect)
    }

    /// Adds to the end of the instructions of every turn that can call tools.
    pub(super) fn instruct_about_tools(&mut self, section: &str) {
        self.about_tools.push_str(section);
    }

    /// What it has to know of the tools.
    pub(super) fn about_tools(&self) -> &str {
        &self.about_tools
    }

    /// The turn the agent works on.
    pub(super) fn running(&self) -> Option<TurnId> {
        self.running
    }

    /// Takes what the record knows of an earlier process's thread: its id and digest.
    pub(super) fn thread_known(&mut self, thread: Option<RecordedThread>) {
        self.thread = thread;
        self.earlier = true;
    }

    /// What a request is made of beside the prompt.
    fn surroundings<'a>(
        &'a mut self,
        setup: &'a Setup,
        choices: &'a Choices,
        user: &RuntimeSlot,
        shelf: &Shelf,
        cwd: &Path,
    ) -> Surroundings<'a> {
        let mut able = self.agent.get().capabilities();
        let own_server = match able.tools {
            Some(ToolRoute::McpServer) => setup.own_server.as_ref(),
            _ => None,
        };
        if able.tools == Some(ToolRoute::McpServer) && own_server.is_none() {
            able.tools = None;
        }
        let (tools, about_tools) = match able.tools {
            Some(_) => (
                Offer::now(choices, user, shelf).specs(),
                self.about_tools.as_str(),
            ),
            None => (Vec::new(), ""),
        };
        let commands = able.commands.then(|| self.offers.commands());
        Surroundings {
            instructions: format!("{}{about_tools}", self.instructions),
            choices,
            cwd: cwd.to_owned(),
            thread: self.thread_for(&able),
            commands: commands.unwrap_or_default(),
            tools,
            own_server,
            no_interpreter: user.is_unstartable(),
            agent_is_busy: self.ending.is_some(),
            able,
        }
    }

    /// The thread such an agent may go on with.
    fn thread_for(&self, able: &AgentCapabilities) -> Option<&RecordedThread> {
        let thread = self.thread.as_ref();
        thread.filter(|_| able.resumes || !self.earlier)
    }

    /// Replies to the agent in the turn it works on.
    pub(super) fn reply(&mut self, reply: AgentReply) {
        if let Some(turn) = self.running {
            self.agent.get().reply(turn, reply);
        }
    }

    /// Hands a request to the agent.
    fn start(&mut self, request: TurnRequest) {
        self.running = Some(self.agent.get().start(request));
    }
}

impl Session {
    /// What is said when another agent answered in this session before.
    pub(super) fn other_agent(&self, earlier: &Earlier) -> Option<Notice> {
        resume::other_agent(earlier, &self.choices, &self.setup.missing)
    }

    /// The record has been read for the prompt that has the floor by this ticket.
    pub(super) fn on_read(&mut self, ticket: Ticket, dialog: Box<Dialog>, attached: Attached) {
        if self.floor.has(ticket) {
            self.shelf.look_through(&dialog);
            self.on_prompt(PromptEvent::RecordRead(dialog, attached));
        }
    }

    /// Something for the prompt that has the floor by this ticket; it may have lost it.
    pub(super) fn on_prompt_of(&mut self, ticket: Ticket, event: PromptEvent) {
        if self.floor.has(ticket) {
            self.on_prompt(event);
        }
    }

    /// Tells the prompt, and does what it says.
    pub(super) fn on_prompt(&mut self, event: PromptEvent) {
        let mut returned = self.tell_prompt(event);
        while let Some(result) = returned {
            returned = self.tell_prompt(PromptEvent::ToolReturned(result));
        }
    }

    /// The result of a tool that had it at once. (A turn calls one tool at a time.)
    fn tell_prompt(&mut self, event: PromptEvent) -> Option<ToolReturn> {
        let (exchanges, setup, choices) = (&mut self.exchanges, &self.setup, &self.choices);
        let (user, shelf) = (&self.runtimes.user, &self.shelf);
        let around = Around {
            now: Instant::now(),
            outputs: &self.outputs,
            skills: shelf.fresh(),
            able: user.able(),
        };
        let cwd = &self.cwd;
        let actions = self.floor.prompt()?.on(event, &around, move || {
            exchanges.surroundings(setup, choices, user, shelf, cwd)
        });
        self.outputs.save(self.out_or_background());
        let mut returned = None;
        for action in actions {
            returned = self.do_for_prompt(action).or(returned);
        }
        returned
    }

    fn do_for_prompt(&mut self, action: PromptAction) -> Option<ToolReturn> {
        match action {
            PromptAction::Show(event) => {
                let event = self.from_cells.told(event);
                self.say(event);
            }
            PromptAction::Lacking(lines) => {
                for (what, line) in lines {
                    if self.exchanges.unable.insert(what) {
                        self.say([Notice::note(line)]);
                    }
                }
            }
            PromptAction::AskRuntime(request) => {
                if let Some(ticket) = self.floor.ticket() {
                    self.ask_runtime(request, Waiter::Prompt(ticket));
                }
            }
            PromptAction::AskAboutPictures(lost) => {
                self.ask_user(About::Pictures(lost), Asker::Prompt);
            }
            PromptAction::AskNoMore => self.on_asking(AskingEvent::Gone(Asker::Prompt)),
            PromptAction::InterruptRuntime => {
                let told = self.interrupt_code();
                self.say(told);
            }
            PromptAction::Begin(start) => {
                self.exchanges.begun = Some(self.history.begin_prompt(start));
                self.shelf.nothing_fresh();
            }
            PromptAction::Start(request) => {
                self.turn_offers(&request.tools);
                self.exchanges.start(*request);
            }
            PromptAction::Turn(action) => return self.do_for_turn(action),
            PromptAction::Save(stored) => {
                if let Some(key) = self.exchanges.begun {
                    self.history.stream_answer(key, &stored);
                }
            }
            PromptAction::PutAway => {
                self.insiders_leave();
                self.on_asking(AskingEvent::TurnOver);
                self.agents_code_ended();
                if self.toolbox.put_away() {
                    self.give_kernel_back();
                    self.on_prompt(PromptEvent::ToolsAway);
                }
            }
            PromptAction::Finish(finished) => self.finish_exchange(*finished),
            PromptAction::Leave => {
                self.end_branch();
                self.finish_current();
            }
        }
        None
    }

    /// Does one thing a turn wants; the result of a tool that had it at once.
    fn do_for_turn(&mut self, action: TurnAction) -> Option<ToolReturn> {
        match action {
            TurnAction::Show(event) => {
                self.out_or_background().send(event);
            }
            TurnAction::CallTool(call) => return self.call_tool(call),
            TurnAction::Ask(question) => {
                let asker = Asker::Agent {
                    question: question.id,
                    options: question.options,
                    reasons: question.reasons,
                };
                self.ask_user(About::Agent(question.subject), asker);
            }
            TurnAction::Withdraw(question) => self.on_asking(AskingEvent::Withdrawn { question }),
            TurnAction::InterruptTool => {
                if self.toolbox.is_running() {
                    let told = self.interrupt_code();
                    self.say(told);
                }
            }
            TurnAction::Reply(reply) => {
                if let Some(reply) = self.insider_is_told(reply) {
                    self.exchanges.reply(reply);
                }
            }
            TurnAction::CancelAgent => {
                if let Some(turn) = self.exchanges.running.take() {
                    self.exchanges.agent.get().cancel(turn);
                    self.exchanges.ending = Some(turn);
                }
            }
            TurnAction::End(_) => unreachable!("the prompt takes the end of its turn itself"),
        }
        None
    }

    /// Something the agent said.
    pub(super) fn on_agent(&mut self, event: AgentEvent) {
        if let AgentEvent::News(news) = event {
            let line = self.exchanges.offers.take(news);
            return self.say(line.map(Notice::note));
        }
        let turn = event.turn();
        let over = matches!(
            event,
            AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
        );
        if turn.is_some() && self.exchanges.ending == turn {
            if over {
                self.exchanges.ending = None;
                self.on_prompt(PromptEvent::AgentFree);
            }
        } else if turn.is_some() && self.exchanges.running == turn {
            if over {
                self.exchanges.running = None;
            }
            self.on_prompt(PromptEvent::Agent(event));
        }
    }

    /// The exchange is over: recorded, logged, and told to the interpreter.
    fn finish_exchange(&mut self, finished: Finished) {
        let Finished {
            outcome,
            exchange,
            usage,
        } = finished;
        let Some(key) = self.exchanges.begun.take() else {
            return;
        };
        let recorded = match outcome {
            TurnOutcome::Complete => RecordedOutcome::Complete,
            TurnOutcome::Interrupted => RecordedOutcome::Interrupted,
            TurnOutcome::Failed(_) => RecordedOutcome::Failed,
        };
        let Some(exchange) = exchange else {
            return self.history.finish_prompt(key, recorded, "", usage);
        };
        self.from_cells.said(&exchange.said);
        let stored = exchange.stored;
        self.history.finish_prompt(key, recorded, &stored, usage);
        // After anything but a whole answer the thread no longer equals the record: the next turn seeds a new one.
        self.exchanges.thread = exchange.thread;
        self.exchanges.earlier = false;
        let agent = self.choices.agent.to_string();
        self.history.thread(&agent, self.exchanges.thread.clone());
        if recorded == RecordedOutcome::Failed {
            return;
        }
        if let Some(sent) = exchange.sent {
            let (path, session) = (self.setup.exact_log.clone(), self.numbering.session());
            let out = self.out_or_background().clone();
            exact_log::append(path, session, &sent, &stored, out);
        }
        self.runtimes
            .user
            .set_last_exchange(Some((exchange.prompt, stored)));
    }
}
