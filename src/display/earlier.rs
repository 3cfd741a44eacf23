//! The end of an earlier conversation, shown before the first prompt of a resumed session.
//!
//! In: a [`SessionTail`] and a size. Out: rows that fit the screen: one that names the session, then the last
//! entries with their labels, outputs and rendered answers. All texts are untrusted and escaped. A long source or
//! output is shortened in its middle, of a long answer the end is shown; no more is laid out than fits.

use nu_ansi_term::{Color, Style};

use super::rows::{Rows, print};
use super::source;
use crate::dialog::display_form;
use crate::input::has_prompt_dot;
use crate::markdown::{Appearance, render};
use crate::runtime::TerminalSize;
use crate::screen::{Screen, ScreenError};
use crate::session::{SessionTail, TailEntry};
use crate::text::escape::visible;
use crate::text::{Line, columns, cut};

/// Rows reserved for the lines above and below, and for the prompt.
const OTHERS: usize = 7;

/// Width in columns from which the lines below need no wrapping.
const WIDE: usize = 76;

/// Rows of entries on any screen, however small.
const LEAST: usize = 5;

/// Rows shown of each end of a long source or output.
const HEAD: usize = 8;
const TAIL: usize = 3;

const ALL: &str = "%ipycodex history";

/// Prints the end of an earlier conversation.
///
/// # Errors
/// The screen cannot be written.
pub fn show_earlier(
    screen: &Screen,
    appearance: &Appearance,
    earlier: &SessionTail,
) -> Result<(), ScreenError> {
    print(screen, &rows(earlier, screen.size(), appearance))?;
    screen.flush()
}

fn rows(earlier: &SessionTail, size: TerminalSize, appearance: &Appearance) -> Vec<Line> {
    let width = usize::from(size.columns).max(2);
    // On a narrow screen the lines below take more rows.
    let others = if width < WIDE { OTHERS + 4 } else { OTHERS };
    let mut room = usize::from(size.rows).saturating_sub(others).max(LEAST);
    let mut blocks: Vec<Vec<Line>> = Vec::new();
    let mut whole = true;
    for entry in earlier.entries.iter().rev() {
        let block = block(entry, width, room, appearance);
        if block.len() > room && !blocks.is_empty() {
            whole = false;
            break;
        }
        room = room.saturating_sub(block.len() + 1);
        blocks.push(block);
    }
    let shown = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
    whole &= shown >= earlier.cells.saturating_add(earlier.prompts);
    let mut all = vec![header(earlier, width)];
    if !whole {
        let mut more = Line::default();
        let text = format!("… {ALL} shows all of it");
        more.push(&cut(&text, width), Style::new().dimmed(), None);
        all.push(more);
    }
    for block in blocks.into_iter().rev() {
        all.extend(block);
        all.push(Line::default());
    }
    all
}

/// Returns `── session 43 · name · started 2026-07-01 10:22 · 12 cells, 3 prompts ──`; parts that do not fit are
/// left out, the number last.
fn header(earlier: &SessionTail, width: usize) -> Line {
    let number = format!("session {}", earlier.session);
    let name = earlier.name.as_deref().map(visible).unwrap_or_default();
    let minute: String = earlier.start.chars().take(16).collect();
    let started = match minute.is_empty() {
        true => String::new(),
        false => format!("started {}", visible(&minute)),
    };
    let count = |count: u32, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let held = format!(
        "{}, {}",
        count(earlier.cells, "cell"),
        count(earlier.prompts, "prompt")
    );
    let forms: [&[&str]; 4] = [
        &[&number, &name, &started, &held],
        &[&number, &name, &held],
        &[&number, &held],
        &[&number],
    ];
    let mut fitting = forms.iter().map(|parts| {
        let parts: Vec<&str> = parts
            .iter()
            .copied()
            .filter(|part| !part.is_empty())
            .collect();
        format!("── {} ──", parts.join(" · "))
    });
    let mut line = Line::default();
    let text = fitting.clone().find(|text| columns(text) <= width);
    let text = text.or_else(|| fitting.next_back()).unwrap_or_default();
    line.push(&cut(&text, width), Style::new().dimmed(), None);
    line
}

/// Returns the rows of one entry; of an answer longer than `room` rows, its end.
fn block(entry: &TailEntry, width: usize, room: usize, appearance: &Appearance) -> Vec<Line> {
    let mut block = Vec::new();
    if entry.hidden {
        let mut mark = Line::default();
        let text = "(hidden from the conversation)";
        mark.push(&cut(text, width), Style::new().dimmed(), None);
        block.push(mark);
    }
    let is_prompt = has_prompt_dot(&entry.source);
    let typed = if is_prompt {
        let mut typed = Rows::new(width);
        let label = format!("In [{}]: ", entry.line);
        let label = (label.as_str(), Color::Green.normal());
        typed.labelled(label, entry.source.trim_end(), Style::new());
        typed.into_rows()
    } else {
        source::rows(entry.line, "", &entry.source, width)
    };
    block.extend(shortened(typed));
    if entry.is_answer {
        let answer = render(&display_form(&entry.shown), width, appearance);
        let room = room.saturating_sub(block.len() + 1).max(TAIL);
        let hidden = answer.len().saturating_sub(room);
        if hidden > 0 {
            block.push(left_out(hidden));
        }
        block.extend(answer.into_iter().skip(hidden));
    } else if !entry.shown.trim().is_empty() {
        let mut output = Rows::new(width);
        let (before, value, after) = parts(entry);
        if !before.is_empty() {
            output.text(0, before, Style::new());
        }
        if let Some(value) = value {
            let label = format!("Out[{}]: ", entry.line);
            let label = (label.as_str(), Color::Red.normal());
            // As in IPython, a value of several lines begins below its label.
            let below = value.contains('\n');
            output.labelled(label, if below { "" } else { value }, Style::new());
            if below {
                output.text(0, value, Style::new());
            }
        }
        if !after.is_empty() {
            output.text(0, after, Style::new());
        }
        block.extend(shortened(output.into_rows()));
    }
    block
}

