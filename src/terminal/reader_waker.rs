//! What the reader of the keyboard is told while it waits for keys: to stop, or what the signal thread has heard.
//!
//! In: [`ReaderWaker::interrupt`], [`ReaderWaker::resumed`], from any thread. Out: [`WakeReason`], behind a descriptor that can be polled
//! together with the keyboard. Invariant: what is told while nobody reads the keyboard is gone; whoever tells of a
//! Ctrl-C keeps it then.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const INTERRUPT: u8 = b'i';
const RESUMED: u8 = b'r';

/// The side that tells.
#[derive(Clone, Default)]
pub(super) struct ReaderWaker(Arc<Mutex<Option<PipeWriter>>>);

/// What was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// Ctrl-C came as a signal: it was typed before the terminal was ours again.
    Interrupt,
    /// Somebody had stopped us, and we go on.
    Resumed,
    /// Nobody is typed for any more.
    Over,
}

impl ReaderWaker {
    /// Begins to listen.
    ///
    /// # Errors
    /// When no pipe can be had.
    pub(super) fn listen(&self) -> std::io::Result<PipeReader> {
        let (listener, teller) = std::io::pipe()?;
        *self.teller() = Some(teller);
        Ok(listener)
    }

    /// The listener hears [`WakeReason::Over`].
    pub(super) fn over(&self) {
        *self.teller() = None;
    }

    /// True while somebody listens.
    pub(super) fn is_heard(&self) -> bool {
        self.teller().is_some()
    }

    /// Tells of a Ctrl-C; false when nobody listens.
    pub(super) fn interrupt(&self) -> bool {
        self.tell(INTERRUPT)
    }

    /// Tells of a stop that is over.
    pub(super) fn resumed(&self) {
        let _ = self.tell(RESUMED);
    }

    fn tell(&self, news: u8) -> bool {
        let mut teller = self.teller();
        teller
            .as_mut()
            .is_some_and(|teller| teller.write_all(&[news]).is_ok())
    }

    fn teller(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next news; waits for it.
pub(super) fn next_reason(listener: &mut PipeReader) -> WakeReason {
    let mut news = [0];
    match listener.read_exact(&mut news) {
        Ok(()) if news == [INTERRUPT] => WakeReason::Interrupt,
        Ok(()) => WakeReason::Resumed,
        Err(_) => WakeReason::Over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_come_in_order_and_only_to_who_listens() {
        let told = ReaderWaker::default();
        assert!(!told.interrupt());
        let mut listener = told.listen().unwrap();
        told.resumed();
        assert!(told.clone().interrupt());
        told.over();
        assert!(!told.interrupt());
        let heard = [(); 3].map(|()| next_reason(&mut listener));
        assert_eq!(
            heard,
            [WakeReason::Resumed, WakeReason::Interrupt, WakeReason::Over]
        );
    }
}
