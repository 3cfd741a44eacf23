//! Wakes the keyboard reader (`keyboard_reader`) out of its poll: to stop, or for an event of the signal thread.
//!
//! In: [`ReaderWaker::interrupt`], [`ReaderWaker::resumed`], from any thread. Out: [`WakeReason`], one byte each
//! through a pipe that is polled together with the keyboard. Invariant: a reason sent while no reader runs is lost;
//! the sender of a Ctrl-C then keeps it itself.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const INTERRUPT: u8 = b'i';
const RESUMED: u8 = b'r';

#[derive(Clone, Default)]
pub(super) struct ReaderWaker(Arc<Mutex<Option<PipeWriter>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// Ctrl-C came as a signal: it was typed before the terminal was ours again.
    Interrupt,
    /// Our process was stopped and continues.
    Resumed,
    /// The run is over: the reader stops.
    Over,
}

impl ReaderWaker {
    /// Opens the pipe.
    ///
    /// # Errors
    /// Fails when no pipe can be created.
    pub(super) fn listen(&self) -> std::io::Result<PipeReader> {
        let (listener, writer) = std::io::pipe()?;
        *self.writer() = Some(writer);
        Ok(listener)
    }

    pub(super) fn close(&self) {
        *self.writer() = None;
    }

    pub(super) fn has_reader(&self) -> bool {
        self.writer().is_some()
    }

    pub(super) fn interrupt(&self) -> bool {
        self.send(INTERRUPT)
    }

    /// Reports the end of a stop.
    pub(super) fn resumed(&self) {
        let _ = self.send(RESUMED);
    }

    fn send(&self, news: u8) -> bool {
        let mut writer = self.writer();
        writer
            .as_mut()
            .is_some_and(|writer| writer.write_all(&[news]).is_ok())
    }

    fn writer(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
    fn wake_reasons_come_in_order_and_only_to_a_reader() {
        let told = ReaderWaker::default();
        assert!(!told.interrupt());
        let mut listener = told.listen().unwrap();
        told.resumed();
        assert!(told.clone().interrupt());
        told.close();
        assert!(!told.interrupt());
        let heard = [(); 3].map(|()| next_reason(&mut listener));
        assert_eq!(
            heard,
            [WakeReason::Resumed, WakeReason::Interrupt, WakeReason::Over]
        );
    }
}
