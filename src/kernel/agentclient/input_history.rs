//! The inputs of this kernel, for clients that ask for earlier ones.
//!
//! Pure. There is one session, number 1; a request for 0, the protocol's number of the current one, means the same.

use serde_json::{Value, json};

use crate::jupyter::IncomingMessage;

/// Number of the only session.
const SESSION: i64 = 1;

#[derive(Debug, Default)]
pub(super) struct InputHistory(Vec<(u32, String)>);

impl InputHistory {
    pub(super) fn add(&mut self, line: u32, text: &str) {
        self.0.push((line, text.to_owned()));
    }

    /// Content of `history_reply`.
    pub(super) fn history_reply(&self, message: &IncomingMessage) -> Value {
        let number = |name: &str| message.content.get(name).and_then(Value::as_i64);
        let flag = |name: &str| message.content.get(name).and_then(Value::as_bool) == Some(true);
        let most = number("n").map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0));
        let mut found: Vec<&(u32, String)> = match message.text("hist_access_type") {
            "range" => {
                let here = matches!(number("session").unwrap_or(0), 0 | SESSION);
                let (start, stop) = (number("start").unwrap_or(1), number("stop"));
                let fits = |line: i64| line >= start && stop.is_none_or(|stop| line < stop);
                self.0
                    .iter()
                    .filter(|(line, _)| here && fits(i64::from(*line)))
                    .collect()
            }
            "search" => {
                let pattern = match message.text("pattern") {
                    "" => "*",
                    pattern => pattern,
                };
                self.0
                    .iter()
                    .filter(|(_, text)| like(pattern, text))
                    .collect()
            }
            _ => self.0.iter().collect(),
        };
        if flag("unique") {
            let mut seen = std::collections::HashSet::new();
            let mut last: Vec<_> = found
                .into_iter()
                .rev()
                .filter(|(_, text)| seen.insert(text))
                .collect();
            last.reverse();
            found = last;
        }
        let limited = message.text("hist_access_type") != "range";
        let from = if limited {
            found.len().saturating_sub(most)
        } else {
            0
        };
        let output = flag("output");
        // Outputs of earlier inputs are not kept.
        let told = found[from..].iter().map(|(line, text)| match output {
            true => json!([SESSION, line, [text, null]]),
            false => json!([SESSION, line, text]),
        });
        json!({"status": "ok", "history": told.collect::<Vec<_>>()})
    }
}

/// True if the text matches a pattern with `*` and `?`.
fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut back) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match back {
                Some((after, from)) => {
                    back = Some((after, from + 1));
                    (p, t) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("h?llo*", "hello there", true),
            ("*the*e", "hello there", true),
            ("h?", "h", false),
            ("", "x", false),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(like(pattern, text), fits, "{pattern} {text}");
        }
    }
}
