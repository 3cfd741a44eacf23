//! Restores the terminal: on return, panic, fault, signal and around a suspension; and reclaims it afterwards.
//!
//! The mode of the controlling terminal is saved at the start. Between reads of the line editor the terminal is in
//! *host mode*: no echo, no line mode, no signals, so that keys typed while a cell runs are neither shown twice nor
//! lost; output is processed as usual (`\n` returns the cursor).
//!
//! A shell sets its own mode while this process is stopped and leaves it when the process continues. After
//! [`TerminalGuard::suspend`] the calling thread sets our mode again; after a stop from outside the signal thread
//! does ([`Restorer::reclaim`]). The guard therefore keeps the mode in force; raw mode is set by crossterm, which is
//! queried for it.
//!
//! Terminals with kitty's keyboard protocol (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>) have a stack of
//! keyboard flags. The guard pushes one entry while it owns the terminal, and sets the top before each line and each
//! program, so that flags left by a killed program are not in force.
//!
//! All reads and writes go to the terminal itself, opened apart from standard output, which may be a full disk.
//! Writes never block: bytes that the terminal does not take are dropped. Absent on purpose: the signal thread,
//! which calls [`Restorer::restore`] and then ends by its signal.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcgetpgrp, tcsetattr,
};

use super::keyboard;
use crate::process;

/// Kitty's "disambiguate escape codes" and "report alternate keys".
const DISAMBIGUATE: u8 = 5;
const POP: &[u8] = b"\x1b[<u";
/// No colours, no reports of the focus, no bracketed paste, a visible cursor.
const SANE: &[u8] = b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h";
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// Owns the terminal's mode; restores the terminal when dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    terminal: Arc<Terminal>,
}

#[derive(Debug, Clone)]
pub struct Restorer {
    terminal: Arc<Terminal>,
}

#[derive(Debug)]
struct Terminal {
    tty: OwnedFd,
    saved: Termios,
    /// The mode that was set last; locked while a mode is being set.
    set: Mutex<Option<Termios>>,
    /// The mode may differ from `saved`, or sequences may have been written.
    taken: AtomicBool,
    alternate_screen: AtomicBool,
    may_disambiguate: AtomicBool,
    /// `Some(true)` while our entry on the keyboard stack disambiguates keys; `None` without an entry. Locked during
    /// changes.
    disambiguates: Mutex<Option<bool>>,
    /// The process has stopped itself, and its SIGCONT has not been handled yet.
    stopped_ourselves: AtomicBool,
    /// Ctrl-C arrived as a signal, and the keyboard's reader has not taken it.
    interrupted: AtomicBool,
}

