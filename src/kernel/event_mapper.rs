//! Maps the events of one run to what is put out: the output of a cell, a prompt or a command, and the facts of its
//! reply.
//!
//! In: session events. Out: [`Out`]s, which [`CellOutput`](super::cell_output::CellOutput) sends in their
//! order, and a [`RunResult`]. Pure. Invariants: a failing cell of the agent does not fail the request, a refused
//! command or prompt does.

use serde_json::{Map, Value, json};

use super::answer::{details, fenced};
use super::messages::{self, Comms, Failure};
use crate::agent::InputPart;
use crate::dialog::display_form;
use crate::display::{LineQuestion, death_notice};
use crate::markdown::fences::python_blocks;
use crate::output::MimeBundle;
use crate::runtime::{CommMessage, DisplayData, Ending, OutputStream};
use crate::session::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, Notice, QuestionEvent, RunKind,
    SessionEvent, SessionTail, TextEvent, TurnOutcome,
};
use crate::text::escape::xml_text;

#[derive(Debug)]
pub(super) enum Out {
    /// Printed text, below the answer.
    Bytes(OutputStream, Vec<u8>),
    Display(DisplayData),
    Answer(AnswerEvent),
    /// Later output stands below the answer so far.
    EndAnswer,
    /// The plan is no longer updated.
    EndPlan,
    /// A line of progress in place of the one before.
    Progress(String),
    /// A message from an object of the interpreter.
    Comm(CommMessage),
    /// Printed text is sent now.
    Flush,
    /// The type and the content of a message.
    Message(&'static str, Value),
    /// The content of an `error`, which is sent even where publishing is stopped.
    Error(Value),
    /// Stops or resumes publishing.
    Mute(bool),
    Ask(UserRequest),
    /// The question of this id needs no answer any more.
    Withdraw(u64),
}

pub(super) struct EventMapper<'a> {
    /// The text of the input.
    code: &'a str,
    comms: &'a mut Comms,
    kind: Option<RunKind>,
    /// A cell of the agent or of a replay runs; its failure does not fail the request.
    nested: bool,
    /// A warning that fails the request unless the turn completes, and its text.
    refusal: Option<(Failure, String)>,
    out: Vec<Out>,
    result: RunResult,
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
    Question(Box<LineQuestion>),
}

impl<'a> EventMapper<'a> {
    pub(super) fn new(code: &'a str, comms: &'a mut Comms) -> Self {
        EventMapper {
            code,
            comms,
            kind: None,
            nested: false,
            refusal: None,
            out: Vec::new(),
            result: RunResult::default(),
        }
    }

    pub(super) fn comms(&mut self) -> &mut Comms {
        self.comms
    }

