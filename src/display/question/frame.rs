//! What a question shows below it, and what becomes of a key in it.

use crate::session::Reply;
use crate::text::Line;

/// What stands below a question while it is open.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::display) struct QuestionFrame {
    /// Top to bottom, none wider than asked for.
    pub(in crate::display) rows: Vec<Line>,
    /// How many columns before the end of the last row the cursor stands.
    pub(in crate::display) back: usize,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FrameStep {
    /// Something else is shown.
    Changed,
    /// A field was answered, the next one is up; this line stays.
    Next(String),
    /// The last field was answered; this line stays.
    Filled(String, Reply),
    /// Answered.
    Answered(Reply),
}
