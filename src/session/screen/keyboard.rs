//! Reopens standard input on the terminal as non-blocking, for this process alone.
//!
//! crossterm reads after a notification. While the process was stopped the shell may have read the keys: a blocking
//! read would then wait for the next key, and no prompt would be shown. The open file description inherited from the
//! shell is shared and must not be changed. Invariant: a program to which the terminal is lent finds a blocking
//! keyboard ([`set_lent`]).

use std::io::IsTerminal;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::stdio::{dup2_stdin, stdin};
use rustix::termios::ttyname;

/// True when standard input is our own description; set once, since crossterm keeps the descriptor.
static OWN: OnceLock<bool> = OnceLock::new();

/// Reopens standard input where it is a terminal that can be opened; otherwise does nothing.
pub(super) fn reopen_stdin() {
    OWN.get_or_init(|| {
        if !std::io::stdin().is_terminal() {
            return false;
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = ttyname(stdin(), Vec::new())
            .and_then(|name| open(name.as_c_str(), flags, Mode::empty()));
        opened.and_then(dup2_stdin).is_ok()
    });
}

/// Lends the keyboard to another program (`true`: blocking reads), or takes it back.
pub(super) fn set_lent(lent: bool) {
    if OWN.get() != Some(&true) {
        return;
    }
    if let Ok(flags) = fcntl_getfl(stdin()) {
        let mut wanted = flags;
        wanted.set(OFlags::NONBLOCK, !lent);
        if wanted != flags {
            // The descriptor is open, so this does not fail.
            let _ = fcntl_setfl(stdin(), wanted);
        }
    }
}