impl TerminalGuard {
    /// Saves the mode of the controlling terminal; `None` without one.
    ///
    /// A terminal in raw mode was left so by a killed program; a sane mode is saved and restored in its place.
    pub fn acquire() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let tty = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        keyboard::reopen_stdin();
        TerminalGuard::from_tty(tty)
    }

    fn from_tty(tty: OwnedFd) -> Option<Self> {
        let mut saved = tcgetattr(&tty).ok()?;
        if !saved.local_modes.contains(LocalModes::ICANON) {
            make_sane(&mut saved);
        }
        Some(TerminalGuard {
            terminal: Arc::new(Terminal {
                tty,
                saved,
                set: Mutex::new(None),
                taken: AtomicBool::new(false),
                alternate_screen: AtomicBool::new(false),
                may_disambiguate: AtomicBool::new(false),
                disambiguates: Mutex::new(None),
                stopped_ourselves: AtomicBool::new(false),
                interrupted: AtomicBool::new(false),
            }),
        })
    }

    /// Sets host mode: no reads, no echo, output as usual. Unread keys are kept.
    pub fn host_mode(&self) {
        keyboard::set_lent(false);
        self.terminal.disambiguate(false);
        self.set_raw_output(false);
    }

    /// Sets host mode; `raw` disables output processing for a program in a cell that makes its own line ends.
    pub fn set_raw_output(&self, raw: bool) {
        let mut mode = self.terminal.saved.clone();
        make_host(&mut mode);
        if raw {
            mode.output_modes &= !OutputModes::OPOST;
        }
        let mut set = self.terminal.mode();
        self.terminal.taken.store(true, Ordering::SeqCst);
        self.terminal.set(&mode);
        *set = Some(mode);
    }

    /// Sets the saved mode temporarily, for a program in the foreground.
    pub fn restore(&self) {
        self.terminal.restore();
        keyboard::set_lent(true);
    }

    /// Stops our job, as Ctrl-Z does, with the terminal restored; returns when the shell continues the job and the
    /// terminal is reclaimed.
    pub fn suspend(&self) {
        let alternate_screen = self.terminal.alternate_screen.load(Ordering::SeqCst);
        // The lock prevents other threads from setting a mode between these lines.
        let mode = self.terminal.mode();
        self.terminal.restore();
        self.terminal
            .stopped_ourselves
            .store(true, Ordering::SeqCst);
        process::stop_our_job();
        self.alternate_screen(alternate_screen);
        drop(mode);
        self.terminal.reclaim();
    }

    /// Sets the last mode again, since another program may have changed it.
    pub fn reclaim(&self) {
        self.terminal.reclaim();
    }

    /// Notifies the reader of keys again about unread ones, by setting the current mode once more; returns false
    /// while another job is in the foreground, when no notification is sent.
    pub fn renotify_keys(&self) -> bool {
        self.terminal.set_again();
        self.terminal.in_foreground()
    }

    /// True once after Ctrl-C arrived as a signal: it was pressed before the terminal was reclaimed.
    pub fn take_interrupt(&self) -> bool {
        self.terminal.interrupted.swap(false, Ordering::SeqCst)
    }

    /// True while a program that makes its own line ends owns the terminal.
    pub fn has_raw_output(&self) -> bool {
        self.terminal.is_lent()
    }

    /// False while another job is in the foreground: a read would stop this process.
    pub fn in_foreground(&self) -> bool {
        self.terminal.in_foreground()
    }

    /// Records whether this program is on the alternate screen; only then is it switched off on restore.
    pub fn alternate_screen(&self, on: bool) {
        self.terminal.alternate_screen.store(on, Ordering::SeqCst);
        self.terminal.taken.store(true, Ordering::SeqCst);
    }

    /// Allows or forbids the disambiguation of keys with equal bytes (Enter and Shift-Enter).
    pub fn allow_disambiguation(&self, may: bool) {
        if !may {
            self.terminal.disambiguate(false);
        }
        self.terminal.may_disambiguate.store(may, Ordering::SeqCst);
    }

    /// Disambiguates keys, where allowed, until [`TerminalGuard::host_mode`]: while a line is edited. Running
    /// programs get keys in their common form.
    pub fn line_mode(&self) {
        self.terminal.disambiguate(true);
    }

    /// True while keys are disambiguated; Alt with a character is then unambiguous.
    pub fn disambiguates(&self) -> bool {
        *self.terminal.disambiguates() == Some(true)
    }

    /// Writes sequences that undo changes by another program, as far as the terminal takes them.
    pub fn write(&self, sequences: &[u8]) {
        if self.terminal.in_foreground() {
            let _ = rustix::io::write(&self.terminal.tty, sequences);
        }
    }

    pub fn restorer(&self) -> Restorer {
        Restorer {
            terminal: Arc::clone(&self.terminal),
        }
    }

    /// Installs handlers that restore the terminal on a panic of any thread, before its message is printed and also
    /// when the process aborts, and on a fatal signal such as a stack overflow.
    pub fn restore_on_crash(&self) {
        let restorer = self.restorer();
        process::run_on_fatal_signal(move || restorer.terminal.restore_in_signal_handler());
        let restorer = self.restorer();
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restorer.restore();
            next(panic);
        }));
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.terminal.restore();
    }
}

