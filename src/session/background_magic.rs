//! `%%background`, the first line of a cell that is to run in the background. It is ours, so no runtime sees it; where
//! nobody is at a prompt, and in a replay, such a cell runs as any other.

const MAGIC: &str = "%%background";

/// Returns the rest of a cell that begins with the magic.
pub(super) fn rest(code: &str) -> Option<&str> {
    let rest = code.strip_prefix(MAGIC)?;
    let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    line.trim().is_empty().then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_first_line_is_the_magic() {
        for (code, expected) in [
            ("%%background\na = 1\nb", Some("a = 1\nb")),
            ("%%background  \r\na", Some("a")),
            ("%%background", Some("")),
            ("%%backgrounds\na", None),
            ("%%background x\na", None),
            ("a\n%%background", None),
        ] {
            assert_eq!(rest(code), expected, "{code:?}");
        }
    }
}
