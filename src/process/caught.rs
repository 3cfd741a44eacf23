//! A signal that a handler of our own catches for a while, in place of whoever hears of it else.

use std::io;
use std::mem::MaybeUninit;

/// While it lives, the handler catches the signal. Unlike a signal that is ignored, it is itself again in a program we
/// start.
pub(super) struct Caught {
    signal: libc::c_int,
    before: libc::sigaction,
}

/// Runs at any moment, on any thread: it may do only what is safe there (signal-safety(7)).
pub(super) type Handler = extern "C" fn(libc::c_int);

impl Caught {
    #[allow(unsafe_code)]
    pub(super) fn begin(signal: libc::c_int, handler: Handler) -> io::Result<Self> {
        // SAFETY: all zeros is a value of this struct: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        let before = set(signal, &action)?;
        Ok(Caught { signal, before })
    }

    /// Does something while the signal is not caught.
    pub(super) fn without(&self, what: impl FnOnce()) {
        // Neither fails: the signal is known.
        let ours = set(self.signal, &self.before);
        what();
        if let Ok(ours) = ours {
            let _ = set(self.signal, &ours);
        }
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        let _ = set(self.signal, &self.before);
    }
}

/// Says what becomes of a signal; returns what became of it before.
#[allow(unsafe_code)]
fn set(signal: libc::c_int, action: &libc::sigaction) -> io::Result<libc::sigaction> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both point to structs that live; what handlers may do is said where they are given.
    match unsafe { libc::sigaction(signal, action, before.as_mut_ptr()) } {
        // SAFETY: the system has written it.
        0 => Ok(unsafe { before.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}
