//! Private inputs: an input that begins with a blank runs and is not recorded.
//!
//! The rule of shells (`ignorespace`), restricted for Python, where leading blanks have a meaning: a pasted block
//! that kept its indentation is not private. Absent on purpose: the treatment of such inputs (`session`).

/// True when `text`, as typed at a prompt, must not be recorded.
///
/// One line is private when it begins with a blank (space or tab); a text of several lines when its first line begins
/// with exactly one space: a tab, or two spaces and more, are an indentation. Blank lines at both ends do not count.
pub fn is_private(text: &str) -> bool {
    let body = super::without_leading_blank_lines(text).trim_end();
    let blank = |c: char| c == ' ' || c == '\t';
    if body.contains('\n') {
        let rest = body.strip_prefix(' ');
        rest.is_some_and(|rest| !rest.starts_with(blank))
    } else {
        body.starts_with(blank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_blank_keeps_a_line_private_and_an_indented_block_is_none() {
        for (text, private) in [
            (" token = 'x'", true),
            ("\ttoken = 'x'", true),
            ("    token = 'x'", true),
            ("\n\n token = 'x'\n", true),
            (" if x:\n    y", true),
            (" %%bash\necho", true),
            ("  if x:\n      y", false),
            ("    def f():\n        return 1\n", false),
            ("\tif x:\n\t\ty", false),
            (" \tif x:\n\t\ty", false),
            ("token = 'x'", false),
            ("token = 'x'\n other", false),
            ("", false),
            ("   ", false),
            ("\n", false),
        ] {
            assert_eq!(is_private(text), private, "{text:?}");
        }
    }
}
