//! A text as a Python string literal, so that a cell of prose can become a note.
//!
//! Invariant: [`note_value`](crate::input::note_value) of the literal is the text.

/// The literal in triple quotes, with as few escapes as possible.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push_str("\"\"\"");
    let mut quotes = 0;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        quotes = if c == '"' { quotes + 1 } else { 0 };
        match c {
            '\\' => out.push_str("\\\\"),
            // Three quotes in a row would end the literal, and so would one at its end.
            '"' if quotes == 3 || rest.as_str().is_empty() => {
                out.push_str("\\\"");
                quotes = 0;
            }
            '\n' | '\t' => out.push(c),
            c if u32::from(c) < 0x20 || c == '\x7f' => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push_str("\"\"\"");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::note_value;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn literals() {
        let check = |text: &str, expected: &str| assert_eq!(literal(text), expected);
        check("", "\"\"\"\"\"\"");
        check("# T\n\n*a*", "\"\"\"# T\n\n*a*\"\"\"");
        check("a\\b", "\"\"\"a\\\\b\"\"\"");
        check("say \"x\"", "\"\"\"say \"x\\\"\"\"\"");
        check("\"\"\"", "\"\"\"\"\"\\\"\"\"\"");
        check("\r\0", "\"\"\"\\x0d\\x00\"\"\"");
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn a_literal_makes_its_text(text in "([\"'\\\\\n\r\t #(]|.){0,30}") {
            prop_assert_eq!(note_value(&literal(&text)), Some(text));
        }
    }
}
