//! The events of one run as what clients see: what a cell, a prompt or a command shows, and what its reply says.
//!
//! Invariants: everything a run shows is sent before its reply; a cell of the agent that fails does not fail the
//! request, a command or a prompt that is refused does.

use serde_json::{Map, Value, json};

use super::answer::{fenced, folded};
use super::comms::Comms;
use super::forms::{self, Failure};
use super::sheet::Sheet;
use crate::agent::InputPart;
use crate::dialog::display_form;
use crate::display::died;
use crate::markdown::fences::python_blocks;
use crate::runtime::{Ending, OutputStream};
use crate::session::{
    AfterEvent, BeginEvent, CellEvent, Earlier, EndEvent, Notice, Question, QuestionEvent, RunKind,
    SessionEvent, ToldEvent, TurnOutcome,
};
use crate::text::escape::xml_text;

/// A run being told.
pub(super) struct Telling<'a> {
    pub(super) sheet: Sheet<'a>,
    comms: &'a mut Comms,
    kind: Option<RunKind>,
    /// A cell of the agent or of a replay runs: its failure is not the request's.
    inner: bool,
    /// A command or a prompt may have been refused: how, and in words.
    warned: Option<(Failure, String)>,
    /// What the reply says.
    pub(super) outcome: Outcome,
}

/// What a run has to say in its reply.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Its In number.
    pub(super) line: Option<u32>,
    /// It failed.
    pub(super) failure: Option<Failure>,
    /// For the client's own surroundings.
    pub(super) payload: Vec<Value>,
    /// The kernel is to end.
    pub(super) leaves: bool,
}

/// What a run wants from the user.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A line for code that reads one.
    Line {
        /// To be named in the answer.
        call: u64,
        /// Text to show.
        prompt: String,
        /// Not to be shown while it is typed.
        password: bool,
    },
    /// An answer to a question.
    Question(Box<Question>),
    /// The question of this id needs no answer any more.
    Over(u64),
}

impl<'a> Telling<'a> {
    pub(super) fn new(sheet: Sheet<'a>, comms: &'a mut Comms) -> Self {
        Telling {
            sheet,
            comms,
            kind: None,
            inner: false,
            warned: None,
            outcome: Outcome::default(),
        }
    }

    /// The comms, for what else concerns them meanwhile.
    pub(super) fn comms(&mut self) -> &mut Comms {
        self.comms
    }

    async fn fail(&mut self, failure: Failure) {
        self.sheet.settle().await;
        let quiet = self.sheet.set_quiet(false).await;
        self.sheet.publish("error", failure.content()).await;
        self.sheet.set_quiet(quiet).await;
        if !self.inner {
            self.outcome.failure.get_or_insert(failure);
        }
    }

    /// Takes an event; what it wants from the user.
    pub(super) async fn on(&mut self, event: SessionEvent) -> Option<Wanted> {
        match event {
            SessionEvent::Begin(event) => self.begin(event).await,
            SessionEvent::Cell(CellEvent::InputRequested {
                call,
                prompt,
                password,
            }) => {
                self.sheet.settle().await;
                self.sheet.flush().await;
                return Some(Wanted::Line {
                    call,
                    prompt,
                    password,
                });
            }
            SessionEvent::Cell(event) => self.cell(event).await,
            SessionEvent::Answer(event) => self.sheet.answered(event).await,
            SessionEvent::Question(event) => {
                self.sheet.settle().await;
                self.sheet.flush().await;
                return Some(match event {
                    QuestionEvent::Asked(question) => Wanted::Question(Box::new(question)),
                    QuestionEvent::Over(id) => Wanted::Over(id),
                });
            }
            SessionEvent::End(event) => self.end(event).await,
            SessionEvent::Told(event) => self.told(event).await,
            SessionEvent::Notice(notice) => self.notice(&notice).await,
            SessionEvent::After(AfterEvent::Refill(text)) => self.on_offer(text, false),
            SessionEvent::After(AfterEvent::Replace(text)) => self.on_offer(text, true),
            SessionEvent::After(AfterEvent::Leave(_)) => {
                self.outcome.leaves = true;
                self.leave(false);
            }
            SessionEvent::After(AfterEvent::Detach) => self.leave(true),
            SessionEvent::RuntimeDied { death, restarting } => {
                let notice = died(&death.to_string(), restarting);
                let failure = Failure::new("DeadKernel", notice.message.clone()).and(notice.hints);
                self.inner = false;
                self.fail(failure).await;
            }
        }
        None
    }

