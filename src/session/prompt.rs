//! A prompt from its submission to the end of its turn: what it sends, and what of it goes to the record.
//!
//! The request is built from the record each time; nothing of the conversation is kept here. The machine of the turn
//! is in `turn.rs`; this file joins it to the record and to the front-end.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agent::{Exchange, InputPart, ToolSpec, TurnId, TurnRequest};
use crate::config::Choices;
use crate::dialog::{Dialog, Expansion, user_entry};
use crate::history::{History, Outcome, PromptStart, RecordedThread, TurnKey};
use crate::input::is_ours;
use crate::runtime::RequestId;
use crate::session::commands::Preview;
use crate::session::events::{RunSender, SessionEvent, TurnOutcome};
use crate::session::expand::Mentioned;
use crate::session::tools::Offered;
use crate::session::turn::{Turn, TurnEnd};

/// The answer is saved when this much of it is new, in bytes.
const SAVE_EVERY: usize = 4096;
/// And at least this often while it grows.
pub(super) const SAVE_AT_LEAST: Duration = Duration::from_secs(1);

/// A prompt being worked on.
pub(super) struct PromptRun {
    /// `n` of `In [n]`.
    pub line: u32,
    /// As typed, without the dot.
    pub text: String,
    /// As typed.
    pub source: String,
    /// Files and other context given with the prompt, before it.
    pub attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub schema: Option<serde_json::Value>,
    /// What it refers to, evaluated once; sent before the context and recorded with the prompt.
    pub expansion: Expansion,
    /// In numbers that leave the conversation for it; in the record once its turn has not failed.
    pub replaces: Option<RangeInclusive<u32>>,
    /// It is not sent: what would be sent is told.
    pub preview: Option<Preview>,
    out: RunSender,
    started: Instant,
    /// Where it stands.
    pub phase: Phase,
}

/// Where a prompt stands.
pub(super) enum Phase {
    /// The record is being read.
    Reading,
    /// The runtime is looking the tools up.
    LookingUp {
        /// The request.
        id: RequestId,
        /// What was read.
        dialog: Box<Dialog>,
        /// The names.
        offered: Offered,
    },
    /// The runtime is evaluating what the prompt refers to.
    Evaluating {
        /// The request.
        id: RequestId,
        /// What was read.
        dialog: Box<Dialog>,
        /// What was found.
        tools: Vec<ToolSpec>,
        /// The expressions and commands.
        mentioned: Mentioned,
    },
    /// The agent is at it.
    Running(Box<Running>),
}

/// The state of a turn in progress.
pub(super) struct Running {
    /// The agent's.
    pub id: TurnId,
    /// The record's.
    pub key: TurnKey,
    /// The machine.
    pub turn: Turn,
    /// What the thread holds before this exchange, to name what it holds after it.
    before: Before,
    saved_bytes: usize,
    saved_at: Instant,
}

/// What a request was built of.
pub(super) struct Before {
    model: Option<String>,
    instructions: String,
    tools: Vec<ToolSpec>,
    history: Vec<Exchange>,
    user: String,
    images: Vec<String>,
    /// All text sent, for the exact log.
    sent: String,
    /// More was sent than the record keeps: the thread holds more than the record.
    attached: bool,
}

/// What building a request needs beside the prompt.
pub(super) struct Surroundings<'a> {
    pub instructions: &'a str,
    pub choices: &'a Choices,
    pub cwd: PathBuf,
    pub thread: Option<&'a RecordedThread>,
    /// The agent sees pictures.
    pub images: bool,
}

impl PromptRun {
    pub(super) fn new(line: u32, text: String, source: String, out: RunSender) -> Self {
        PromptRun {
            line,
            text,
            source,
            attached: Vec::new(),
            schema: None,
            expansion: Expansion::default(),
            replaces: None,
            preview: None,
            out,
            started: Instant::now(),
            phase: Phase::Reading,
        }
    }

    /// Where its events go.
    pub(super) fn out(&self) -> &RunSender {
        &self.out
    }

