//! Sessions as scripts: `# %%` cells, prompts and answers as comments; and scripts as cells.
//!
//! The percent format as editors read it: a line `# %%` begins a cell, `# %% [markdown]` one of comments, which is not
//! code. A source line that would be such a mark gains one `%` when written and loses it when read. A script without
//! marks is one cell.

use super::saved::{SavedEntry, SavedPrompt, SavedSession};
use crate::dialog::display_form;

/// The script of a session.
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
                    script.push_str(&masked(line));
                    script.push('\n');
                }
            }
            SavedEntry::Prompt(prompt) => comments(prompt, &mut script),
        }
    }
    script
}

/// The cells of a script, none blank.
pub fn read_script(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut cells = Vec::new();
    let (mut cell, mut prose, mut marked) = (String::new(), true, false);
    for line in text.split_inclusive('\n') {
        match Mark::of(line) {
            Mark::Cell { prose: next } => {
                finish(&mut cell, prose, &mut cells);
                (prose, marked) = (next, true);
            }
            Mark::Masked(percent) => {
                cell.push_str(&line[..percent]);
                cell.push_str(&line[percent + 1..]);
            }
            Mark::None => cell.push_str(line),
        }
    }
    if !marked {
        (cell, prose) = (text.to_owned(), false);
    }
    finish(&mut cell, prose, &mut cells);
    cells
}

fn finish(cell: &mut String, prose: bool, cells: &mut Vec<String>) {
    let text = std::mem::take(cell);
    let is_comment = |line: &str| line.trim().is_empty() || line.starts_with('#');
    if text.trim().is_empty() || prose && text.lines().all(is_comment) {
        return;
    }
    let begin = text.len() - text.trim_start().len();
    let begin = text[..begin].rfind('\n').map_or(0, |at| at + 1);
    cells.push(text[begin..].trim_end_matches(['\n', '\r']).to_owned());
}

/// What a line means.
enum Mark {
    None,
    /// A cell begins; of prose.
    Cell {
        prose: bool,
    },
    /// A source line that was masked: where the added `%` stands.
    Masked(usize),
}

impl Mark {
    fn of(line: &str) -> Mark {
        let Some(rest) = line
            .strip_prefix("# %%")
            .or_else(|| line.strip_prefix("#%%"))
        else {
            return Mark::None;
        };
        if rest.starts_with('%') {
            return Mark::Masked(line.len() - rest.len());
        }
        let rest = rest.trim();
        Mark::Cell {
            prose: rest.starts_with("[markdown]") || rest.starts_with("[md]"),
        }
    }
}

/// A source line that reads as a mark gets one more `%`.
fn masked(line: &str) -> String {
    match Mark::of(line) {
        Mark::None => line.to_owned(),
        _ => line.replacen("%%", "%%%", 1),
    }
}

fn comments(prompt: &SavedPrompt, script: &mut String) {
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
