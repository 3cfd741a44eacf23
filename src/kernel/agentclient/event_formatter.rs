//! Formats the events of an agent as the output of a cell: its text on standard output, every other event behind a
//! mark on standard error, long blocks folded.
//!
//! Pure. Invariants: the agent's text is not changed; a mark stands once, at the beginning of a line; the output of
//! a command is shown as it arrives, up to [`MAX_OUTPUT`].

use std::collections::{HashMap, HashSet};

use serde_json::json;

use crate::agent::{
    Activity, AgentEvent, AgentNotice, CommandRun, FileChange, InputPart, PlanStep, WorkStatus,
    command_title,
};
use crate::kernel::event_mapper::Out;
use crate::output::MimeBundle;
use crate::runtime::{DisplayData, OutputStream};
use crate::session::AnswerEvent;
use crate::text::cut_characters;
use crate::text::escape::xml_text;

/// The longest block that is not folded, in characters.
const FOLD_LENGTH: usize = 500;

/// The longest summary of a fold, in characters.
const SUMMARY_LENGTH: usize = 100;

/// The most of a command's output that is shown, in bytes.
const MAX_OUTPUT: usize = 48 << 10;

#[derive(Debug, Default)]
pub(super) struct EventFormatter {
    /// The message of the last text.
    message: Option<u64>,
    /// The stream of an unfinished line: true for standard error.
    open: Option<bool>,
    thought: Option<Thought>,
    /// Bytes shown of each command's output, by its id.
    commands: HashMap<String, usize>,
    /// The last piece is a picture; the agent sends the text `[image]` for it, too.
    skip_placeholder: bool,
    started: HashSet<String>,
}

#[derive(Debug)]
struct Thought {
    part: u64,
    text: String,
    /// Number of its characters that are shown.
    shown: usize,
}

