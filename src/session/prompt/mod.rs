//! A prompt, its whole life: read, gathered, held back, sent, running, settled.
//!
//! In: what happens to it ([`PromptEvent`]). Out: what is to be done ([`PromptAction`]). Knows no channel, no clock, no
//! peer and no record; `session/exchange.rs` does what it says. The request is built from the record each time; nothing
//! of the conversation is kept here.
//!
//! Invariants: nothing is sent and nothing recorded before all it needs is there; no command runs for a prompt that is
//! refused; one that was never sent goes back to the editor; exactly one [`PromptAction::Leave`] comes out, and nothing
//! after it. A turn that was stopped is over for the user at once, unless code of it still runs.

mod able;
mod event;
mod expand;
mod gathering;
mod offered;
mod pictures;
mod request;
mod running;
mod turn;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::agent::{AgentFailure, InputPart, ToolSpec, TurnRequest};
use crate::dialog::{Dialog, Expansion};
use crate::session::commands::Preview;
use crate::session::events::{
    AfterEvent, AnswerEvent, EndEvent, Notice, SessionEvent, TurnOutcome,
};

use expand::Mentioned;
use offered::Offered;
use request::Sent;
use running::Running;
use turn::TurnEvent;

pub(super) use event::{Around, Exchanged, Finished, PromptAction, PromptEvent};
pub(super) use offered::{callable, functions, named_in, returned};
pub(super) use request::Surroundings;
pub(super) use turn::{ToolReturn, TurnAction, TurnEnd};

/// A prompt being worked on.
pub(super) struct Prompt {
    /// `n` of `In [n]`.
    line: u32,
    /// As typed, without the dot.
    text: String,
    /// As typed.
    source: String,
    /// Files and other context given with the prompt, before it.
    attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    schema: Option<serde_json::Value>,
    /// What it refers to, evaluated once; sent before the context and recorded with the prompt.
    expansion: Expansion,
    /// In numbers that leave the conversation for it; in the record once its turn has not failed.
    replaces: Option<RangeInclusive<u32>>,
    /// It is not sent: what would be sent is told.
    preview: Option<Preview>,
    /// Whether somebody answers questions about it; `None`: as in the whole session.
    asks: Option<bool>,
    started: Instant,
    state: State,
}

/// Where a prompt stands.
enum State {
    /// The record is being read.
    Reading,
    /// The runtime looks the tools up.
    LookingUp {
        dialog: Box<Dialog>,
        offered: Offered,
    },
    /// The runtime evaluates what the prompt refers to.
    Evaluating {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        mentioned: Mentioned,
    },
    /// Everything for the request is there.
    Gathered {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
    },
    /// It is in the record; the agent still finishes a turn that was stopped.
    HeldBack(Box<(TurnRequest, Sent)>),
    /// The agent is at it.
    Running(Box<Running>),
    /// Over for the agent; code of its calls may still run.
    Leaving(Box<(Sent, TurnEnd)>),
    /// Over for the user.
    Settled,
}

impl Prompt {
    pub(super) fn new(line: u32, text: String, source: String, now: Instant) -> Self {
        Prompt {
            line,
            text,
            source,
            attached: Vec::new(),
            schema: None,
            expansion: Expansion::default(),
            replaces: None,
            preview: None,
            asks: None,
            started: now,
            state: State::Reading,
        }
    }

    /// Sends these files with it, and asks for an answer that fits the schema.
    pub(super) fn with(
        mut self,
        attached: Vec<InputPart>,
        schema: Option<serde_json::Value>,
    ) -> Self {
        (self.attached, self.schema) = (attached, schema);
        self
    }

    /// These In numbers leave the conversation for it.
    pub(super) fn replacing(mut self, lines: Option<RangeInclusive<u32>>) -> Self {
        self.replaces = lines;
        self
    }

    /// Whether somebody answers questions about it; `None`: as in the whole session.
    pub(super) fn asking(mut self, asks: Option<bool>) -> Self {
        self.asks = asks;
        self
    }

    /// Tells what would be sent, and sends nothing.
    pub(super) fn previewing(mut self, preview: Preview) -> Self {
        self.preview = Some(preview);
        self
    }

