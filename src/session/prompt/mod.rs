//! The state machine of one prompt: preparing, queued, running, stopping, settled.
//!
//! In: [`PromptEvent`]. Out: effects, which the session carries out, and the outcome. The machine knows no channel, no
//! clock, no peer and no record. The request is built from the record each time; the conversation is not kept here.
//!
//! Invariants: nothing is sent or recorded before everything the prompt needs has arrived; no command runs for a
//! refused prompt; a prompt that was never sent goes back to the editor; exactly one [`Event::JobOver`] is
//! raised, as the last effect. An interrupted turn ends for the user at once, unless code of the turn still runs.

mod compaction;
mod event;
mod input;
mod preparation;
mod preview;
mod references;
mod request;
mod tool_mentions;
mod turn;
mod unsupported;
mod window;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crate::agent::{InputPart, ToolSpec, TurnRequest};
use crate::approvals::ApprovalRequester;
use crate::dialog::{Dialog, Expansion, plan_steps};
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::events::{AfterEvent, AnswerEvent, EndEvent, Notice, TurnOutcome};
use crate::input::{FileReference, file_references};
use crate::plan_mode;
use crate::question::QuestionSubject;
use crate::schema;
use crate::text::xml_text;

use compaction::Compaction;
use input::{PromptInput, PromptPictures};
use preparation::{Preparation, PreparationProgress};
use request::SentRequest;
use turn::{Turn, TurnEvent, TurnStep};

pub(super) use event::{CompletedExchange, PromptContext, PromptEvent, PromptOutcome};
pub(super) use preview::Preview;
pub(super) use request::RequestContext;
pub(super) use tool_mentions::{callable_specs, mentioned_functions};
pub(super) use turn::TurnEnd;

/// New bytes of an answer after which it is saved.
const SAVE_EVERY: usize = 4096;
/// Longest time without saving while an answer grows.
const SAVE_AT_LEAST: Duration = Duration::from_secs(1);

/// Prefix of the notice for a prompt that is not sent because its pictures cannot be.
const NOT_SENT: &str =
    "the prompt is not sent, because its picture is all it has and cannot be sent";

pub(super) struct Prompt {
    input: PromptInput,
    compaction: Option<Compaction>,
    /// As typed.
    source: String,
    /// A user can answer questions about the prompt; `None`: as in the whole session.
    asks: Option<bool>,
    started: Instant,
    state: PromptState,
}

enum PromptState {
    Preparing(Preparation),
    /// Recorded, but not sent: the agent still finishes an interrupted turn.
    Queued(Box<(TurnRequest, SentRequest)>),
    Running(Box<ActiveTurn>),
    /// The agent has ended the turn; code of its tool calls may still run.
    Stopping(Box<(SentRequest, TurnEnd)>),
    Settled,
}

/// A turn in progress, the request it was started with, and how much of its answer is saved.
struct ActiveTurn {
    turn: Turn,
    sent: SentRequest,
    saved_bytes: usize,
    saved_at: Instant,
}

impl ActiveTurn {
    fn new(sent: SentRequest, now: Instant) -> Self {
        ActiveTurn {
            turn: Turn::default(),
            sent,
            saved_bytes: 0,
            saved_at: now,
        }
    }

    fn save_deadline(&self) -> Option<Instant> {
        (self.turn.received_bytes() > self.saved_bytes).then(|| self.saved_at + SAVE_AT_LEAST)
    }

    /// Returns the answer so far for saving when enough bytes are new or enough time has passed; with `must`, in any
    /// case.
    fn save(&mut self, now: Instant, must: bool) -> Option<Effect> {
        let grown = self.turn.received_bytes().saturating_sub(self.saved_bytes);
        let due =
            grown >= SAVE_EVERY || now.saturating_duration_since(self.saved_at) >= SAVE_AT_LEAST;
        if !must && (grown == 0 || !due) {
            return None;
        }
        self.saved_bytes = self.turn.received_bytes();
        self.saved_at = now;
        Some(Effect::Record(RecordWrite::Answer(self.turn.stored())))
    }
}

