//! Restores the terminal: on return, panic, fault, signal and around a suspension; and reclaims it afterwards.
//!
//! Saves the mode of the controlling terminal at the start. Between reads of the line editor the terminal is in *host
//! mode*: no echo, no line mode, no signals, so that keys typed while a cell runs are neither shown twice nor lost;
//! output is processed as usual (`\n` returns the cursor).
//!
//! A shell sets its own mode while we are stopped and leaves it when we continue. After a stop of our own
//! ([`TerminalGuard::suspend`]) the calling thread sets our mode again; after one from outside the signal thread does
//! ([`Restorer::reclaim`]). So the guard keeps the mode in force; raw mode is set by crossterm, which is asked.
//!
//! Where the terminal speaks kitty's keyboard protocol (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>), it has a
//! stack of keyboard flags. We push one entry while the terminal is ours, and set the top before each line and each
//! program, so that what a killed program left there is not in force.
//!
//! All reads and writes go to the terminal itself, opened apart from standard output, which may be a full disk. Writes
//! never block: bytes that the terminal does not take are dropped.
//!
//! Absent on purpose: the signal thread, which calls [`Restorer::restore`] and then dies by its signal.

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
/// Pops our entry off the keyboard stack.
const POP: &[u8] = b"\x1b[<u";
/// No colours, no reports of the focus, no bracketed paste, a cursor.
const SANE: &[u8] = b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h";
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// Owns the terminal's mode; restores it when dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    terminal: Arc<Terminal>,
}

/// Restores the terminal from any thread.
#[derive(Debug, Clone)]
pub struct Restorer {
    terminal: Arc<Terminal>,
}

#[derive(Debug)]
struct Terminal {
    tty: OwnedFd,
    saved: Termios,
    /// The mode that was set last; held while it is being set.
    set: Mutex<Option<Termios>>,
    /// The mode may differ from `saved`, sequences may have been written.
    taken: AtomicBool,
    alternate_screen: AtomicBool,
    /// The terminal speaks kitty's keyboard protocol.
    may_disambiguate: AtomicBool,
    /// Whether our entry on the keyboard stack disambiguates keys; `None` without one. Locked while that changes.
    disambiguates: Mutex<Option<bool>>,
    /// We have stopped ourselves, and the SIGCONT has not been handled yet.
    stopped_ourselves: AtomicBool,
    /// A Ctrl-C came as a signal, and the keyboard's reader has not taken it.
    interrupted: AtomicBool,
}

impl TerminalGuard {
    /// Saves the mode of the controlling terminal; `None` without one.
    ///
    /// A terminal found in raw mode was left so by a program that was killed: a sane mode is what is given back then.
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

    /// Keys unread and unechoed, output as usual. Typed keys are kept.
    pub fn host_mode(&self) {
        keyboard::set_lent(false);
        self.terminal.disambiguate(false);
        self.set_raw_output(false);
    }

    /// Host mode with (`true`) output as it is, for a program in a cell that makes its own line ends, or as usual.
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

    /// The mode from before the start, for a while: a program in the foreground.
    pub fn restore(&self) {
        self.terminal.restore();
        keyboard::set_lent(true);
    }

