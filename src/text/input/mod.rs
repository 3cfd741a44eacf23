//! Classifies submitted texts. Pure rules, and the one place that looks at leading characters.
//!
//! In: the text of the editor, of a notebook cell, of standard input. Out: an [`Input`]. Total: any text is one of
//! them, and broken Python is an [`Input::Cell`] like any other (Python reports the error). Editor, highlighter,
//! batch and history all use these rules. Absent on purpose: running code, looking up names.

mod clause;
mod completeness;
mod file_references;
mod mode;
mod note;
mod private;
mod references;
mod scan;
mod shell;
mod split;
mod start;

pub use clause::clause_indent;
pub use completeness::{Completeness, completeness};
pub use file_references::{FileReference, file_reference_at_end, file_references};
pub use mode::Mode;
pub use note::note_value;
pub use private::is_private;
pub use references::{References, is_name, may_call, references};
pub use split::{PipedText, split_piped};
pub use start::code_start;

use std::borrow::Cow;

use mode::without_leading_blank_lines;

/// A prompt for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text without the dot, joined over `\` line ends; never blank.
    pub text: String,
    /// One line for the user when the text may have been meant otherwise (`.5`).
    pub hint: Option<String>,
}

impl Prompt {
    /// True for `.!`, which repeats the last prompt.
    pub fn repeats(&self) -> bool {
        self.text.trim() == "!"
    }
}

/// A classified text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Blank: takes no number, is not recorded.
    Empty,
    /// A prompt for the agent.
    Prompt(Prompt),
    /// A cell whose only statement is a string literal.
    Note {
        /// As typed: the source runs like any cell.
        source: String,
        /// The value of the literal.
        value: String,
    },
    /// `%ipycodex …`.
    Command {
        /// The text behind `%ipycodex`, trimmed; may be empty.
        line: String,
    },
    /// Python with IPython's syntax.
    Cell {
        /// As typed, without leading and trailing blank lines.
        source: String,
    },
    /// A command of the persistent shell.
    Shell {
        /// As typed, without leading and trailing blank lines.
        command: String,
    },
    /// `exit` or `quit` in prompt mode, `exit` or `logout` in shell mode.
    Exit,
}

/// Classifies `text`. Total: never fails.
pub fn classify(text: &str, mode: Mode) -> Input {
    let text = unix_line_ends(text);
    let body = without_leading_blank_lines(&text);
    if body.trim().is_empty() {
        return Input::Empty;
    }
    if mode == Mode::Shell {
        return in_shell_mode(body);
    }
    if has_dot(body) {
        return prompt(&body[1..], mode == Mode::Cells);
    }
    if mode == Mode::Prompts {
        if let Some(code) = body.strip_prefix(';') {
            return python(without_leading_blank_lines(code));
        }
        if matches!(body.trim(), "exit" | "quit" | "exit()" | "quit()") {
            return Input::Exit;
        }
        if !body.starts_with(['!', '%', '.']) {
            return prompt(body, false);
        }
    }
    python(body)
}

/// True when a source of the record, or a text in any mode but that of the shell, begins with the dot of a prompt.
pub fn has_prompt_dot(source: &str) -> bool {
    has_dot(source.trim_start())
}

/// True when `body` begins with the dot of a prompt. `...` alone is Python's `Ellipsis`.
fn has_dot(body: &str) -> bool {
    body.starts_with('.') && body.trim_end() != "..."
}

/// The first line of a shell cell.
const BASH_CELL: &str = "%%bash\n";
const ZSH_CELL: &str = "%%script zsh\n";

/// True when `source` is a prompt or an `%ipycodex` command, not code. Such entries of the record are never context
/// and never saved as code.
pub fn is_ipycodex_input(source: &str) -> bool {
    let source = source.trim_start();
    has_dot(source)
        || magic_rest(source, "%%ipycodex").is_some()
        || magic_rest(source, "%ipycodex").is_some()
}

