//! An agent's answer as the markdown of a notebook, reasoning and tools folded.
//!
//! In: the events of an answer. Out: the answer so far as markdown, and as plain text for clients that show no
//! markdown. Pure; `cell_output` decides when it is sent. Invariants: the agent's text is not changed; the
//! output of tools and commands stands in fences that it cannot end.

use std::fmt::Write as _;

use crate::agent::{Activity, FileChange, PlanStep, WorkStatus};
use crate::session::AnswerEvent;
use crate::text::escape::xml_text;

/// The most of a command's output that is shown, in bytes from its end.
const MAX_OUTPUT: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: Vec<Block>,
}

#[derive(Debug)]
enum Block {
    Text {
        message: u64,
        text: String,
    },
    Thought {
        part: u64,
        text: String,
    },
    /// A command or a tool.
    Call {
        id: String,
        title: String,
        output: String,
        state: Option<String>,
    },
    Activity(Activity),
    Plan(Vec<PlanStep>),
    AgentStarts(String),
    Line(String),
}

impl Answer {
    /// Adds an event; false when it does not change the answer.
    pub(super) fn on(&mut self, event: AnswerEvent) -> bool {
        match event {
            AnswerEvent::Text { message, delta } => self.push_text(message, &delta),
            AnswerEvent::Restarted { message } => {
                let own = |block: &Block| matches!(block, Block::Text { message: m, .. } if *m == message);
                self.blocks.retain(|block| !own(block));
            }
            AnswerEvent::Thought { part, delta } => self.push_thought(part, &delta),
            AnswerEvent::CommandStarted { id, command } => self.begin_call(id, command),
            AnswerEvent::CommandOutput { id, delta } => {
                if let Some((output, _)) = self.open_call(&id) {
                    output.push_str(&delta);
                }
            }
            AnswerEvent::CommandRan {
                id,
                command,
                exit_code,
                output,
            } => self.finish_command(id, command, exit_code, output),
            AnswerEvent::Denied { id, what } => match (self.open_call(&id), what) {
                (Some((_, state)), _) => *state = Some("not allowed".to_owned()),
                (None, Some(what)) => self
                    .blocks
                    .push(Block::Line(format!("✗ not allowed: {what}"))),
                (None, None) => return false,
            },
            AnswerEvent::ToolStarted { call } => self.begin_call(String::new(), call),
            AnswerEvent::ToolRan { line, success } => self.finish_tool(line, success),
            AnswerEvent::Planned(steps) => {
                self.blocks.retain(|block| !matches!(block, Block::Plan(_)));
                self.blocks.push(Block::Plan(steps));
            }
            AnswerEvent::Worked(activity) => self.update_activity(activity),
            AnswerEvent::FilesChanged(changes) => {
                let title = FileChange::record(&changes).title;
                self.blocks.push(file_changes(title, &changes));
            }
            AnswerEvent::FileWritten(written) => {
                let title = written.summary();
                self.blocks.push(file_changes(title, &[written.change]));
            }
            AnswerEvent::AgentStarts(waits) => {
                let starts = |block: &Block| matches!(block, Block::AgentStarts(_));
                if waits.is_none() && !self.blocks.iter().any(starts) {
                    return false;
                }
                self.blocks.retain(|block| !starts(block));
                self.blocks.extend(waits.map(Block::AgentStarts));
            }
            AnswerEvent::Progress(line) => self.blocks.push(Block::Line(line)),
            // Published as displays of their own.
            AnswerEvent::Picture(_) | AnswerEvent::CellsProgress(_) => return false,
        }
        true
    }