    /// What was typed is in its cell still; what code offers is not.
    fn on_offer(&mut self, text: String, replaces: bool) {
        if self.kind == Some(RunKind::Cell) && self.outcome.failure.is_none() {
            self.offer(text, replaces);
        }
    }

    fn offer(&mut self, text: String, replaces: bool) {
        let payload = json!({"source": "set_next_input", "text": text, "replace": replaces});
        self.outcome.payload.push(payload);
    }

    /// The client is to leave.
    fn leave(&mut self, kernel_stays: bool) {
        let payload = json!({"source": "ask_exit", "keepkernel": kernel_stays});
        self.outcome.payload.push(payload);
    }

    async fn begin(&mut self, event: BeginEvent) {
        self.sheet.settle().await;
        match event {
            BeginEvent::Input { line, kind } => {
                self.outcome.line = Some(line);
                self.kind = Some(kind);
                let code = self.sheet.code();
                let content = json!({"code": code, "execution_count": line});
                self.sheet.publish("execute_input", content).await;
            }
            BeginEvent::AgentCell {
                line,
                title,
                source,
            } => {
                self.inner = true;
                let title = match title.is_empty() {
                    true => format!("In [{line}]"),
                    false => format!("In [{line}] · {}", xml_text(&title)),
                };
                let markdown = folded(&title, &fenced("python", &source));
                let plain = format!("In [{line}]: {source}");
                self.sheet.show_markdown(markdown, plain).await;
            }
            BeginEvent::Asked { line, prompt } => {
                let markdown = format!("**In [{line}] asks:** {}", xml_text(&prompt));
                let plain = format!("In [{line}] asks: {prompt}");
                self.sheet.show_markdown(markdown, plain).await;
            }
            BeginEvent::Step {
                step,
                of,
                line,
                source,
                quiet,
                ..
            } => {
                self.inner = true;
                self.sheet.set_quiet(false).await;
                if !quiet {
                    let title = format!("step {step} of {of}: In [{line}]");
                    let markdown = folded(&title, &fenced("python", &source));
                    let plain = format!("In [{line}]: {source}");
                    self.sheet.show_markdown(markdown, plain).await;
                }
                self.sheet.set_quiet(quiet).await;
            }
        }
    }

    async fn cell(&mut self, event: CellEvent) {
        match event {
            CellEvent::Output { stream, bytes, .. } => {
                self.sheet.settle().await;
                self.sheet.push(stream, &bytes).await;
            }
            CellEvent::Display(display) => self.sheet.show(&display).await,
            CellEvent::Comm(message) => {
                self.comms.says(&message);
                self.sheet.say(message).await;
            }
            CellEvent::Status(text) => self.sheet.show_status(&text).await,
            CellEvent::Clear { wait } => {
                self.sheet.settle().await;
                self.sheet.flush().await;
                self.sheet
                    .publish("clear_output", json!({ "wait": wait }))
                    .await;
            }
            CellEvent::Raised(error) => self.fail(Failure::raised(&error)).await,
            CellEvent::Ended { ending, .. } => {
                if let (Ending::Interrupted, None, false) =
                    (&ending, &self.outcome.failure, self.inner)
                {
                    self.fail(Failure::new("KeyboardInterrupt", "")).await;
                }
                if let (Ending::Error, None, false) = (&ending, &self.outcome.failure, self.inner) {
                    // A hook that a library has set has printed it.
                    let why = "the cell failed; what it printed says why";
                    self.outcome.failure = Some(Failure::new("Error", why));
                }
                if let Ending::Lost(why) = &ending {
                    let why = format!("the connection to the interpreter was lost: {why}");
                    self.fail(Failure::new("DeadKernel", why)).await;
                }
                self.inner = false;
                self.sheet.set_quiet(false).await;
            }
            // Of a cell that has ended: told by whoever knows its request.
            CellEvent::Late { .. } | CellEvent::Started | CellEvent::InputRequested { .. } => {}
        }
    }

