//! Edits that depend on the text: the bytes to replace, and their replacement; Enter.
//!
//! Pure. The keys use these while they know the text ([`TypedText`]), the editor with its own text when they do
//! not. Absent on purpose: the kill ring (`kill_ring`), moving, single characters.

use std::ops::Range;

use reedline::{EditCommand, ReedlineEvent};

use crate::config::KeyAction;
use crate::input::{Completeness, Mode, clause_indent};
use crate::terminal::cell_language::CellLanguage;
use crate::terminal::keys::typed_text::TypedText;
use crate::text::last_word;

/// Columns of a level.
const LEVEL: usize = 4;

/// A range of bytes and its replacement; the cursor moves behind the replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::terminal) struct Change {
    pub(in crate::terminal) range: Range<usize>,
    pub(in crate::terminal) with: String,
}

impl Change {
    /// Returns the editor's commands; one step of undo.
    pub(in crate::terminal) fn commands(self) -> Vec<EditCommand> {
        let go = |position, select| EditCommand::MoveToPosition { position, select };
        let mut commands = vec![go(self.range.start, false)];
        if !self.range.is_empty() {
            commands.push(go(self.range.end, true));
        }
        commands.push(EditCommand::InsertString(self.with));
        commands
    }
}

/// Returns the bytes that a cutting key cuts; `None` for other keys.
pub(in crate::terminal) fn cut(action: KeyAction, typed: &TypedText) -> Option<Range<usize>> {
    let (text, cursor, line) = (&typed.text, typed.cursor, typed.line());
    let (before, after) = text.split_at(cursor);
    Some(match action {
        // At the end of a line the newline is cut.
        KeyAction::KillLine if cursor == line.end => cursor..(cursor + 1).min(text.len()),
        KeyAction::KillLine => cursor..line.end,
        KeyAction::KillLineStart if cursor == line.start => cursor.saturating_sub(1)..cursor,
        KeyAction::KillLineStart => line.start..cursor,
        KeyAction::KillText => 0..text.len(),
        KeyAction::KillBlankWord => last_word(before)..cursor,
        KeyAction::KillWordLeft => {
            let word = before.trim_end_matches(|c| !of_word(c));
            word.trim_end_matches(of_word).len()..cursor
        }
        KeyAction::KillWordRight => {
            let word = after.trim_start_matches(|c| !of_word(c));
            cursor..text.len() - word.trim_start_matches(of_word).len()
        }
        _ => return None,
    })
}

pub(super) fn cuts(action: KeyAction) -> bool {
    cut(action, &TypedText::new(String::new(), 0)).is_some()
}

pub(in crate::terminal) fn cuts_back(action: KeyAction) -> bool {
    matches!(
        action,
        KeyAction::KillLineStart | KeyAction::KillBlankWord | KeyAction::KillWordLeft
    )
}

fn of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns true when the cursor is in the leading white space of its line, or right behind it.
pub(in crate::terminal) fn in_leading_blanks(typed: &TypedText) -> bool {
    typed.line_before().chars().all(|c| matches!(c, ' ' | '\t'))
}

/// Backspace in leading white space: dedents by a level, or to the indentation of a line above.
pub(in crate::terminal) fn back_a_level(typed: &TypedText) -> Option<Change> {
    let blanks = typed.line_before();
    let columns = blanks.len();
    if columns < 2 || !blanks.bytes().all(|byte| byte == b' ') {
        return None;
    }
    let multiple = (columns - 1) / LEVEL * LEVEL;
    let start = typed.line().start;
    let above = typed.text[..start]
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .filter(|indent| *indent < columns)
        .max();
    let left = multiple.max(above.unwrap_or(0));
    Some(Change {
        range: start + left..typed.cursor,
        with: String::new(),
    })
}

pub(in crate::terminal) fn to_next_level(typed: &TypedText) -> Option<Change> {
    let column = typed.line_before().len();
    in_leading_blanks(typed).then(|| Change {
        range: typed.cursor..typed.cursor,
        with: " ".repeat(LEVEL - column % LEVEL),
    })
}

/// A colon that completes `else` and the like: dedents the line to its level.
pub(in crate::terminal) fn colon(typed: &TypedText, mode: Mode) -> Option<Change> {
    if typed.cursor != typed.line().end {
        return None;
    }
    let line = typed.line().start..typed.cursor;
    let before = format!("{}:", &typed.text[..typed.cursor]);
    let indent = clause_indent(&before, mode)?;
    let clause = typed.text[line.clone()].trim_start();
    Some(Change {
        with: format!("{}{clause}:", " ".repeat(indent)),
        range: line,
    })
}

