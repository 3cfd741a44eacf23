//! Texts of several lines shortened to one.
//!
//! In: any text. Out: text without line ends. Only [`first_line`] makes its result safe to print.

use super::escape::visible;

pub fn joined_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first line that is not blank, safe to print, and ` …` where more lines follow.
pub fn first_line(text: &str) -> (String, &'static str) {
    let (first, more) = match text.trim().split_once('\n') {
        Some((first, _)) => (first.trim_end(), " …"),
        None => (text.trim(), ""),
    };
    (visible(&first.replace('\t', " ")).into_owned(), more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_on_one() {
        assert_eq!(joined_words(" a\n\n b\tc "), "a b c");
        assert_eq!(first_line("\n a\tb\x1b \nc"), ("a b^[".into(), " …"));
        assert_eq!(first_line("a\n"), ("a".into(), ""));
    }
}
