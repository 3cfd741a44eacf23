//! Defers SIGWINCH while a caller waits for an answer of the terminal.
//!
//! The library that reads the terminal loses pending input when a resize comes at the same moment: a query for the
//! cursor position then waits two seconds, and takes the late answer for that of the next query. So a resize is
//! remembered, an event counter is incremented, and a caller that waits for no answer delivers the signal.

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use signal_hook::consts::signal::SIGWINCH;

use super::signals::ScopedHandler;

/// Defers resizes while it lives; a deferred one is delivered on drop. There is one at a time.
pub struct DeferredResizes<'wake>(PhantomData<BorrowedFd<'wake>>);

static HANDLER: Mutex<Option<ScopedHandler>> = Mutex::new(None);
static PENDING: AtomicBool = AtomicBool::new(false);
static WAKE_FD: AtomicI32 = AtomicI32::new(-1);

#[allow(unsafe_code)]
extern "C" fn on_resize(_: libc::c_int) {
    PENDING.store(true, Ordering::SeqCst);
    let wake = WAKE_FD.load(Ordering::SeqCst);
    if wake >= 0 {
        // SAFETY: the descriptor is borrowed while the number is set. This call leaves `errno` alone.
        let wake = unsafe { BorrowedFd::borrow_raw(wake) };
        let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
    }
}

impl<'wake> DeferredResizes<'wake> {
    /// Starts deferring; each resize increments `wake`, an event counter (eventfd(2)).
    pub fn begin(wake: BorrowedFd<'wake>) -> Self {
        WAKE_FD.store(wake.as_raw_fd(), Ordering::SeqCst);
        // Without a handler resizes are not deferred.
        *handler() = ScopedHandler::begin(SIGWINCH, on_resize).ok();
        DeferredResizes(PhantomData)
    }
}

impl Drop for DeferredResizes<'_> {
    fn drop(&mut self) {
        *handler() = None;
        WAKE_FD.store(-1, Ordering::SeqCst);
        if PENDING.swap(false, Ordering::SeqCst) {
            raise();
        }
    }
}

/// Returns true while a resize is deferred.
pub fn resize_is_deferred() -> bool {
    PENDING.load(Ordering::SeqCst)
}

/// Delivers SIGWINCH now, also when no resize is deferred: the reader of the terminal then checks the size.
pub fn deliver_resize() {
    PENDING.store(false, Ordering::SeqCst);
    match &*handler() {
        Some(handler) => handler.without(raise),
        None => raise(),
    }
}

fn handler() -> MutexGuard<'static, Option<ScopedHandler>> {
    HANDLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Delivers the signal to this thread before it continues.
fn raise() {
    // Fails only for an unknown signal.
    let _ = signal_hook::low_level::raise(SIGWINCH);
}
