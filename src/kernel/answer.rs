//! An agent's answer as the markdown of a notebook, reasoning and tools folded.
//!
//! In: the answer so far. Out: the answer as markdown, and as plain text for clients that show no markdown. Pure;
//! `cell_output` decides when it is sent. Invariants: the agent's text is not changed; the output of tools and
//! commands stands in fences that it cannot end.

use std::fmt::Write as _;

use crate::agent::{PlanStep, WorkStatus};
use crate::dialog::AnswerBlock;
use crate::session::{Answer, OUTPUT_KEPT, Work};
use crate::text::escape::xml_text;

pub(super) fn markdown(answer: &Answer) -> String {
    let blocks = answer.blocks().iter().map(|block| match block {
        AnswerBlock::Text { text, .. } => text.clone(),
        AnswerBlock::Thought { text, .. } => details("💭 reasoning", text),
        AnswerBlock::Work(work) => work_markdown(work),
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// The answer for clients that show no markdown.
pub(super) fn plain(answer: &Answer) -> String {
    let blocks = answer.blocks().iter().filter_map(|block| match block {
        AnswerBlock::Text { text, .. } => Some(text.clone()),
        AnswerBlock::Thought { .. } => None,
        AnswerBlock::Work(work) => Some(work_plain(work)),
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn work_markdown(work: &Work) -> String {
    match work {
        Work::Call {
            title,
            output,
            state,
            ..
        } => details(
            &format!("{} {}", state_mark(state.as_deref()), code(title)),
            &fenced("text", tail(output)),
        ),
        Work::Activity(activity) => {
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
        Work::Plan(steps) => plan_markdown(steps),
        Work::AgentStarts(line) => format!("*⏳ {}*", xml_text(&one_line(line))),
        Work::Line(line) => format!("*{}*", xml_text(&one_line(line))),
    }
}

fn work_plain(work: &Work) -> String {
    match work {
        Work::Call { title, state, .. } => {
            let state = state.as_deref();
            format!("{} {}", state.map_or("⏳", |_| "🔧"), one_line(title)) + &state_suffix(state)
        }
        Work::Activity(activity) => activity
            .summary_line()
            .unwrap_or_else(|| format!("⏳ {}", activity.title_with_locations())),
        Work::Plan(steps) => plan_plain(steps),
        Work::AgentStarts(line) => format!("⏳ {line}"),
        Work::Line(line) => line.clone(),
    }
}

/// The steps of a plan as a list with check boxes.
pub(super) fn plan_markdown(steps: &[PlanStep]) -> String {
    let rows = steps.iter().map(|step| {
        let mark = match step.status {
            WorkStatus::Waiting => "[ ]",
            WorkStatus::Running => "[ ] ▸",
            WorkStatus::Done => "[x]",
            WorkStatus::Failed => "[ ] ✗",
        };
        format!("- {mark} {}", one_line(&step.text))
    });
    rows.collect::<Vec<_>>().join("\n")
}

pub(super) fn plan_plain(steps: &[PlanStep]) -> String {
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code in the summary of a fold, which is HTML.
fn code(text: &str) -> String {
    format!("<code>{}</code>", xml_text(&one_line(text)))
}

fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_KEPT))..]
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
    use crate::session::AnswerEvent;

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
            assert!(answer.apply(event));
        }
        assert_eq!(answer.text(), "**a** $x$\n\nend");
        assert_eq!(
            markdown(&answer),
            "<details><summary>💭 reasoning</summary>\n\nlet me see\n\n</details>\n\n**a** $x$\n\n\
             <details><summary>✗ exit 2: <code>ls &lt;b&gt;</code></summary>\n\n````text\n``` x\n</details>\n````\n\n\
             </details>\n\n<details><summary>🔧 <code>f(x=1)</code></summary>\n\n```text\nf(x=1) => 2\n```\n\n\
             </details>\n\nend"
        );
        assert_eq!(
            plain(&answer),
            "**a** $x$\n\n🔧 ls <b> (exit 2)\n\n🔧 f(x=1)\n\nend"
        );
    }
}
