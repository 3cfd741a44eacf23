//! Tracks whether the user looks at the terminal during a run, and notifies on the desktop when not.
//!
//! In: focus reports between the keys (`CSI I`, `CSI O`; xterm's mode 1004, on during a run), the events of a run.
//! Out: the keys without the reports; a notification for a long run and for a question. A terminal that reports
//! nothing counts as focused. Invariant: a report is never passed on as a key, except to a full-screen program,
//! which gets all of them.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::display::RunOutcome;
use crate::screen::{Screen, ScreenError};
use crate::session::{BeginEvent, CellEvent, QuestionEvent, RunKind, SessionEvent};

const GAINED: &[u8] = b"\x1b[I";
const LOST: &[u8] = b"\x1b[O";
/// The prefix of both reports, and of every named key.
const BEGINNING: &[u8] = b"\x1b[";

/// The terminal's focus; clones share it. Focused until the terminal reports otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Focus {
    away: Arc<AtomicBool>,
    /// A partial report whose rest has not been read.
    begun: Arc<Mutex<Vec<u8>>>,
}

impl Focus {
    /// Returns the typed bytes without the reports; a partial report at the end is returned with the next bytes.
    pub(super) fn filter_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let mut typed = match std::mem::take(&mut *begun) {
            before if before.is_empty() => Cow::Borrowed(bytes),
            before => Cow::Owned([&before, bytes].concat()),
        };
        if typed.ends_with(BEGINNING) {
            let at = typed.len() - BEGINNING.len();
            *begun = typed.to_mut().split_off(at);
        }
        let mut told = false;
        loop {
            let gained = memmem::rfind(&typed, GAINED);
            let lost = memmem::rfind(&typed, LOST);
            let Some(at) = gained.max(lost) else { break };
            if !std::mem::replace(&mut told, true) {
                // The last report counts.
                self.away.store(lost > gained, Ordering::SeqCst);
            }
            typed.to_mut().drain(at..at + GAINED.len());
        }
        if !told && !typed.is_empty() {
            self.is_here();
        }
        typed
    }

    /// Marks the terminal as focused: a key was typed.
    pub(super) fn is_here(&self) {
        self.away.store(false, Ordering::SeqCst);
    }

    fn is_away(&self) -> bool {
        self.away.load(Ordering::SeqCst)
    }
}

/// Notifies of a run that the user may not be looking at.
pub(super) struct RunNotifier {
    focus: Focus,
    screen: Screen,
    /// The shortest run to report; `None` reports no run.
    after: Option<Duration>,
    began: Instant,
    input: Option<(u32, RunKind)>,
}

impl RunNotifier {
    /// Starts a run. Runs of at least `seconds` are reported; 0 reports none.
    pub(super) fn new(focus: Focus, screen: Screen, seconds: u32) -> Self {
        RunNotifier {
            focus,
            screen,
            after: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            began: Instant::now(),
            input: None,
        }
    }

    /// Takes an event of the run; notifies of a question at once.
    pub(super) fn on_event(&mut self, event: &SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Begin(BeginEvent::Input { line, kind }) => {
                self.input = Some((*line, *kind));
                Ok(())
            }
            SessionEvent::Question(QuestionEvent::Asked(_)) => self.notify("asks you something"),
            SessionEvent::Cell(CellEvent::InputRequested { .. }) => self.notify("waits for input"),
            _ => Ok(()),
        }
    }

    /// Ends the run; notifies if it took long.
    pub(super) fn end(&self, ended: RunOutcome) -> Result<(), ScreenError> {
        if self.after.is_none_or(|after| self.began.elapsed() < after) {
            return Ok(());
        }
        let is_prompt = matches!(self.input, Some((_, RunKind::Prompt)));
        self.notify(match ended {
            RunOutcome::Succeeded if is_prompt => "is answered",
            RunOutcome::Succeeded => "is done",
            RunOutcome::Failed => "failed",
            RunOutcome::Interrupted => "was stopped",
        })
    }

    fn notify(&self, what: &str) -> Result<(), ScreenError> {
        match self.input {
            Some((line, _)) if self.after.is_some() && self.focus.is_away() => {
                self.screen.notify(&format!("In [{line}] {what}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn focus_reports_are_no_keys_and_the_last_one_counts() {
        for (bytes, typed, away) in [
            (&b"ab"[..], &b"ab"[..], false),
            (b"\x1b[O", b"", true),
            (b"a\x1b[Ob", b"ab", true),
            (b"\x1b[O\x1b[I", b"", false),
            (b"\x1b[I\x1b[A\x1b[O", b"\x1b[A", true),
        ] {
            let focus = Focus::default();
            assert_eq!(*focus.filter_bytes(bytes), *typed);
            assert_eq!(focus.is_away(), away, "{bytes:?}");
            focus.filter_bytes(b"x");
            assert!(!focus.is_away());
        }
        let focus = Focus::default();
        assert_eq!(*focus.filter_bytes(b"a\x1b["), *b"a");
        assert_eq!(*focus.filter_bytes(b"Ob"), *b"b");
        assert!(focus.is_away());
        assert_eq!(*focus.filter_bytes(b"\x1b["), *b"");
        assert_eq!(*focus.filter_bytes(b"A"), *b"\x1b[A");
    }
}
