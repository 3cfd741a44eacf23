//! What an agent tells, as the pieces a cell shows: its words on standard output, everything else behind a mark on
//! standard error, long blocks folded.
//!
//! Pure. Invariants: words come out as they came; a mark stands once at the beginning of a line, before what it is of;
//! what a command puts out is shown as it comes, up to [`MOST_OUTPUT`].

use std::collections::{HashMap, HashSet};

use crate::agent::{
    Activity, AgentEvent, Aside, CommandRun, FileChange, InputPart, PlanStep, WorkStatus, titled,
};
use crate::text::cut_characters;

/// Characters of a block that are shown; a longer one is folded.
const LONG: usize = 500;

/// Characters of the summary of a fold.
const SUMMARY: usize = 100;

/// Bytes of what a command puts out that are shown.
const MOST_OUTPUT: usize = 48 << 10;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// On standard output.
    Out(String),
    /// On standard error.
    Err(String),
    /// To be opened on request: the line it is under, and the whole.
    Fold(String, String),
    /// A picture, as a `data:` URL.
    Picture(String),
}

/// What a turn has shown so far.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The message the last words were of.
    message: Option<u64>,
    /// Where the last line is still open: on standard error, or on standard output.
    open: Option<bool>,
    thought: Option<Thought>,
    /// Bytes that each command has shown.
    commands: HashMap<String, usize>,
    /// What was shown last is a picture, for which a word stands, too.
    picture: bool,
    /// Work that was begun.
    begun: HashSet<String>,
}

/// A thought that goes on.
#[derive(Debug)]
struct Thought {
    part: u64,
    text: String,
    /// Characters of it that are shown.
    shown: usize,
}