impl Restorer {
    /// Restores mode, colours, bracketed paste, cursor, keyboard and screen. Does nothing when nothing was changed.
    pub fn restore(&self) {
        self.terminal.restore();
    }

    /// Sets the mode in force again after a stop, and switches on again what a shell switches off. Returns true when
    /// the stop came from outside, after which the screen may hold output of other programs.
    pub fn reclaim(&self) -> bool {
        self.terminal.reclaim();
        !self
            .terminal
            .stopped_ourselves
            .swap(false, Ordering::SeqCst)
    }

    pub fn keep_interrupt(&self) {
        self.terminal.interrupted.store(true, Ordering::SeqCst);
    }

    /// As [`TerminalGuard::take_interrupt`].
    pub fn take_interrupt(&self) -> bool {
        self.terminal.interrupted.swap(false, Ordering::SeqCst)
    }

    /// As [`TerminalGuard::has_raw_output`].
    pub fn is_lent(&self) -> bool {
        self.terminal.is_lent()
    }

    /// As [`Restorer::restore`], but in any state; for the end of the process.
    pub fn restore_finally(&self) {
        self.terminal.taken.store(true, Ordering::SeqCst);
        self.terminal.restore();
    }
}

impl Terminal {
    fn restore(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        let mut sequences = SANE.to_vec();
        let in_foreground = self.in_foreground();
        let mut disambiguates = self.disambiguates();
        if in_foreground && disambiguates.take().is_some() {
            sequences.extend_from_slice(POP);
        }
        if self.alternate_screen.swap(false, Ordering::SeqCst) {
            sequences.extend_from_slice(LEAVE_ALTERNATE);
        }
        // The terminal may have hung up or be stopped; the error is ignored, since the process is about to end.
        if in_foreground {
            let _ = rustix::io::write(&self.tty, &sequences);
        }
        drop(disambiguates);
        self.set(&self.saved);
    }

    /// As [`Terminal::restore`], in a signal handler: without allocating, and without waiting for a lock that the
    /// interrupted thread may hold.
    fn restore_in_signal_handler(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        if self.in_foreground() {
            let disambiguated = match self.disambiguates.try_lock() {
                Ok(disambiguated) => disambiguated.is_some(),
                Err(_) => self.may_disambiguate.load(Ordering::SeqCst),
            };
            let _ = rustix::io::write(&self.tty, SANE);
            if disambiguated {
                let _ = rustix::io::write(&self.tty, POP);
            }
            if self.alternate_screen.swap(false, Ordering::SeqCst) {
                let _ = rustix::io::write(&self.tty, LEAVE_ALTERNATE);
            }
        }
        self.set(&self.saved);
    }

    /// Pushes or sets our keyboard flags; without effect when the terminal does not take the bytes.
    fn disambiguate(&self, on: bool) {
        let mut disambiguates = self.disambiguates();
        let may = self.may_disambiguate.load(Ordering::SeqCst);
        if !may || *disambiguates == Some(on) || !self.in_foreground() {
            return;
        }
        let sequence = match *disambiguates {
            None => level('>', on),
            Some(_) => level('=', on),
        };
        if rustix::io::write(&self.tty, &sequence) == Ok(sequence.len()) {
            self.taken.store(true, Ordering::SeqCst);
            *disambiguates = Some(on);
        }
    }

