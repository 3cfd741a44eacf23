//! The highlighting thread: loads the painter, paints changed lines, requests a repaint for a paint that did not
//! wait.
//!
//! The thread starts with the first text and loads (some 8 ms); nothing waits for that. Later a paint hands over
//! the changes and waits 2 ms at most, enough for some ten lines; a paint that could not wait shows the colours
//! there are and is repeated. Invariant: the cache is not locked while painting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::cache::HighlightCache;
use super::line_painter::LinePainter;
use super::magics::Language;
use crate::markdown::{Theme, warm_up};

/// Longest wait of a paint for colours.
const PATIENCE: Duration = Duration::from_millis(2);

/// Longest wait of a text's last paint, which stays on the screen; the wait may include loading the colours.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// The cache shared by the editor's paints and the thread.
pub(super) struct HighlightWorker {
    cache: Mutex<HighlightCache>,
    changed: Condvar,
    painted: Condvar,
    started: AtomicBool,
    repaint: OnceLock<Arc<dyn Fn() + Send + Sync>>,
}

impl HighlightWorker {
    pub(super) fn new(theme: Theme) -> Arc<Self> {
        Arc::new(HighlightWorker {
            cache: Mutex::new(HighlightCache::new(theme)),
            changed: Condvar::new(),
            painted: Condvar::new(),
            started: AtomicBool::new(false),
            repaint: OnceLock::new(),
        })
    }

    /// Sets the repaint callback; later calls are ignored.
    pub(super) fn repaint_with(&self, repaint: Arc<dyn Fn() + Send + Sync>) {
        let _ = self.repaint.set(repaint);
    }

    pub(super) fn ask_repaint(&self) {
        if let Some(repaint) = self.repaint.get() {
            repaint();
        }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, HighlightCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the text and returns the cache, with the colours of its first `wanted` lines if they are ready in time;
    /// the `last` paint of a text waits longer.
    pub(super) fn update(
        self: &Arc<Self>,
        text: &str,
        wanted: usize,
        language: Option<String>,
        last: bool,
    ) -> MutexGuard<'_, HighlightCache> {
        let mut cache = self.cache();
        cache.set_language(language.map_or(Language::Python, Language::Named));
        cache.set_text(text);
        cache.wanted = wanted.min(cache.lines().len());
        if !self.started.swap(true, Ordering::Relaxed) {
            let colours = Arc::clone(self);
            // Without a thread the text stays plain.
            let _ = std::thread::Builder::new()
                .name("colours".into())
                .spawn(move || colours.work());
        }
        let missing = |cache: &HighlightCache| !cache.ready || cache.done < cache.wanted;
        if cache.has_edits() {
            self.changed.notify_one();
        }
        if missing(&cache) && (cache.ready || last) {
            let patience = if last { LAST_PATIENCE } else { PATIENCE };
            let waited = self
                .painted
                .wait_timeout_while(cache, patience, |cache| missing(cache));
            cache = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        cache.owed = missing(&cache);
        cache
    }

    fn work(&self) {
        warm_up();
        let theme = self.cache().theme;
        let Some(mut painter) = LinePainter::new(theme) else {
            return;
        };
        let mut cache = self.cache();
        cache.ready = true;
        loop {
            let task = painter.next(&mut cache);
            if cache.done >= cache.wanted {
                self.painted.notify_one();
                if std::mem::take(&mut cache.owed) {
                    self.ask_repaint();
                }
            }
            let Some(task) = task else {
                let waited = self.changed.wait_while(cache, |cache| !cache.has_edits());
                cache = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(cache);
            let spans = painter.paint(&task);
            cache = self.cache();
            if cache.has_edits() {
                // Lines have changed meanwhile: the index may mean another one.
                painter.take_back(&task);
            } else {
                cache.painted(task.at, spans);
            }
        }
    }
}
