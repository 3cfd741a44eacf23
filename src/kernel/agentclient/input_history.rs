//! The inputs of this kernel, for clients that ask for earlier ones.
//!
//! Pure. There is one session, number 1; a request for 0, the protocol's number of the current one, means the same.
//! Outputs are not kept.

use std::collections::HashSet;

use serde_json::Value;

use crate::jupyter::IncomingMessage;
use crate::kernel::channels::flag;
use crate::kernel::introspection::{history_reply, inputs_query};
use crate::record::{InputsQuery, NumberedInput};

/// Number of the only session.
const SESSION: i64 = 1;

#[derive(Debug, Default)]
pub(super) struct InputHistory(Vec<NumberedInput>);

impl InputHistory {
    pub(super) fn add(&mut self, line: u32, text: &str) {
        self.0.push(NumberedInput {
            session: SESSION,
            line: line.into(),
            text: text.to_owned(),
            output: None,
        });
    }

    /// Content of `history_reply`.
    pub(super) fn history_reply(&self, message: &IncomingMessage) -> Value {
        let query = inputs_query(message, usize::MAX);
        let (unique, mut seen) = (flag(message, "unique", false), HashSet::new());
        let fits = |input: &&NumberedInput| match &query {
            InputsQuery::Last(_) => true,
            InputsQuery::Like { pattern, .. } => like(pattern, &input.text),
            InputsQuery::Range {
                session,
                start,
                stop,
            } => {
                let is_before = stop.is_none_or(|stop| input.line < stop);
                matches!(*session, 0 | SESSION) && input.line >= *start && is_before
            }
        };
        let most = match &query {
            InputsQuery::Last(most) | InputsQuery::Like { most, .. } => *most,
            InputsQuery::Range { .. } => usize::MAX,
        };
        let newest = self.0.iter().rev().filter(fits);
        let newest = newest.filter(|input| !unique || seen.insert(&input.text));
        let mut found: Vec<NumberedInput> = newest.take(most).cloned().collect();
        found.reverse();
        history_reply(message, found)
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
