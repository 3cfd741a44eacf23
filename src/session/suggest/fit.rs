//! Fits a model's completion to the text around the cursor. Pure.
//!
//! Models are instructed to answer with the text alone, yet often fence it, wrap it in a sentence, or repeat the
//! text before or after the cursor. All of that is cut, and nothing that changes the meaning: an overlap counts as
//! a repetition only where the text would make no sense with it.

use crate::text::escape::visible_lines;
use crate::text::{columns, expand_tabs};

/// The longest completion, in characters: a page or two.
const LONGEST: usize = 8_000;

/// Returns `answer` as it can be inserted between `before` and `after`; empty when there is nothing to insert.
pub(super) fn fit(answer: &str, before: &str, after: &str, prompt: bool) -> String {
    let text = visible_lines(answer);
    if text.trim().is_empty() {
        return String::new();
    }
    let text = unfenced(&text, prompt);
    let text = without_prefix(text, before);
    let text = without_suffix(text, before, after);
    let text = text.trim_end();
    let text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].rsplit_once('\n').map_or("", |(whole, _)| whole),
        None => text,
    };
    if text.trim().is_empty() {
        return String::new();
    }
    if before.contains('\t') {
        text.to_owned()
    } else {
        let line = before.rsplit('\n').next().unwrap_or_default();
        expand_tabs(text, columns(line))
    }
}

/// Returns the content of the first code fence, or of backticks around the whole text.
fn unfenced(text: &str, prompt: bool) -> &str {
    let body = text.trim_start_matches('\n');
    if let Some(inside) = fenced(body) {
        // In a prompt a fence may be meant; a fence around the whole text is not.
        let all = body.trim_start().starts_with("```") && body.trim_end().ends_with("```");
        if !prompt || all {
            return inside;
        }
    }
    let ticked = body.trim();
    let inside = ticked
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    match inside {
        Some(inside) if !inside.is_empty() && !inside.contains(['`', '\n']) => inside,
        _ => text,
    }
}

fn fenced(text: &str) -> Option<&str> {
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let is_fence = line.trim_start().starts_with("```");
        match start {
            None if is_fence => start = Some(end),
            Some(start) if is_fence => {
                let inside = &text[start..at];
                return Some(inside.strip_suffix('\n').unwrap_or(inside));
            }
            _ => {}
        }
        at = end;
    }
    // A fence that was opened and never closed.
    start.map(|start| &text[start..])
}

/// Drops a beginning that repeats the text before the cursor.
fn without_prefix<'a>(text: &'a str, before: &str) -> &'a str {
    if let Some(rest) = text.strip_prefix(before) {
        return rest;
    }
    if let Some(rest) = text.trim_start().strip_prefix(before.trim_start())
        && !before.trim().is_empty()
    {
        return rest;
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.trim().is_empty() {
        return indented(text, line, before);
    }
    if let Some(rest) = text.trim_start().strip_prefix(line.trim_start()) {
        return rest;
    }
    if text.trim() == line.trim() {
        return "";
    }
    let starts = line.char_indices().map(|(at, _)| at);
    for start in starts {
        let overlap = &line[start..];
        if is_repetition(overlap, &line[..start])
            && let Some(rest) = text.strip_prefix(overlap)
        {
            return rest;
        }
    }
    if line.ends_with([' ', '\t']) {
        return text.trim_start_matches([' ', '\t']);
    }
    text
}

/// At the start of a line, removes the `typed` part of the indentation from the first line.
fn indented<'a>(text: &'a str, typed: &str, before: &str) -> &'a str {
    let text = if before.is_empty() {
        text
    } else {
        text.trim_start_matches('\n')
    };
    match text.strip_prefix(typed) {
        Some(rest) if !typed.is_empty() => rest,
        _ => text,
    }
}

/// Returns true when text that begins with `overlap`, typed already after `rest`, repeats it: the overlap begins
/// with a whole word and ends in one (`x = df.gro` and `df.groupby()`), or is longer than chance.
fn is_repetition(overlap: &str, rest: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let begins = overlap.chars().next().is_some_and(is_word);
    let ends = overlap.chars().next_back().is_some_and(is_word);
    let inside = rest.chars().next_back().is_some_and(is_word);
    begins && !inside && (ends || overlap.chars().count() > 3)
}

