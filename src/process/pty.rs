//! A pseudo-terminal for a child: both ends, the size, and the input modes.
//!
//! Invariants: the pair starts in line mode with echo, whatever the mode of our own terminal; our end is non-blocking.
//! Absent on purpose: the user's own terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, Winsize,
    tcgetattr, tcgetpgrp, tcgetsid, tcsetattr, tcsetwinsize,
};

/// Effect of Ctrl-Z (VSUSP) on the foreground job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuspendKey {
    /// A shell can continue what the key has stopped.
    Enabled,
    /// No key suspends.
    Disabled,
}

/// Opens a pair and returns its ends, ours first.
///
/// # Errors
/// The operating system's.
pub fn open_pty(columns: u16, rows: u16, stop: SuspendKey) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = open_peer(&ours, true)?;
    let mut termios = tcgetattr(&theirs)?;
    make_sane(&mut termios);
    if stop == SuspendKey::Disabled {
        // Zero disables the character.
        termios.special_codes[SpecialCodeIndex::VSUSP] = 0;
    }
    tcsetattr(&theirs, OptionalActions::Now, &termios)?;
    set_size(&theirs, columns, rows)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Opens the child's end of a pair; non-blocking unless `blocking`.
///
/// # Errors
/// The operating system's.
pub fn open_peer(ours: &OwnedFd, blocking: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags.set(OFlags::NONBLOCK, !blocking);
    match ioctl_tiocgptpeer(ours, OpenptFlags::from_bits_retain(flags.bits())) {
        Ok(end) => Ok(end),
        Err(_) => {
            let name = ptsname(ours, Vec::new())?;
            Ok(rustix::fs::open(name, flags, Mode::empty())?)
        }
    }
}

/// Sets the size of the terminal.
///
/// # Errors
/// The operating system's: the other end is gone.
pub fn set_size(end: impl AsFd, columns: u16, rows: u16) -> io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(end, size)?)
}

/// Returns true when a program has taken the terminal out of line mode and does its own echo, as editors, pagers
/// and line editors do. Python's runner does so too, for a moment after each cell, to take back unread typeahead;
/// the check excludes it by its reads that never wait (VMIN and VTIME both zero).
pub fn is_raw(end: impl AsFd) -> bool {
    tcgetattr(end).is_ok_and(|termios| {
        let waits = termios.special_codes[SpecialCodeIndex::VMIN] > 0
            || termios.special_codes[SpecialCodeIndex::VTIME] > 0;
        waits
            && !termios
                .local_modes
                .intersects(LocalModes::ICANON | LocalModes::ECHO)
    })
}

/// Returns the foreground process group, where that is not the one of the session leader (a shell).
pub fn foreground_job(end: impl AsFd) -> Option<Pid> {
    let job = tcgetpgrp(&end).ok()?;
    (tcgetsid(&end).ok()? != job).then_some(job)
}

/// Turns echo on or off; nothing else changes.
///
/// # Errors
/// The operating system's: the other end is gone.
pub fn set_echo(end: impl AsFd, on: bool) -> io::Result<()> {
    let mut termios = tcgetattr(&end)?;
    termios.local_modes.set(LocalModes::ECHO, on);
    Ok(tcsetattr(&end, OptionalActions::Now, &termios)?)
}

/// Takes back the bytes that were typed and not read, whole lines and the start of the last one, and restores line
/// mode, whatever mode a program has left. No other process may be reading from the terminal.
pub fn take_unread(ours: &OwnedFd) -> Vec<u8> {
    let mut unread = Vec::new();
    let (Ok(end), Ok(mut termios)) = (open_peer(ours, false), tcgetattr(ours)) else {
        return unread;
    };
    // Out of line mode an unfinished line can be read, too.
    let mut open = termios.clone();
    open.local_modes.remove(LocalModes::ICANON);
    open.special_codes[SpecialCodeIndex::VMIN] = 0;
    open.special_codes[SpecialCodeIndex::VTIME] = 0;
    if tcsetattr(ours, OptionalActions::Now, &open).is_ok() {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = rustix::io::read(&end, &mut chunk) {
            unread.extend_from_slice(&chunk[..count]);
        }
    }
    make_sane(&mut termios);
    // Fails only when the other end is gone.
    let _ = tcsetattr(ours, OptionalActions::Now, &termios);
    unread
}

/// Sets line mode, echo and signals; other choices of the user (such as the erase key) stay.
fn make_sane(termios: &mut Termios) {
    termios.input_modes |= InputModes::IUTF8 | InputModes::ICRNL;
    termios.input_modes -= InputModes::INLCR | InputModes::IGNCR;
    termios.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    termios.local_modes |= LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK
        | LocalModes::ICANON
        | LocalModes::ISIG
        | LocalModes::IEXTEN;
    termios.local_modes -= LocalModes::NOFLSH;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_read_comes_back_and_the_terminal_is_in_line_mode_again() {
        let (ours, theirs) = open_pty(80, 24, SuspendKey::Enabled).unwrap();
        let mut raw = tcgetattr(&theirs).unwrap();
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VERASE] = 8;
        tcsetattr(&theirs, OptionalActions::Now, &raw).unwrap();
        assert!(is_raw(&ours));
        rustix::io::write(&ours, b"one\ntw").unwrap();
        // The terminal hands over what was written a moment later.
        let mut unread = Vec::new();
        while unread.len() < 6 {
            unread.extend(take_unread(&ours));
        }
        assert_eq!(unread, b"one\ntw");
        assert!(!is_raw(&ours));
        let modes = tcgetattr(&theirs).unwrap();
        assert_eq!(modes.special_codes[SpecialCodeIndex::VERASE], 8);
        assert!(
            modes
                .local_modes
                .contains(LocalModes::ICANON | LocalModes::ECHO)
        );
    }

    #[test]
    fn a_terminal_without_a_stop_key_has_none() {
        for (stop, there) in [(SuspendKey::Enabled, true), (SuspendKey::Disabled, false)] {
            let (_ours, theirs) = open_pty(80, 24, stop).unwrap();
            let key = tcgetattr(&theirs).unwrap().special_codes[SpecialCodeIndex::VSUSP];
            assert_eq!(key != 0, there);
        }
    }
}
