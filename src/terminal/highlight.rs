//! Paints the text being typed.
//!
//! Called by the editor on every paint, cursor moves included; keeps the [`Snapshot`] others decide from.

use reedline::{Highlighter, StyledText};

use crate::display::paint;
use crate::input::Mode;
use crate::terminal::snapshot::{Shared, look};

/// Paints the text and keeps the snapshot.
pub(super) struct Highlight {
    pub(super) snapshot: Shared,
    pub(super) colour: bool,
    /// Called when the text being typed becomes a prompt.
    pub(super) on_prompt: Box<dyn Fn() + Send>,
}

impl Highlighter for Highlight {
    fn highlight(&self, text: &str, cursor: usize) -> StyledText {
        let mut snapshot = look(&self.snapshot);
        if text.starts_with('.') && !snapshot.text.starts_with('.') {
            (self.on_prompt)();
        }
        if snapshot.text != text {
            snapshot.text = text.to_owned();
        }
        snapshot.cursor = cursor;
        snapshot.fresh = true;
        let prompts = snapshot.mode == Mode::Prompts;
        drop(snapshot);
        let mut styled = StyledText::new();
        if self.colour {
            for (range, style) in paint(text, prompts) {
                styled.push((style, text[range].to_owned()));
            }
        } else {
            styled.push((nu_ansi_term::Style::default(), text.to_owned()));
        }
        styled
    }
}