/// What follows from an event.
#[derive(Default)]
pub(super) struct PromptStep {
    /// How a recorded prompt has ended; comes before the effects.
    pub(super) outcome: Option<Box<PromptOutcome>>,
    pub(super) effects: Vec<Effect>,
}

impl From<Vec<Effect>> for PromptStep {
    fn from(effects: Vec<Effect>) -> Self {
        PromptStep {
            outcome: None,
            effects,
        }
    }
}

impl Prompt {
    pub(super) fn new(line: u32, text: String, source: String, now: Instant) -> Self {
        Prompt {
            input: PromptInput {
                line,
                text,
                attached: Vec::new(),
                schema: None,
                verbatim: None,
                expansion: Expansion::default(),
                replaces: None,
                preview: None,
                pictures: PromptPictures::default(),
            },
            compaction: None,
            source,
            asks: None,
            started: now,
            state: PromptState::Preparing(Preparation::Reading),
        }
    }

    /// Attaches files and requires an answer that fits the schema.
    pub(super) fn with_attachments(
        mut self,
        attached: Vec<InputPart>,
        schema: Option<serde_json::Value>,
    ) -> Self {
        (self.input.attached, self.input.schema) = (attached, schema);
        self
    }

    /// Sends the text without evaluating references, and offers these functions.
    pub(super) fn verbatim(mut self, tools: Vec<String>) -> Self {
        self.input.verbatim = Some(tools);
        self
    }

    /// Takes these In numbers out of the conversation when the prompt is sent.
    pub(super) fn replacing(mut self, lines: Option<RangeInclusive<u32>>) -> Self {
        self.input.replaces = lines;
        self
    }

    /// Shortens the conversation: by the agent itself, or by a summary that takes its place. `keep`: what the user
    /// wants to be kept.
    pub(super) fn compacting(mut self, keep: String) -> Self {
        self.compaction = Some(Compaction::new(keep));
        self
    }

    /// Sets whether a user can answer questions about the prompt; `None`: as in the whole session.
    pub(super) fn with_can_ask(mut self, asks: Option<bool>) -> Self {
        self.asks = asks;
        self
    }

    /// Shows what would be sent, and sends nothing.
    pub(super) fn previewing(mut self, preview: Preview) -> Self {
        self.input.preview = Some(preview);
        self
    }

    pub(super) fn line(&self) -> u32 {
        self.input.line
    }

    pub(super) fn is_preview(&self) -> bool {
        self.input.preview.is_some()
    }

    pub(super) fn can_ask(&self) -> Option<bool> {
        self.asks
    }

    pub(super) fn replaced_lines(&self) -> Option<RangeInclusive<u32>> {
        self.input.replaces.clone()
    }

    pub(super) fn named_files(&self) -> Vec<FileReference> {
        file_references(&self.input.reference_text())
    }

    /// True when the turn in progress may call `name`.
    pub(super) fn offers(&self, name: &str) -> bool {
        matches!(&self.state, PromptState::Running(running) if running.sent.offers(name))
    }

    /// The latest time at which the answer has to be saved; `None` while all of it is saved.
    pub(super) fn save_deadline(&self) -> Option<Instant> {
        match &self.state {
            PromptState::Running(running) => running.save_deadline(),
            _ => None,
        }
    }

