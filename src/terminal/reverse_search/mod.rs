//! Ctrl-R: an earlier input looked up by a part of it, the whole of it shown.
//!
//! In: the inputs in memory, in the order in which people look back. Out: the text that takes the place of what is
//! being typed, or nothing: then that stays as it was. The editor's own search shows no lines of a longer input.

mod draw;
mod state;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;

use crate::history::Recall;
use crate::report::Report;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::terminal::panel::Panel;
use crate::terminal::typing::editable;
use state::{Search, Wish};

/// How long the first look waits for the record to be read.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// All of it.
    pub(super) text: String,
    /// Where the cursor goes: bytes from its start.
    pub(super) cursor: usize,
}

/// Lets the user search. The function gives events that were read before it was their turn, the oldest first.
pub(super) type LookBack = Box<dyn Fn(Ahead<'_>) -> Result<Option<Taken>, Report>>;

type Ahead<'a> = &'a mut dyn FnMut() -> Option<Event>;

/// A search over `recall` on this terminal.
pub(super) fn looking(
    screen: &Screen,
    guard: Option<Arc<TerminalGuard>>,
    recall: &Recall,
) -> LookBack {
    let (screen, recall) = (screen.clone(), recall.clone());
    Box::new(move |ahead| look_back(&screen, guard.as_deref(), &recall, ahead))
}

fn look_back(
    screen: &Screen,
    guard: Option<&TerminalGuard>,
    recall: &Recall,
    ahead: Ahead<'_>,
) -> Result<Option<Taken>, Report> {
    recall.wait_loaded(PATIENCE);
    let inputs = (0..recall.len())
        .rev()
        .filter_map(|index| recall.get(index));
    let mut search = Search::new(inputs.map(|input| editable(&input).into()).collect());
    let panel = Panel::open(screen, guard)?;
    loop {
        let event = match ahead() {
            Some(event) => Some(event),
            None => {
                panel.show(&draw::frame(&search, panel.size()))?;
                panel.next(None)?
            }
        };
        let wish = match event {
            Some(Event::Key(key)) => search.on_key(&key),
            Some(Event::Paste(text)) => search.on_paste(&text),
            _ => Wish::Nothing,
        };
        match wish {
            Wish::Nothing => {}
            Wish::Back => return Ok(None),
            Wish::Take(taken) => return Ok(Some(taken)),
        }
    }
}
