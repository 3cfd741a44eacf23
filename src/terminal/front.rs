//! What stands in front of the text being typed: its label, or less when its first rows are not on the screen.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};

use nu_ansi_term::Color;
use reedline::{Prompt, PromptEditMode, PromptHistorySearch};

use crate::terminal::paints::Paints;
use crate::terminal::prompt::Label;
use crate::terminal::window::Front;

/// The front of the next paint. Written by the highlighter, which the editor asks first, and read once.
#[derive(Debug, Default)]
pub(super) struct NextFront(AtomicU8);

impl NextFront {
    /// The next paint begins so.
    pub(super) fn set(&self, front: Front) {
        self.0.store(front as u8, Ordering::Relaxed);
    }

    /// A paint that no highlighter was asked for (the search in the history) begins with the label.
    fn take(&self) -> Front {
        match self.0.swap(Front::Label as u8, Ordering::Relaxed) {
            front if front == Front::Continuation as u8 => Front::Continuation,
            front if front == Front::Nothing as u8 => Front::Nothing,
            _ => Front::Label,
        }
    }
}

/// A label in front of the rows that are shown.
pub(super) struct Fronted<'a> {
    /// The label of the whole text.
    pub(super) label: &'a Label,
    /// What is shown of it.
    pub(super) front: &'a NextFront,
    /// Told what the editor is about to write.
    pub(super) paints: &'a Paints,
}

impl Prompt for Fronted<'_> {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        match self.front.take() {
            Front::Label => self.label.render_prompt_left(),
            Front::Continuation => self.label.render_prompt_multiline_indicator(),
            Front::Nothing => Cow::Borrowed(""),
        }
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        // The first thing that is asked for by who prints lines above.
        self.paints.other();
        self.label.render_prompt_right()
    }

    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        // The last thing that a paint asks for before it is written.
        self.paints.catch();
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