    async fn end(&mut self, event: EndEvent) {
        match event {
            EndEvent::Turn { outcome, .. } => {
                self.sheet.settle().await;
                self.inner = false;
                match outcome {
                    TurnOutcome::Complete => {
                        if let Some((_, text)) = self.warned.take() {
                            self.sheet
                                .print(OutputStream::Stderr, &format!("{text}\n"))
                                .await;
                        }
                    }
                    TurnOutcome::Interrupted => {
                        let what = "the answer was stopped; what came of it is kept";
                        self.fail(Failure::new("KeyboardInterrupt", what)).await;
                    }
                    TurnOutcome::Failed(failure) => {
                        let hints = failure.hints.iter().map(|hint| format!("  hint: {hint}"));
                        let failure =
                            Failure::new("AgentError", failure.message.clone()).and(hints);
                        self.fail(failure).await;
                    }
                }
                self.kind = Some(RunKind::Prompt);
            }
            EndEvent::Replay(replayed) => {
                self.inner = false;
                self.sheet.set_quiet(false).await;
                self.notice(&replayed.notice()).await;
            }
            EndEvent::Call { content, .. } => {
                for part in content {
                    if let InputPart::Text(text) = part {
                        self.sheet
                            .print(OutputStream::Stdout, &format!("{text}\n"))
                            .await;
                    }
                }
            }
            EndEvent::Asked { .. } => self.sheet.settle().await,
            EndEvent::NotRun => {}
        }
    }

    async fn told(&mut self, event: ToldEvent) {
        match event {
            ToldEvent::Text(text) | ToldEvent::Verbatim(text) => {
                self.sheet
                    .print(OutputStream::Stdout, &format!("{text}\n"))
                    .await;
            }
            ToldEvent::Help(page) => {
                self.sheet.show_markdown(page.markdown(), page.text()).await;
            }
            ToldEvent::Page(bundle) => {
                let data: Map<String, Value> = forms::data(&bundle);
                let page = json!({"source": "page", "data": data, "start": 0});
                self.outcome.payload.push(page);
            }
            ToldEvent::Earlier(earlier) => {
                let (markdown, plain) = went_before(&earlier);
                self.sheet.show_markdown(markdown, plain).await;
            }
        }
    }

    async fn notice(&mut self, notice: &Notice) {
        let hints = notice.hints.iter().map(|hint| format!("  hint: {hint}"));
        let lines: Vec<String> = hints.collect();
        let text = [std::slice::from_ref(&notice.message), &lines].concat();
        let nothing_yet = self.sheet.has_no_answer();
        let refused = match self.kind {
            Some(RunKind::Command) => Some("CommandError"),
            Some(RunKind::Prompt) if nothing_yet => Some("PromptError"),
            _ => None,
        };
        if let (true, Some(name), None) = (notice.warning, refused, &self.warned) {
            let failure = Failure::new(name, notice.message.clone()).and(lines);
            self.warned = Some((failure, text.join("\n")));
            return;
        }
        self.sheet
            .print(OutputStream::Stderr, &format!("{}\n", text.join("\n")))
            .await;
    }

    /// The run is over: the rest is sent, and what the reply has to say is known.
    pub(super) async fn finish(mut self) -> Outcome {
        self.sheet.finish().await;
        // A command or a prompt that was refused has failed, and says so in a way that stops whoever runs all cells.
        if let (Some((warned, _)), None) = (self.warned.take(), &self.outcome.failure) {
            self.inner = false;
            self.fail(warned).await;
        }
        // What a cell asked for is the cell's.
        let offered = self.kind != Some(RunKind::Cell);
        let code = python_blocks(self.sheet.words()).join("\n\n");
        let offered = offered && self.sheet.has_cells() && self.outcome.failure.is_none();
        if offered && !code.trim().is_empty() {
            self.offer(code, false);
        }
        self.outcome
    }
}

/// What a session held that goes on here.
fn went_before(earlier: &Earlier) -> (String, String) {
    let mut markdown = format!("**Session {}**, from {}", earlier.session, earlier.start);
    let mut plain = format!("Session {}, from {}", earlier.session, earlier.start);
    for entry in earlier.entries.iter().filter(|entry| !entry.hidden) {
        let label = format!("In [{}]", entry.line);
        let shown = match entry.is_answer {
            true => display_form(&entry.shown),
            false => fenced("text", &entry.shown),
        };
        markdown.push_str(&format!(
            "\n\n{label}\n\n{}\n\n{shown}",
            fenced("python", &entry.source)
        ));
        plain.push_str(&format!("\n{label}: {}\n{}", entry.source, entry.shown));
    }
    (markdown, plain)
}
