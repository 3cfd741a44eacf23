//! Maps the events of one run to messages: the output of a cell, a prompt or a command, and the facts of its reply.
//!
//! In: session events. Out: messages by [`RequestOutput`], requests for input to the caller, a [`RunResult`].
//! Invariants: all output of a run is sent before its reply; a failing cell of the agent does not fail the request, a
//! refused command or prompt does.

use serde_json::{Map, Value, json};

use super::answer::{details, fenced};
use super::comms::Comms;
use super::messages::{self, Failure};
use super::request_output::RequestOutput;
use crate::agent::InputPart;
use crate::dialog::display_form;
use crate::display::death_notice;
use crate::markdown::fences::python_blocks;
use crate::runtime::{Ending, OutputStream};
use crate::session::{
    AfterEvent, BeginEvent, CellEvent, EndEvent, Notice, Question, QuestionEvent, RunKind,
    SessionEvent, SessionTail, TextEvent, TurnOutcome,
};
use crate::text::escape::xml_text;

pub(super) struct EventMapper<'a> {
    pub(super) output: RequestOutput<'a>,
    comms: &'a mut Comms,
    kind: Option<RunKind>,
    /// A cell of the agent or of a replay runs; its failure does not fail the request.
    nested: bool,
    /// A warning that fails the request unless the turn completes, and its text.
    refusal: Option<(Failure, String)>,
    pub(super) result: RunResult,
}

#[derive(Debug, Default)]
pub(super) struct RunResult {
    /// The In number of the input.
    pub(super) line: Option<u32>,
    pub(super) failure: Option<Failure>,
    /// `payload` of the protocol: a page, the next input, the exit of the client.
    pub(super) payload: Vec<Value>,
    pub(super) exits: bool,
}

#[derive(Debug)]
pub(super) enum UserRequest {
    /// A line for code that reads one.
    Line {
        /// The id of the call, for the reply.
        call: u64,
        prompt: String,
        /// The input is not echoed.
        password: bool,
    },
    Question(Box<Question>),
    /// The question of this id is withdrawn.
    Withdrawn(u64),
}

impl<'a> EventMapper<'a> {
    pub(super) fn new(output: RequestOutput<'a>, comms: &'a mut Comms) -> Self {
        EventMapper {
            output,
            comms,
            kind: None,
            nested: false,
            refusal: None,
            result: RunResult::default(),
        }
    }

    pub(super) fn comms(&mut self) -> &mut Comms {
        self.comms
    }

    async fn fail(&mut self, failure: Failure) {
        self.output.end_answer().await;
        let quiet = self.output.set_muted(false).await;
        self.output.publish("error", failure.content()).await;
        self.output.set_muted(quiet).await;
        if !self.nested {
            self.result.failure.get_or_insert(failure);
        }
    }

    /// Handles an event; returns the request to the user that it contains.
    pub(super) async fn on(&mut self, event: SessionEvent) -> Option<UserRequest> {
        match event {
            SessionEvent::Begin(event) => self.begin(event).await,
            SessionEvent::Cell(CellEvent::InputRequested {
                call,
                prompt,
                password,
            }) => {
                self.output.end_answer().await;
                self.output.flush().await;
                return Some(UserRequest::Line {
                    call,
                    prompt,
                    password,
                });
            }
            SessionEvent::Cell(event) => self.cell(event).await,
            SessionEvent::Answer(event) => self.output.on_answer(event).await,
            SessionEvent::Question(event) => {
                self.output.end_answer().await;
                self.output.flush().await;
                return Some(match event {
                    QuestionEvent::Asked(question) => UserRequest::Question(Box::new(question)),
                    QuestionEvent::Over(id) => UserRequest::Withdrawn(id),
                });
            }
            SessionEvent::End(event) => self.end(event).await,
            SessionEvent::Text(event) => self.text(event).await,
            SessionEvent::Notice(notice) => self.notice(&notice).await,
            SessionEvent::After(AfterEvent::Refill(text)) => self.offer_from_code(text, false),
            SessionEvent::After(AfterEvent::Replace(text)) => self.offer_from_code(text, true),
            SessionEvent::After(AfterEvent::Leave(_)) => {
                self.result.exits = true;
                self.exit(false);
            }
            SessionEvent::After(AfterEvent::Detach) => self.exit(true),
            SessionEvent::RuntimeDied { death, restarting } => {
                let notice = death_notice(&death.to_string(), restarting);
                let failure =
                    Failure::new("DeadKernel", notice.message.clone()).with_lines(notice.hints);
                self.nested = false;
                self.fail(failure).await;
            }
        }
        None
    }

