//! The thread that has the brush: loads it, paints what changes, asks for a repaint when a paint did not wait.
//!
//! It begins with the first text there is and loads (some 8 ms); nothing waits for that. From then on a paint gives it
//! what changed and waits a moment, in which a line or ten are painted; a paint that could not wait shows the colours
//! there are and is repeated. Invariant: nobody holds the sheet while painting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::cache::HighlightCache;
use super::line_painter::LinePainter;
use super::magics::Language;
use crate::markdown::{Theme, warm_up};

/// How long a paint waits for colours.
const PATIENCE: Duration = Duration::from_millis(2);

/// How long the last paint of a text waits, the loading of the colours included: it stays on the screen.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// A sheet shared by the editor's paints and the thread.
pub(super) struct HighlightWorker {
    sheet: Mutex<HighlightCache>,
    changed: Condvar,
    painted: Condvar,
    started: AtomicBool,
    repaint: OnceLock<Arc<dyn Fn() + Send + Sync>>,
}

impl HighlightWorker {
    /// Nothing to paint.
    pub(super) fn new(theme: Theme) -> Arc<Self> {
        Arc::new(HighlightWorker {
            sheet: Mutex::new(HighlightCache::new(theme)),
            changed: Condvar::new(),
            painted: Condvar::new(),
            started: AtomicBool::new(false),
            repaint: OnceLock::new(),
        })
    }

    /// How a repaint is asked for.
    pub(super) fn repaint_with(&self, repaint: Arc<dyn Fn() + Send + Sync>) {
        // The first one holds.
        let _ = self.repaint.set(repaint);
    }

    /// Asks for a repaint.
    pub(super) fn ask_repaint(&self) {
        if let Some(repaint) = self.repaint.get() {
            repaint();
        }
    }

    /// The sheet as it is.
    pub(super) fn sheet(&self) -> MutexGuard<'_, HighlightCache> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sheet of this text, with the colours of its first `wanted` lines if they can be had in a moment; the `last`
    /// paint of a text waits longer.
    pub(super) fn sheet_of(
        self: &Arc<Self>,
        text: &str,
        wanted: usize,
        language: Option<String>,
        last: bool,
    ) -> MutexGuard<'_, HighlightCache> {
        let mut sheet = self.sheet();
        sheet.set_language(language.map_or(Language::Python, Language::Named));
        sheet.set_text(text);
        sheet.wanted = wanted.min(sheet.lines().len());
        if !self.started.swap(true, Ordering::Relaxed) {
            let colours = Arc::clone(self);
            // Without a thread the text stays plain.
            let _ = std::thread::Builder::new()
                .name("colours".into())
                .spawn(move || colours.work());
        }
        let missing = |sheet: &HighlightCache| !sheet.ready || sheet.done < sheet.wanted;
        if sheet.has_edits() {
            self.changed.notify_one();
        }
        if missing(&sheet) && (sheet.ready || last) {
            let patience = if last { LAST_PATIENCE } else { PATIENCE };
            let waited = self
                .painted
                .wait_timeout_while(sheet, patience, |sheet| missing(sheet));
            sheet = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        sheet.owed = missing(&sheet);
        sheet
    }

    fn work(&self) {
        warm_up();
        let theme = self.sheet().theme;
        let Some(mut brush) = LinePainter::new(theme) else {
            return;
        };
        let mut sheet = self.sheet();
        sheet.ready = true;
        loop {
            let task = brush.next(&mut sheet);
            if sheet.done >= sheet.wanted {
                self.painted.notify_one();
                if std::mem::take(&mut sheet.owed) {
                    self.ask_repaint();
                }
            }
            let Some(task) = task else {
                let waited = self.changed.wait_while(sheet, |sheet| !sheet.has_edits());
                sheet = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(sheet);
            let spans = brush.paint(&task);
            sheet = self.sheet();
            if sheet.has_edits() {
                // Lines have changed meanwhile: the number may mean another one.
                brush.take_back(&task);
            } else {
                sheet.painted(task.at, spans);
            }
        }
    }
}
