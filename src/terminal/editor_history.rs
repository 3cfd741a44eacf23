//! The editor's history: reedline's `History` over the record's tail in memory, and older entries from the record.
//!
//! An item's id is its index in the tail plus one; older entries have the ids 0, -1, … and are looked up for the
//! current query only. No text occurs twice. Nothing here writes to the record: the session does, when an input
//! begins.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use reedline::{
    CommandLineSearch, History, HistoryItem, HistoryItemId, HistorySessionId, ReedlineError,
    ReedlineErrorVariants, Result, SearchDirection, SearchQuery,
};

use crate::input::{Mode, shell_command_of};
use crate::record::{Recall, RecallSearch};
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::escape::editable;

pub(super) struct EditorHistory {
    recall: Recall,
    /// For the mode: shell mode shows a command without its `!`.
    snapshot: SharedSnapshot,
    /// The first query waits for the record to be loaded.
    looked: Once,
    back: RefCell<Option<OlderEntries>>,
}

/// The query, without ids and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HistoryFilter {
    All,
    Start(String),
    Part(String),
    Whole(String),
}

impl HistoryFilter {
    fn from_query(query: &SearchQuery) -> Self {
        match &query.filter.command_line {
            Some(CommandLineSearch::Prefix(start)) => HistoryFilter::Start(start.clone()),
            Some(CommandLineSearch::Substring(part)) => HistoryFilter::Part(part.clone()),
            Some(CommandLineSearch::Exact(whole)) => HistoryFilter::Whole(whole.clone()),
            None => HistoryFilter::All,
        }
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            HistoryFilter::All => true,
            HistoryFilter::Start(start) => {
                let command = || shell_command_of(text).is_some_and(|text| text.starts_with(start));
                text.starts_with(start) || command()
            }
            HistoryFilter::Part(part) => text.contains(part),
            HistoryFilter::Whole(whole) => text == whole,
        }
    }

    /// Returns the text that every match contains.
    fn text(&self) -> &str {
        match self {
            HistoryFilter::All => "",
            HistoryFilter::Start(text) | HistoryFilter::Part(text) | HistoryFilter::Whole(text) => {
                text
            }
        }
    }
}

/// Matches older than the tail that have been looked up so far.
struct OlderEntries {
    wanted: HistoryFilter,
    further: Option<RecallSearch>,
    /// Newest first.
    found: Vec<String>,
    /// Texts of the tail and of `found`.
    seen: HashSet<Arc<str>>,
}

impl OlderEntries {
    fn new(recall: &Recall, wanted: &HistoryFilter) -> Self {
        let tail = recall.newest_first().into_iter();
        OlderEntries {
            wanted: wanted.clone(),
            further: recall.search(wanted.text()),
            found: Vec::new(),
            seen: tail.map(|typed| typed.text).collect(),
        }
    }

    /// Returns the match at this index; looks it up if necessary, until `until` at most.
    fn at(&mut self, place: usize, until: Instant) -> Option<&String> {
        while self.found.len() <= place && Instant::now() < until {
            let wanted = &self.wanted;
            match self.further.as_mut()?.next_batch(|text| wanted.fits(text)) {
                Some(more) => {
                    let new = more.into_iter().map(|typed| typed.text);
                    let new = new.filter(|text| self.seen.insert(Arc::clone(text)));
                    self.found
                        .extend(new.map(|text| editable(&text).into_owned()));
                }
                None => self.further = None,
            }
        }
        self.found.get(place)
    }
}

/// Longest wait of the first query for the record: a few ms usually, far longer on a busy machine. A user who
/// presses Up expects the entries there are.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest wait of a key for older entries; the next key continues the search.
const LOOK: Duration = Duration::from_millis(150);

impl EditorHistory {
    pub(super) fn new(recall: Recall, snapshot: SharedSnapshot) -> Self {
        EditorHistory {
            recall,
            snapshot,
            looked: Once::new(),
            back: RefCell::default(),
        }
    }

