//! Completions of the offline agent: the rest of a name in the context or the input, of a keyword, a closing
//! bracket.
//!
//! Pure; the same input has the same completion. Without a match the completion is empty.

use super::context::all;

/// Common words that the context may not contain yet.
const CODE: [&str; 14] = [
    "import",
    "return",
    "print",
    "while",
    "lambda",
    "class",
    "except",
    "finally",
    "continue",
    "range",
    "False",
    "enumerate",
    "assert",
    "yield",
];
const WORDS: [&str; 8] = [
    "explain",
    "summarise",
    "what is the last output about?",
    "why does the last cell fail?",
    "how can this be written shorter?",
    "show",
    "describe",
    "compare",
];

/// The shortest prefix that is completed, in characters.
const SHORTEST: usize = 2;

/// The text before the cursor, when `input` asks for a completion.
pub(super) fn prefix_of(input: &str) -> Option<&str> {
    let (_, draft) = input.rsplit_once("<current-input>\n<prefix>")?;
    // The prefix is verbatim and may contain the tag: the last occurrence ends it.
    let end = draft.rfind("</prefix>")?;
    Some(&draft[..end])
}

/// The text to insert after `prefix`.
pub(super) fn complete(input: &str, prefix: &str) -> String {
    let cells = all(input, "code");
    let prompt = prefix.starts_with('.');
    let text = prefix.strip_prefix('.').unwrap_or(prefix);
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_word(*c))
        .last()
        .map_or(text.len(), |(at, _)| at);
    let (before, begun) = text.split_at(start);
    if begun.chars().count() >= SHORTEST {
        let known = names(&cells).chain(names_of(before));
        let fixed: &[&str] = if prompt { &WORDS } else { &CODE };
        let fixed = fixed.iter().map(|word| (*word).to_owned());
        let found = known.chain(fixed).find_map(|name| {
            let rest = name.strip_prefix(begun)?;
            (!rest.is_empty()).then(|| rest.to_owned())
        });
        return found.unwrap_or_default();
    }
    let line = text.lines().next_back().unwrap_or_default();
    let newest = || names(&cells).next();
    match (line.trim_end().chars().next_back(), begun) {
        _ if text.ends_with('\n') => String::new(),
        (Some(':'), _) if !prompt => "\n    pass".to_owned(),
        (Some('('), "") if !prompt => newest().map(|name| name + ")").unwrap_or_default(),
        (Some('=' | '+' | '-' | '*' | '/' | ','), "") if !prompt => {
            let blank = if text.ends_with(' ') { "" } else { " " };
            newest()
                .map(|name| format!("{blank}{name}"))
                .unwrap_or_default()
        }
        (Some(_), "") if prompt && text.ends_with(' ') => {
            newest().map(|name| name + "?").unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Names in cells, newest cell first; in each cell the first names first, since assigned names stand there.
fn names(cells: &[String]) -> impl Iterator<Item = String> {
    let newest = cells.iter().rev();
    newest.flat_map(|cell| names_of(cell).collect::<Vec<_>>())
}

fn names_of(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<String> = text
        .split(|c| !is_word(c))
        .filter(|word| word.chars().count() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{complete, prefix_of};

    fn check(prefix: &str, expected: &str) {
        let input = format!(
            "<context><code>total = sum(values)</code><output>6</output><code>width = 3 &lt; total</code></context>\n\
             <current-input>\n<prefix>{prefix}</prefix>\n</current-input>\nGo on."
        );
        assert_eq!(prefix_of(&input), Some(prefix));
        assert_eq!(complete(&input, prefix), expected, "{prefix:?}");
    }

    #[test]
    fn names_of_the_context_are_gone_on_with() {
        for (prefix, expected) in [
            ("x = tot", "al"),
            ("wi", "dth"),
            ("alpha_one = 1\nalp", "ha_one"),
            ("impo", "rt"),
            ("print(", "width)"),
            ("x = ", "width"),
            ("for i in x:", "\n    pass"),
            (".what about wid", "th"),
            (".exp", "lain"),
            (".what is ", "width?"),
            ("zz", ""),
            ("1", ""),
            ("a\n", ""),
            ("a </prefix> tot", "al"),
        ] {
            check(prefix, expected);
        }
        assert_eq!(prefix_of("<user-request>x</user-request>"), None);
    }
}
