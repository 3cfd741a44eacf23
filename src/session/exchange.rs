//! The way of a prompt through the loop once everything for it is there: turn begun, its actions carried out.
//!
//! Owns the agent and what is known of its thread. A turn that was stopped is over for the user at once; the agent may
//! still be finishing it, and the next turn waits for that.

use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use crate::agent::{Agent, AgentEvent, TurnId, TurnRequest};
use crate::config::RunCells;
use crate::dialog::Dialog;
use crate::history::{Outcome, RecordedThread, TurnKey};
use crate::runtime::RuntimeRequest;
use crate::session::asking::Asker;
use crate::session::events::{SessionEvent, TurnOutcome};
use crate::session::exact_log;
use crate::session::prompt::{Before, Phase, PromptRun, Running, Surroundings};
use crate::session::question::About;
use crate::session::slots::{AgentSlot, ConnectAgent};
use crate::session::task::Session;
use crate::session::toolbox::{Offer, is_built_in};
use crate::session::turn::{ToolReturn, TurnAction, TurnEnd, TurnEvent};

/// The agent and the threads it keeps for us.
pub(super) struct Exchanges {
    pub(super) agent: AgentSlot,
    instructions: String,
    thread: Option<RecordedThread>,
    /// A stopped turn the agent has not ended yet.
    ending: Option<TurnId>,
    /// A request that waits for that end.
    held_back: Option<Box<(TurnRequest, Before, TurnKey)>>,
    /// Each `SKILL.md` loaded since the last prompt was sent.
    pub(super) loaded: Vec<String>,
}

impl Exchanges {
    pub(super) fn new(agent: AgentSlot, instructions: String) -> Self {
        Exchanges {
            agent,
            instructions,
            thread: None,
            ending: None,
            held_back: None,
            loaded: Vec::new(),
        }
    }

    /// Takes another agent: what is known of the old one's thread, and a turn it has not ended, goes with it.
    pub(super) fn replace_agent(
        &mut self,
        connect: ConnectAgent,
    ) -> Option<(Box<dyn Agent>, Receiver<AgentEvent>)> {
        self.thread = None;
        self.ending = None;
        self.agent.replace(connect)
    }

    /// Adds to the end of the instructions of every turn.
    pub(super) fn instruct(&mut self, section: &str) {
        self.instructions.push_str(section);
    }

    /// A skill was loaded, with the user's leave where that was needed: the next prompt brings what it declares.
    pub(super) fn skill_loaded(&mut self, text: String) {
        self.loaded.push(text);
    }

    /// Takes what the record knows of an earlier process's thread: its id and digest.
    pub(super) fn thread_known(&mut self, thread: Option<RecordedThread>) {
        self.thread = thread;
    }
}

impl Session {
    /// Everything is there: the turn begins, or waits for the end of the one before.
    pub(super) fn begin_turn(
        &mut self,
        mut prompt: Box<PromptRun>,
        dialog: &Dialog,
        tools: Vec<crate::agent::ToolSpec>,
    ) {
        let images = self.exchanges.agent.get().capabilities().images;
        self.shelf.look_through(dialog);
        let mut offered = self.offer().specs();
        offered.extend(tools.into_iter().filter(|tool| !is_built_in(&tool.name)));
        let around = Surroundings {
            instructions: &self.exchanges.instructions,
            choices: &self.choices,
            cwd: self.cwd.clone(),
            thread: self.exchanges.thread.as_ref(),
            images,
        };
        let (request, before) = prompt.request(dialog, offered, &around);
        if let Some(preview) = &prompt.preview {
            let beside = self.exchanges.agent.get().capabilities().beside_tools;
            let told = preview.tell(&request, beside, dialog, around.thread);
            prompt.out().send(told);
            return self.finish_current();
        }
        let key = self.history.begin_prompt(prompt.start(dialog));
        self.exchanges.loaded.clear();
        if self.exchanges.ending.is_some() {
            self.exchanges.held_back = Some(Box::new((request, before, key)));
            prompt.phase = Phase::Reading;
        } else {
            let id = self.exchanges.agent.get().start(request);
            prompt.phase = Phase::Running(Box::new(Running::new(id, key, before)));
        }
        self.keep_prompt(prompt);
    }

    /// Something the agent said.
    pub(super) fn on_agent(&mut self, event: AgentEvent) {
        let turn = event.turn();
        if self.exchanges.ending == Some(turn) {
            if matches!(
                event,
                AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
            ) {
                self.exchanges.ending = None;
                self.start_held_back();
            }
            return;
        }
        let current = self.prompt().is_some_and(
            |prompt| matches!(&prompt.phase, Phase::Running(running) if running.id == turn),
        );
        if current {
            self.on_turn(TurnEvent::Agent(event));
        }
    }

    fn start_held_back(&mut self) {
        let Some(held) = self.exchanges.held_back.take() else {
            return;
        };
        let (request, before, key) = *held;
        let Some(mut prompt) = self.take_prompt() else {
            return;
        };
        let id = self.exchanges.agent.get().start(request);
        prompt.phase = Phase::Running(Box::new(Running::new(id, key, before)));
        self.keep_prompt(prompt);
    }

