//! An exception of a cell: a value, not an error of this program; and its lines, safe to show.
//!
//! In: name, text and traceback from an interpreter, untrusted. Out: plain text, or lines with nothing but SGR
//! colours. Pure.

use nu_ansi_term::{Color, Style};

use crate::output::filter::{Filter, Policy};
use crate::output::transcript::Transcript;

/// Bytes of one traceback line that are shown.
const LONGEST_LINE: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellError {
    /// Class name: `ZeroDivisionError`.
    pub name: String,
    /// The exception's text; may be empty.
    pub value: String,
    /// Lines as the interpreter rendered them, possibly with SGR colours; untrusted.
    pub traceback: Vec<String>,
    /// Set when the exception is how code ends its program (such as `SystemExit`) and not a failure.
    pub leaves: Option<Leaving>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub status: i32,
    /// The message that a program of its own would have printed at its end.
    pub words: Option<String>,
}

impl CellError {
    /// Returns the traceback as plain text, or `Name: value` when there is none; no newline at the end.
    pub fn plain(&self) -> String {
        let lines: Vec<String> = self.source_lines().map(|line| plain_line(&line)).collect();
        let text = lines.join("\n");
        text.trim_matches('\n').to_owned()
    }

    /// Returns `Name: value` without control characters; `value` may have several lines.
    pub fn summary(&self) -> String {
        let (name, value) = (plain_line(&self.name), plain_lines(&self.value));
        match (name.is_empty(), value.is_empty()) {
            (_, true) => name,
            (true, false) => value,
            (false, false) => format!("{name}: {value}"),
        }
    }

    /// Returns lines that are safe to write to a terminal, each with its colours closed. The interpreter's colours
    /// are kept when `colour`; where it sent none, the error's name and the arrow lines are coloured.
    pub fn lines(&self, colour: bool) -> Vec<String> {
        let painted = self.traceback.iter().any(|line| line.contains('\x1b'));
        let name = plain_line(&self.name);
        self.source_lines()
            .map(|line| match (colour, painted) {
                (false, _) => plain_line(&line),
                (true, true) => safe_line(&line),
                (true, false) => paint(&plain_line(&line), &name),
            })
            .collect()
    }

    fn source_lines(&self) -> impl Iterator<Item = String> {
        let whole = if self.traceback.iter().all(|line| line.trim().is_empty()) {
            self.summary()
        } else {
            self.traceback
                .iter()
                .map(|line| line.strip_suffix('\n').unwrap_or(line))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let lines: Vec<String> = whole.split('\n').map(str::to_owned).collect();
        lines.into_iter()
    }
}

/// Colours a line of a traceback that has no colours.
fn paint(line: &str, name: &str) -> String {
    let red = Style::new().fg(Color::Red);
    if !name.is_empty()
        && let Some(rest) = line.strip_prefix(name)
        && (rest.is_empty() || rest.starts_with([':', ' ']))
    {
        // IPython's headline, dashes and the name, starts the same way and gets the same colour.
        return format!("{}{rest}", red.bold().paint(name));
    }
    let arrow = line.trim_start().trim_start_matches('-').starts_with('>')
        || (!line.trim().is_empty() && line.trim().bytes().all(|byte| b"^~".contains(&byte)));
    if arrow {
        red.paint(line).to_string()
    } else {
        line.to_owned()
    }
}

/// One line with no sequences but colours, which are closed at its end.
fn safe_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let mut filter = Filter::new(Policy::Colours);
    let mut out = Vec::new();
    filter.push(
        &line.as_bytes()[..line.floor_char_boundary(LONGEST_LINE)],
        &mut out,
    );
    filter.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn plain_line(line: &str) -> String {
    plain_lines(&line[..line.floor_char_boundary(LONGEST_LINE)])
}

fn plain_lines(text: &str) -> String {
    if !text
        .chars()
        .any(|c| c.is_control() && c != '\n' && c != '\t')
    {
        return text.to_owned();
    }
    let mut transcript = Transcript::new(text.len());
    transcript.push(text.as_bytes());
    transcript.into_text().text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, value: &str, traceback: &[&str]) -> CellError {
        CellError {
            name: name.into(),
            value: value.into(),
            traceback: traceback.iter().map(|&line| line.into()).collect(),
            leaves: None,
        }
    }

    #[test]
    fn plain_text() {
        let check = |error: CellError, expected: &str| assert_eq!(error.plain(), expected);
        check(error("ValueError", "bad", &[]), "ValueError: bad");
        check(error("KeyboardInterrupt", "", &[]), "KeyboardInterrupt");
        check(error("E", "\u{1b}]0;x\u{7}v", &["", " "]), "E: v");
        check(
            error("E", "v", &["\u{1b}[31m----\u{1b}[0m", "E: v"]),
            "----\nE: v",
        );
        check(
            error("E", "v", &["Traceback:\n  x\n", "E: v\n"]),
            "Traceback:\n  x\nE: v",
        );
    }

    #[test]
    fn lines_for_a_terminal() {
        let coloured = error(
            "E",
            "v",
            &["\u{1b}[31m--\u{1b}[0m", "a\u{1b}[1mb\u{1b}[2J\r", "E: v"],
        );
        assert_eq!(
            coloured.lines(true),
            ["\u{1b}[31m--\u{1b}[0m", "a\u{1b}[1mb\u{1b}[0m", "E: v"]
        );
        assert_eq!(coloured.lines(false), ["--", "ab", "E: v"]);
        let plain = error(
            "E",
            "v",
            &["Traceback", "----> 1 x", "    ~~^~~", "E: v", "Extra"],
        );
        assert_eq!(
            plain.lines(true),
            [
                "Traceback",
                "\u{1b}[31m----> 1 x\u{1b}[0m",
                "\u{1b}[31m    ~~^~~\u{1b}[0m",
                "\u{1b}[1;31mE\u{1b}[0m: v",
                "Extra",
            ]
        );
        assert_eq!(error("E", "v", &[]).lines(false), ["E: v"]);
    }

    #[test]
    fn hostile_lines_cannot_move_the_cursor() {
        let hostile = error(
            "E",
            "v",
            &["a\u{1b}[5A\u{1b}[2K\rb\u{8}c\u{1b}]52;c;x\u{7}\u{9b}d"],
        );
        assert_eq!(hostile.lines(true), ["abcd"]);
    }
}