    /// Offers text that code has set as the next input. A refused prompt or command is still in its cell, and is
    /// not offered again.
    fn offer_from_code(&mut self, text: String, replaces: bool) {
        if self.kind == Some(RunKind::Cell) && self.result.failure.is_none() {
            self.offer(text, replaces);
        }
    }

    fn offer(&mut self, text: String, replaces: bool) {
        let payload = json!({"source": "set_next_input", "text": text, "replace": replaces});
        self.result.payload.push(payload);
    }

    fn exit(&mut self, kernel_stays: bool) {
        let payload = json!({"source": "ask_exit", "keepkernel": kernel_stays});
        self.result.payload.push(payload);
    }

    async fn begin(&mut self, event: BeginEvent) {
        self.output.end_answer().await;
        match event {
            BeginEvent::Input { line, kind } => {
                self.result.line = Some(line);
                self.kind = Some(kind);
                let code = self.output.code();
                let content = json!({"code": code, "execution_count": line});
                self.output.publish("execute_input", content).await;
            }
            BeginEvent::AgentCell {
                line,
                title,
                source,
            } => {
                self.nested = true;
                let title = match title.is_empty() {
                    true => format!("In [{line}]"),
                    false => format!("In [{line}] · {}", xml_text(&title)),
                };
                let markdown = details(&title, &fenced("python", &source));
                let plain = format!("In [{line}]: {source}");
                self.output.display_markdown(markdown, plain).await;
            }
            BeginEvent::Asked { line, prompt } => {
                let markdown = format!("**In [{line}] asks:** {}", xml_text(&prompt));
                let plain = format!("In [{line}] asks: {prompt}");
                self.output.display_markdown(markdown, plain).await;
            }
            BeginEvent::Step {
                step,
                of,
                line,
                source,
                quiet,
                ..
            } => {
                self.nested = true;
                self.output.set_muted(false).await;
                if !quiet {
                    let title = format!("step {step} of {of}: In [{line}]");
                    let markdown = details(&title, &fenced("python", &source));
                    let plain = format!("In [{line}]: {source}");
                    self.output.display_markdown(markdown, plain).await;
                }
                self.output.set_muted(quiet).await;
            }
        }
    }

    async fn cell(&mut self, event: CellEvent) {
        match event {
            CellEvent::Output { stream, bytes, .. } => {
                self.output.end_answer().await;
                self.output.write(stream, &bytes).await;
            }
            CellEvent::Display(display) => self.output.display(&display).await,
            CellEvent::Comm(message) => {
                self.comms.on_message(&message);
                self.output.publish_comm(message).await;
            }
            CellEvent::Status(text) => self.output.publish_progress(&text).await,
            CellEvent::Clear { wait } => {
                self.output.end_answer().await;
                self.output.flush().await;
                self.output
                    .publish("clear_output", json!({ "wait": wait }))
                    .await;
            }
            CellEvent::Raised(error) => self.fail(Failure::from_error(&error)).await,
            CellEvent::Ended { ending, .. } => {
                if let (Ending::Interrupted, None, false) =
                    (&ending, &self.result.failure, self.nested)
                {
                    self.fail(Failure::new("KeyboardInterrupt", "")).await;
                }
                if let (Ending::Error, None, false) = (&ending, &self.result.failure, self.nested) {
                    // An exception hook of a library has printed the error.
                    let why = "the cell failed; what it printed says why";
                    self.result.failure = Some(Failure::new("Error", why));
                }
                if let Ending::Lost(why) = &ending {
                    let why = format!("the connection to the interpreter was lost: {why}");
                    self.fail(Failure::new("DeadKernel", why)).await;
                }
                self.nested = false;
                self.output.set_muted(false).await;
            }
            // Output of a cell that has ended is published under the request of that cell.
            CellEvent::Late { .. } | CellEvent::Started | CellEvent::InputRequested { .. } => {}
        }
    }

