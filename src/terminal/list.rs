//! A list from which the user chooses: the chosen entry, the entries in sight, keys, rows.
//!
//! In: keys, the number of entries, the rows there are for them. Out: indices and lines. Pure. Absent on purpose:
//! the entries and their order.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::Line;

/// Entries that Page Up and Page Down move over on a panel.
const PAGE: isize = 8;

/// The choice in a list, and the first entry in sight of one that scrolls.
#[derive(Default)]
pub(super) struct ListView {
    pub(super) chosen: usize,
    pub(super) first: usize,
}

impl ListView {
    /// Moves the choice among `len` entries, as far as the ends allow.
    pub(super) fn step(&mut self, by: isize, len: usize) {
        self.chosen = self
            .chosen
            .saturating_add_signed(by)
            .min(len.saturating_sub(1));
    }

    /// Moves the choice among `len` entries; beyond an end it goes on at the other.
    pub(super) fn wrap(&mut self, by: isize, len: usize) {
        self.chosen = (self.chosen as isize + by).rem_euclid(len.max(1) as isize) as usize;
    }

    /// Scrolls no further than it takes to have the chosen entry in sight; there are `rows` of them, at least one.
    pub(super) fn scroll(&mut self, rows: usize) {
        let first = self.first.min(self.chosen);
        self.first = first.max((self.chosen + 1).saturating_sub(rows));
    }

    /// Returns the entries in sight of `len`, where there may be less room than when the list was scrolled.
    pub(super) fn in_sight(&self, len: usize, rows: usize) -> Range<usize> {
        let first = self.first.max((self.chosen + 1).saturating_sub(rows));
        first..len.min(first + rows)
    }
}

/// Returns `rows` of `len` entries with the chosen one in the middle, as far as the ends allow.
pub(super) fn centred(chosen: usize, len: usize, rows: usize) -> Range<usize> {
    let first = chosen.saturating_sub(rows / 2);
    let first = first.min(len.saturating_sub(rows));
    first..len.min(first + rows)
}

/// Returns how far down a key moves the choice; `up` and `down` do so as control keys.
pub(super) fn steps_of(key: &KeyEvent, up: &str, down: &str) -> Option<isize> {
    match key.code {
        KeyCode::Up => Some(-1),
        KeyCode::Down => Some(1),
        KeyCode::PageUp => Some(-PAGE),
        KeyCode::PageDown => Some(PAGE),
        KeyCode::Char(_) if !key.modifiers.contains(KeyModifiers::CONTROL) => None,
        KeyCode::Char(c) if up.contains(c) => Some(-1),
        KeyCode::Char(c) if down.contains(c) => Some(1),
        _ => None,
    }
}

/// Returns true for keys that leave without a choice.
pub(super) fn is_cancel_key(key: &KeyEvent) -> bool {
    match key.code {
        KeyCode::Esc => true,
        KeyCode::Char('c' | 'g') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// Returns the row that `draw` makes behind its mark.
pub(super) fn row(chosen: bool, draw: impl FnOnce(&'static str) -> Line) -> Line {
    if chosen {
        draw("> ").reversed()
    } else {
        draw("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_moves_and_stays_in_sight() {
        let mut list = ListView::default();
        let mut moved = |by, wraps| {
            if wraps {
                list.wrap(by, 10);
            } else {
                list.step(by, 10);
            }
            list.scroll(4);
            (list.chosen, list.first, centred(list.chosen, 10, 4))
        };
        assert_eq!(moved(-1, false), (0, 0, 0..4));
        assert_eq!(moved(5, false), (5, 2, 3..7));
        assert_eq!(moved(-2, false), (3, 2, 1..5));
        assert_eq!(moved(-2, false), (1, 1, 0..4));
        assert_eq!(moved(99, false), (9, 6, 6..10));
        assert_eq!(moved(1, true), (0, 0, 0..4));
        assert_eq!(moved(-1, true), (9, 6, 6..10));
        assert_eq!(centred(0, 0, 4), 0..0);
    }
}
