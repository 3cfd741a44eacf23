//! Reopens standard input on the terminal as non-blocking, for us alone.
//!
//! crossterm reads after a notification. While we were stopped the shell may have read the keys: a blocking read would
//! then wait for a key that nobody types, and no prompt would come. The open file description a shell gave us is not
//! ours to change. Invariant: a program that gets the terminal from us finds a blocking keyboard ([`set_lent`]).

use std::io::IsTerminal;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::stdio::{dup2_stdin, stdin};
use rustix::termios::ttyname;

/// True when standard input is our own description; tried once, since crossterm keeps the descriptor.
static OWN: OnceLock<bool> = OnceLock::new();

/// Makes standard input ours, where it is a terminal that may be opened; any other stays what it is.
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
            // The descriptor is open: this does not fail.
            let _ = fcntl_setfl(stdin(), wanted);
        }
    }
}