    /// `n` of `In [n]`.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Whether somebody answers questions about it, where that was said.
    pub(super) fn asks(&self) -> Option<bool> {
        self.asks
    }

    /// The conversation, when everything for the request is there.
    pub(super) fn gathered(&self) -> Option<&Dialog> {
        match &self.state {
            State::Gathered { dialog, .. } => Some(dialog),
            _ => None,
        }
    }

    /// True when the turn in progress may call `name`.
    pub(super) fn offers(&self, name: &str) -> bool {
        matches!(&self.state, State::Running(running) if running.sent.offers(name))
    }

    /// When the answer has to be saved at the latest; `None` while nothing of it is new.
    pub(super) fn save_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Running(running) => running.save_deadline(),
            _ => None,
        }
    }

    /// Takes an event; says what is to be done, in order. What it does not wait for, it ignores.
    pub(super) fn on(&mut self, event: PromptEvent<'_>, around: &Around<'_>) -> Vec<PromptAction> {
        match (std::mem::replace(&mut self.state, State::Settled), event) {
            (State::Reading, PromptEvent::RecordRead(dialog)) => self.on_record(dialog, around),
            (State::LookingUp { dialog, offered }, PromptEvent::Answered(answer)) => {
                self.on_tools(dialog, &offered, answer, around)
            }
            (
                State::Evaluating {
                    dialog,
                    tools,
                    mentioned,
                },
                PromptEvent::Answered(answer),
            ) => {
                let actions = self.expand(&mentioned, answer, around);
                self.has_gathered(dialog, tools, actions)
            }
            (State::Gathered { dialog, tools }, PromptEvent::Compose(surroundings)) => {
                self.compose(*dialog, tools, surroundings, around)
            }
            (State::HeldBack(ready), PromptEvent::AgentFree) => {
                let (request, sent) = *ready;
                vec![self.start(request, sent, around)]
            }
            (State::Running(running), PromptEvent::Agent(event)) => {
                self.on_turn(running, TurnEvent::Agent(event), around)
            }
            (State::Running(running), PromptEvent::ToolReturned(result)) => {
                self.on_turn(running, TurnEvent::ToolReturned(result), around)
            }
            (State::Running(running), PromptEvent::AgentAnswered(question, answer)) => {
                self.on_turn(running, TurnEvent::Answered { question, answer }, around)
            }
            (State::Running(mut running), PromptEvent::Tick) => {
                let saved = running.save(around.now, false);
                self.state = State::Running(running);
                saved.into_iter().collect()
            }
            (State::Running(mut running), PromptEvent::SaveNow) => {
                let saved = running.save(around.now, true);
                self.state = State::Running(running);
                saved.into_iter().collect()
            }
            (State::Leaving(left), PromptEvent::ToolsAway) => {
                let (sent, end) = *left;
                self.settle(sent, end, around)
            }
            (state, PromptEvent::Interrupted) => self.on_interrupt(state, around),
            (state, _) => {
                self.state = state;
                Vec::new()
            }
        }
    }

    /// Builds the request: it is told, held back, or handed to the agent.
    fn compose(
        &mut self,
        dialog: Dialog,
        tools: Vec<ToolSpec>,
        surroundings: &Surroundings<'_>,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        let able = surroundings.able;
        if self.schema.is_some() && !able.structured {
            return self.fail(able::no_schema(able), around);
        }
        let lacking = able::lacking(self, &dialog, &tools, surroundings);
        let tools = able.tools.map(|_| tools).unwrap_or_default();
        let (mut request, sent) = request::compose(self, &dialog, tools, surroundings);
        if let Some(preview) = &self.preview {
            let told = preview.tell(&request, able.beside_tools, &dialog, surroundings.thread);
            return vec![PromptAction::Show(told), PromptAction::Leave];
        }
        able::place_instructions(&mut request, able, sent.commanded);
        let mut actions = Vec::new();
        if !lacking.is_empty() {
            actions.push(PromptAction::Lacking(lacking));
        }
        actions.push(PromptAction::Begin(request::start(self, &dialog)));
        if surroundings.agent_is_busy {
            self.state = State::HeldBack(Box::new((request, sent)));
        } else {
            actions.push(self.start(request, sent, around));
        }
        actions
    }

    fn start(&mut self, request: TurnRequest, sent: Sent, around: &Around<'_>) -> PromptAction {
        self.state = State::Running(Box::new(Running::new(sent, around.now)));
        PromptAction::Start(Box::new(request))
    }

    /// Feeds the turn; its end is the prompt's as soon as its tools are away.
    fn on_turn(
        &mut self,
        mut running: Box<Running>,
        event: TurnEvent,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        let mut actions = Vec::new();
        let mut end = None;
        for action in running.turn.on(event) {
            match action {
                TurnAction::End(over) => end = Some(*over),
                action => actions.push(PromptAction::Turn(action)),
            }
        }
        match end {
            Some(end) => {
                actions.push(PromptAction::PutAway);
                self.state = State::Leaving(Box::new((running.sent, end)));
            }
            None => {
                actions.extend(running.save(around.now, false));
                self.state = State::Running(running);
            }
        }
        actions
    }

    fn on_interrupt(&mut self, state: State, around: &Around<'_>) -> Vec<PromptAction> {
        let mut actions = Vec::new();
        match state {
            State::Running(running) => {
                return self.on_turn(running, TurnEvent::Interrupted, around);
            }
            // Its code goes on: once more.
            State::Leaving(_) => {
                self.state = state;
                return vec![PromptAction::InterruptRuntime];
            }
            State::Settled => return actions,
            State::HeldBack(_) => actions.push(PromptAction::Finish(Box::new(Finished {
                outcome: TurnOutcome::Interrupted,
                exchange: None,
                usage: None,
            }))),
            // Nothing was sent and nothing is recorded: the prompt goes back to the editor.
            State::Evaluating { .. } => {
                actions.push(PromptAction::InterruptRuntime);
                actions.extend(self.give_back());
            }
            State::Reading | State::LookingUp { .. } | State::Gathered { .. } => {
                actions.extend(self.give_back());
            }
        }
        actions.push(self.ended(TurnOutcome::Interrupted, None, around));
        actions.push(PromptAction::Leave);
        actions
    }

    /// The turn is over for the user, too.
    fn settle(&mut self, sent: Sent, end: TurnEnd, around: &Around<'_>) -> Vec<PromptAction> {
        let TurnEnd {
            outcome,
            stored,
            usage,
            thread,
        } = end;
        let failed = matches!(outcome, TurnOutcome::Failed(_));
        let (thread, sent) = sent.answered(&stored, thread);
        let finished = Finished {
            outcome: outcome.clone(),
            exchange: Some(Exchanged {
                prompt: self.text.clone(),
                stored,
                thread,
                sent,
            }),
            usage,
        };
        let mut actions = vec![PromptAction::Finish(Box::new(finished))];
        if failed {
            actions.extend(self.give_back());
        }
        actions.push(self.ended(outcome, usage, around));
        actions.push(PromptAction::Leave);
        actions
    }

    /// The prompt is not sent: why, and the text goes back to the editor.
    fn refuse(&self, line: String) -> Vec<PromptAction> {
        let notice = SessionEvent::Notice(Notice::warning(line));
        let mut actions = vec![PromptAction::Show(notice)];
        actions.extend(self.give_back());
        actions.push(PromptAction::Leave);
        actions
    }

    /// The prompt fails before it is sent.
    fn fail(&self, failure: AgentFailure, around: &Around<'_>) -> Vec<PromptAction> {
        let mut actions: Vec<PromptAction> = self.give_back().into_iter().collect();
        actions.push(self.ended(TurnOutcome::Failed(failure), None, around));
        actions.push(PromptAction::Leave);
        actions
    }

    fn give_back(&self) -> Option<PromptAction> {
        let back =
            || PromptAction::Show(SessionEvent::After(AfterEvent::Refill(self.source.clone())));
        self.preview.is_none().then(back)
    }

    fn ended(
        &self,
        outcome: TurnOutcome,
        usage: Option<crate::agent::Usage>,
        around: &Around<'_>,
    ) -> PromptAction {
        PromptAction::Show(SessionEvent::End(EndEvent::Turn {
            outcome,
            usage,
            took: around.now.saturating_duration_since(self.started),
        }))
    }
}

fn show(event: AnswerEvent) -> PromptAction {
    PromptAction::Show(SessionEvent::Answer(event))
}
