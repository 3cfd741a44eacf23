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
mod asked;
mod event;
mod expand;
mod gathering;
mod offered;
mod preview;
mod request;
mod running;
mod turn;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::agent::{InputPart, ToolSpec, TurnRequest};
use crate::dialog::{Dialog, Expansion};
use crate::input::{NamedFile, named_files};
use crate::schema;
use crate::session::events::{AfterEvent, EndEvent, Notice, SessionEvent, TurnOutcome};
use crate::text::xml_text;

use asked::{Asked, OwnPictures};
use gathering::{Gathering, Reached};
use request::Sent;
use running::Running;
use turn::TurnEvent;

pub(super) use event::{Around, Exchanged, Finished, PromptAction, PromptEvent};
pub(super) use offered::{callable, functions};
pub(super) use preview::Preview;
pub(super) use request::Surroundings;
pub(super) use turn::{TurnAction, TurnEnd};

/// Stands before why the pictures are not sent of a prompt that does not go without them.
const NOT_SENT: &str =
    "the prompt is not sent, because its picture is all it has and cannot be sent";

/// A prompt being worked on.
pub(super) struct Prompt {
    asked: Asked,
    /// As typed.
    source: String,
    /// Whether somebody answers questions about it; `None`: as in the whole session.
    asks: Option<bool>,
    started: Instant,
    state: State,
}