impl EventFormatter {
    pub(super) fn on(&mut self, event: AgentEvent) -> Vec<Out> {
        let mut out = Vec::new();
        match event {
            AgentEvent::Text { message, delta, .. } => self.text(message, &delta, &mut out),
            AgentEvent::Thought { part, delta, .. } => self.thought(part, &delta, &mut out),
            AgentEvent::Starting { agent, .. } => {
                self.line("⏳", &format!("waiting for {agent} to start"), &mut out);
            }
            AgentEvent::CommandStarted {
                id, command, title, ..
            } => {
                self.commands.insert(id, 0);
                let title = command_title(&title, &command);
                self.line("🔧", &format!("{title} (in_progress)"), &mut out);
            }
            AgentEvent::CommandOutput { id, delta, .. } => {
                self.command_output(&id, &delta, &mut out)
            }
            AgentEvent::CommandEnded { command, title, .. } => {
                let title = command_title(&title, &command.command);
                self.command_ended(&title, &command, &mut out);
            }
            AgentEvent::CommandDenied {
                command,
                user_knows: told,
                ..
            } if !told => {
                self.line("❌", &format!("not allowed: {}", command.command), &mut out);
            }
            AgentEvent::PlanUpdated { steps, .. } => self.plan(&steps, &mut out),
            AgentEvent::ActivityUpdated { activity, .. } => self.activity(&activity, &mut out),
            AgentEvent::FilesChanged { changes, .. } => self.file_changes(&changes, &mut out),
            AgentEvent::Progress { message, .. } => self.line("⚠️", &message, &mut out),
            AgentEvent::Notice { notice: aside, .. } => self.aside(aside, &mut out),
            AgentEvent::CommandDenied { .. }
            | AgentEvent::Sent { .. }
            | AgentEvent::Steered { .. }
            | AgentEvent::TextRestarted { .. }
            | AgentEvent::ToolCalled { .. }
            | AgentEvent::QuestionAsked { .. }
            | AgentEvent::RequestWithdrawn { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { .. }
            | AgentEvent::Failed { .. }
            | AgentEvent::Update(_) => {}
        }
        out
    }

    pub(super) fn note(&mut self, mark: &str, text: &str) -> Vec<Out> {
        let mut out = Vec::new();
        self.line(mark, text, &mut out);
        out
    }

    /// Ends the turn: closes an unfinished thought and line.
    pub(super) fn finish(&mut self) -> Vec<Out> {
        let mut out = Vec::new();
        self.end_thought(&mut out);
        self.end_line(&mut out);
        out
    }

    fn text(&mut self, message: u64, delta: &str, out: &mut Vec<Out>) {
        if std::mem::take(&mut self.skip_placeholder) && delta == "[image]" {
            return;
        }
        self.end_thought(out);
        if self.open == Some(true) || self.message != Some(message) {
            self.end_line(out);
        }
        self.message = Some(message);
        self.put(false, delta, out);
    }

    fn thought(&mut self, part: u64, delta: &str, out: &mut Vec<Out>) {
        if self
            .thought
            .as_ref()
            .is_some_and(|thought| thought.part != part)
        {
            self.end_thought(out);
        }
        if self.thought.is_none() {
            self.end_line(out);
            self.put(true, "💭 ", out);
        }
        let thought = self.thought.get_or_insert_with(|| Thought {
            part,
            text: String::new(),
            shown: 0,
        });
        thought.text.push_str(delta);
        let shown: String = delta.chars().take(FOLD_LENGTH - thought.shown).collect();
        thought.shown += shown.chars().count();
        self.put(true, &shown, out);
    }

    fn end_thought(&mut self, out: &mut Vec<Out>) {
        let Some(thought) = self.thought.take() else {
            return;
        };
        if thought.text.chars().count() > thought.shown {
            self.put(true, "…", out);
            self.end_line(out);
            out.extend(fold("💭 all of it", &thought.text));
        }
        self.end_line(out);
    }

    /// Puts text on a stream; remembers whether a line is open.
    fn put(&mut self, is_err: bool, text: &str, out: &mut Vec<Out>) {
        if text.is_empty() {
            return;
        }
        self.open = (!text.ends_with('\n')).then_some(is_err);
        out.push(match is_err {
            true => Out::Bytes(OutputStream::Stderr, text.into()),
            false => Out::Bytes(OutputStream::Stdout, text.into()),
        });
    }

    fn end_line(&mut self, out: &mut Vec<Out>) {
        if let Some(is_err) = self.open {
            self.put(is_err, "\n", out);
        }
    }

    fn line(&mut self, mark: &str, text: &str, out: &mut Vec<Out>) {
        self.end_thought(out);
        self.end_line(out);
        let text = text.trim_end();
        match text.chars().count() > FOLD_LENGTH {
            true => out.extend(fold(&format!("{mark} {}", summary(text)), text)),
            false => self.put(true, &format!("{mark} {text}\n"), out),
        }
    }

    fn command_output(&mut self, id: &str, delta: &str, out: &mut Vec<Out>) {
        self.end_thought(out);
        if self.open == Some(true) {
            self.end_line(out);
        }
        let shown = self.commands.entry(id.to_owned()).or_default();
        let room = MAX_OUTPUT.saturating_sub(*shown);
        let was_shown = *shown <= MAX_OUTPUT;
        *shown += delta.len();
        let is_cut = *shown > MAX_OUTPUT && was_shown;
        // Output between two texts of a message ends the line of the first.
        self.message = None;
        self.put(false, &delta[..delta.floor_char_boundary(room)], out);
        if is_cut {
            let what = "more of this output is not shown here; the agent has it";
            self.line("⚠️", what, out);
        }
    }

    fn command_ended(&mut self, title: &str, command: &CommandRun, out: &mut Vec<Out>) {
        self.end_thought(out);
        let shown = self.commands.remove(&command.id);
        self.end_line(out);
        let output = &command.output;
        if shown.unwrap_or(0) == 0 && !output.trim().is_empty() {
            match output.chars().count() > FOLD_LENGTH {
                true => {
                    let title = format!("output of {}", summary(&command.command));
                    out.extend(fold(&title, tail(output)));
                }
                false => self.put(false, output, out),
            }
            self.end_line(out);
        }
        let title = summary(title);
        match (command.exit_code, command.status.as_str()) {
            (Some(0), _) => self.line("✅", &title, out),
            (Some(code), _) => self.line("❌", &format!("{title} (exit {code})"), out),
            (None, "failed") => self.line("❌", &title, out),
            (None, "completed") => self.line("✅", &title, out),
            (None, status) => self.line("🔄", &format!("{title} ({status})"), out),
        }
    }

    fn plan(&mut self, steps: &[PlanStep], out: &mut Vec<Out>) {
        let lines = steps.iter().map(|step| {
            let mark = match step.status {
                WorkStatus::Waiting => "⏳",
                WorkStatus::Running => "🔄",
                WorkStatus::Done => "✅",
                WorkStatus::Failed => "❌",
            };
            format!("\n  {mark} {}", step.text)
        });
        self.line("📋", &format!("Plan:{}", lines.collect::<String>()), out);
    }

    fn activity(&mut self, activity: &Activity, out: &mut Vec<Out>) {
        if activity.denied {
            return;
        }
        let title = activity.title_with_locations();
        let status = match activity.status {
            WorkStatus::Waiting => "pending",
            WorkStatus::Running => "in_progress",
            WorkStatus::Done => "completed",
            WorkStatus::Failed => "failed",
        };
        if self.started.insert(activity.id.clone()) {
            self.line("🔧", &format!("{title} ({status})"), out);
        }
        let mark = match activity.status {
            WorkStatus::Waiting | WorkStatus::Running => return,
            WorkStatus::Done => "✅",
            WorkStatus::Failed => "❌",
        };
        self.line(mark, format!("{title}\n{}", activity.text()).as_str(), out);
        for part in &activity.content {
            if let InputPart::Image(url) = part {
                out.push(Out::Answer(AnswerEvent::Picture(url.clone())));
            }
        }
    }

    fn file_changes(&mut self, changes: &[FileChange], out: &mut Vec<Out>) {
        for change in changes {
            let (word, text) = (change.change.as_str(), change.change.text());
            let all = format!("{word} {}\n{}", change.path, text.trim_end());
            self.line("📝", &all, out);
        }
    }

    fn aside(&mut self, aside: AgentNotice, out: &mut Vec<Out>) {
        match aside {
            AgentNotice::FileWritten(written) => {
                self.line("📝", &format!("Wrote: {}", written.summary()), out);
            }
            AgentNotice::TerminalStarted(command) => {
                self.line("🖥️", &format!("Running: {command}"), out)
            }
            AgentNotice::FileTruncated(path) => {
                self.line("⚠️", &format!("File {path} truncated (>48KB)"), out)
            }
            AgentNotice::UnknownUpdate(kind) => self.line("📨", &kind, out),
            AgentNotice::Picture(url) => {
                self.end_thought(out);
                self.end_line(out);
                self.skip_placeholder = true;
                out.push(Out::Answer(AnswerEvent::Picture(url)));
            }
        }
    }
}

/// A folded block; an empty text behind it, without which some clients hold back further output.
fn fold(summary: &str, text: &str) -> [Out; 2] {
    let html = format!(
        "<details><summary>{}</summary><pre>{}</pre></details>",
        xml_text(summary),
        xml_text(text)
    );
    let bundle = MimeBundle::new(vec![
        ("text/html".into(), html.into()),
        ("text/plain".into(), format!("{summary}\n{text}").into()),
    ]);
    let nothing = json!({"name": "stdout", "text": ""});
    let display = Out::Display(DisplayData::new(bundle));
    [display, Out::Message("stream", nothing)]
}

/// The first line of a text, at most [`SUMMARY_LENGTH`] characters of it.
fn summary(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    cut_characters(line, SUMMARY_LENGTH).into_owned()
}

/// The end of an output.
fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_OUTPUT))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{ActivityKind, Change, FileWritten, TurnId};

    const TURN: TurnId = TurnId(1);

    fn text(message: u64, delta: &str) -> AgentEvent {
        AgentEvent::Text {
            turn: TURN,
            message,
            delta: delta.into(),
        }
    }

    fn thought(part: u64, delta: &str) -> AgentEvent {
        AgentEvent::Thought {
            turn: TURN,
            part,
            delta: delta.into(),
        }
    }

    fn shown(events: Vec<AgentEvent>) -> (String, String, Vec<String>) {
        let mut formatter = EventFormatter::default();
        let mut pieces: Vec<Out> = events
            .into_iter()
            .flat_map(|event| formatter.on(event))
            .collect();
        pieces.extend(formatter.finish());
        let (mut out, mut err, mut rest) = (String::new(), String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Out::Bytes(OutputStream::Stdout, bytes) => {
                    out.push_str(&String::from_utf8(bytes).unwrap());
                }
                Out::Bytes(_, bytes) => err.push_str(&String::from_utf8(bytes).unwrap()),
                Out::Display(fold) => {
                    let text = fold.bundle.text("text/plain").unwrap();
                    rest.push(text.replacen('\n', "|", 1));
                }
                Out::Answer(AnswerEvent::Picture(url)) => rest.push(url),
                Out::Message("stream", content) => assert_eq!(content["text"], ""),
                other => panic!("{other:?}"),
            }
        }
        (out, err, rest)
    }

    fn command(id: &str, output: &str, exit_code: Option<i32>) -> AgentEvent {
        AgentEvent::CommandEnded {
            turn: TURN,
            command: CommandRun {
                id: id.into(),
                command: "ls".into(),
                cwd: "/".into(),
                output: output.into(),
                exit_code,
                status: "completed".into(),
            },
            title: String::new(),
        }
    }

    #[test]
    fn text_is_on_stdout_and_marks_are_on_stderr_each_once() {
        let (out, err, rest) = shown(vec![
            thought(1, "a"),
            thought(1, "b"),
            thought(2, "c"),
            text(1, "one"),
            text(1, " two"),
            text(2, "three"),
            AgentEvent::Progress {
                turn: TURN,
                message: "again".into(),
            },
            text(3, "four"),
        ]);
        assert_eq!(out, "one two\nthree\nfour\n");
        assert_eq!(err, "💭 ab\n💭 c\n⚠️ again\n");
        assert!(rest.is_empty(), "{rest:?}");
        let long = "x".repeat(300);
        let (_, err, rest) = shown(vec![thought(1, &long), thought(1, &long)]);
        assert_eq!(err, format!("💭 {}…\n", "x".repeat(500)));
        assert_eq!(rest, [format!("💭 all of it|{long}{long}")]);
    }

    #[test]
    fn the_output_of_a_command_is_shown_once() {
        let begin = || AgentEvent::CommandStarted {
            turn: TURN,
            id: "c".into(),
            command: "ls".into(),
            title: String::new(),
        };
        let puts_out = |delta: &str| AgentEvent::CommandOutput {
            turn: TURN,
            id: "c".into(),
            delta: delta.into(),
        };
        let check = |events: Vec<AgentEvent>, out: &str, err: &str| {
            let output = shown(events);
            assert_eq!((output.0.as_str(), output.1.as_str()), (out, err));
            output.2
        };
        let streamed = vec![
            begin(),
            puts_out("a\n"),
            puts_out("b"),
            command("c", "a\nb", Some(0)),
        ];
        check(streamed, "a\nb\n", "🔧 ls (in_progress)\n✅ ls\n");
        check(
            vec![begin(), command("c", "whole", Some(3))],
            "whole\n",
            "🔧 ls (in_progress)\n❌ ls (exit 3)\n",
        );
        let long = "y".repeat(501);
        let folded = check(
            vec![begin(), command("c", &long, None)],
            "",
            "🔧 ls (in_progress)\n✅ ls\n",
        );
        assert_eq!(folded, [format!("output of ls|{long}")]);
        let (out, err, _) = shown(vec![
            begin(),
            puts_out(&"z".repeat(MAX_OUTPUT)),
            puts_out("é"),
            puts_out("é"),
        ]);
        assert_eq!(out.len(), MAX_OUTPUT + 1);
        assert_eq!(err.matches("more of this output").count(), 1, "{err}");
    }

    #[test]
    fn plans_activities_and_changes_have_their_marks() {
        let step = |text: &str, status| PlanStep {
            text: text.into(),
            status,
        };
        let work = |status| AgentEvent::ActivityUpdated {
            turn: TURN,
            activity: Activity {
                id: "w".into(),
                kind: ActivityKind::Mcp,
                title: "w.now()".into(),
                status,
                content: vec![
                    InputPart::Text("rain".into()),
                    InputPart::Image("data:x".into()),
                ],
                denied: false,
                locations: Vec::new(),
            },
        };
        let (_, err, rest) = shown(vec![
            AgentEvent::PlanUpdated {
                turn: TURN,
                steps: vec![
                    step("a", WorkStatus::Done),
                    step("b", WorkStatus::Running),
                    step("c", WorkStatus::Waiting),
                ],
            },
            work(WorkStatus::Running),
            work(WorkStatus::Running),
            work(WorkStatus::Done),
            AgentEvent::FilesChanged {
                turn: TURN,
                changes: vec![FileChange {
                    path: "/a".into(),
                    change: Change::Added("1\n".into()),
                }],
            },
            AgentEvent::Notice {
                turn: TURN,
                notice: AgentNotice::FileWritten(FileWritten {
                    change: FileChange {
                        path: "/b".into(),
                        change: Change::Added("1\n".into()),
                    },
                    bytes: 2,
                }),
            },
            AgentEvent::Notice {
                turn: TURN,
                notice: AgentNotice::UnknownUpdate("later".into()),
            },
        ]);
        assert_eq!(
            err,
            "📋 Plan:\n  ✅ a\n  🔄 b\n  ⏳ c\n🔧 w.now() (in_progress)\n✅ w.now()\nrain\n📝 add /a\n1\n\
             📝 Wrote: created /b (2 bytes, +1)\n\
             📨 later\n"
        );
        assert_eq!(rest, ["data:x"]);
    }
}
