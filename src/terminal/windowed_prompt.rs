//! The prompt in front of the visible rows: the label, the continuation label, or nothing when the first row is hidden.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};

use nu_ansi_term::Color;
use reedline::{Prompt, PromptEditMode, PromptHistorySearch};

use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::prompt::Label;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::terminal::window::RowPrefix;

/// The prefix of the next paint. Set by the highlighter, which reedline calls first, and read once.
#[derive(Debug, Default)]
pub(super) struct NextPrefix(AtomicU8);

impl NextPrefix {
    pub(super) fn set(&self, front: RowPrefix) {
        self.0.store(front as u8, Ordering::Relaxed);
    }

    /// A paint without a highlighter call (the history search) begins with the label.
    fn take(&self) -> RowPrefix {
        match self.0.swap(RowPrefix::Label as u8, Ordering::Relaxed) {
            front if front == RowPrefix::Continuation as u8 => RowPrefix::Continuation,
            front if front == RowPrefix::Nothing as u8 => RowPrefix::Nothing,
            _ => RowPrefix::Label,
        }
    }
}

pub(super) struct WindowedPrompt<'a> {
    /// The label of the whole text.
    pub(super) label: &'a Label,
    /// The prefix of the first visible row.
    pub(super) front: &'a NextPrefix,
    /// Notified of reedline's next write.
    pub(super) paint_capture: &'a PaintCapture,
    pub(super) snapshot: &'a SharedSnapshot,
}

/// Returns the rows that the editor goes up before it prints lines above a text, by its own count, right or wrong.
/// `right` is the length of the right prompt in bytes.
fn rows_above(text: &str, right: usize, columns: u16) -> u16 {
    let rows = text.lines().enumerate().map(|(at, line)| {
        let length = match at {
            0 => line.len() + right + 3,
            _ => line.len(),
        };
        // reedline truncates the length to `u16`, too.
        (length as u16) / columns.max(1) + 1
    });
    rows.fold(0, u16::saturating_add).saturating_sub(1)
}

impl Prompt for WindowedPrompt<'_> {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        match self.front.take() {
            RowPrefix::Label => self.label.render_prompt_left(),
            RowPrefix::Continuation => self.label.render_prompt_multiline_indicator(),
            RowPrefix::Nothing => Cow::Borrowed(""),
        }
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        let right = self.label.render_prompt_right();
        // reedline's first call when it prints lines above.
        let snapshot = lock_snapshot(self.snapshot);
        self.paint_capture
            .other(|columns| rows_above(&snapshot.text, right.len(), columns));
        right
    }

    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        // reedline's last call of a paint before it writes.
        self.paint_capture.catch();
        self.label.render_prompt_indicator(mode)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        self.label.render_prompt_multiline_indicator()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        self.label.render_prompt_history_search_indicator(search)
    }

    fn get_prompt_color(&self) -> Color {
        self.label.get_prompt_color()
    }

    fn get_prompt_multiline_color(&self) -> Color {
        self.label.get_prompt_multiline_color()
    }

    fn get_indicator_color(&self) -> Color {
        self.label.get_indicator_color()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_the_editor_counts_them() {
        for (text, right, columns, rows) in [
            ("", 0, 80, 0),
            ("one", 0, 80, 0),
            ("one\ntwo\n", 0, 80, 1),
            ("one\n\nthree", 0, 80, 2),
            ("1234567", 0, 10, 1),
            ("123456", 1, 10, 1),
            ("éé", 0, 7, 1),
            ("one\n1234567890", 0, 10, 2),
            ("one\ntwo", 0, 0, 10),
        ] {
            assert_eq!(rows_above(text, right, columns), rows, "{text:?}");
        }
    }
}
