//! Sessions as scripts: `# %%` cells, prompts and answers as comments; and scripts as cells.
//!
//! The percent format as editors read it: a line `# %%` begins a cell, `# %% [markdown]` a cell of comments, which is
//! not code. A source line that would be such a mark gains one `%` when written and loses it when read. A script
//! without marks is one cell.

use super::saved::{SavedEntry, SavedPrompt, SavedSession};
use crate::dialog::display_form;

pub fn to_script(session: &SavedSession) -> String {
    let mut script = String::new();
    for entry in session.entries() {
        if !script.is_empty() {
            script.push('\n');
        }
        match entry {
            SavedEntry::Code(cell) => {
                script.push_str("# %%\n");
                for line in cell.source.split('\n') {
                    script.push_str(&escape_mark(line));
                    script.push('\n');
                }
            }
            SavedEntry::Prompt(prompt) => push_prompt(prompt, &mut script),
        }
    }
    script
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCell {
    /// The line of the script where the cell begins, from 1.
    pub line: u32,
    pub source: String,
}

/// The cells of a script; blank ones are left out.
pub fn read_script(text: &str) -> Vec<ScriptCell> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut cells = Vec::new();
    let (mut cell, mut prose, mut marked) = (String::new(), true, false);
    let mut first = 1;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match ScriptLine::parse(line) {
            ScriptLine::Cell { prose: next } => {
                push_cell(&mut cell, first, prose, &mut cells);
                (prose, marked, first) = (next, true, number + 1);
            }
            ScriptLine::Masked(percent) => {
                cell.push_str(&line[..percent]);
                cell.push_str(&line[percent + 1..]);
            }
            ScriptLine::None => cell.push_str(line),
        }
    }
    if !marked {
        (cell, prose) = (text.to_owned(), false);
    }
    push_cell(&mut cell, first, prose, &mut cells);
    cells
}

fn push_cell(cell: &mut String, first: u32, prose: bool, cells: &mut Vec<ScriptCell>) {
    let text = std::mem::take(cell);
    let is_comment = |line: &str| line.trim().is_empty() || line.starts_with('#');
    if text.trim().is_empty() || prose && text.lines().all(is_comment) {
        return;
    }
    let begin = text.len() - text.trim_start().len();
    let begin = text[..begin].rfind('\n').map_or(0, |at| at + 1);
    let above = text[..begin].matches('\n').count();
    cells.push(ScriptCell {
        line: first.saturating_add(u32::try_from(above).unwrap_or(u32::MAX)),
        source: text[begin..].trim_end_matches(['\n', '\r']).to_owned(),
    });
}

enum ScriptLine {
    None,
    Cell {
        prose: bool,
    },
    /// An escaped source line: the byte offset of the added `%`.
    Masked(usize),
}

impl ScriptLine {
    fn parse(line: &str) -> ScriptLine {
        let Some(rest) = line
            .strip_prefix("# %%")
            .or_else(|| line.strip_prefix("#%%"))
        else {
            return ScriptLine::None;
        };
        if rest.starts_with('%') {
            return ScriptLine::Masked(line.len() - rest.len());
        }
        let rest = rest.trim();
        ScriptLine::Cell {
            prose: rest.starts_with("[markdown]") || rest.starts_with("[md]"),
        }
    }
}

/// Adds one `%` to a source line that reads as a mark.
fn escape_mark(line: &str) -> String {
    match ScriptLine::parse(line) {
        ScriptLine::None => line.to_owned(),
        _ => line.replacen("%%", "%%%", 1),
    }
}

fn push_prompt(prompt: &SavedPrompt, script: &mut String) {
    script.push_str("# %% [markdown]\n");
    for line in prompt.prompt.lines() {
        script.push_str(format!("# > {line}").trim_end());
        script.push('\n');
    }
    script.push_str("#\n");
    for line in display_form(&prompt.response).trim_end().lines() {
        script.push_str(format!("# {line}").trim_end());
        script.push('\n');
    }
}