/// Indents or dedents the lines of `selected` (bytes) by a level.
pub(in crate::terminal) fn shift(text: &str, selected: Range<usize>, inwards: bool) -> Change {
    let start = text[..selected.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[selected.end..]
        .find('\n')
        .map_or(text.len(), |at| selected.end + at);
    // A selection that ends before the first character of a line leaves that line alone.
    let end = match text[start..selected.end].strip_suffix('\n') {
        Some(whole) if !whole.is_empty() => selected.end - 1,
        _ => end,
    };
    let shifted: Vec<String> = text[start..end]
        .split('\n')
        .map(|line| match (inwards, line.trim().is_empty()) {
            (true, true) => line.to_owned(),
            (true, false) => format!("{}{line}", " ".repeat(LEVEL)),
            (false, _) => {
                let blanks = line.len() - line.trim_start_matches(' ').len();
                match line.strip_prefix('\t') {
                    Some(rest) => rest.to_owned(),
                    None => line[blanks.min(LEVEL)..].to_owned(),
                }
            }
        })
        .collect();
    Change {
        range: start..end,
        with: shifted.join("\n"),
    }
}

/// Returns the event that begins a line indented by this many columns.
pub(super) fn newline(indent: usize) -> ReedlineEvent {
    let mut edits = vec![EditCommand::InsertNewline];
    if indent > 0 {
        edits.push(EditCommand::InsertString(" ".repeat(indent)));
    }
    ReedlineEvent::Edit(edits)
}

/// Returns the indentation of a line begun at the cursor.
pub(super) fn indent_at(typed: &TypedText, (mode, cell_language): &(Mode, CellLanguage)) -> usize {
    match cell_language.completeness(&typed.text[..typed.cursor], *mode) {
        Completeness::Incomplete { indent } => indent,
        Completeness::Complete | Completeness::Invalid => 0,
    }
}

/// Returns the event of Enter: a new line with its indentation, or a submit.
pub(super) fn enter(typed: &TypedText, reading: &(Mode, CellLanguage)) -> ReedlineEvent {
    let after = &typed.text[typed.cursor..];
    if !after.trim().is_empty() && after.contains('\n') {
        return newline(indent_at(typed, reading));
    }
    match reading.1.completeness(&typed.text, reading.0) {
        Completeness::Incomplete { indent } => newline(indent),
        Completeness::Complete | Completeness::Invalid => ReedlineEvent::Submit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with `|` as the cursor.
    fn typed(text: &str) -> TypedText {
        let cursor = text.find('|').unwrap();
        TypedText::new(text.replacen('|', "", 1), cursor)
    }

    fn done(typed: &TypedText, change: Change) -> String {
        let mut text = typed.text.clone();
        let cursor = change.range.start + change.with.len();
        text.replace_range(change.range, &change.with);
        text.insert(cursor, '|');
        text
    }

    #[test]
    fn keys_that_cut_cut_what_readline_cuts() {
        for (action, text, rest) in [
            (KeyAction::KillLine, "a |b\nc", "a |\nc"),
            (KeyAction::KillLine, "a |\nc", "a |c"),
            (KeyAction::KillLine, "a|", "a|"),
            (KeyAction::KillLineStart, "a\nb c|d", "a\n|d"),
            (KeyAction::KillLineStart, "a\n|d", "a|d"),
            (KeyAction::KillLineStart, "|d", "|d"),
            (KeyAction::KillText, "a\nb|c\nd", "|"),
            (KeyAction::KillBlankWord, "x = foo.bar(1)  |y", "x = |y"),
            (KeyAction::KillBlankWord, "x\nfoo|", "x\n|"),
            (KeyAction::KillWordLeft, "x.foo_é1(|", "x.|"),
            (KeyAction::KillWordRight, "|  .foo_é1(x)", "|(x)"),
            (KeyAction::KillWordRight, "a|", "a|"),
        ] {
            let typed = typed(text);
            let range = cut(action, &typed).unwrap();
            let with = String::new();
            assert_eq!(
                done(&typed, Change { range, with }),
                rest,
                "{action:?} {text}"
            );
        }
        assert_eq!(cut(KeyAction::Yank, &typed("a|")), None);
    }

    #[test]
    fn backspace_goes_back_by_levels() {
        for (text, expected) in [
            ("if a:\n        |b", Some("if a:\n    |b")),
            ("if a:\n      |", Some("if a:\n    |")),
            ("if a:\n  b\n    |", Some("if a:\n  b\n  |")),
            ("if a:\n   b\n    |", Some("if a:\n   b\n   |")),
            ("    |", Some("|")),
            (" |", None),
            ("|", None),
            ("a   |", None),
            ("if a:\n\t\t|", None),
        ] {
            let typed = typed(text);
            let got = back_a_level(&typed).map(|change| done(&typed, change));
            assert_eq!(got.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn tab_goes_on_by_levels() {
        for (text, expected) in [
            ("if a:\n|", Some("if a:\n    |")),
            ("if a:\n      |b", Some("if a:\n        |b")),
            ("|", Some("    |")),
            ("a|", None),
        ] {
            let typed = typed(text);
            let got = to_next_level(&typed).map(|change| done(&typed, change));
            assert_eq!(got.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_colon_takes_a_clause_to_its_place() {
        let text = typed("if a:\n    b\n    else|");
        let change = colon(&text, Mode::Cells).unwrap();
        assert_eq!(done(&text, change), "if a:\n    b\nelse:|");
        for other in ["if a:\n    b\n    else|  # x", "if a:\n    b\n    c|"] {
            assert_eq!(colon(&typed(other), Mode::Cells), None, "{other}");
        }
    }

    #[test]
    fn lines_are_shifted_whole() {
        let check = |text: &str, selected: Range<usize>, inwards: bool, expected: &str| {
            let change = shift(text, selected, inwards);
            let mut got = text.to_owned();
            got.replace_range(change.range, &change.with);
            assert_eq!(got, expected);
        };
        check("a\nb\nc", 0..3, true, "    a\n    b\nc");
        check("a\nb\nc", 0..2, true, "    a\nb\nc");
        check("    a\n\n  b\n\tc", 3..12, false, "a\n\nb\nc");
        check("a", 0..1, false, "a");
    }
}
