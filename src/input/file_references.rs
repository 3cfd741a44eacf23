//! Files a prompt names to have them attached: `@data.csv`, `@"two words.txt"`.
//!
//! In: any text. Out: what stands behind each `@`, read as the name of a file. Pure and total: whether there is such a
//! file is not known here, and an `@` that begins something else (`@property`, an address) is told as well. A mark
//! counts at the start of a word; the name ends at a blank that has no backslash before it, or at the closing quote.

/// What stands behind an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// As a path, escapes taken off.
    pub path: String,
    /// It stands in quotes: nothing else can be meant.
    pub quoted: bool,
}

/// Finds them; each once, in the order of first mention.
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

/// Where the name behind the last `@` of `line` begins, and its quote, when the end of `line` is still part of it.
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

/// What may stand before the mark.
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

/// A name without quotes, and where it ends.
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