/// Output before the cell's value, the value, and output after it; without newlines at their ends.
fn parts(entry: &TailEntry) -> (&str, Option<&str>, &str) {
    let text = entry.shown.as_str();
    let placed = entry.value.clone().and_then(|range| {
        Some((
            text.get(..range.start)?,
            text.get(range.clone())?,
            text.get(range.end..)?,
        ))
    });
    let bare = |text: &'_ str| -> usize { text.trim_end_matches('\n').len() };
    match placed {
        None => (&text[..bare(text)], None, ""),
        Some((before, value, after)) => {
            let after = after.trim_start_matches('\n');
            (
                &before[..bare(before)],
                Some(&value[..bare(value)]),
                &after[..bare(after)],
            )
        }
    }
}

fn shortened(rows: Vec<Line>) -> Vec<Line> {
    let hidden = rows.len().saturating_sub(HEAD + TAIL);
    if hidden < 2 {
        return rows;
    }
    let mut short = rows;
    let tail = short.split_off(HEAD + hidden);
    short.truncate(HEAD);
    short.push(left_out(hidden));
    short.extend(tail);
    short
}

fn left_out(rows: usize) -> Line {
    let mut line = Line::default();
    line.push(&format!("… {rows} more"), Style::new().dimmed(), None);
    line
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn cell(line: u32, source: &str, shown: &str, value: Option<Range<usize>>) -> TailEntry {
        TailEntry {
            line,
            source: source.into(),
            shown: shown.into(),
            value,
            is_answer: false,
            hidden: false,
        }
    }

    fn exchange(line: u32, prompt: &str, answer: &str) -> TailEntry {
        TailEntry {
            is_answer: true,
            ..cell(line, prompt, answer, None)
        }
    }

    fn session(entries: Vec<TailEntry>) -> SessionTail {
        SessionTail {
            session: 43,
            name: Some("demo".into()),
            start: "2026-07-01 10:22:33.000004".into(),
            cwd: "/".into(),
            provider: "demo".into(),
            cells: u32::try_from(entries.len()).unwrap(),
            prompts: 0,
            entries,
        }
    }

    #[track_caller]
    fn check(earlier: &SessionTail, columns: u16, height: u16, expected: &[&str]) {
        let size = TerminalSize {
            columns,
            rows: height,
        };
        let rows = rows(earlier, size, &Appearance::default());
        for row in &rows {
            assert!(row.width() <= usize::from(columns), "{row:?}");
        }
        let shown: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn entries_look_as_they_did() {
        let earlier = session(vec![
            cell(1, "print(1)\nprint(2)\n7", "1\n2\n7", Some(4..5)),
            cell(2, "df", "   a\n0  1\nlate", Some(0..9)),
            cell(3, "1/0", "ZeroDivisionError: x\x1b[2J", None),
            cell(4, "x = 1", "", None),
            exchange(5, ".what is **x**?", "It is **1**.\n\n- one"),
        ]);
        check(
            &earlier,
            80,
            40,
            &[
                "── session 43 · demo · started 2026-07-01 10:22 · 5 cells, 0 prompts ──",
                "In [1]: print(1)",
                "   ...: print(2)",
                "   ...: 7",
                "1",
                "2",
                "Out[1]: 7",
                "",
                "In [2]: df",
                "Out[2]: ",
                "   a",
                "0  1",
                "late",
                "",
                "In [3]: 1/0",
                "ZeroDivisionError: x^[[2J",
                "",
                "In [4]: x = 1",
                "",
                "In [5]: .what is **x**?",
                "It is 1.",
                "",
                "• one",
                "",
            ],
        );
    }

    #[test]
    fn only_what_fits_is_shown() {
        let many = |count| (1..=count).map(|line| cell(line, "a", "b", None)).collect();
        check(
            &session(many(50)),
            40,
            18,
            &[
                "── session 43 · 50 cells, 0 prompts ──",
                "… %ipycodex history shows all of it",
                "In [49]: a",
                "b",
                "",
                "In [50]: a",
                "b",
                "",
            ],
        );
        let long: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let shown = [
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "8",
            "… 29 more",
            "38",
            "39",
            "40",
            "",
        ];
        let mut expected = vec!["── session 43 · demo · 1 cell, 0 prompts ──", "In [1]: a"];
        expected.extend(shown);
        check(&session(vec![cell(1, "a", &long, None)]), 60, 12, &expected);
        let answer: String = (1..=40).map(|n| format!("- {n}\n")).collect();
        check(
            &session(vec![exchange(1, ".list", &answer)]),
            20,
            12,
            &[
                "── session 43 ──",
                "In [1]: .list",
                "… 37 more",
                "• 38",
                "• 39",
                "• 40",
                "",
            ],
        );
    }
}
