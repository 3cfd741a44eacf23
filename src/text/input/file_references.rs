//! References to files that a prompt attaches: `@data.csv`, `@"two words.txt"`.
//!
//! In: any text. Out: the name behind each `@`. Pure and total: the file need not exist, and an `@` that begins
//! something else (`@property`, an address) is returned as well. A mark counts at the start of a word; the name ends
//! at a blank without a backslash before it, or at the closing quote.

/// A name behind an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// The path, with escapes removed.
    pub path: String,
    /// The name is in quotes, and can only be a file.
    pub quoted: bool,
}

/// Finds all references; each once, in the order of first mention.
pub fn file_references(text: &str) -> Vec<FileReference> {
    let mut found: Vec<FileReference> = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        before = rest[..at].chars().next_back().unwrap_or(before);
        rest = &rest[at + 1..];
        if begins_word(before)
            && let Some(file) = named(rest)
            && !found.contains(&file)
        {
            found.push(file);
        }
        before = '@';
    }
    found
}

/// The byte offset of the name behind the last `@` of `line`, and its quote, when the end of `line` is still part of
/// it.
pub fn file_reference_at_end(line: &str) -> Option<(usize, Option<char>)> {
    let (at, _) = line.match_indices('@').rfind(|(at, _)| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(begins_word)
    })?;
    let name = &line[at + 1..];
    match name.chars().next() {
        Some(quote) if is_quote(quote) => {
            (!name[1..].contains(quote)).then_some((at + 2, Some(quote)))
        }
        _ => (bare(name).1 == name.len()).then_some((at + 1, None)),
    }
}

/// True for a character that may precede the mark.
fn begins_word(before: char) -> bool {
    before.is_whitespace() || matches!(before, '(' | '[' | '{' | '"' | '\'' | '<')
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

fn named(rest: &str) -> Option<FileReference> {
    let (path, quoted) = match rest.chars().next()? {
        quote if is_quote(quote) => {
            let inside = &rest[1..];
            (inside[..inside.find([quote, '\n'])?].to_owned(), true)
        }
        _ => (bare(rest).0, false),
    };
    (!path.trim().is_empty()).then_some(FileReference { path, quoted })
}

/// A name without quotes, and its length in bytes.
fn bare(text: &str) -> (String, usize) {
    let mut name = String::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => name.extend(rest.next().map(|(_, escaped)| escaped)),
            c if c.is_whitespace() => return (name, at),
            c => name.push(c),
        }
    }
    (name, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (text, expected) in [
            ("look at @a.csv and @~/b.png", &["a.csv", "~/b.png"][..]),
            ("@a.csv @a.csv", &["a.csv"]),
            (r"@two\ words.txt, please", &["two words.txt,"]),
            (r#"@"two words.txt", please"#, &["two words.txt"]),
            ("(@a.csv)", &["a.csv)"]),
            ("me@example.com, @", &[]),
            ("@\n@ x @\"\"", &[]),
            ("@property", &["property"]),
            ("@\"open", &[]),
        ] {
            let found: Vec<String> = file_references(text)
                .into_iter()
                .map(|it| it.path)
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_name_at_the_cursor_is_found() {
        for (line, expected) in [
            ("see @", Some((5, None))),
            ("see @da", Some((5, None))),
            (r"see @two\ w", Some((5, None))),
            ("see @da ", None),
            ("see @\"two w", Some((6, Some('"')))),
            ("see @\"two w\" a", None),
            ("me@da", None),
        ] {
            assert_eq!(file_reference_at_end(line), expected, "{line}");
        }
    }
}
