//! Ctrl-R: reverse search over earlier inputs; shows the whole of the chosen one.
//!
//! In: the inputs in memory, newest first, and older ones from the record, looked up between keys. Out: the text
//! that replaces the buffer, or `None`: then the buffer is unchanged. reedline's own search does not show
//! the lines of a longer input.

mod draw;
mod state;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::Event;

use crate::record::{Recall, RecallSearch};
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::terminal::panel::Panel;
use crate::text::report::Report;
pub(super) use state::FoundInput;
use state::{ReverseSearch, SearchEffect};

/// Longest time that a key typed ahead waits for the match it applies to.
const AHEAD: Duration = Duration::from_secs(1);

/// Longest wait of the first look-up for the record.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets the user search. The argument returns events that were read ahead, the oldest first.
pub(super) type SearchHistory = Box<dyn Fn(Ahead<'_>) -> Result<Option<FoundInput>, Report>>;

type Ahead<'a> = &'a mut dyn FnMut() -> Option<Event>;

/// Returns a search over `recall` on this terminal.
pub(super) fn search_history(
    screen: &Screen,
    guard: Option<Arc<TerminalGuard>>,
    recall: &Recall,
) -> SearchHistory {
    let (screen, recall) = (screen.clone(), recall.clone());
    Box::new(move |ahead| run_search(&screen, guard.as_deref(), &recall, ahead))
}

fn run_search(
    screen: &Screen,
    guard: Option<&TerminalGuard>,
    recall: &Recall,
    ahead: Ahead<'_>,
) -> Result<Option<FoundInput>, Report> {
    recall.wait_loaded(PATIENCE);
    let mut back = OlderInputs {
        recall,
        further: recall.search(""),
        text: String::new(),
    };
    let mut search = ReverseSearch::new(recall.newest_first(), back.further.is_some());
    let panel = Panel::open(screen, guard)?;
    loop {
        let mut event = ahead();
        if event.is_none() {
            let size = panel.size();
            back.learn(&mut search, usize::from(size.rows));
            panel.show(&draw::frame(&search, size))?;
            event = panel.next_or(|| {
                let wants = search.wants_more();
                Ok(wants.then(|| back.step(&mut search)))
            })?;
        }
        // Typed before the match was found: the key applies to that match.
        if let Some(Event::Key(key)) = &event
            && !search.narrows(key)
        {
            let until = Instant::now() + AHEAD;
            while search.chosen().is_none() && search.wants_more() && Instant::now() < until {
                back.step(&mut search);
            }
        }
        match event {
            Some(Event::Key(key)) => match search.on_key(&key) {
                SearchEffect::Nothing => {}
                SearchEffect::Back => return Ok(None),
                SearchEffect::Take(taken) => return Ok(Some(taken)),
            },
            Some(Event::Paste(text)) => search.on_paste(&text),
            _ => {}
        }
    }
}

struct OlderInputs<'a> {
    recall: &'a Recall,
    further: Option<RecallSearch>,
    text: String,
}

impl OlderInputs<'_> {
    /// Searches the next part; returns true when there is a change to show.
    fn step(&mut self, search: &mut ReverseSearch) -> bool {
        if self.text != search.needle.text() {
            self.text = search.needle.text().to_owned();
            self.further = self.recall.search(&self.text);
        }
        let further = self.further.as_mut();
        let found = further.and_then(|further| further.next_batch(|text| search.fits(text)));
        search.add(found)
    }

    /// Looks up the facts of the inputs around the chosen one.
    fn learn(&mut self, search: &mut ReverseSearch, rows: usize) {
        let Some(further) = &mut self.further else {
            return;
        };
        let chosen = search.list.chosen;
        for (index, typed) in search.unknown(chosen.saturating_sub(rows)..chosen + rows) {
            search.learn(index, further.info(&typed));
        }
    }
}
