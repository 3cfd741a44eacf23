//! Formulas in prose as characters: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.
//!
//! In: a source, an offset in it, and the end of its line or paragraph. Out: the end of the formula and the text to
//! show. Invariants: text that is not certainly a formula stays as source: prices (`$5 or $6`), shell variables
//! (`$HOME`), formulas with unknown commands, anything next to code. The parser knows no formulas, so that emphasis
//! between two prices is emphasis.

use crate::output::in_characters;

/// Longest formula with its marks, in bytes; the search for an end stops there.
pub(super) const LONGEST: usize = 2000;

/// Returns the byte after the end of the formula at `at`, and its text. The formula has to end before `end`.
pub(crate) fn formula_at(source: &str, at: usize, end: usize) -> Option<(usize, String)> {
    let end = end.min(source.floor_char_boundary(at + LONGEST));
    let line = source.get(at..end)?;
    let before = source[..at].chars().next_back();
    let (open, close) = if line.starts_with("$$") {
        ("$$", "$$")
    } else if line.starts_with('$') {
        ("$", "$")
    } else if line.starts_with("\\(") {
        ("\\(", "\\)")
    } else if line.starts_with("\\[") {
        ("\\[", "\\]")
    } else {
        return None;
    };
    if before == Some('\\')
        || open == "$" && before.is_some_and(|c| c.is_alphanumeric() || c == '$')
    {
        return None;
    }
    let rest = &line[open.len()..];
    let length = closing(rest, close)?;
    let inner = &rest[..length];
    let stop = at + open.len() + length + close.len();
    let after = source[stop..].chars().next();
    if inner.contains('`') || inner.contains("\n>") || inner.trim().is_empty() {
        return None;
    }
    if open == "$" && !is_surely_one(inner, after) {
        return None;
    }
    let text = in_characters(inner)?;
    // The formula has to fit in one row of the paragraph.
    Some((stop, text.lines().collect::<Vec<_>>().join("; ")))
}

/// Offset of `close`; a dollar sign after a backslash closes nothing.
fn closing(rest: &str, close: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let found = from + rest[from..].find(close)?;
        if close.starts_with('\\') || !rest[..found].ends_with('\\') {
            return Some(found);
        }
        from = found + 1;
    }
}

/// True when the text between single dollar signs is certainly a formula.
fn is_surely_one(inner: &str, after: Option<char>) -> bool {
    let tight = !inner.starts_with(char::is_whitespace) && !inner.ends_with(char::is_whitespace);
    if !tight || inner.contains('\n') || after.is_some_and(|c| c.is_alphanumeric() || c == '$') {
        return false;
    }
    let marked = inner.contains(['\\', '^']) || inner.contains('_') && !is_word(inner);
    let begins_with_digit = inner.starts_with(|c: char| c.is_ascii_digit());
    let single = inner.chars().count() == 1 && inner.chars().all(char::is_alphabetic);
    let equation =
        !begins_with_digit && inner.contains([' ']) && inner.contains(['=', '<', '>', '+']);
    marked || single || equation
}

/// True for `HOME_DIR`, false for `x_1`.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && text.split('_').any(|part| part.len() > 2)
}

#[cfg(test)]
mod tests {
    use crate::markdown::{Appearance, render};

    fn shown(source: &str) -> String {
        let lines = render(source, 80, &Appearance::default());
        let lines: Vec<String> = lines.iter().map(|line| line.plain()).collect();
        lines.join("\n")
    }

    #[test]
    fn formulas_are_shown_in_characters() {
        let check = |source: &str, expected: &str| assert_eq!(shown(source), expected, "{source}");
        check("So $x^2 + y_1$ is it.", "So x² + y₁ is it.");
        check(r"With \(\alpha \leq 1\), see", "With α ≤ 1, see");
        check(r"$\frac{a_1}{b_2}$ and $a = b$, $n$", "a₁/b₂ and a = b, n");
        check("$$\n\\int_0^1 x\\,dx\n$$", "∫₀¹ x dx");
        check("\\[\nE = mc^2\n\\]", "E = mc²");
        check("a **bold $x_1 * y_2 * z$ end**", "a bold x₁ * y₂ * z end");
        check("- $x^2$\n- b", "• x²\n• b");
    }

    #[test]
    fn what_is_none_stays() {
        for source in [
            "It costs $5 or $6.",
            "From **$5** to **$10**, $5-$10",
            "Set $HOME and $PATH_TO_IT now, $A=$B",
            r"$\unknown{x}$",
            "a $ b $ c",
            "$5_000 or $6_000",
            "`$x^2$` and ``a $y_1$``",
            "US$5 and x$y^2$",
        ] {
            let plain = source.replace(['*', '`'], "");
            assert_eq!(shown(source), plain, "{source}");
        }
        let code = "```\n$x^2$\n```";
        assert_eq!(shown(code), "  $x^2$");
    }
}