    /// Ctrl-C on a prompt, wherever it stands.
    pub(super) fn interrupt_prompt(&mut self) {
        if self.interrupt_live_again() {
            return;
        }
        if self.running().is_some() {
            self.on_turn(TurnEvent::Interrupted);
            return;
        }
        let Some(prompt) = self.take_prompt() else {
            return;
        };
        let end = TurnEnd {
            outcome: TurnOutcome::Interrupted,
            stored: String::new(),
            usage: None,
            thread: None,
        };
        match self.exchanges.held_back.take() {
            Some(held) => {
                let (_, _, key) = *held;
                self.history
                    .finish_prompt(key, Outcome::Interrupted, "", None);
            }
            // Nothing was sent and nothing is recorded: the prompt goes back to the editor.
            None => {
                let evaluating = matches!(prompt.phase, Phase::Evaluating { .. });
                if let Some(interrupter) = self.runtime.interrupter().filter(|_| evaluating) {
                    interrupter.interrupt();
                }
                prompt.give_back();
            }
        }
        prompt.tell_end(&end);
        self.finish_current();
    }

    /// Feeds the machine and does what it says.
    pub(super) fn on_turn(&mut self, event: TurnEvent) {
        let mut event = Some(event);
        while let Some(now) = event.take() {
            let Some(running) = self.running() else {
                return;
            };
            let (id, actions) = (running.id, running.turn.on(now));
            for action in actions {
                // At most one call begins at a time.
                if let Some(result) = self.carry_out(id, action) {
                    event = Some(TurnEvent::ToolReturned(result));
                }
            }
        }
        self.save_answer();
    }

    /// The turn in progress.
    fn running(&mut self) -> Option<&mut Running> {
        match self.prompt() {
            Some(PromptRun {
                phase: Phase::Running(running),
                ..
            }) => Some(running),
            _ => None,
        }
    }

    /// What this session's turns are offered beside the user's functions.
    fn offer(&self) -> Offer {
        Offer {
            run_cells: self.choices.run_cells != RunCells::Off,
            load_skill: !self.shelf.is_empty(),
        }
    }

    /// True when the turn in progress may call this.
    pub(super) fn turn_offers(&mut self, name: &str) -> bool {
        self.running().is_some_and(|running| running.offers(name))
    }

    /// The model has seen what these cells showed: as long as this exchange is part of the conversation they are no
    /// context for later prompts.
    pub(super) fn record_as_told(&mut self, lines: &[u32]) {
        if lines.is_empty() {
            return;
        }
        let history = self.history.clone();
        let Some(prompt) = self.prompt() else {
            return;
        };
        let line = prompt.line;
        if let Phase::Running(running) = &mut prompt.phase {
            // First the answer that holds them: whatever cuts the turn off, one of the two tells of them.
            running.save(&history);
            lines.iter().for_each(|cell| history.told(*cell, line));
        }
    }

    /// Does one thing; the result of a tool that had it at once.
    fn carry_out(&mut self, turn: TurnId, action: TurnAction) -> Option<ToolReturn> {
        match action {
            TurnAction::Show(event) => {
                if let Some(prompt) = self.prompt() {
                    prompt.out().send(SessionEvent::Answer(event));
                }
            }
            TurnAction::CallTool(call) => return self.call_tool(call),
            TurnAction::Ask(question) => {
                let asker = Asker::Agent {
                    turn,
                    question: question.id,
                };
                self.ask_user(About::Agent(question.subject), asker);
            }
            TurnAction::InterruptTool => self.interrupt_tool(),
            TurnAction::Reply(reply) => self.exchanges.agent.get().reply(turn, reply),
            TurnAction::CancelAgent => {
                self.exchanges.agent.get().cancel(turn);
                self.exchanges.ending = Some(turn);
            }
            TurnAction::End(end) => {
                self.drop_questions();
                if self.put_tools_away(&end) {
                    self.end_turn(&end);
                }
            }
        }
        None
    }

    /// The turn is over for the user: recorded, said, the next input taken.
    pub(super) fn end_turn(&mut self, end: &TurnEnd) {
        let Some(mut prompt) = self.take_prompt() else {
            return;
        };
        let phase = std::mem::replace(&mut prompt.phase, Phase::Reading);
        if let Phase::Running(running) = phase {
            if self.choices.log_exact && !matches!(end.outcome, TurnOutcome::Failed(_)) {
                let (path, session) = (self.exact_log.clone(), self.session_number());
                let (out, inbox) = (prompt.out().clone(), self.inbox.clone());
                exact_log::append(path, session, running.sent(), &end.stored, out, inbox);
            }
            // After anything but a whole answer the thread no longer equals the record: the next turn seeds a new one.
            self.exchanges.thread = running.record(end, &self.history);
            self.history.thread(self.exchanges.thread.clone());
        }
        if self.runtime.is_connected() && !matches!(end.outcome, TurnOutcome::Failed(_)) {
            let values = vec![
                ("_ai_last_prompt".to_owned(), prompt.text.clone()),
                ("_ai_last_response".to_owned(), end.stored.clone()),
            ];
            self.runtime
                .get()
                .submit(RuntimeRequest::SetVariables { values });
        }
        prompt.tell_end(end);
        self.finish_current();
    }

    /// Saves the answer so far when that is due.
    pub(super) fn save_answer(&mut self) {
        let history = self.history.clone();
        if let Some(running) = self.running() {
            running.save_if_due(&history);
        }
    }

    /// When the answer has to be saved at the latest.
    pub(super) fn save_deadline(&mut self) -> Option<Instant> {
        self.running().and_then(|running| running.save_deadline())
    }
}
