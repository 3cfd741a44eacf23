//! A signal handler that is installed for a while; the previous disposition is restored afterwards.

use std::io;
use std::mem::MaybeUninit;

/// An installed handler; dropping it restores the previous disposition. Unlike an ignored signal, a handled one has its
/// default action again in a program we start.
pub(super) struct ScopedHandler {
    signal: libc::c_int,
    previous: libc::sigaction,
}

/// Runs on any thread: may call only async-signal-safe functions (signal-safety(7)).
pub(super) type Handler = extern "C" fn(libc::c_int);

impl ScopedHandler {
    #[allow(unsafe_code)]
    pub(super) fn begin(signal: libc::c_int, handler: Handler) -> io::Result<Self> {
        // SAFETY: all zeros is a value of this struct: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        let previous = set(signal, &action)?;
        Ok(ScopedHandler { signal, previous })
    }

    /// Runs `action` with the previous disposition.
    pub(super) fn without(&self, action: impl FnOnce()) {
        // Fails only for an unknown signal.
        let ours = set(self.signal, &self.previous);
        action();
        if let Ok(ours) = ours {
            let _ = set(self.signal, &ours);
        }
    }
}

impl Drop for ScopedHandler {
    fn drop(&mut self) {
        let _ = set(self.signal, &self.previous);
    }
}

/// Sets the disposition of a signal and returns the previous one.
#[allow(unsafe_code)]
fn set(signal: libc::c_int, action: &libc::sigaction) -> io::Result<libc::sigaction> {
    let mut previous = MaybeUninit::uninit();
    // SAFETY: both point to live structs; see [`Handler`] for what handlers may do.
    match unsafe { libc::sigaction(signal, action, previous.as_mut_ptr()) } {
        // SAFETY: the system has initialised it.
        0 => Ok(unsafe { previous.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}