    /// Returns at most `most` matches in the order of the query; includes older entries only where there is a
    /// bound.
    fn matches(&self, query: &SearchQuery, most: Option<usize>) -> Vec<(i64, String)> {
        self.looked.call_once(|| self.recall.wait_loaded(PATIENCE));
        let backward = query.direction == SearchDirection::Backward;
        let count = i64::try_from(self.recall.len()).unwrap_or(i64::MAX - 1);
        let (oldest, newest) = if backward {
            (query.end_id, query.start_id)
        } else {
            (query.start_id, query.end_id)
        };
        // Both ends are exclusive.
        let first = oldest.map(|id| id.0.saturating_add(1));
        let last = newest.map_or(count, |id| id.0.saturating_sub(1)).min(count);
        let wanted = HistoryFilter::from_query(query);
        let from = first.unwrap_or(1).max(1);
        let steps = (last - from + 1).max(0);
        let tail = (0..steps)
            .map(|step| if backward { last - step } else { from + step })
            .filter_map(|id| Some((id, self.text(HistoryItemId(id))?)))
            .filter(|(_, text)| wanted.fits(text));
        let Some(most) = most else {
            return tail.collect();
        };
        let mut found = Vec::new();
        if backward {
            found.extend(tail.take(most));
            let mut id = last.min(0);
            while found.len() < most && first.is_none_or(|first| id >= first) {
                let Some(text) = self.further_back(id, &wanted) else {
                    break;
                };
                let text = self.shown(text);
                found.push((id, text));
                id -= 1;
            }
        } else {
            let back = (first.unwrap_or(1)..=last.min(0))
                .map_while(|id| Some((id, self.shown(self.further_back(id, &wanted)?))));
            found.extend(back.chain(tail).take(most));
        }
        found
    }

    /// Returns the match with this id (0 or below).
    fn further_back(&self, id: i64, wanted: &HistoryFilter) -> Option<String> {
        let mut back = self.back.borrow_mut();
        let same = |back: &&mut OlderEntries| back.wanted == *wanted;
        let place = usize::try_from(id.checked_neg()?).ok()?;
        let until = Instant::now() + LOOK;
        match back.as_mut().filter(same) {
            Some(back) => back.at(place, until).cloned(),
            None => back
                .insert(OlderEntries::new(&self.recall, wanted))
                .at(place, until)
                .cloned(),
        }
    }

    fn text(&self, id: HistoryItemId) -> Option<String> {
        self.recall
            .get(usize::try_from(id.0.checked_sub(1)?).ok()?)
            .map(|text| self.shown(editable(&text).into_owned()))
    }

    fn shown(&self, text: String) -> String {
        match lock_snapshot(&self.snapshot).mode {
            Mode::Shell => shell_command_of(&text).map_or(text.clone(), str::to_owned),
            Mode::Cells | Mode::Prompts => text,
        }
    }
}

impl History for EditorHistory {
    fn save(&mut self, mut item: HistoryItem) -> Result<HistoryItem> {
        // The session adds the text to the record, and so to the tail, when it begins the input.
        item.id = i64::try_from(self.recall.len()).ok().map(HistoryItemId);
        Ok(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        let back = || {
            self.back
                .borrow()
                .as_ref()
                .and_then(|back| back.found.get(usize::try_from(-id.0).ok()?).cloned())
        };
        let text = self
            .text(id)
            .or_else(|| back().map(|text| self.shown(text)))
            .ok_or_else(|| unsupported("loading an id that is not there"))?;
        Ok(item(id.0, text))
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        Ok(i64::try_from(self.matches(&query, None).len()).unwrap_or(i64::MAX - 1))
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        let limit = query.limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(self
            .matches(&query, limit)
            .into_iter()
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
    use crate::terminal::snapshot::Snapshot;
    use reedline::SearchFilter;

    fn history(lines: &[&str]) -> EditorHistory {
        let recall = Recall::default();
        lines.iter().for_each(|line| recall.push(line));
        EditorHistory::new(recall, Snapshot::new(Mode::Cells))
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
    fn a_command_stands_in_shell_mode_as_it_was_typed_there() {
        let history = history(&["x = 1", "!ls -l", "%%bash\ncd /\nls"]);
        let start = || Some(CommandLineSearch::Prefix("!l".into()));
        assert_eq!(
            backward(&history, None, start()),
            Some((2, "!ls -l".into()))
        );
        lock_snapshot(&history.snapshot).mode = Mode::Shell;
        assert_eq!(backward(&history, None, None), Some((3, "cd /\nls".into())));
        let start = || Some(CommandLineSearch::Prefix("ls".into()));
        assert_eq!(backward(&history, None, start()), Some((2, "ls -l".into())));
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