/// Drops an end that repeats the text after the cursor.
fn without_suffix<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let whole = after.trim();
    if whole.is_empty() {
        return text;
    }
    let line = after.lines().next().unwrap_or_default().trim();
    let text = text.trim_end();
    if let Some(rest) = text.strip_suffix(whole)
        && whole.chars().count() > 2
    {
        return rest;
    }
    // Only as much of the line as ends at a whole word.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, last) in line.char_indices().rev() {
        let (end, next) = line.split_at(at + last.len_utf8());
        let cuts = is_word(last) && next.starts_with(is_word);
        if end.chars().count() > 2
            && !cuts
            && let Some(rest) = text.strip_suffix(end)
        {
            return rest;
        }
    }
    // Closing brackets that the text after the cursor has again.
    let mut text = text;
    for closer in line
        .chars()
        .take_while(|c| matches!(c, ')' | ']' | '}' | '"' | '\''))
    {
        let all = [before, text, after].concat();
        let Some(rest) = text.strip_suffix(closer) else {
            break;
        };
        if !is_surplus(&all, closer) {
            break;
        }
        text = rest;
    }
    text
}

/// Returns true when `text` has more of `closer` than it opens.
fn is_surplus(text: &str, closer: char) -> bool {
    let opener = match closer {
        ')' => '(',
        ']' => '[',
        '}' => '{',
        quote => return text.matches(quote).count() % 2 == 1,
    };
    text.matches(closer).count() > text.matches(opener).count()
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn code_fits_at_the_cursor() {
        for (answer, before, after, expected) in [
            ("al + 1", "x = tot", "", "al + 1"),
            ("al + 1  \n\n", "x = tot", "", "al + 1"),
            ("```python\nal + 1\n```", "x = tot", "", "al + 1"),
            (
                "Here it is:\n\n```py\nx = total\n```\nDone.",
                "x = tot",
                "",
                "al",
            ),
            ("```python\ntotal", "x = ", "", "total"),
            ("`total`", "x = ", "", "total"),
            ("x = total", "x = tot", "", "al"),
            ("total", "x = tot", "", "al"),
            ("df.groupby('a')", "x = df.gro", "", "upby('a')"),
            ("foo(1, 2)", "x = foo(", "", "1, 2)"),
            (" total", "x = ", "", "total"),
            ("\n    return 1", "def f():", "", "\n    return 1"),
            ("    return 1", "def f():\n    ", "", "return 1"),
            ("def f():\n    return 1", "def f():\n    ", "", "return 1"),
            ("\nreturn 1\n    x", "def f():\n    ", "", "return 1\n    x"),
            ("return 1", "def f():\n    ", "", "return 1"),
            (
                "def f():\n    return 1",
                "import os\n\ndef f",
                "",
                "():\n    return 1",
            ),
            ("1, 2)", "f(", ")", "1, 2"),
            ("g(1)", "f(", ")", "g(1)"),
            ("(1)", "f(", "", "(1)"),
            ("a + b", "x = ", " + c\ny = 2", "a + b"),
            ("a + c + d", "x = ", " + c + d", "a"),
            ("value", "print(alpha_", "value)", ""),
            ("b_value + c", "a = ", "c * d", "b_value + c"),
            ("key\"", "d[\"", "\"]", "key"),
            ("", "x = ", "", ""),
            (" \n ", "x = ", "", ""),
            ("x = ", "x = ", "", ""),
            ("x =", "x = ", "", ""),
            ("\ta", "if x:\n", "", "    a"),
            ("\ta", "if x:\n\tb\n", "", "\ta"),
            ("a\r\nb", "x\n", "", "a\nb"),
            ("e\x1b[2J\x07", "x = ", "", "e^[[2J^G"),
        ] {
            assert_eq!(
                fit(answer, before, after, false),
                expected,
                "{answer:?} after {before:?}"
            );
        }
    }

    #[test]
    fn words_for_the_assistant_keep_their_fences() {
        for (answer, before, expected) in [
            ("is the answer wrong?", ".why ", "is the answer wrong?"),
            (".why is it so?", ".why ", "is it so?"),
            ("```\nis it so?\n```", ".why ", "is it so?"),
            (
                "does\n```python\nx\n```\nfail?",
                ".why ",
                "does\n```python\nx\n```\nfail?",
            ),
        ] {
            assert_eq!(fit(answer, before, "", true), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_flood_is_cut_at_a_line() {
        let answer = "x = 1\n".repeat(5_000);
        let text = fit(&answer, "y = 2\n", "", false);
        assert!(text.len() <= super::LONGEST && text.ends_with("x = 1"));
        assert_eq!(fit(&"x".repeat(9_000), "y", "", false), "");
    }
}
