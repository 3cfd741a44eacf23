//! The indent of a clause (`else:`, `except X:`, `case y:`) that continues a statement above.
//!
//! In: the text up to the colon just typed. Out: the indent of the continued statement, when the line is indented
//! deeper. `None` for a line in brackets or strings, or without a statement that it can continue.

use super::scan::{self, End, LogicalKind};
use super::{Mode, has_dot, without_leading_blank_lines};

/// The columns of white space that should begin the last line of `text`; `None` to leave the line as it is.
pub fn clause_indent(text: &str, mode: Mode) -> Option<usize> {
    let body = without_leading_blank_lines(text);
    let python = match mode {
        _ if has_dot(body) => return None,
        Mode::Cells => body,
        Mode::Prompts => body.strip_prefix(';')?,
        Mode::Shell => return None,
    };
    if python.trim_start().starts_with("%%") {
        return None;
    }
    let mut lines: Vec<_> = scan::lines(python)
        .filter(|line| line.kind == LogicalKind::Code)
        .collect();
    let clause = lines.pop()?;
    let ends_here = python.ends_with(clause.text) && !clause.text.contains('\n');
    if !ends_here || clause.end != End::Closed || clause.last != b':' {
        return None;
    }
    // A longer name is no keyword, and `else` and `finally` take no expression.
    let alone = clause.text.trim() == format!("{}:", clause.first);
    let goes_on: &[&str] = match clause.first {
        "else" if alone => &["if", "elif", "for", "async", "while", "except"],
        "elif" => &["if", "elif"],
        "except" => &["try", "except"],
        "finally" if alone => &["try", "except", "else"],
        "case" => &["case"],
        _ => return None,
    };
    // Only the nearest line of each level is still open, that of the clause's own level included.
    let mut below = clause.indent + 1;
    for line in lines.iter().rev() {
        if line.indent >= below {
            continue;
        }
        if clause.first == "case" && line.first == "match" {
            return None;
        }
        if goes_on.contains(&line.first) {
            return (line.indent < clause.indent).then_some(line.indent);
        }
        below = line.indent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, indent: Option<usize>) {
        assert_eq!(clause_indent(text, Mode::Cells), indent, "{text}");
        let code = format!(";{text}");
        assert_eq!(clause_indent(&code, Mode::Prompts), indent, "{code}");
        assert_eq!(clause_indent(text, Mode::Prompts), None, "{text}");
    }

    #[test]
    fn a_clause_goes_to_its_statement() {
        check("if a:\n    b\n    else:", Some(0));
        check("if a:\n    b\n    elif c == d[1:2]:", Some(0));
        check("for a in b:\n    if a:\n        c\n        else:", Some(4));
        check(
            "for a in b:\n    if a:\n        c\n    d\n    else:",
            Some(0),
        );
        check("if a:\n    while b:\n        c\n        elif d:", Some(0));
        check("try:\n    a\n    except (B, C) as d:", Some(0));
        check("try:\n    a\nexcept B:\n    c\n    else:", Some(0));
        check("try:\n    a\nexcept B:\n    c\n    finally:", Some(0));
        check("match a:\n    case 1:\n        b\n        case 2:", Some(4));
        check("async for a in b:\n    c\n    else:", Some(0));
        check("if a:\n\n    b  # else:\n\n    else:", Some(0));
    }

    #[test]
    fn what_stands_right_or_belongs_nowhere_stays() {
        for text in [
            "if a:\n    b\nelse:",
            "if a:\n    if b:\n        c\n    else:",
            "match a:\n    case 1:",
            "if a:\n    x = {\n    else:",
            "if a:\n    \"\"\"\n    else:",
            "if a:\n    elif d[1:",
            "def f():\n    else:",
            "def f():\n    finally:",
            "if a:\n    else_:",
            "if a:\n    else: b",
            "if a:\n    b\n    x = y[else:",
            "    else:",
            "else:",
            ".if a:\n    b\n    else:",
            "%%x\nif a:\n    b\n    else:",
            "",
        ] {
            assert_eq!(clause_indent(text, Mode::Cells), None, "{text}");
        }
    }
}
