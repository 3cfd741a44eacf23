//! Where the Python of a text begins, for the highlighter at every key, without the copies that
//! [`classify`](super::classify) makes.

use super::{Mode, has_dot, is_pythons_in_shell_mode, magic_rest, without_leading_blank_lines};

/// The byte offset of the Python in `text`; `None` for a prompt (`.why`, `%%ipycodex`, prompt mode), a command of the
/// shell, or a blank text.
pub fn code_start(text: &str, mode: Mode) -> Option<usize> {
    let body = without_leading_blank_lines(text);
    let mut start = text.len() - body.len();
    if mode == Mode::Shell && !is_pythons_in_shell_mode(body) {
        return None;
    }
    if body.trim_start().is_empty() || has_dot(body) {
        return None;
    }
    if mode == Mode::Prompts {
        match body.as_bytes()[0] {
            b';' => start += 1,
            b'!' | b'%' | b'.' => {}
            _ => return None,
        }
    }
    match magic_rest(text[start..].trim_start(), "%%ipycodex") {
        Some(_) => None,
        None => Some(start),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Input, classify};
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn code_begins_behind_its_mark() {
        for (text, mode, start) in [
            ("x = 1", Mode::Cells, Some(0)),
            ("\n \n  x", Mode::Cells, Some(3)),
            (".why", Mode::Cells, None),
            (";x", Mode::Cells, Some(0)),
            ("", Mode::Cells, None),
            ("%%ipycodex\nwhy", Mode::Cells, None),
            ("%%ipycodexx", Mode::Cells, Some(0)),
            ("%ipycodex think m", Mode::Cells, Some(0)),
            ("why", Mode::Prompts, None),
            (";x", Mode::Prompts, Some(1)),
            ("\n;x", Mode::Prompts, Some(2)),
            ("!ls", Mode::Prompts, Some(0)),
            ("%%ipycodex\nwhy", Mode::Prompts, None),
        ] {
            assert_eq!(code_start(text, mode), start, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        /// Prompts are never highlighted as code, and code always is.
        #[test]
        fn agrees_with_what_the_text_is(
            text in "[;.%! \n]{0,3}(ipycodex|%%ipycodex|exit|x)?[ \na.;]{0,4}",
            prompts in any::<bool>(),
        ) {
            let mode = if prompts { Mode::Prompts } else { Mode::Cells };
            let is_code = matches!(
                classify(&text, mode),
                Input::Cell { .. } | Input::Note { .. } | Input::Command { .. }
            );
            let painted = code_start(&text, mode).is_some_and(|at| !text[at..].trim().is_empty());
            prop_assert_eq!(painted, is_code);
        }
    }
}