    /// True while a command, tool or activity of this answer runs.
    pub(super) fn is_unfinished(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Call { state, .. } => state.is_none(),
            Block::Activity(activity) => !activity.is_over(),
            _ => false,
        })
    }

    /// True if the event concerns a command, tool or activity of this answer that still runs.
    pub(super) fn expects(&self, event: &AnswerEvent) -> bool {
        let is_open = |wanted: &str| {
            let of = |block: &Block| matches!(block, Block::Call { id, state: None, .. } if id == wanted);
            self.blocks.iter().any(of)
        };
        match event {
            AnswerEvent::CommandOutput { id, .. }
            | AnswerEvent::CommandRan { id, .. }
            | AnswerEvent::Denied { id, .. } => is_open(id),
            AnswerEvent::ToolRan { .. } => is_open(""),
            AnswerEvent::Worked(activity) => self
                .blocks
                .iter()
                .any(|block| matches!(block, Block::Activity(known) if known.id == activity.id)),
            _ => false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn push_text(&mut self, message: u64, delta: &str) {
        match self.blocks.last_mut() {
            Some(Block::Text { message: m, text }) if *m == message => text.push_str(delta),
            _ => self.blocks.push(Block::Text {
                message,
                text: delta.to_owned(),
            }),
        }
    }

    fn push_thought(&mut self, part: u64, delta: &str) {
        match self.blocks.last_mut() {
            Some(Block::Thought { part: p, text }) => {
                if *p != part && !text.is_empty() {
                    text.push_str("\n\n");
                }
                *p = part;
                text.push_str(delta);
            }
            _ => self.blocks.push(Block::Thought {
                part,
                text: delta.to_owned(),
            }),
        }
    }

    fn begin_call(&mut self, id: String, title: String) {
        self.blocks.push(Block::Call {
            id,
            title,
            output: String::new(),
            state: None,
        });
    }

    /// Output and state of the running command or tool of this id.
    fn open_call(&mut self, wanted: &str) -> Option<(&mut String, &mut Option<String>)> {
        self.blocks.iter_mut().rev().find_map(|block| match block {
            Block::Call {
                id, output, state, ..
            } if id == wanted && state.is_none() => Some((output, state)),
            _ => None,
        })
    }

    fn finish_command(
        &mut self,
        id: String,
        command: String,
        exit_code: Option<i32>,
        whole: String,
    ) {
        if self.open_call(&id).is_none() {
            self.begin_call(id.clone(), command);
        }
        if let Some((output, state)) = self.open_call(&id) {
            *output = whole;
            *state = Some(match exit_code {
                Some(0) => String::new(),
                Some(code) => format!("exit {code}"),
                None => "ended".to_owned(),
            });
        }
    }

    fn finish_tool(&mut self, line: String, success: bool) {
        if self.open_call("").is_none() {
            self.begin_call(String::new(), line.clone());
        }
        if let Some((output, state)) = self.open_call("") {
            *output = line;
            *state = Some(if success { "" } else { "failed" }.to_owned());
        }
    }

    fn update_activity(&mut self, activity: Activity) {
        let known = self.blocks.iter_mut().rev().find_map(|block| match block {
            Block::Activity(known) if known.id == activity.id => Some(known),
            _ => None,
        });
        match known {
            _ if activity.denied => {
                let of = |block: &Block| matches!(block, Block::Activity(known) if known.id == activity.id);
                self.blocks.retain(|block| !of(block));
            }
            Some(known) => *known = activity,
            None => self.blocks.push(Block::Activity(activity)),
        }
    }

    pub(super) fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn markdown(&self) -> String {
        let blocks = self.blocks.iter().map(Block::markdown);
        blocks.collect::<Vec<_>>().join("\n\n")
    }

    /// The answer for clients that show no markdown.
    pub(super) fn plain(&self) -> String {
        let blocks = self.blocks.iter().filter_map(Block::plain);
        blocks.collect::<Vec<_>>().join("\n\n")
    }
}

impl Block {
    fn markdown(&self) -> String {
        match self {
            Block::Text { text, .. } => text.clone(),
            Block::Thought { text, .. } => details("💭 reasoning", text),
            Block::Call {
                title,
                output,
                state,
                ..
            } => details(
                &format!("{} {}", state_mark(state.as_deref()), code(title)),
                &fenced("text", tail(output)),
            ),
            Block::Activity(activity) => {
                let state = match activity.status {
                    WorkStatus::Waiting | WorkStatus::Running => None,
                    WorkStatus::Done => Some(""),
                    WorkStatus::Failed => Some("failed"),
                };
                let summary = format!(
                    "{} {}",
                    state_mark(state),
                    xml_text(&one_line(&activity.title_with_locations()))
                );
                details(&summary, &fenced("text", tail(&activity.text())))
            }
            Block::Plan(steps) => {
                let rows = steps.iter().map(|step| {
                    let done = if step.status == WorkStatus::Done {
                        "x"
                    } else {
                        " "
                    };
                    format!("- [{done}] {}", one_line(&step.text))
                });
                rows.collect::<Vec<_>>().join("\n")
            }
            Block::AgentStarts(line) => format!("*⏳ {}*", xml_text(&one_line(line))),
            Block::Line(line) => format!("*{}*", xml_text(&one_line(line))),
        }
    }

    fn plain(&self) -> Option<String> {
        Some(match self {
            Block::Text { text, .. } => text.clone(),
            Block::Thought { .. } => return None,
            Block::Call { title, state, .. } => {
                let state = state.as_deref();
                format!("{} {}", state.map_or("⏳", |_| "🔧"), one_line(title))
                    + &state_suffix(state)
            }
            Block::Activity(activity) => activity
                .summary_line()
                .unwrap_or_else(|| format!("⏳ {}", activity.title_with_locations())),
            Block::Plan(steps) => {
                let mut rows = String::from("plan");
                for step in steps {
                    // Writing to a `String` does not fail.
                    let _ = write!(
                        rows,
                        "\n  {}: {}",
                        step.status.as_str(),
                        one_line(&step.text)
                    );
                }
                rows
            }
            Block::AgentStarts(line) => format!("⏳ {line}"),
            Block::Line(line) => line.clone(),
        })
    }
}

fn state_mark(state: Option<&str>) -> String {
    match state {
        None => "⏳".to_owned(),
        Some("") => "🔧".to_owned(),
        Some(state) => format!("✗ {state}:"),
    }
}

fn state_suffix(state: Option<&str>) -> String {
    match state {
        None | Some("") => String::new(),
        Some(state) => format!(" ({state})"),
    }
}

fn file_changes(title: String, changes: &[FileChange]) -> Block {
    Block::Call {
        id: String::new(),
        title,
        output: changes
            .iter()
            .map(|change| {
                format!(
                    "{} {}\n{}",
                    change.change.as_str(),
                    change.path,
                    change.change.text()
                )
            })
            .collect::<Vec<_>>()
            .join("\n"),
        state: Some(String::new()),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code in the summary of a fold, which is HTML.
fn code(text: &str) -> String {
    format!("<code>{}</code>", xml_text(&one_line(text)))
}

fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_OUTPUT))..]
}