    fn disambiguates(&self) -> MutexGuard<'_, Option<bool>> {
        self.disambiguates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn mode(&self) -> MutexGuard<'_, Option<Termios>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_lent(&self) -> bool {
        let mode = self.mode();
        mode.as_ref()
            .is_some_and(|mode| !mode.output_modes.contains(OutputModes::OPOST))
    }

    fn reclaim(&self) {
        if !self.taken.load(Ordering::SeqCst) || !self.in_foreground() {
            return;
        }
        self.set_again();
        let mut sequences = Vec::new();
        if self.alternate_screen.load(Ordering::SeqCst) {
            sequences.extend_from_slice(b"\x1b[?1049h");
        }
        if is_raw() {
            sequences.extend_from_slice(b"\x1b[?2004h");
        }
        if let Some(on) = *self.disambiguates() {
            sequences.extend_from_slice(&level('=', on));
        }
        let _ = rustix::io::write(&self.tty, &sequences);
    }

    /// Sets the last mode again, whether it was set here or by the line editor's library.
    fn set_again(&self) {
        loop {
            let raw = is_raw();
            let mode = self.mode();
            if raw {
                let mut mode = self.saved.clone();
                mode.make_raw();
                self.set(&mode);
            } else if let Some(mode) = &*mode {
                self.set(mode);
            }
            // The library may have changed the mode at the same moment.
            if is_raw() == raw {
                break;
            }
        }
    }

    /// Sets the mode. In the background the system would stop this process instead, and the shell has set its own
    /// mode.
    fn set(&self, mode: &Termios) {
        if self.in_foreground() {
            let _ = tcsetattr(&self.tty, OptionalActions::Now, mode);
        }
    }

    fn in_foreground(&self) -> bool {
        // An error means that this is not our controlling terminal, on which no process is stopped.
        tcgetpgrp(&self.tty).map_or(true, |group| group == rustix::process::getpgrp())
    }
}

/// Returns the sequence that pushes (`>`) keyboard flags or sets those on top (`=`), with or without disambiguation.
fn level(change: char, disambiguated: bool) -> Vec<u8> {
    let flags = if disambiguated { DISAMBIGUATE } else { 0 };
    format!("\x1b[{change}{flags}u").into_bytes()
}

fn is_raw() -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}

fn make_host(mode: &mut Termios) {
    mode.input_modes &= !(InputModes::IGNBRK
        | InputModes::BRKINT
        | InputModes::PARMRK
        | InputModes::ISTRIP
        | InputModes::INLCR
        | InputModes::IGNCR
        | InputModes::ICRNL
        | InputModes::IXON);
    mode.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    mode.local_modes &= !(LocalModes::ECHO
        | LocalModes::ECHONL
        | LocalModes::ICANON
        | LocalModes::ISIG
        | LocalModes::IEXTEN);
    mode.special_codes[SpecialCodeIndex::VMIN] = 1;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
}