    /// Returns the effects in order; ignores events the state does not wait for. `surroundings` is called when the
    /// request is built.
    pub(super) fn on<'a>(
        &mut self,
        event: PromptEvent,
        around: &PromptContext<'_>,
        surroundings: impl FnOnce() -> RequestContext<'a>,
    ) -> PromptStep {
        match (
            std::mem::replace(&mut self.state, PromptState::Settled),
            event,
        ) {
            (PromptState::Preparing(stage), PromptEvent::RecordRead(dialog, attached, used)) => {
                if let Some(preview) = &mut self.input.preview {
                    preview.set_used(used);
                }
                let notices = self.input.attach(attached, around.outputs).into_iter();
                let notices = notices.map(Effect::show);
                let (progress, actions) = stage.on_record(dialog, &mut self.input, around);
                let actions = notices.chain(actions).collect();
                self.on_progress((progress, actions), around, surroundings)
                    .into()
            }
            (PromptState::Preparing(stage), PromptEvent::RuntimeAnswered(answer)) => {
                let progress = stage.on_answer(answer, &mut self.input, around);
                self.on_progress(progress, around, surroundings).into()
            }
            (
                PromptState::Preparing(Preparation::ConfirmingPictures {
                    dialog,
                    tools,
                    lost,
                }),
                PromptEvent::PictureQuestionAnswered(goes),
            ) => {
                self.input.pictures.omission_confirmed = true;
                match goes {
                    true => self.compose(dialog, tools, surroundings(), around).into(),
                    false => self
                        .refuse(format!("{NOT_SENT}: {}", lost.join("; ")))
                        .into(),
                }
            }
            (PromptState::Queued(ready), PromptEvent::AgentIdle) => {
                let (request, sent) = *ready;
                vec![self.start(request, sent, around)].into()
            }
            (PromptState::Running(running), PromptEvent::TurnStarted(id)) => {
                self.on_turn(running, TurnEvent::Started(id), Vec::new(), around)
            }
            (PromptState::Running(running), PromptEvent::Agent(event)) => {
                self.on_turn(running, TurnEvent::Agent(event), Vec::new(), around)
            }
            (PromptState::Running(running), PromptEvent::ToolReturned(result, cells)) => {
                self.on_turn(running, TurnEvent::ToolReturned(result), cells, around)
            }
            (
                PromptState::Running(running),
                PromptEvent::AgentQuestionAnswered(question, answer),
            ) => {
                let answered = TurnEvent::Answered { question, answer };
                self.on_turn(running, answered, Vec::new(), around)
            }
            (PromptState::Running(running), PromptEvent::SideUsage(usage)) => {
                self.on_turn(running, TurnEvent::UsedBeside(usage), Vec::new(), around)
            }
            (PromptState::Running(running), PromptEvent::Steer(text)) => {
                self.on_turn(running, TurnEvent::Steer(text), Vec::new(), around)
            }
            (
                state @ (PromptState::Preparing(_) | PromptState::Queued(_)),
                PromptEvent::Steer(text),
            ) => {
                self.state = state;
                vec![Effect::show(AnswerEvent::Steered { text, taken: false })].into()
            }
            (PromptState::Running(mut running), PromptEvent::Tick) => {
                let saved = running.save(around.now, false);
                self.state = PromptState::Running(running);
                saved.into_iter().collect::<Vec<_>>().into()
            }
            (PromptState::Stopping(stopping), PromptEvent::ToolsStopped) => {
                let (sent, end) = *stopping;
                self.settle(sent, end, around)
            }
            (state, PromptEvent::Interrupted) => self.on_interrupt(state, around),
            (state, _) => {
                self.state = state;
                PromptStep::default()
            }
        }
    }

    fn on_progress<'a>(
        &mut self,
        (progress, mut actions): (PreparationProgress, Vec<Effect>),
        around: &PromptContext<'_>,
        surroundings: impl FnOnce() -> RequestContext<'a>,
    ) -> Vec<Effect> {
        match progress {
            PreparationProgress::Waiting(stage) => self.state = PromptState::Preparing(stage),
            PreparationProgress::Ready { dialog, tools } => {
                actions.extend(self.compose(dialog, tools, surroundings(), around));
            }
            PreparationProgress::Refused(line) => actions.extend(self.refuse(line)),
        }
        actions
    }

    /// Builds the request, then shows it as a preview, queues it, or hands it to the agent.
    fn compose(
        &mut self,
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        surroundings: RequestContext<'_>,
        around: &PromptContext<'_>,
    ) -> Vec<Effect> {
        let able = &surroundings.agent;
        let no_images = (!able.images).then(|| unsupported::no_image_input(able));
        if let Some(lost) = self.input.only_lost_pictures(no_images.clone()) {
            let about = QuestionSubject::Pictures(lost.clone());
            let asks = Effect::Raise(Event::Ask(about, ApprovalRequester::Prompt));
            self.state = PromptState::Preparing(Preparation::ConfirmingPictures {
                dialog,
                tools,
                lost,
            });
            return vec![asks];
        }
        let dialog = &*dialog;
        // A user who was asked about the pictures needs no second notice.
        let left_out = no_images
            .filter(|_| self.input.picture_count() > 0 && !self.input.pictures.omission_confirmed);
        if let Some(schema) = self.input.schema.take() {
            let (sent, text) = schema::for_agent(&schema, able.structured);
            self.input.schema = sent;
            let text =
                text.map(|text| format!("<answer-schema>{}</answer-schema>\n", xml_text(&text)));
            self.input.attached.extend(text.map(InputPart::Text));
        }
        if surroundings.choices.plan && self.compaction.is_none() {
            self.input.attached.push(InputPart::Text(plan_mode::task()));
        }
        let mut warnings = unsupported::warnings(&self.input, dialog, &tools, &surroundings);
        let tools = able.tools.map(|_| tools).unwrap_or_default();
        let (mut request, mut sent) =
            request::compose(&mut self.input, dialog, tools.clone(), &surroundings);
        let mut recorded = None;
        if let Some(compaction) = &mut self.compaction {
            if able.compacts && request.thread.is_some() && compaction.is_plain() {
                let sent_before = compaction::without_unsent_cells(dialog);
                (request, sent) =
                    request::compose(&mut self.input, &sent_before, tools, &surroundings);
                request.compact = true;
                recorded = Some(sent_before);
            } else {
                let task = compaction.begin_summary(dialog, self.input.line);
                self.input.attached.push(InputPart::Text(task));
                (request, sent) = request::compose(&mut self.input, dialog, tools, &surroundings);
            }
        }
        if let Some(preview) = &self.input.preview {
            let preview = preview.render(
                &request,
                &sent.before,
                able.tool_instructions,
                dialog,
                surroundings.thread,
            );
            return vec![Effect::show(preview), Effect::Raise(Event::JobOver)];
        }
        request::place_instructions(&mut request, able, sent.commanded);
        let mut actions = Vec::new();
        if let Some(why) = left_out {
            let line = format!("{why}: those of this prompt are left out");
            actions.push(Effect::show(Notice::note(line)));
        }
        warnings.retain(|(what, _)| surroundings.warned.insert(what));
        let warnings = warnings.into_iter().map(|(_, line)| Notice::note(line));
        actions.extend(warnings.map(Effect::show));
        let large = dialog.next_too_large().into_iter().filter(|_| able.images);
        actions.extend(large.map(|line| {
            let line = format!(
                "a picture of In [{line}] is not sent: it is too large for the model (4 MB at most)"
            );
            Effect::show(Notice::warning(line))
        }));
        let start = request::prompt_start(&mut self.input, recorded.as_ref().unwrap_or(dialog));
        actions.push(Effect::Record(RecordWrite::BeginTurn(start)));
        if surroundings.agent_is_busy {
            self.state = PromptState::Queued(Box::new((request, sent)));
        } else {
            actions.push(self.start(request, sent, around));
        }
        actions
    }

    fn start(
        &mut self,
        request: TurnRequest,
        sent: SentRequest,
        around: &PromptContext<'_>,
    ) -> Effect {
        self.state = PromptState::Running(Box::new(ActiveTurn::new(sent, around.now)));
        Effect::StartTurn(around.job, Box::new(request))
    }

    /// Passes an event to the turn; `cells` are those whose output a result holds. When the turn ends, the prompt waits
    /// until the code of its tools has stopped.
    fn on_turn(
        &mut self,
        mut running: Box<ActiveTurn>,
        event: TurnEvent,
        cells: Vec<u32>,
        around: &PromptContext<'_>,
    ) -> PromptStep {
        let TurnStep { mut effects, end } = running.turn.on(event);
        match end {
            Some(end) => {
                effects.push(Effect::Raise(Event::TurnOver));
                self.state = PromptState::Stopping(Box::new((running.sent, *end)));
            }
            None => {
                // The answer that holds the cells is saved first: if the turn is cut off, one of the two has them.
                effects.extend(running.save(around.now, !cells.is_empty()));
                if !cells.is_empty() {
                    let prompt = self.input.line;
                    effects.push(Effect::Record(RecordWrite::InAnswer { cells, prompt }));
                }
                self.state = PromptState::Running(running);
            }
        }
        effects.into()
    }

    fn on_interrupt(&mut self, state: PromptState, around: &PromptContext<'_>) -> PromptStep {
        let interrupt = Effect::Interrupt {
            role: around.role,
            to: Some(To::Job),
        };
        let mut step = PromptStep::default();
        match state {
            PromptState::Running(running) => {
                return self.on_turn(running, TurnEvent::Interrupted, Vec::new(), around);
            }
            // Code of the turn still runs: interrupt it again.
            PromptState::Stopping(_) => {
                self.state = state;
                return vec![interrupt].into();
            }
            PromptState::Settled => return step,
            PromptState::Queued(_) => {
                step.outcome = Some(Box::new(PromptOutcome {
                    outcome: TurnOutcome::Interrupted,
                    exchange: None,
                    usage: None,
                }));
            }
            // Nothing was sent or recorded, so the prompt goes back to the editor.
            PromptState::Preparing(Preparation::Evaluating { .. }) => {
                step.effects.push(interrupt);
                step.effects.extend(self.refill_editor());
            }
            PromptState::Preparing(_) => step.effects.extend(self.refill_editor()),
        }
        let end = self.end_event(TurnOutcome::Interrupted, None, around);
        step.effects.extend([end, Effect::Raise(Event::JobOver)]);
        step
    }

    fn settle(
        &mut self,
        sent: SentRequest,
        end: TurnEnd,
        around: &PromptContext<'_>,
    ) -> PromptStep {
        let TurnEnd {
            outcome,
            stored,
            texts: said,
            usage,
            thread,
        } = end;
        let failed = matches!(outcome, TurnOutcome::Failed(_));
        let complete =
            outcome == TurnOutcome::Complete && said.iter().any(|text| !text.trim().is_empty());
        let is_own = self.compaction.is_none() && self.input.verbatim.is_none();
        let plan = match sent.plans && complete && is_own {
            true => plan_steps(&stored),
            false => Vec::new(),
        };
        let (thread, sent) = sent.finish(&stored, thread);
        let finished = PromptOutcome {
            outcome: outcome.clone(),
            exchange: Some(CompletedExchange {
                prompt: self.input.text.clone(),
                stored,
                texts: said,
                thread,
                sent,
                plan,
            }),
            usage,
        };
        let mut effects = Vec::new();
        if failed {
            effects.extend(self.refill_editor());
        }
        if complete && let Some(compaction) = &self.compaction {
            effects.extend(compaction.finish());
        }
        effects.push(self.end_event(outcome, usage, around));
        effects.push(Effect::Raise(Event::JobOver));
        PromptStep {
            outcome: Some(Box::new(finished)),
            effects,
        }
    }

    /// Shows why the prompt is not sent, and puts its text back into the editor.
    fn refuse(&self, line: String) -> Vec<Effect> {
        let mut actions = vec![Effect::show(Notice::warning(line))];
        actions.extend(self.refill_editor());
        actions.push(Effect::Raise(Event::JobOver));
        actions
    }

    /// A preview was not typed as a prompt, so its text does not go back.
    fn refill_editor(&self) -> Option<Effect> {
        let refill = || AfterEvent::Refill(self.source.clone());
        let refill = self.input.preview.is_none().then(refill);
        refill.map(Effect::show)
    }

    fn end_event(
        &self,
        outcome: TurnOutcome,
        usage: Option<crate::agent::Usage>,
        around: &PromptContext<'_>,
    ) -> Effect {
        Effect::show(EndEvent::Turn {
            outcome,
            usage,
            took: around.now.saturating_duration_since(self.started),
        })
    }
}