/// A folded part; blank lines make its content markdown inside of the HTML.
pub(super) fn details(summary: &str, inside: &str) -> String {
    match inside.trim().is_empty() {
        true => format!("<details><summary>{summary}</summary></details>"),
        false => format!("<details><summary>{summary}</summary>\n\n{inside}\n\n</details>"),
    }
}

/// A text between fences that are longer than any in it; empty for an empty text.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_unchanged_and_the_rest_is_folded() {
        let mut answer = Answer::default();
        let text = |message: u64, delta: &str| AnswerEvent::Text {
            message,
            delta: delta.into(),
        };
        for event in [
            AnswerEvent::Thought {
                part: 1,
                delta: "let me see".into(),
            },
            text(1, "**a** "),
            text(1, "$x$"),
            AnswerEvent::CommandStarted {
                id: "c".into(),
                command: "ls <b>".into(),
            },
            AnswerEvent::CommandOutput {
                id: "c".into(),
                delta: "``` x".into(),
            },
            AnswerEvent::CommandRan {
                id: "c".into(),
                command: "ls <b>".into(),
                exit_code: Some(2),
                output: "``` x\n</details>\n".into(),
            },
            AnswerEvent::ToolStarted {
                call: "f(x=1)".into(),
            },
            AnswerEvent::ToolRan {
                line: "f(x=1) => 2".into(),
                success: true,
            },
            text(2, "lost"),
            AnswerEvent::Restarted { message: 2 },
            text(3, "end"),
        ] {
            assert!(answer.on(event));
        }
        assert_eq!(answer.text(), "**a** $x$\n\nend");
        assert_eq!(
            answer.markdown(),
            "<details><summary>💭 reasoning</summary>\n\nlet me see\n\n</details>\n\n**a** $x$\n\n\
             <details><summary>✗ exit 2: <code>ls &lt;b&gt;</code></summary>\n\n````text\n``` x\n</details>\n````\n\n\
             </details>\n\n<details><summary>🔧 <code>f(x=1)</code></summary>\n\n```text\nf(x=1) => 2\n```\n\n\
             </details>\n\nend"
        );
        assert_eq!(
            answer.plain(),
            "**a** $x$\n\n🔧 ls <b> (exit 2)\n\n🔧 f(x=1)\n\nend"
        );
    }
}
