//! The known word that a mistyped one resembles.
//!
//! A letter that is missing, added, exchanged or swapped with its neighbour counts as one error; up to a third of
//! the word may be wrong. Case does not count.

/// Returns the word of `known` that is most like `typed`, the first of several; `None` when none is like it.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let allowed = match typed.len() {
        0..=2 => return None,
        3..=5 => 1,
        6..=32 => typed.len() / 3,
        _ => return None,
    };
    known
        .into_iter()
        .map(|word| (distance(&typed, &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Returns `` (did you mean `word`?) `` with a blank before it; an empty text when no known word is like `typed`.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |word| format!(" (did you mean `{word}`?)"))
}

/// Number of letters to change; a swap of neighbours is one change.
fn distance(typed: &[char], word: &str) -> usize {
    let word: Vec<char> = word.chars().collect();
    // Three rows of the table of distances between prefixes of both words.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=word.len()).collect();
    for (i, a) in typed.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in word.iter().enumerate() {
            let exchanged = last[j] + usize::from(a != b);
            let mut least = exchanged.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == word[j - 1] && typed[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[word.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_words_are_recognised_and_others_are_not() {
        let known = ["sessions", "search", "skills", "ask", "run", "think", "h"];
        for (typed, meant) in [
            ("sesions", Some("sessions")),
            ("Sessoins", Some("sessions")),
            ("serach", Some("search")),
            ("skill", Some("skills")),
            ("thnik", Some("think")),
            ("aks", Some("ask")),
            ("runn", Some("run")),
            ("notebook", None),
            ("h", None),
            ("xy", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"s".repeat(100_000), known), None);
    }
}
