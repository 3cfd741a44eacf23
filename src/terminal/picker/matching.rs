//! Fuzzy matching of sessions against the filter.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32String};

use crate::record::SessionRow;

/// Characters of a prompt that are matched: a whole one would match nearly every filter.
const LOOKED_AT: usize = 240;

/// Scores sessions by letters in their order, words in any order.
pub(super) struct Scorer {
    matcher: Matcher,
}

impl Scorer {
    pub(super) fn new() -> Self {
        Scorer {
            matcher: Matcher::new(Config::DEFAULT),
        }
    }

    /// Returns the scores of the `texts` that match, each with its index; for a blank filter all of them, with
    /// equal scores.
    pub(super) fn fitting(
        &mut self,
        filter: &str,
        texts: &[(i64, Utf32String)],
    ) -> Vec<(u32, usize)> {
        let pattern = Pattern::new(
            filter,
            CaseMatching::Smart,
            Normalization::Smart,
            AtomKind::Fuzzy,
        );
        let number = filter.trim().parse::<i64>().ok();
        let score = |(index, (id, text)): (usize, &(i64, Utf32String))| {
            let score = pattern.score(text.slice(..), &mut self.matcher)?;
            // A typed number selects that session.
            let score = if number == Some(*id) { u32::MAX } else { score };
            Some((score, index))
        };
        texts.iter().enumerate().filter_map(score).collect()
    }
}

/// Returns the text of a session that is matched.
pub(super) fn text_of(row: &SessionRow) -> Utf32String {
    let start: String = row.start.chars().take(16).collect();
    let cut = |text: &str| text.chars().take(LOOKED_AT).collect::<String>();
    let name = row.name.as_deref().unwrap_or_default();
    let mut text = format!("{} {start} {name} {}", row.id, cut(&row.last_prompt));
    if row.first_prompt != row.last_prompt {
        text.push(' ');
        text.push_str(&cut(&row.first_prompt));
    }
    if row.last_prompt.is_empty() {
        text.push_str(&cut(&row.last_input));
    }
    text.push(' ');
    text.push_str(&row.cwd);
    Utf32String::from(text)
}