/// The form of a prompt in the record: with its dot, whatever the mode it was typed in.
pub fn prompt_source(prompt: &str) -> String {
    format!(".{prompt}")
}

/// `%ipycodex` commands and IPython's `!` keep their meaning in shell mode.
fn is_pythons_in_shell_mode(body: &str) -> bool {
    let first = body.trim_start();
    first.starts_with('!') || magic_rest(first, "%ipycodex").is_some()
}

fn in_shell_mode(body: &str) -> Input {
    if is_pythons_in_shell_mode(body) {
        return python(body);
    }
    match body.trim() {
        "exit" | "logout" => Input::Exit,
        _ => Input::Shell {
            command: body.trim_end().to_owned(),
        },
    }
}

/// A command for the `shell` of this name in the form that works in any mode: IPython runs it, too.
pub fn shell_source(command: &str, shell: &str) -> String {
    match command.contains('\n') {
        true => shell_cell(command, shell),
        false => format!("!{}", command.trim_start()),
    }
}

fn python(body: &str) -> Input {
    let first = body.trim_start();
    if let Some(rest) = magic_rest(first, "%%ipycodex") {
        let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        return match line.trim() {
            "" => prompt(rest, false),
            line => prompt(&format!("{line}\n{rest}"), false),
        };
    }
    if let Some(rest) = magic_rest(first, "%ipycodex")
        && !rest.trim_end().contains('\n')
    {
        return Input::Command {
            line: rest.trim().to_owned(),
        };
    }
    if body.trim().is_empty() {
        return Input::Empty;
    }
    let source = if first.starts_with("%%") {
        // The blank line that ended the magic is removed; other blank lines may be part of a file that it writes.
        match body.rsplit_once('\n') {
            Some((head, last)) if last.trim().is_empty() => head,
            _ => body,
        }
    } else {
        body.trim_end()
    };
    let source = source.to_owned();
    match note_value(&source) {
        Some(value) => Input::Note { source, value },
        None => Input::Cell { source },
    }
}

/// `typed`: the user typed the dot before `rest`, and may have meant a number.
fn prompt(rest: &str, typed: bool) -> Input {
    // A `\r` may have stood before the backslash.
    let text = rest.replace("\\\n", "\n");
    let text = unix_line_ends(&text).trim_end_matches('\n').to_owned();
    if text.trim().is_empty() {
        return Input::Empty;
    }
    let digits: String = rest
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '_')
        .collect();
    let hint = (typed && digits.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| format!("`.{digits}` begins a prompt; the number is written `0.{digits}`"));
    Input::Prompt(Prompt { text, hint })
}

/// The text behind the magic `name` at the start of `text`; `None` when `text` begins with a longer name.
fn magic_rest<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)
        .filter(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// Any number of `\r` before `\n` belongs to the line end, so that the result has no `\r\n`.
fn unix_line_ends(text: &str) -> Cow<'_, str> {
    if !text.contains("\r\n") {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    let mut unix = lines.collect::<Vec<_>>().join("\n");
    // What follows the last line end is no line end.
    let rest = text.len() - text.trim_end_matches('\r').len();
    unix.push_str(&"\r".repeat(rest));
    Cow::Owned(unix)
}

/// The command of a cell that only runs a shell command; `None` for any other cell.
pub fn shell_command_of(source: &str) -> Option<&str> {
    let command = source
        .strip_prefix(BASH_CELL)
        .or_else(|| source.strip_prefix(ZSH_CELL))
        .or_else(|| source.strip_prefix('!'))?;
    Some(command).filter(|command| !command.trim().is_empty())
}

/// A shell command as a notebook cell: IPython has no magic named zsh.
pub fn shell_cell(command: &str, shell: &str) -> String {
    match shell {
        "zsh" => format!("{ZSH_CELL}{command}"),
        _ => format!("{BASH_CELL}{command}"),
    }
}

#[cfg(test)]
mod tests;