    async fn end(&mut self, event: EndEvent) {
        match event {
            EndEvent::Turn { outcome, .. } => {
                self.output.end_answer().await;
                self.nested = false;
                match outcome {
                    TurnOutcome::Complete => {
                        if let Some((_, text)) = self.refusal.take() {
                            self.output
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
                            Failure::new("AgentError", failure.message.clone()).with_lines(hints);
                        self.fail(failure).await;
                    }
                }
                self.kind = Some(RunKind::Prompt);
            }
            EndEvent::Replay(replayed) => {
                self.nested = false;
                self.output.set_muted(false).await;
                self.notice(&replayed.notice()).await;
            }
            EndEvent::Call { content, .. } => {
                for part in content {
                    if let InputPart::Text(text) = part {
                        self.output
                            .print(OutputStream::Stdout, &format!("{text}\n"))
                            .await;
                    }
                }
            }
            EndEvent::Asked { .. } => self.output.end_answer().await,
            EndEvent::NotRun => {}
        }
    }

    async fn text(&mut self, event: TextEvent) {
        match event {
            TextEvent::Text(text) | TextEvent::Verbatim(text) => {
                self.output
                    .print(OutputStream::Stdout, &format!("{text}\n"))
                    .await;
            }
            TextEvent::Help(page) => {
                self.output
                    .display_markdown(page.markdown(), page.text())
                    .await;
            }
            TextEvent::Page(bundle) => {
                let data: Map<String, Value> = messages::mime_data(&bundle);
                let page = json!({"source": "page", "data": data, "start": 0});
                self.result.payload.push(page);
            }
            TextEvent::Earlier(earlier) => {
                let (markdown, plain) = earlier_session(&earlier);
                self.output.display_markdown(markdown, plain).await;
            }
        }
    }

    async fn notice(&mut self, notice: &Notice) {
        let hints = notice.hints.iter().map(|hint| format!("  hint: {hint}"));
        let lines: Vec<String> = hints.collect();
        let text = [std::slice::from_ref(&notice.message), &lines].concat();
        let nothing_yet = self.output.has_no_answer();
        let refused = match self.kind {
            Some(RunKind::Command) => Some("CommandError"),
            Some(RunKind::Prompt) if nothing_yet => Some("PromptError"),
            _ => None,
        };
        if let (true, Some(name), None) = (notice.warning, refused, &self.refusal) {
            let failure = Failure::new(name, notice.message.clone()).with_lines(lines);
            self.refusal = Some((failure, text.join("\n")));
            return;
        }
        self.output
            .print(OutputStream::Stderr, &format!("{}\n", text.join("\n")))
            .await;
    }

    pub(super) async fn finish(mut self) -> RunResult {
        self.output.finish().await;
        // A refused command or prompt fails, which stops a client that runs all cells.
        if let (Some((refusal, _)), None) = (self.refusal.take(), &self.result.failure) {
            self.nested = false;
            self.fail(refusal).await;
        }
        // The answer to a prompt that a cell has sent belongs to that cell.
        let offered = self.kind != Some(RunKind::Cell);
        let code = python_blocks(self.output.answer_text()).join("\n\n");
        let offered = offered && self.output.has_cells() && self.result.failure.is_none();
        if offered && !code.trim().is_empty() {
            self.offer(code, false);
        }
        self.result
    }
}

/// The end of a resumed session, as markdown and as text.
fn earlier_session(earlier: &SessionTail) -> (String, String) {
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
