//! The editor's history: reedline's trait over the record's tail in memory.
//!
//! An item's id is its place in the tail plus one. No text is in the tail twice, so none is offered again. Nothing here
//! writes to the record: the session does that when an input begins.

use std::sync::Once;
use std::time::Duration;

use reedline::{
    CommandLineSearch, History, HistoryItem, HistoryItemId, HistorySessionId, ReedlineError,
    ReedlineErrorVariants, Result, SearchDirection, SearchQuery,
};

use crate::history::Recall;
use crate::terminal::typing::editable;

/// Inputs of this and earlier sessions, oldest first.
pub(super) struct EditorHistory {
    recall: Recall,
    /// The first look waits for the record, once.
    looked: Once,
}

/// How long the first look into the history waits for the record to be read: it takes a few ms, and on a machine that is
/// busy with other things far longer. Whoever presses Up wants what is there.
const PATIENCE: Duration = Duration::from_secs(2);

impl EditorHistory {
    pub(super) fn new(recall: Recall) -> Self {
        EditorHistory {
            recall,
            looked: Once::new(),
        }
    }

    fn matches<'a>(&'a self, query: &'a SearchQuery) -> impl Iterator<Item = (i64, String)> + 'a {
        self.looked.call_once(|| self.recall.wait_loaded(PATIENCE));
        let backward = query.direction == SearchDirection::Backward;
        let count = i64::try_from(self.recall.len()).unwrap_or(i64::MAX - 1);
        let (oldest, newest) = if backward {
            (query.end_id, query.start_id)
        } else {
            (query.start_id, query.end_id)
        };
        // Both ends are exclusive.
        let first = oldest.map_or(1, |id| id.0.saturating_add(1)).max(1);
        let last = newest.map_or(count, |id| id.0.saturating_sub(1)).min(count);
        let steps = (last - first + 1).max(0);
        (0..steps)
            .map(move |step| if backward { last - step } else { first + step })
            .filter_map(move |id| {
                let text = self.text(HistoryItemId(id))?;
                let fits = match &query.filter.command_line {
                    Some(CommandLineSearch::Prefix(start)) => text.starts_with(start),
                    Some(CommandLineSearch::Substring(part)) => text.contains(part),
                    Some(CommandLineSearch::Exact(whole)) => text == *whole,
                    None => true,
                };
                fits.then_some((id, text))
            })
    }

    fn text(&self, id: HistoryItemId) -> Option<String> {
        self.recall
            .get(usize::try_from(id.0.checked_sub(1)?).ok()?)
            .map(|text| editable(&text).into_owned())
    }
}

impl History for EditorHistory {
    fn save(&mut self, mut item: HistoryItem) -> Result<HistoryItem> {
        // The session puts the text into the record, and so into the tail, when it begins to work on it.
        item.id = i64::try_from(self.recall.len()).ok().map(HistoryItemId);
        Ok(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        let text = self
            .text(id)
            .ok_or_else(|| unsupported("loading an id that is not there"))?;
        Ok(item(id.0, text))
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        Ok(i64::try_from(self.matches(&query).count()).unwrap_or(i64::MAX - 1))
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        let limit = query
            .limit
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(usize::MAX);
        Ok(self
            .matches(&query)
            .take(limit)
            .map(|(id, text)| item(id, text))
            .collect())
    }

    fn update(&mut self, _: HistoryItemId, _: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        Err(unsupported("clearing the record"))
    }

    fn delete(&mut self, _: HistoryItemId) -> Result<()> {
        Err(unsupported("deleting from the record"))
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn session(&self) -> Option<HistorySessionId> {
        None
    }
}

fn item(id: i64, text: String) -> HistoryItem {
    let mut item = HistoryItem::from_command_line(text);
    item.id = Some(HistoryItemId(id));
    item
}

fn unsupported(feature: &'static str) -> ReedlineError {
    ReedlineError(ReedlineErrorVariants::HistoryFeatureUnsupported {
        history: "ipycodex",
        feature,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reedline::SearchFilter;

    fn history(lines: &[&str]) -> EditorHistory {
        let recall = Recall::default();
        lines.iter().for_each(|line| recall.push(line));
        EditorHistory::new(recall)
    }

    fn backward(
        history: &EditorHistory,
        from: Option<i64>,
        search: Option<CommandLineSearch>,
    ) -> Option<(i64, String)> {
        let mut filter = SearchFilter::anything(None);
        filter.command_line = search;
        let query = SearchQuery {
            start_id: from.map(HistoryItemId),
            ..SearchQuery::last_with_search(filter)
        };
        let found = history.search(query).unwrap().pop()?;
        Some((found.id.unwrap().0, found.command_line))
    }

    #[test]
    fn up_walks_back_and_skips_what_is_shown() {
        let history = history(&["a", "b", "c", "b"]);
        assert_eq!(backward(&history, None, None), Some((3, "b".into())));
        assert_eq!(backward(&history, Some(3), None), Some((2, "c".into())));
        assert_eq!(backward(&history, Some(2), None), Some((1, "a".into())));
        assert_eq!(backward(&history, Some(1), None), None);
        let shown = Some(CommandLineSearch::Prefix("b".into()));
        assert_eq!(backward(&history, Some(3), shown), None);
    }

    #[test]
    fn up_with_text_searches_by_prefix_and_ctrl_r_anywhere() {
        let history = history(&["import os", "x = 1", "import re"]);
        let prefix = || Some(CommandLineSearch::Prefix("import".into()));
        assert_eq!(
            backward(&history, None, prefix()),
            Some((3, "import re".into()))
        );
        assert_eq!(
            backward(&history, Some(3), prefix()),
            Some((1, "import os".into()))
        );
        let part = Some(CommandLineSearch::Substring("= 1".into()));
        assert_eq!(backward(&history, None, part), Some((2, "x = 1".into())));
    }
}