fn make_sane(mode: &mut Termios) {
    mode.input_modes |= InputModes::BRKINT | InputModes::ICRNL | InputModes::IXON;
    mode.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    mode.local_modes |= LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK
        | LocalModes::ICANON
        | LocalModes::ISIG
        | LocalModes::IEXTEN;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    fn pair() -> (OwnedFd, OwnedFd) {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = ptsname(&main, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let tty = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        (main, tty)
    }

    fn modes(tty: &OwnedFd) -> (InputModes, OutputModes, LocalModes) {
        let mode = tcgetattr(tty).unwrap();
        (mode.input_modes, mode.output_modes, mode.local_modes)
    }

    #[track_caller]
    fn has_written(main: &OwnedFd, expected: &[u8]) {
        let mut written = Vec::new();
        let mut buffer = [0; 256];
        while written.len() < expected.len() {
            let count = rustix::io::read(main, &mut buffer).unwrap();
            written.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(written, expected);
    }

    #[test]
    fn host_mode_echoes_nothing_and_still_returns_the_cursor() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let guard = TerminalGuard::from_tty(tty).unwrap();
        guard.host_mode();
        rustix::io::write(&main, b"\x03typed\r").unwrap();
        rustix::io::write(&ours, b"out\n").unwrap();
        has_written(&main, b"out\r\n");
        let mut keys = [0; 16];
        let count = rustix::io::read(&ours, &mut keys).unwrap();
        assert_eq!(&keys[..count], b"\x03typed\r");
    }

    #[test]
    fn unread_keys_are_notified_again() {
        use rustix::event::{Timespec, epoll};
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let guard = TerminalGuard::from_tty(tty).unwrap();
        guard.host_mode();
        let waiting = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (key, edges) = (epoll::EventData::new_u64(0), epoll::EventFlags::ET);
        epoll::add(&waiting, &ours, key, epoll::EventFlags::IN | edges).unwrap();
        let told = || {
            let mut events = [epoll::Event {
                flags: epoll::EventFlags::empty(),
                data: key,
            }; 2];
            let now = Timespec::default();
            epoll::wait(&waiting, &mut events, Some(&now)).unwrap()
        };
        rustix::io::write(&main, b"key").unwrap();
        let mut read = [PollFd::new(&ours, PollFlags::IN)];
        poll(&mut read, None).unwrap();
        assert_eq!((told(), told()), (1, 0));
        assert!(guard.renotify_keys());
        assert_eq!((told(), told()), (1, 0));
    }

    #[test]
    fn the_mode_comes_back_once() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let before = modes(&ours);
        let guard = TerminalGuard::from_tty(tty).unwrap();
        guard.restore();
        guard.host_mode();
        assert_ne!(modes(&ours), before);
        guard.restorer().restore();
        assert_eq!(modes(&ours), before);
        has_written(&main, b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h");
        guard.host_mode();
        guard.alternate_screen(true);
        drop(guard);
        assert_eq!(modes(&ours), before);
        has_written(&main, b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l");
        rustix::io::write(&ours, b"end").unwrap();
        has_written(&main, b"end");
    }

    #[test]
    fn keys_are_disambiguated_while_a_line_is_edited() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let guard = TerminalGuard::from_tty(tty).unwrap();
        guard.line_mode();
        guard.allow_disambiguation(true);
        guard.line_mode();
        guard.line_mode();
        has_written(&main, b"\x1b[>5u");
        guard.reclaim();
        has_written(&main, b"\x1b[=5u");
        guard.host_mode();
        guard.host_mode();
        has_written(&main, b"\x1b[=0u");
        guard.line_mode();
        guard.restorer().restore_finally();
        guard.restorer().restore_finally();
        let restored = b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h";
        has_written(&main, &[&b"\x1b[=5u"[..], restored, POP, restored].concat());
        // Flags left by another program are not in force for a program either.
        guard.host_mode();
        guard.line_mode();
        guard.allow_disambiguation(false);
        guard.line_mode();
        guard.restore();
        rustix::io::write(&ours, b"end").unwrap();
        let levels = b"\x1b[>0u\x1b[=5u\x1b[=0u";
        has_written(&main, &[&levels[..], restored, POP, b"end"].concat());
    }

    #[test]
    fn a_panic_restores_before_its_message() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let before = modes(&ours);
        let guard = TerminalGuard::from_tty(tty).unwrap();
        let standard = std::panic::take_hook();
        let message = ours.try_clone().unwrap();
        std::panic::set_hook(Box::new(move |_| {
            let _ = rustix::io::write(&message, b"message");
        }));
        guard.host_mode();
        guard.restore_on_crash();
        let worker = std::thread::spawn(|| panic!("injected"));
        assert!(worker.join().is_err());
        std::panic::set_hook(standard);
        assert_eq!(modes(&ours), before);
        has_written(&main, b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25hmessage");
    }

    #[test]
    fn a_terminal_left_raw_becomes_sane() {
        let (_main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let before = modes(&ours);
        let mut raw = tcgetattr(&ours).unwrap();
        raw.make_raw();
        tcsetattr(&ours, OptionalActions::Now, &raw).unwrap();
        let guard = TerminalGuard::from_tty(tty).unwrap();
        guard.host_mode();
        drop(guard);
        let after = modes(&ours);
        assert!(
            after
                .2
                .contains(before.2 & (LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG))
        );
        assert!(after.1.contains(OutputModes::OPOST | OutputModes::ONLCR));
    }
}
