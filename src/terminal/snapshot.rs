//! A snapshot of the text being typed, shared by the painter, the keys and the code that prints above the input.
//!
//! The painter updates it at every paint. Keys that came in one read are parsed before any of them is painted, so
//! decisions use the snapshot only while it is `fresh`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::PromptViMode;

use crate::input::Mode;
use crate::terminal::cell_language::CellLanguage;

/// The input as of the last paint.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) text: String,
    /// Bytes from the start of the text.
    pub(super) cursor: usize,
    /// No key has come since the paint.
    pub(super) fresh: bool,
    pub(super) mode: Mode,
    /// Plan mode is on.
    pub(super) plan: bool,
    pub(super) cell_language: CellLanguage,
    /// vi's mode; `None` in emacs mode.
    pub(super) vi: Option<PromptViMode>,
    /// The next paint is that of a submitted text.
    pub(super) submitted: bool,
    /// Part of the text is not on the screen.
    pub(super) windowed: bool,
}

pub(super) type SharedSnapshot = Arc<Mutex<Snapshot>>;

pub(super) fn lock_snapshot(shared: &SharedSnapshot) -> MutexGuard<'_, Snapshot> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Snapshot {
    pub(super) fn new(mode: Mode) -> SharedSnapshot {
        Arc::new(Mutex::new(Snapshot {
            text: String::new(),
            cursor: 0,
            fresh: false,
            mode,
            plan: false,
            cell_language: CellLanguage::default(),
            vi: None,
            submitted: false,
            windowed: false,
        }))
    }

    /// Returns true when a message may be printed above the input: all of the input is on the screen, and its
    /// position is known (`placed`) or the cursor is in its last line.
    pub(super) fn takes_lines_above(&self, placed: bool) -> bool {
        let behind = || self.text.get(self.cursor..).unwrap_or_default();
        !self.windowed && (placed || !behind().contains('\n') && !self.text.ends_with('\n'))
    }
}