    /// The request for the agent, and what is needed to go on with its thread.
    pub(super) fn request(
        &self,
        dialog: &Dialog,
        tools: Vec<ToolSpec>,
        around: &Surroundings<'_>,
    ) -> (TurnRequest, Before) {
        let seen = |images: Vec<String>| if around.images { images } else { Vec::new() };
        let history: Vec<Exchange> = dialog
            .exchanges()
            .into_iter()
            .map(|past| Exchange {
                user: past.user,
                assistant: past.assistant,
                images: seen(past.images),
            })
            .collect();
        let user = user_entry(&self.expansion.xml, &dialog.next_context(), &self.text);
        let images = seen(dialog.next_pictures(&self.expansion));
        let settings = around.choices.turn_settings(&around.cwd);
        let digest = TurnRequest::digest(
            settings.model.as_deref(),
            around.instructions,
            &tools,
            &history,
        );
        let mut input = self.attached.clone();
        input.push(InputPart::Text(user.clone()));
        input.extend(images.iter().cloned().map(InputPart::Image));
        let before = Before {
            model: settings.model.clone(),
            instructions: around.instructions.to_owned(),
            tools: tools.clone(),
            history: history.clone(),
            user,
            images,
            attached: !self.attached.is_empty(),
            sent: input.iter().filter_map(as_text).collect(),
        };
        let request = TurnRequest {
            instructions: around.instructions.to_owned(),
            history,
            input,
            tools,
            settings,
            thread: around
                .thread
                .filter(|known| known.digest == digest)
                .map(|known| known.id.clone()),
            schema: self.schema.clone(),
        };
        (request, before)
    }

    /// What the record is told when it is sent.
    pub(super) fn start(&self, dialog: &Dialog) -> PromptStart {
        let code = dialog.cells.iter().rev();
        let code = code.into_iter().find(|cell| !is_ours(&cell.source));
        PromptStart {
            line: self.line,
            history_line: code.map_or(0, |cell| cell.line),
            prompt: self.text.clone(),
            expansion: self.expansion.clone(),
            replaces: self.replaces.clone(),
        }
    }

    /// Ends a prompt that never reached the agent. The text goes back to the editor.
    pub(super) fn give_back(&self) {
        if self.preview.is_some() {
            return;
        }
        self.out.send(SessionEvent::Refill(self.source.clone()));
    }

    /// Tells the front-end how it ended; on a failure the text goes back to the editor.
    pub(super) fn tell_end(&self, end: &TurnEnd) {
        if matches!(end.outcome, TurnOutcome::Failed(_)) {
            self.give_back();
        }
        self.out.send(SessionEvent::TurnEnded {
            outcome: end.outcome.clone(),
            usage: end.usage,
            took: self.started.elapsed(),
        });
    }
}

fn as_text(part: &InputPart) -> Option<&str> {
    match part {
        InputPart::Text(text) => Some(text),
        InputPart::Image(_) => None,
    }
}

impl Running {
    /// All text this turn sent.
    pub(super) fn sent(&self) -> &str {
        &self.before.sent
    }

    pub(super) fn new(id: TurnId, key: TurnKey, before: Before) -> Self {
        Running {
            id,
            key,
            turn: Turn::default(),
            before,
            saved_bytes: 0,
            saved_at: Instant::now(),
        }
    }

    /// True when this turn may call `name`.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.before.tools.iter().any(|tool| tool.name == name)
    }

    /// Saves the answer so far when enough of it is new or enough time has passed.
    pub(super) fn save_if_due(&mut self, history: &History) {
        let grown = self.turn.size().saturating_sub(self.saved_bytes);
        if grown > 0 && (grown >= SAVE_EVERY || self.saved_at.elapsed() >= SAVE_AT_LEAST) {
            self.save(history);
        }
    }

    /// Saves the answer so far.
    pub(super) fn save(&mut self, history: &History) {
        history.stream_answer(self.key, &self.turn.stored());
        self.saved_bytes = self.turn.size();
        self.saved_at = Instant::now();
    }

    /// When the answer has to be saved at the latest; `None` while nothing of it is new.
    pub(super) fn save_deadline(&self) -> Option<Instant> {
        (self.turn.size() > self.saved_bytes).then(|| self.saved_at + SAVE_AT_LEAST)
    }

    /// Records the end; returns the thread to go on with.
    pub(super) fn record(self, end: &TurnEnd, history: &History) -> Option<RecordedThread> {
        let outcome = match end.outcome {
            TurnOutcome::Complete => Outcome::Complete,
            TurnOutcome::Interrupted => Outcome::Interrupted,
            TurnOutcome::Failed(_) => Outcome::Failed,
        };
        history.finish_prompt(self.key, outcome, &end.stored, end.usage);
        let Before {
            model,
            instructions,
            tools,
            history: mut exchanges,
            user,
            images,
            attached,
            ..
        } = self.before;
        exchanges.push(Exchange {
            user,
            assistant: end.stored.clone(),
            images,
        });
        let digest = TurnRequest::digest(model.as_deref(), &instructions, &tools, &exchanges);
        let thread = end.thread.clone().filter(|_| !attached);
        thread.map(|id| RecordedThread { id, digest })
    }
}
