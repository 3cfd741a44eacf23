//! Whether the user looks at the terminal while something runs; who does not is told on the desktop when it is over.
//!
//! In: what the terminal says between the keys (`CSI I`, `CSI O`; xterm's mode 1004, on while something runs), the
//! events of a run. Out: the keys alone; a notice for a run that was long, and for a question. Where a terminal does
//! not tell, it is taken for looked at. Invariant: what the terminal says is nobody's key; a program that has the
//! terminal to itself gets all of it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::display::Ended;
use crate::screen::{Screen, ScreenError};
use crate::session::{BeginEvent, CellEvent, QuestionEvent, RunKind, SessionEvent};

const GAINED: &[u8] = b"\x1b[I";
const LOST: &[u8] = b"\x1b[O";
/// What both begin with, and every key that has a name.
const BEGINNING: &[u8] = b"\x1b[";

/// Whether the terminal is looked at; clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Focus {
    away: Arc<AtomicBool>,
    /// The beginning of a word of the terminal, the rest of which is still to come.
    begun: Arc<Mutex<Vec<u8>>>,
}

impl Focus {
    /// What of these bytes was typed; the beginning of a word at their end comes with the next ones.
    pub(super) fn typed<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
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
                // The last word counts.
                self.away.store(lost > gained, Ordering::SeqCst);
            }
            typed.to_mut().drain(at..at + GAINED.len());
        }
        if !told && !typed.is_empty() {
            self.is_here();
        }
        typed
    }

    /// The user is there: something was typed.
    pub(super) fn is_here(&self) {
        self.away.store(false, Ordering::SeqCst);
    }

    fn is_away(&self) -> bool {
        self.away.load(Ordering::SeqCst)
    }
}

/// A run of which the user may see nothing.
pub(super) struct RunNotifier {
    focus: Focus,
    screen: Screen,
    /// How long a run takes that is told of; none is.
    after: Option<Duration>,
    began: Instant,
    /// Its number, and what it is.
    input: Option<(u32, RunKind)>,
}

impl RunNotifier {
    /// A run begins; one of so many seconds is told of, with 0 none.
    pub(super) fn new(focus: Focus, screen: Screen, seconds: u32) -> Self {
        RunNotifier {
            focus,
            screen,
            after: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            began: Instant::now(),
            input: None,
        }
    }

    /// Takes an event of it: whoever is asked, is told at once.
    pub(super) fn meet(&mut self, event: &SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Begin(BeginEvent::Input { line, kind }) => {
                self.input = Some((*line, *kind));
                Ok(())
            }
            SessionEvent::Question(QuestionEvent::Asked(_)) => self.tell("asks you something"),
            SessionEvent::Cell(CellEvent::InputRequested { .. }) => self.tell("waits for input"),
            _ => Ok(()),
        }
    }

    /// It is over.
    pub(super) fn end(&self, ended: Ended) -> Result<(), ScreenError> {
        if self.after.is_none_or(|after| self.began.elapsed() < after) {
            return Ok(());
        }
        let is_prompt = matches!(self.input, Some((_, RunKind::Prompt)));
        self.tell(match ended {
            Ended::Well if is_prompt => "is answered",
            Ended::Well => "is done",
            Ended::Failed => "failed",
            Ended::Interrupted => "was stopped",
        })
    }

    fn tell(&self, what: &str) -> Result<(), ScreenError> {
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
    fn what_the_terminal_says_is_no_key_and_the_last_word_counts() {
        for (bytes, typed, away) in [
            (&b"ab"[..], &b"ab"[..], false),
            (b"\x1b[O", b"", true),
            (b"a\x1b[Ob", b"ab", true),
            (b"\x1b[O\x1b[I", b"", false),
            (b"\x1b[I\x1b[A\x1b[O", b"\x1b[A", true),
        ] {
            let focus = Focus::default();
            assert_eq!(*focus.typed(bytes), *typed);
            assert_eq!(focus.is_away(), away, "{bytes:?}");
            focus.typed(b"x");
            assert!(!focus.is_away());
        }
        let focus = Focus::default();
        assert_eq!(*focus.typed(b"a\x1b["), *b"a");
        assert_eq!(*focus.typed(b"Ob"), *b"b");
        assert!(focus.is_away());
        assert_eq!(*focus.typed(b"\x1b["), *b"");
        assert_eq!(*focus.typed(b"A"), *b"\x1b[A");
    }
}