    /// Returns what an event puts out; `has_answer`: part of an answer was put out before.
    pub(super) fn on(&mut self, event: SessionEvent, has_answer: bool) -> Vec<Out> {
        match event {
            SessionEvent::Begin(event) => self.begin(event),
            SessionEvent::Cell(event) => self.cell(event),
            SessionEvent::Answer(event) => self.out.push(Out::Answer(event)),
            SessionEvent::Question(QuestionEvent::Asked(question)) => {
                let spoken = Box::new(LineQuestion::new(question));
                self.below(Out::Ask(UserRequest::Question(spoken)));
            }
            SessionEvent::Question(QuestionEvent::Over(id)) => self.below(Out::Withdraw(id)),
            SessionEvent::End(event) => self.end(event, has_answer),
            SessionEvent::Text(event) => self.text(event),
            SessionEvent::Notice(notice) => self.notice(&notice, has_answer),
            SessionEvent::After(AfterEvent::Refill(text)) => self.offer_from_code(text, false),
            SessionEvent::After(AfterEvent::Replace(text)) => self.offer_from_code(text, true),
            SessionEvent::After(AfterEvent::Leave(_)) => {
                self.result.exits = true;
                self.exit(false);
            }
            SessionEvent::After(AfterEvent::Detach) => self.exit(true),
            SessionEvent::RuntimeDied { death, restarting } => {
                let notice = death_notice(&death.to_string(), restarting);
                let failure = Failure::new("DeadKernel", notice.message).with_lines(notice.hints);
                self.nested = false;
                self.fail(failure);
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Ends the run after its last output; `answer`: the text to offer code from, where the client has cells.
    pub(super) fn finish(mut self, answer: Option<&str>) -> (Vec<Out>, RunResult) {
        // A refused command or prompt fails, which stops a client that runs all cells.
        if let (Some((refusal, _)), None) = (self.refusal.take(), &self.result.failure) {
            self.nested = false;
            self.fail(refusal);
        }
        // The answer to a prompt that a cell has sent belongs to that cell.
        let is_offered = self.kind != Some(RunKind::Cell) && self.result.failure.is_none();
        let code = python_blocks(answer.filter(|_| is_offered).unwrap_or_default()).join("\n\n");
        if !code.trim().is_empty() {
            self.offer(code, false);
        }
        (self.out, self.result)
    }

    fn fail(&mut self, failure: Failure) {
        self.out.push(Out::Error(failure.content()));
        if !self.nested {
            self.result.failure.get_or_insert(failure);
        }
    }

    /// Puts out below all output so far.
    fn below(&mut self, out: Out) {
        self.out.extend([Out::EndAnswer, Out::Flush, out]);
    }

    fn print(&mut self, stream: OutputStream, text: &str) {
        let bytes = format!("{text}\n").into_bytes();
        self.out.push(Out::Bytes(stream, bytes));
    }

    fn show(&mut self, markdown: String, plain: String) {
        let bundle = MimeBundle::new(vec![
            ("text/markdown".into(), markdown.into()),
            ("text/plain".into(), plain.into()),
        ]);
        self.out.push(Out::Display(DisplayData::new(bundle)));
    }

    /// Offers text that code or a command has set as the next input. A refused prompt or command is still in its cell,
    /// and is not offered again.
    fn offer_from_code(&mut self, text: String, replaces: bool) {
        let offers = matches!(self.kind, Some(RunKind::Cell | RunKind::Command));
        if offers && self.result.failure.is_none() {
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

    fn begin(&mut self, event: BeginEvent) {
        self.out.push(Out::EndAnswer);
        match event {
            BeginEvent::Input { line, kind } => {
                self.result.line = Some(line);
                self.kind = Some(kind);
                let content = json!({"code": self.code, "execution_count": line});
                self.out.push(Out::Message("execute_input", content));
            }
            BeginEvent::Wait => {}
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
                self.show_cell(&title, line, &source);
            }
            BeginEvent::Asked { line, prompt } => {
                let markdown = format!("**In [{line}] asks:** {}", xml_text(&prompt));
                self.show(markdown, format!("In [{line}] asks: {prompt}"));
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
                self.out.push(Out::Mute(quiet));
                if !quiet {
                    let title = format!("step {step} of {of}: In [{line}]");
                    self.show_cell(&title, line, &source);
                }
            }
        }
    }

    fn show_cell(&mut self, title: &str, line: u32, source: &str) {
        let markdown = details(title, &fenced("python", source));
        self.show(markdown, format!("In [{line}]: {source}"));
    }

    fn cell(&mut self, event: CellEvent) {
        match event {
            CellEvent::Output { stream, bytes, .. } => self.out.push(Out::Bytes(stream, bytes)),
            CellEvent::Display(display) => self.out.push(Out::Display(display)),
            CellEvent::Comm(message) => {
                self.comms.on_message(&message);
                self.out.push(Out::Comm(message));
            }
            CellEvent::Status(text) => self.out.push(Out::Progress(text)),
            CellEvent::Clear { wait } => {
                let clear = Out::Message("clear_output", json!({ "wait": wait }));
                self.below(clear);
            }
            CellEvent::InputRequested {
                call,
                prompt,
                password,
            } => self.below(Out::Ask(UserRequest::Line {
                call,
                prompt,
                password,
            })),
            CellEvent::Raised(error) => self.fail(Failure::from_error(&error)),
            CellEvent::Ended { ending, .. } => {
                let is_first = self.result.failure.is_none() && !self.nested;
                match ending {
                    Ending::Interrupted if is_first => {
                        self.fail(Failure::new("KeyboardInterrupt", ""));
                    }
                    Ending::Error if is_first => {
                        // An exception hook of a library has printed the error.
                        let why = "the cell failed; what it printed says why";
                        self.result.failure = Some(Failure::new("Error", why));
                    }
                    Ending::Lost(why) => {
                        let why = format!("the connection to the interpreter was lost: {why}");
                        self.fail(Failure::new("DeadKernel", why));
                    }
                    _ => {}
                }
                self.nested = false;
                self.out.push(Out::Mute(false));
            }
            // Output of a cell that has ended is published under the request of that cell.
            CellEvent::Late { .. } | CellEvent::Started => {}
        }
    }

    fn end(&mut self, event: EndEvent, has_answer: bool) {
        match event {
            EndEvent::Turn { outcome, .. } => {
                self.out.extend([Out::EndAnswer, Out::EndPlan]);
                self.nested = false;
                match outcome {
                    TurnOutcome::Complete => {
                        if let Some((_, text)) = self.refusal.take() {
                            self.print(OutputStream::Stderr, &text);
                        }
                    }
                    TurnOutcome::Interrupted => {
                        let what = "the answer was stopped; what came of it is kept";
                        self.fail(Failure::new("KeyboardInterrupt", what));
                    }
                    TurnOutcome::Failed(failure) => {
                        let hints = failure.hints.iter().map(|hint| format!("  hint: {hint}"));
                        self.fail(Failure::new("AgentError", failure.message).with_lines(hints));
                    }
                }
                self.kind = Some(RunKind::Prompt);
            }
            EndEvent::Replay(replayed) => {
                self.nested = false;
                self.out.push(Out::Mute(false));
                self.notice(&replayed.notice(), has_answer);
            }
            EndEvent::Call { content, .. } => {
                for part in content {
                    if let InputPart::Text(text) = part {
                        self.print(OutputStream::Stdout, &text);
                    }
                }
            }
            EndEvent::Asked { .. } => self.out.push(Out::EndAnswer),
            EndEvent::NotRun => {}
        }
    }

    fn text(&mut self, event: TextEvent) {
        match event {
            TextEvent::Text(text) | TextEvent::Verbatim(text) => {
                self.print(OutputStream::Stdout, &text);
            }
            TextEvent::Help(page) => self.show(page.markdown(), page.text()),
            TextEvent::Page(bundle) => {
                let data: Map<String, Value> = messages::mime_data(&bundle);
                let page = json!({"source": "page", "data": data, "start": 0});
                self.result.payload.push(page);
            }
            TextEvent::Earlier(earlier) => {
                let (markdown, plain) = earlier_session(&earlier);
                self.show(markdown, plain);
            }
        }
    }

    fn notice(&mut self, notice: &Notice, has_answer: bool) {
        let hints = notice.hints.iter().map(|hint| format!("  hint: {hint}"));
        let lines: Vec<String> = hints.collect();
        let text = [std::slice::from_ref(&notice.message), &lines]
            .concat()
            .join("\n");
        let refused = match self.kind {
            Some(RunKind::Command) => Some("CommandError"),
            Some(RunKind::Prompt) if !has_answer => Some("PromptError"),
            _ => None,
        };
        if let (true, Some(name), None) = (notice.warning, refused, &self.refusal) {
            let failure = Failure::new(name, notice.message.clone()).with_lines(lines);
            self.refusal = Some((failure, text));
            return;
        }
        self.print(OutputStream::Stderr, &text);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::{AgentFailure, FailureKind};
    use crate::output::CellError;
    use crate::session::{Question, QuestionSubject, ReplaySummary};

    /// What the events put out, an entry each, and at the end what the reply says.
    fn put_out(events: Vec<SessionEvent>, answer: Option<&str>) -> Vec<String> {
        let mut comms = Comms::default();
        let mut mapper = EventMapper::new("x", &mut comms);
        let mut out: Vec<Out> = Vec::new();
        for event in events {
            let has_answer = out.iter().any(|out| matches!(out, Out::Answer(_)));
            out.extend(mapper.on(event, has_answer));
        }
        let (rest, result) = mapper.finish(answer);
        let entry = |out: &Out| match out {
            Out::Bytes(stream, bytes) => {
                let mark = if *stream == OutputStream::Stderr {
                    "!"
                } else {
                    ">"
                };
                format!("{mark} {}", String::from_utf8_lossy(bytes))
            }
            Out::Display(display) => {
                format!(
                    "display {}",
                    display.bundle.text("text/plain").unwrap_or_default()
                )
            }
            Out::Answer(_) => "answer".into(),
            Out::EndAnswer => "end answer".into(),
            Out::EndPlan => "end plan".into(),
            Out::Progress(text) => format!("progress {text}"),
            Out::Comm(message) => format!("comm {}", message.comm_id),
            Out::Flush => "flush".into(),
            Out::Message(kind, content) => format!("{kind} {content}"),
            Out::Error(content) => {
                format!("error {}", content["traceback"])
            }
            Out::Mute(muted) => format!("mute {muted}"),
            Out::Ask(UserRequest::Line { prompt, .. }) => format!("line {prompt}"),
            Out::Ask(UserRequest::Question(spoken)) => format!("question {}", spoken.id()),
            Out::Withdraw(id) => format!("withdraw {id}"),
        };
        let mut entries: Vec<String> = out.iter().chain(&rest).map(entry).collect();
        let fails = result
            .failure
            .map(|failure| failure.content()["ename"].to_string());
        let payload = result.payload.iter().map(Value::to_string);
        entries.extend(fails.map(|name| format!("fails {name}")));
        entries.extend(payload.map(|payload| format!("payload {payload}")));
        entries
    }

    fn input(kind: RunKind) -> SessionEvent {
        BeginEvent::Input { line: 3, kind }.into()
    }

    fn bytes(text: &str) -> SessionEvent {
        CellEvent::Output {
            stream: OutputStream::Stdout,
            bytes: text.into(),
            foreign: false,
        }
        .into()
    }

    fn raised(name: &str) -> SessionEvent {
        let error = CellError {
            name: name.into(),
            value: "v".into(),
            ..CellError::default()
        };
        CellEvent::Raised(error).into()
    }

    fn ended(ending: Ending) -> SessionEvent {
        CellEvent::Ended {
            ending,
            typeahead: Vec::new(),
        }
        .into()
    }

    fn answered() -> SessionEvent {
        AnswerEvent::Progress("p".into()).into()
    }

    fn turn(outcome: TurnOutcome) -> SessionEvent {
        EndEvent::Turn {
            outcome,
            usage: None,
            took: Duration::ZERO,
        }
        .into()
    }

    fn step(quiet: bool) -> SessionEvent {
        BeginEvent::Step {
            step: 1,
            of: 2,
            line: 1,
            kind: RunKind::Cell,
            source: "a".into(),
            quiet,
        }
        .into()
    }

    const CELL: &str = r#"execute_input {"code":"x","execution_count":3}"#;

    #[track_caller]
    fn check(events: Vec<SessionEvent>, expected: &[&str]) {
        assert_eq!(put_out(events, None), expected);
    }

    #[test]
    fn a_cell_puts_out_its_output_in_order() {
        use RunKind::Cell;
        let begun = ["end answer", CELL];
        let with = |rest: &[&'static str]| [&begun[..], rest].concat();
        check(
            vec![input(Cell), bytes("a"), ended(Ending::Ok)],
            &with(&["> a", "mute false"]),
        );
        let clear = CellEvent::Clear { wait: true };
        check(
            vec![input(Cell), clear.into()],
            &with(&["end answer", "flush", r#"clear_output {"wait":true}"#]),
        );
        let line = CellEvent::InputRequested {
            call: 1,
            prompt: "name".into(),
            password: false,
        };
        check(
            vec![
                input(Cell),
                line.into(),
                CellEvent::Status("1 of 2".into()).into(),
            ],
            &with(&["end answer", "flush", "line name", "progress 1 of 2"]),
        );
    }

    #[test]
    fn a_failing_cell_of_the_user_fails_the_request() {
        use RunKind::Cell;
        let check = |rest: Vec<SessionEvent>, expected: &[&str]| {
            let events = [vec![input(Cell)], rest].concat();
            assert_eq!(put_out(events, None)[2..], *expected);
        };
        check(
            vec![raised("E"), ended(Ending::Error)],
            &[r#"error ["E: v"]"#, "mute false", r#"fails "E""#],
        );
        check(
            vec![ended(Ending::Error)],
            &["mute false", r#"fails "Error""#],
        );
        check(
            vec![ended(Ending::Interrupted)],
            &[
                r#"error ["KeyboardInterrupt: "]"#,
                "mute false",
                r#"fails "KeyboardInterrupt""#,
            ],
        );
        check(
            vec![ended(Ending::Lost("gone".into()))],
            &[
                r#"error ["DeadKernel: the connection to the interpreter was lost: gone"]"#,
                "mute false",
                r#"fails "DeadKernel""#,
            ],
        );
    }

    #[test]
    fn a_failing_cell_of_an_agent_or_a_replay_does_not() {
        let agents = BeginEvent::AgentCell {
            line: 4,
            title: String::new(),
            source: "a".into(),
        };
        check(
            vec![agents.into(), raised("E"), ended(Ending::Error)],
            &[
                "end answer",
                "display In [4]: a",
                r#"error ["E: v"]"#,
                "mute false",
            ],
        );
        let replay = ReplaySummary {
            name: "b".into(),
            ran: 2,
            skipped: 0,
            of: 2,
            stopped: None,
            rest: None,
        };
        let events = vec![
            step(true),
            raised("E"),
            ended(Ending::Error),
            step(false),
            ended(Ending::Ok),
            EndEvent::Replay(replay).into(),
        ];
        check(
            events,
            &[
                "end answer",
                "mute true",
                r#"error ["E: v"]"#,
                "mute false",
                "end answer",
                "mute false",
                "display In [1]: a",
                "mute false",
                "mute false",
                "! b: 2 replayed\n",
            ],
        );
    }

    #[test]
    fn a_refusal_fails_unless_an_answer_comes() {
        let warning = || SessionEvent::Notice(Notice::warning("no").hint("do"));
        let refused = |kind, name: &str| {
            let expected = [
                "end answer".to_owned(),
                CELL.to_owned(),
                format!(r#"error ["{name}: no","  hint: do"]"#),
                format!("fails \"{name}\""),
            ];
            assert_eq!(put_out(vec![input(kind), warning()], None), expected);
        };
        refused(RunKind::Command, "CommandError");
        refused(RunKind::Prompt, "PromptError");
        let shown = "! no\n  hint: do\n";
        check(
            vec![input(RunKind::Cell), warning()],
            &["end answer", CELL, shown],
        );
        check(
            vec![input(RunKind::Prompt), answered(), warning()],
            &["end answer", CELL, "answer", shown],
        );
        check(
            vec![
                input(RunKind::Prompt),
                warning(),
                answered(),
                turn(TurnOutcome::Complete),
            ],
            &[
                "end answer",
                CELL,
                "answer",
                "end answer",
                "end plan",
                shown,
            ],
        );
        let failed = TurnOutcome::Failed(AgentFailure {
            kind: FailureKind::Died,
            message: "gone".into(),
            hints: vec!["again".into()],
        });
        check(
            vec![input(RunKind::Prompt), warning(), turn(failed)],
            &[
                "end answer",
                CELL,
                "end answer",
                "end plan",
                r#"error ["AgentError: gone","  hint: again"]"#,
                r#"fails "AgentError""#,
            ],
        );
    }

    #[test]
    fn the_reply_has_what_the_client_does_next() {
        let prompt = |answer| put_out(vec![input(RunKind::Prompt)], answer).split_off(2);
        let code = "see\n\n```python\na\n```\n";
        let offer = r#"payload {"source":"set_next_input","text":"a","replace":false}"#;
        assert_eq!(prompt(Some(code)), [offer]);
        assert_eq!(prompt(None), [""; 0]);
        let cell = |rest: Vec<SessionEvent>| {
            let events = [vec![input(RunKind::Cell)], rest].concat();
            put_out(events, Some(code)).split_off(2)
        };
        let refill = || SessionEvent::from(AfterEvent::Refill("a".into()));
        assert_eq!(cell(vec![refill()]), [offer]);
        let command = put_out(vec![input(RunKind::Command), refill()], None);
        assert_eq!(command[2..], [offer]);
        assert_eq!(
            cell(vec![raised("E"), refill()]),
            [r#"error ["E: v"]"#, r#"fails "E""#]
        );
        let exit = r#"payload {"source":"ask_exit","keepkernel":true}"#;
        assert_eq!(cell(vec![AfterEvent::Detach.into()]), [exit]);
        let page = TextEvent::Page(MimeBundle::plain("p"));
        let paged = r#"payload {"source":"page","data":{"text/plain":"p"},"start":0}"#;
        assert_eq!(cell(vec![page.into()]), [paged]);
    }

    #[test]
    fn questions_stand_below_all_output() {
        let question = Question::usual(7, QuestionSubject::Cells(Vec::new()));
        check(
            vec![
                QuestionEvent::Asked(question).into(),
                QuestionEvent::Over(7).into(),
            ],
            &[
                "end answer",
                "flush",
                "question 7",
                "end answer",
                "flush",
                "withdraw 7",
            ],
        );
    }
}