    /// Stops our job, as Ctrl-Z does, with the terminal given back; returns when the shell lets it go on, and the
    /// terminal is ours again.
    pub fn suspend(&self) {
        let alternate_screen = self.terminal.alternate_screen.load(Ordering::SeqCst);
        // The lock keeps others from setting a mode between these lines.
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

    /// Sets the mode that was set last: somebody else may have changed it.
    pub fn reclaim(&self) {
        self.terminal.reclaim();
    }

    /// Tells whoever waits for keys once more of those that nobody has read, by setting the mode that is set; false
    /// while the terminal is another job's, which nobody can be told of.
    pub fn renotify_keys(&self) -> bool {
        self.terminal.set_again();
        self.terminal.in_foreground()
    }

    /// True once for a Ctrl-C that came as a signal: before the terminal was ours again it was typed.
    pub fn take_interrupt(&self) -> bool {
        self.terminal.interrupted.swap(false, Ordering::SeqCst)
    }

    /// True while a program that makes its own line ends has the terminal.
    pub fn has_raw_output(&self) -> bool {
        self.terminal.is_lent()
    }

    /// False while the terminal is another job's: reading it would stop us.
    pub fn in_foreground(&self) -> bool {
        self.terminal.in_foreground()
    }

    /// Records whether we have switched to the alternate screen ourselves; only then it is switched off.
    pub fn alternate_screen(&self, on: bool) {
        self.terminal.alternate_screen.store(on, Ordering::SeqCst);
        self.terminal.taken.store(true, Ordering::SeqCst);
    }

    /// Lets the terminal tell keys apart that terminals spell alike by habit (Enter and Shift-Enter), or no more.
    pub fn allow_disambiguation(&self, may: bool) {
        if !may {
            self.terminal.disambiguate(false);
        }
        self.terminal.may_disambiguate.store(may, Ordering::SeqCst);
    }

    /// Has it tell them apart, where it may, until [`TerminalGuard::host_mode`]: while a line is edited. What runs gets
    /// the keys it always got.
    pub fn line_mode(&self) {
        self.terminal.disambiguate(true);
    }

    /// True while keys are disambiguated: Alt with a character is unambiguous then.
    pub fn disambiguates(&self) -> bool {
        *self.terminal.disambiguates() == Some(true)
    }

    /// Writes sequences that put right what another program left, as far as the terminal takes them.
    pub fn write(&self, sequences: &[u8]) {
        if self.terminal.in_foreground() {
            let _ = rustix::io::write(&self.terminal.tty, sequences);
        }
    }

    /// A handle for the signal thread.
    pub fn restorer(&self) -> Restorer {
        Restorer {
            terminal: Arc::clone(&self.terminal),
        }
    }

    /// From now on a panic of any thread gives the terminal back before it prints its message, also when it aborts; so
    /// does a fault that ends us, a stack that overflows for one.
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
    /// Gives the terminal back: mode, colours, bracketed paste, cursor, keyboard, screen. Does nothing when nothing was
    /// taken.
    pub fn restore(&self) {
        self.terminal.restore();
    }

    /// After a stop: sets the mode that was in force, and switches on again what a shell switches off. True when
    /// somebody else had stopped us: what stands on the screen is not what we have written.
    pub fn reclaim(&self) -> bool {
        self.terminal.reclaim();
        !self
            .terminal
            .stopped_ourselves
            .swap(false, Ordering::SeqCst)
    }

    /// Keeps a Ctrl-C for whoever reads the keyboard next.
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

    /// As [`Restorer::restore`], whatever has been taken or given back before: the last word before the end.
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
        // The terminal may have hung up or be stopped: the process is on its way out and has nobody to tell.
        if in_foreground {
            let _ = rustix::io::write(&self.tty, &sequences);
        }
        drop(disambiguates);
        self.set(&self.saved);
    }

    /// As [`Terminal::restore`], in the handler of a signal: without memory, and without waiting for a lock that the
    /// thread it interrupts may hold.
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

    /// Sets the mode that was set last, by us or by the line editor's library.
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
            // The library may have changed it at the same moment.
            if is_raw() == raw {
                break;
            }
        }
    }

    /// Sets the mode. In the background the system would stop us instead; the shell has set its own mode then.
    fn set(&self, mode: &Termios) {
        if self.in_foreground() {
            let _ = tcsetattr(&self.tty, OptionalActions::Now, mode);
        }
    }

    fn in_foreground(&self) -> bool {
        // An error: not our controlling terminal, which nobody is stopped for.
        tcgetpgrp(&self.tty).map_or(true, |group| group == rustix::process::getpgrp())
    }
}

/// The sequence that pushes (`>`) keyboard flags, or sets those on top (`=`), disambiguating keys or not.
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

    /// A pseudo-terminal: the side of the emulator and ours.
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

    /// All that has been written is this.
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
        // What another left is not in force for a program either.
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
