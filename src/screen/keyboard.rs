//! Standard input on the terminal, opened once more for us alone, so that no read of it waits.
//!
//! The library that reads keys reads when it was told of some. While we were stopped the shell may have read them: the
//! read would wait then for a key that nobody types, and no prompt come. The description a shell gave us is not ours to
//! change. Invariant: a program that gets the terminal from us finds a keyboard that waits ([`lend`]).

use std::io::IsTerminal;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::stdio::{dup2_stdin, stdin};
use rustix::termios::ttyname;

/// Whether standard input is a description of our own; tried once, since the library holds on to it.
static OWN: OnceLock<bool> = OnceLock::new();

/// Makes standard input ours, where it is a terminal that may be opened; any other stays what it is.
pub(super) fn take() {
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

/// Whether the keyboard is another program's (`true`), whose reads wait, or ours again.
pub(super) fn lend(lent: bool) {
    if OWN.get() != Some(&true) {
        return;
    }
    if let Ok(flags) = fcntl_getfl(stdin()) {
        let mut wanted = flags;
        wanted.set(OFlags::NONBLOCK, !lent);
        if wanted != flags {
            // It is open: this does not fail.
            let _ = fcntl_setfl(stdin(), wanted);
        }
    }
}