impl Marks {
    /// Takes an event; what it shows.
    pub(super) fn on(&mut self, event: AgentEvent) -> Vec<Piece> {
        let mut out = Vec::new();
        match event {
            AgentEvent::Text { message, delta, .. } => self.words(message, &delta, &mut out),
            AgentEvent::Thought { part, delta, .. } => self.thinks(part, &delta, &mut out),
            AgentEvent::Starting { agent, .. } => {
                self.line("⏳", &format!("waiting for {agent} to start"), &mut out);
            }
            AgentEvent::CommandStarted {
                id, command, title, ..
            } => {
                self.commands.insert(id, 0);
                let told = titled(&title, &command);
                self.line("🔧", &format!("{told} (in_progress)"), &mut out);
            }
            AgentEvent::CommandOutput { id, delta, .. } => self.puts_out(&id, &delta, &mut out),
            AgentEvent::CommandRan { command, title, .. } => {
                let told = titled(&title, &command.command);
                self.ran(&told, &command, &mut out);
            }
            AgentEvent::CommandDenied { command, told, .. } if !told => {
                self.line("❌", &format!("not allowed: {}", command.command), &mut out);
            }
            AgentEvent::Planned { steps, .. } => self.plan(&steps, &mut out),
            AgentEvent::Worked { activity, .. } => self.worked(&activity, &mut out),
            AgentEvent::FilesChanged { changes, .. } => self.changed(&changes, &mut out),
            AgentEvent::Progress { message, .. } => self.line("⚠️", &message, &mut out),
            AgentEvent::Aside { aside, .. } => self.aside(aside, &mut out),
            AgentEvent::CommandDenied { .. }
            | AgentEvent::Sent { .. }
            | AgentEvent::Restarted { .. }
            | AgentEvent::ToolCalled { .. }
            | AgentEvent::Asked { .. }
            | AgentEvent::Withdrawn { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { .. }
            | AgentEvent::Failed { .. }
            | AgentEvent::News(_) => {}
        }
        out
    }

    /// A line of ours.
    pub(super) fn say(&mut self, mark: &str, text: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        self.line(mark, text, &mut out);
        out
    }

    /// The turn is over: what is open is closed.
    pub(super) fn close(&mut self) -> Vec<Piece> {
        let mut out = Vec::new();
        self.end_thought(&mut out);
        self.end_line(&mut out);
        out
    }

    fn words(&mut self, message: u64, delta: &str, out: &mut Vec<Piece>) {
        if std::mem::take(&mut self.picture) && delta == "[image]" {
            return;
        }
        self.end_thought(out);
        if self.open == Some(true) || self.message != Some(message) {
            self.end_line(out);
        }
        self.message = Some(message);
        self.put(false, delta, out);
    }

    fn thinks(&mut self, part: u64, delta: &str, out: &mut Vec<Piece>) {
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
        let shown: String = delta.chars().take(LONG - thought.shown).collect();
        thought.shown += shown.chars().count();
        self.put(true, &shown, out);
    }

    fn end_thought(&mut self, out: &mut Vec<Piece>) {
        let Some(thought) = self.thought.take() else {
            return;
        };
        if thought.text.chars().count() > thought.shown {
            self.put(true, "…", out);
            self.end_line(out);
            out.push(Piece::Fold("💭 all of it".to_owned(), thought.text));
        }
        self.end_line(out);
    }

    /// Text on a stream; remembers whether a line is open.
    fn put(&mut self, is_err: bool, text: &str, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        self.open = (!text.ends_with('\n')).then_some(is_err);
        out.push(match is_err {
            true => Piece::Err(text.to_owned()),
            false => Piece::Out(text.to_owned()),
        });
    }

    fn end_line(&mut self, out: &mut Vec<Piece>) {
        if let Some(is_err) = self.open {
            self.put(is_err, "\n", out);
        }
    }

    /// A block behind its mark.
    fn line(&mut self, mark: &str, text: &str, out: &mut Vec<Piece>) {
        self.end_thought(out);
        self.end_line(out);
        let text = text.trim_end();
        match text.chars().count() > LONG {
            true => out.push(Piece::Fold(
                format!("{mark} {}", summary(text)),
                text.to_owned(),
            )),
            false => self.put(true, &format!("{mark} {text}\n"), out),
        }
    }

    fn puts_out(&mut self, id: &str, delta: &str, out: &mut Vec<Piece>) {
        self.end_thought(out);
        if self.open == Some(true) {
            self.end_line(out);
        }
        let shown = self.commands.entry(id.to_owned()).or_default();
        let room = MOST_OUTPUT.saturating_sub(*shown);
        let was_shown = *shown <= MOST_OUTPUT;
        *shown += delta.len();
        let is_cut = *shown > MOST_OUTPUT && was_shown;
        // What is between the words of a message ends their line.
        self.message = None;
        self.put(false, &delta[..delta.floor_char_boundary(room)], out);
        if is_cut {
            let what = "more of this output is not shown here; the agent has it";
            self.line("⚠️", what, out);
        }
    }

    fn ran(&mut self, told: &str, command: &CommandRun, out: &mut Vec<Piece>) {
        self.end_thought(out);
        let shown = self.commands.remove(&command.id);
        self.end_line(out);
        let output = &command.output;
        if shown.unwrap_or(0) == 0 && !output.trim().is_empty() {
            match output.chars().count() > LONG {
                true => out.push(Piece::Fold(
                    format!("output of {}", summary(&command.command)),
                    end_of(output).to_owned(),
                )),
                false => self.put(false, output, out),
            }
            self.end_line(out);
        }
        let told = summary(told);
        match (command.exit_code, command.status.as_str()) {
            (Some(0), _) => self.line("✅", &told, out),
            (Some(code), _) => self.line("❌", &format!("{told} (exit {code})"), out),
            (None, "failed") => self.line("❌", &told, out),
            (None, "completed") => self.line("✅", &told, out),
            (None, status) => self.line("🔄", &format!("{told} ({status})"), out),
        }
    }

    fn plan(&mut self, steps: &[PlanStep], out: &mut Vec<Piece>) {
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

    fn worked(&mut self, activity: &Activity, out: &mut Vec<Piece>) {
        if activity.denied {
            return;
        }
        let told = activity.told();
        let status = match activity.status {
            WorkStatus::Waiting => "pending",
            WorkStatus::Running => "in_progress",
            WorkStatus::Done => "completed",
            WorkStatus::Failed => "failed",
        };
        if self.begun.insert(activity.id.clone()) {
            self.line("🔧", &format!("{told} ({status})"), out);
        }
        let mark = match activity.status {
            WorkStatus::Waiting | WorkStatus::Running => return,
            WorkStatus::Done => "✅",
            WorkStatus::Failed => "❌",
        };
        self.line(mark, format!("{told}\n{}", activity.text()).as_str(), out);
        for part in &activity.content {
            if let InputPart::Image(url) = part {
                out.push(Piece::Picture(url.clone()));
            }
        }
    }

    fn changed(&mut self, changes: &[FileChange], out: &mut Vec<Piece>) {
        for change in changes {
            let (word, text) = (change.change.word(), change.change.text());
            let all = format!("{word} {}\n{}", change.path, text.trim_end());
            self.line("📝", &all, out);
        }
    }

    fn aside(&mut self, aside: Aside, out: &mut Vec<Piece>) {
        match aside {
            Aside::Wrote(written) => {
                self.line("📝", &format!("Wrote: {}", written.told()), out);
            }
            Aside::Runs(command) => self.line("🖥️", &format!("Running: {command}"), out),
            Aside::Cut(path) => self.line("⚠️", &format!("File {path} truncated (>48KB)"), out),
            Aside::Unknown(kind) => self.line("📨", &kind, out),
            Aside::Picture(url) => {
                self.end_thought(out);
                self.end_line(out);
                self.picture = true;
                out.push(Piece::Picture(url));
            }
        }
    }
}

/// The first line of a text, or the beginning of it.
fn summary(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    cut_characters(line, SUMMARY).into_owned()
}

/// The end of an output.
fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_OUTPUT))..]
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
        let mut marks = Marks::default();
        let mut pieces: Vec<Piece> = events
            .into_iter()
            .flat_map(|event| marks.on(event))
            .collect();
        pieces.extend(marks.close());
        let (mut out, mut err, mut rest) = (String::new(), String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Out(text) => out.push_str(&text),
                Piece::Err(text) => err.push_str(&text),
                Piece::Fold(summary, text) => rest.push(format!("{summary}|{text}")),
                Piece::Picture(url) => rest.push(url),
            }
        }
        (out, err, rest)
    }

    fn command(id: &str, output: &str, exit_code: Option<i32>) -> AgentEvent {
        AgentEvent::CommandRan {
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
    fn words_are_on_one_stream_and_marks_on_the_other_each_once() {
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
    fn what_commands_put_out_is_shown_once() {
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
            let told = shown(events);
            assert_eq!((told.0.as_str(), told.1.as_str()), (out, err));
            told.2
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
            puts_out(&"z".repeat(MOST_OUTPUT)),
            puts_out("é"),
            puts_out("é"),
        ]);
        assert_eq!(out.len(), MOST_OUTPUT + 1);
        assert_eq!(err.matches("more of this output").count(), 1, "{err}");
    }

    #[test]
    fn plans_work_and_changes_have_their_marks() {
        let step = |text: &str, status| PlanStep {
            text: text.into(),
            status,
        };
        let work = |status| AgentEvent::Worked {
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
                places: Vec::new(),
            },
        };
        let (_, err, rest) = shown(vec![
            AgentEvent::Planned {
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
            AgentEvent::Aside {
                turn: TURN,
                aside: Aside::Wrote(FileWritten {
                    change: FileChange {
                        path: "/b".into(),
                        change: Change::Added("1\n".into()),
                    },
                    bytes: 2,
                }),
            },
            AgentEvent::Aside {
                turn: TURN,
                aside: Aside::Unknown("later".into()),
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
