//! Parts of a formula set on a line: brackets where they are needed, exponents and indices, rows of a matrix.
//!
//! Text in, text out; pure. Absent on purpose: commands.

use super::symbols::{subscript, superscript};
use crate::columns;

/// Returns the rows below each other, with aligned columns.
pub(super) fn in_rows(rows: &[Vec<&str>], open: &str, close: &str) -> String {
    let width = |text: &str| columns(text);
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|n| {
            rows.iter()
                .filter_map(|row| row.get(n))
                .map(|cell| width(cell))
                .max()
        })
        .map(|width| width.unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = widths.iter().enumerate().map(|(n, wide)| {
            let cell = row.get(n).copied().unwrap_or_default();
            " ".repeat(wide - width(cell)) + cell
        });
        format!("{open}{}{close}", cells.collect::<Vec<_>>().join("  "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Puts brackets around `text` unless it is a single operand.
pub(super) fn grouped(text: &str) -> String {
    let text = text.trim();
    let one = text
        .chars()
        .all(|c| c.is_alphanumeric() || c == '.' || superscript_or_mark(c))
        || text.starts_with('√') && text[3..].chars().all(char::is_alphanumeric)
        || is_bracketed(text);
    if one {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

fn superscript_or_mark(c: char) -> bool {
    "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ₀₁₂₃₄₅₆₇₈₉∞′∂".contains(c) || ('\u{300}'..'\u{370}').contains(&c)
}

fn is_bracketed(text: &str) -> bool {
    let Some(inner) = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    else {
        return false;
    };
    let mut depth = 0i32;
    inner.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    })
}

/// An exponent when `up`, else an index.
pub(super) fn raised(text: &str, up: bool) -> String {
    let packed: String = text.split(' ').collect();
    let small = if up {
        superscript(&packed)
    } else {
        subscript(&packed)
    };
    small.unwrap_or_else(|| {
        let mark = if up { '^' } else { '_' };
        let single = text.chars().count() == 1 || text.chars().all(char::is_alphanumeric);
        match single || is_bracketed(text) {
            true => format!("{mark}{text}"),
            false => format!("{mark}({text})"),
        }
    })
}
