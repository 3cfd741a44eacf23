//! Changes of the window's size, kept back while somebody waits for an answer of the terminal.
//!
//! The library that reads the terminal forgets what can be read when a change of size comes at the same moment. Whoever
//! asks the terminal where its cursor is waits two seconds for the answer then, and takes it for that of the next
//! question. So a change is kept, a bell rung, and whoever waits for nothing lets it come.

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use signal_hook::consts::signal::SIGWINCH;

use super::caught::Caught;

/// While it lives, changes are kept; what was kept comes when it is dropped. There is one at a time.
pub struct KeptResizes<'bell>(PhantomData<BorrowedFd<'bell>>);

static CAUGHT: Mutex<Option<Caught>> = Mutex::new(None);
static CHANGED: AtomicBool = AtomicBool::new(false);
static BELL: AtomicI32 = AtomicI32::new(-1);

#[allow(unsafe_code)]
extern "C" fn keep(_: libc::c_int) {
    CHANGED.store(true, Ordering::SeqCst);
    let bell = BELL.load(Ordering::SeqCst);
    if bell >= 0 {
        // SAFETY: it is borrowed while it stands there. This call leaves `errno` alone.
        let bell = unsafe { BorrowedFd::borrow_raw(bell) };
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}

impl<'bell> KeptResizes<'bell> {
    /// Begins to keep changes; each rings the bell, an event counter (eventfd(2)).
    pub fn begin(bell: BorrowedFd<'bell>) -> Self {
        BELL.store(bell.as_raw_fd(), Ordering::SeqCst);
        // Without it changes come when they come.
        *caught() = Caught::begin(SIGWINCH, keep).ok();
        KeptResizes(PhantomData)
    }
}

impl Drop for KeptResizes<'_> {
    fn drop(&mut self) {
        *caught() = None;
        BELL.store(-1, Ordering::SeqCst);
        if CHANGED.swap(false, Ordering::SeqCst) {
            raise();
        }
    }
}

/// True when a change is kept.
pub fn resize_is_kept() -> bool {
    CHANGED.load(Ordering::SeqCst)
}

/// Lets the change come, or one that is none: whoever reads the terminal takes a look.
pub fn let_resize_come() {
    CHANGED.store(false, Ordering::SeqCst);
    match &*caught() {
        Some(caught) => caught.without(raise),
        None => raise(),
    }
}

fn caught() -> MutexGuard<'static, Option<Caught>> {
    CAUGHT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// On this thread, before it goes on.
fn raise() {
    // The signal is known.
    let _ = signal_hook::low_level::raise(SIGWINCH);
}