/// Where a prompt stands.
enum State {
    /// What it needs is found out.
    Gathering(Gathering),
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
            asked: Asked {
                line,
                text,
                attached: Vec::new(),
                schema: None,
                verbatim: None,
                expansion: Expansion::default(),
                replaces: None,
                preview: None,
                pictures: OwnPictures::default(),
            },
            source,
            asks: None,
            started: now,
            state: State::Gathering(Gathering::Reading),
        }
    }

    /// Sends these files with it, and asks for an answer that fits the schema.
    pub(super) fn with(
        mut self,
        attached: Vec<InputPart>,
        schema: Option<serde_json::Value>,
    ) -> Self {
        (self.asked.attached, self.asked.schema) = (attached, schema);
        self
    }

    /// Sends it as it is: it refers to nothing, and these functions are offered for it.
    pub(super) fn verbatim(mut self, tools: Vec<String>) -> Self {
        self.asked.verbatim = Some(tools);
        self
    }

    /// These In numbers leave the conversation for it.
    pub(super) fn replacing(mut self, lines: Option<RangeInclusive<u32>>) -> Self {
        self.asked.replaces = lines;
        self
    }

    /// Whether somebody answers questions about it; `None`: as in the whole session.
    pub(super) fn asking(mut self, asks: Option<bool>) -> Self {
        self.asks = asks;
        self
    }

    /// Tells what would be sent, and sends nothing.
    pub(super) fn previewing(mut self, preview: Preview) -> Self {
        self.asked.preview = Some(preview);
        self
    }

    /// `n` of `In [n]`.
    pub(super) fn line(&self) -> u32 {
        self.asked.line
    }

    /// Whether somebody answers questions about it, where that was said.
    pub(super) fn asks(&self) -> Option<bool> {
        self.asks
    }

    /// These In numbers leave the conversation for it.
    pub(super) fn replaced(&self) -> Option<RangeInclusive<u32>> {
        self.asked.replaces.clone()
    }

    /// The files it names.
    pub(super) fn names_files(&self) -> Vec<NamedFile> {
        named_files(&self.asked.referring())
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

    /// Takes an event; says what is to be done, in order. What it does not wait for, it ignores. It asks for the
    /// surroundings when the request is built.
    pub(super) fn on<'a>(
        &mut self,
        event: PromptEvent,
        around: &Around<'_>,
        surroundings: impl FnOnce() -> Surroundings<'a>,
    ) -> Vec<PromptAction> {
        match (std::mem::replace(&mut self.state, State::Settled), event) {
            (State::Gathering(stage), PromptEvent::RecordRead(dialog, attached)) => {
                let said = self.asked.attach(attached, around.outputs).into_iter();
                let said = said.map(|it| PromptAction::Show(SessionEvent::Notice(it)));
                let (reached, actions) = stage.on_record(dialog, &mut self.asked, around);
                let come = (reached, said.chain(actions).collect());
                self.has_come(come, around, surroundings)
            }
            (State::Gathering(stage), PromptEvent::Answered(answer)) => {
                let come = stage.on_answer(answer, &mut self.asked, around);
                self.has_come(come, around, surroundings)
            }
            (
                State::Gathering(Gathering::Doubtful {
                    dialog,
                    tools,
                    lost,
                }),
                PromptEvent::WithoutPictures(goes),
            ) => {
                self.asked.pictures.without = true;
                match goes {
                    true => self.compose(dialog, tools, &surroundings(), around),
                    false => self.refuse(format!("{NOT_SENT}: {}", lost.join("; "))),
                }
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
            (State::Running(running), PromptEvent::UsedBeside(usage)) => {
                self.on_turn(running, TurnEvent::UsedBeside(usage), around)
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

    /// How far it is with what it needs.
    fn has_come<'a>(
        &mut self,
        (reached, mut actions): (Reached, Vec<PromptAction>),
        around: &Around<'_>,
        surroundings: impl FnOnce() -> Surroundings<'a>,
    ) -> Vec<PromptAction> {
        match reached {
            Reached::Stage(stage) => self.state = State::Gathering(stage),
            Reached::All { dialog, tools } => {
                actions.extend(self.compose(dialog, tools, &surroundings(), around));
            }
            Reached::Refused(line) => actions.extend(self.refuse(line)),
        }
        actions
    }

    /// Builds the request: it is told, held back, or handed to the agent.
    fn compose(
        &mut self,
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        surroundings: &Surroundings<'_>,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        let able = &surroundings.able;
        let blind = (!able.images).then(|| able::blind(able));
        if let Some(lost) = self.asked.lost_all(blind.clone()) {
            let asks = PromptAction::AskAboutPictures(lost.clone());
            self.state = State::Gathering(Gathering::Doubtful {
                dialog,
                tools,
                lost,
            });
            return vec![asks];
        }
        let dialog = &*dialog;
        // Who has been asked knows.
        let left_out =
            blind.filter(|_| self.asked.own_pictures() > 0 && !self.asked.pictures.without);
        if let Some(schema) = self.asked.schema.take() {
            let (sent, said) = schema::asked_for(&schema, able.structured);
            self.asked.schema = sent;
            let said =
                said.map(|said| format!("<answer-schema>{}</answer-schema>\n", xml_text(&said)));
            self.asked.attached.extend(said.map(InputPart::Text));
        }
        let lacking = able::lacking(&self.asked, dialog, &tools, surroundings);
        let tools = able.tools.map(|_| tools).unwrap_or_default();
        let (mut request, sent) = request::compose(&mut self.asked, dialog, tools, surroundings);
        if let Some(preview) = &self.asked.preview {
            let told = preview.tell(
                &request,
                &sent.before,
                able.beside_tools,
                dialog,
                surroundings.thread,
            );
            return vec![PromptAction::Show(told), PromptAction::Leave];
        }
        able::place_instructions(&mut request, able, sent.commanded);
        let mut actions = Vec::new();
        if let Some(why) = left_out {
            let line = format!("{why}: those of this prompt are left out");
            actions.push(PromptAction::Show(Notice::note(line).into()));
        }
        if !lacking.is_empty() {
            actions.push(PromptAction::Lacking(lacking));
        }
        let large = dialog.next_too_large().into_iter().filter(|_| able.images);
        actions.extend(large.map(|line| {
            let line = format!(
                "a picture of In [{line}] is not sent: it is too large for the model (4 MB at most)"
            );
            PromptAction::Show(Notice::warning(line).into())
        }));
        let start = request::start(&mut self.asked, dialog);
        actions.push(PromptAction::Begin(start));
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
            State::Gathering(Gathering::Evaluating { .. }) => {
                actions.push(PromptAction::InterruptRuntime);
                actions.extend(self.give_back());
            }
            State::Gathering(Gathering::Doubtful { .. }) => {
                actions.push(PromptAction::AskNoMore);
                actions.extend(self.give_back());
            }
            State::Gathering(_) => actions.extend(self.give_back()),
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
            said,
            usage,
            thread,
        } = end;
        let failed = matches!(outcome, TurnOutcome::Failed(_));
        let (thread, sent) = sent.answered(&stored, thread);
        let finished = Finished {
            outcome: outcome.clone(),
            exchange: Some(Exchanged {
                prompt: self.asked.text.clone(),
                stored,
                said,
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

    fn give_back(&self) -> Option<PromptAction> {
        let back =
            || PromptAction::Show(SessionEvent::After(AfterEvent::Refill(self.source.clone())));
        self.asked.preview.is_none().then(back)
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
