//! Gives the terminal back as it was: on return, on panic, on a fault, on a signal, around a suspension; and takes it
//! again.
//!
//! Saves the mode of the controlling terminal at the start. Between reads of the line editor the terminal is in *host
//! mode*: keys are neither echoed nor turned into lines or signals, so nothing typed while a cell runs shows up twice
//! or is lost, while output is processed as usual (`\n` returns the cursor).
//!
//! A shell sets its own mode while we are stopped and leaves it so when we go on. A stop of our own
//! ([`TerminalGuard::suspend`]) ends before the thread that asked for it goes on, and sets our mode again; after one
//! from outside the signal thread does ([`Restorer::take_again`]). So the guard knows the mode to be in force; raw mode
//! is set by the line editor's library, which is asked.
//!
//! Where the terminal speaks kitty's keyboard protocol (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>), it has a
//! stack of settings of the keyboard. We have a level of our own on it while the terminal is ours, and set what is on
//! top before each line and each program: what others left there, because they were killed, is not in force.
//!
//! All reading and writing goes to the terminal itself, opened apart from standard output, which may be a full disk. It
//! is never waited for: a terminal that takes no bytes is left.
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
const TOLD_APART: u8 = 5;
/// Takes our level off the stack of the keyboard.
const POP: &[u8] = b"\x1b[<u";
/// No colours, no reports of the focus, no bracketed paste, a cursor.
const SANE: &[u8] = b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h";
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// Owns the terminal's mode; gives it back when dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    terminal: Arc<Terminal>,
}

/// Gives the terminal back from any thread.
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
    may_tell_apart: AtomicBool,
    /// Whether keys are told apart on our level of the keyboard; `None` without one. Held while that changes.
    tells_apart: Mutex<Option<bool>>,
    /// We have stopped ourselves, and the signal that let us go on has not been heard.
    stopped_ourselves: AtomicBool,
    /// A Ctrl-C came as a signal, and whoever reads the keyboard has not heard of it.
    interrupted: AtomicBool,
}

impl TerminalGuard {
    /// Saves the mode of the controlling terminal; `None` without one.
    ///
    /// A terminal found in raw mode was left so by a program that was killed: a sane mode is what is given back then.
    pub fn acquire() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let tty = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        keyboard::take();
        TerminalGuard::of(tty)
    }

    fn of(tty: OwnedFd) -> Option<Self> {
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
                may_tell_apart: AtomicBool::new(false),
                tells_apart: Mutex::new(None),
                stopped_ourselves: AtomicBool::new(false),
                interrupted: AtomicBool::new(false),
            }),
        })
    }

    /// Keys unread and unechoed, output as usual. Typed keys are kept.
    pub fn host_mode(&self) {
        keyboard::lend(false);
        self.terminal.tell_apart(false);
        self.raw_output(false);
    }

    /// Host mode with (`true`) output as it is, for a program in a cell that makes its own line ends, or as usual.
    pub fn raw_output(&self, raw: bool) {
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
        keyboard::lend(true);
    }

    /// Stops our job, as Ctrl-Z does, with the terminal given back; returns when the shell lets it go on, and the
    /// terminal is ours again.
    pub fn suspend(&self) {
        let alternate_screen = self.terminal.alternate_screen.load(Ordering::SeqCst);
        // Nobody sets a mode between these lines.
        let mode = self.terminal.mode();
        self.terminal.restore();
        self.terminal
            .stopped_ourselves
            .store(true, Ordering::SeqCst);
        process::stop_our_job();
        self.alternate_screen(alternate_screen);
        drop(mode);
        self.terminal.take_again();
    }

    /// Sets the mode that was set last: somebody else may have changed it.
    pub fn take_again(&self) {
        self.terminal.take_again();
    }

    /// Tells whoever waits for keys once more of those that nobody has read, by setting the mode that is set; false
    /// while the terminal is another job's, which nobody can be told of.
    pub fn tell_of_keys(&self) -> bool {
        self.terminal.set_again();
        self.terminal.in_foreground()
    }

    /// True once for a Ctrl-C that came as a signal: before the terminal was ours again it was typed.
    pub fn take_interrupt(&self) -> bool {
        self.terminal.interrupted.swap(false, Ordering::SeqCst)
    }

    /// True while a program that makes its own line ends has the terminal.
    pub fn is_lent(&self) -> bool {
        self.terminal.is_lent()
    }

    /// False while the terminal is another job's: reading it would stop us.
    pub fn in_foreground(&self) -> bool {
        self.terminal.in_foreground()
    }

    /// Says whether we have switched to the alternate screen ourselves; only then it is switched off.
    pub fn alternate_screen(&self, on: bool) {
        self.terminal.alternate_screen.store(on, Ordering::SeqCst);
        self.terminal.taken.store(true, Ordering::SeqCst);
    }

    /// Lets the terminal tell keys apart that terminals spell alike by habit (Enter and Shift-Enter), or no more.
    pub fn let_tell_apart(&self, may: bool) {
        if !may {
            self.terminal.tell_apart(false);
        }
        self.terminal.may_tell_apart.store(may, Ordering::SeqCst);
    }

    /// Has it tell them apart, where it may, until [`TerminalGuard::host_mode`]: while a line is edited. What runs gets
    /// the keys it always got.
    pub fn line_mode(&self) {
        self.terminal.tell_apart(true);
    }

    /// True while it tells keys apart: Alt with a character is nothing else then.
    pub fn tells_apart(&self) -> bool {
        *self.terminal.tells_apart() == Some(true)
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
        process::before_a_fault_ends_us(move || restorer.terminal.restore_in_a_handler());
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
    pub fn take_again(&self) -> bool {
        self.terminal.take_again();
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

    /// As [`TerminalGuard::is_lent`].
    pub fn is_lent(&self) -> bool {
        self.terminal.is_lent()
    }

    /// As [`Restorer::restore`], whatever has been taken or given back before: the last word before the end.
    pub fn restore_for_good(&self) {
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
        let mut tells_apart = self.tells_apart();
        if in_foreground && tells_apart.take().is_some() {
            sequences.extend_from_slice(POP);
        }
        if self.alternate_screen.swap(false, Ordering::SeqCst) {
            sequences.extend_from_slice(LEAVE_ALTERNATE);
        }
        // The terminal may have hung up or be stopped: the process is on its way out and has nobody to tell.
        if in_foreground {
            let _ = rustix::io::write(&self.tty, &sequences);
        }
        drop(tells_apart);
        self.set(&self.saved);
    }

    /// As [`Terminal::restore`], in the handler of a signal: without memory, and without waiting for a lock that the
    /// thread it interrupts may hold.
    fn restore_in_a_handler(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        if self.in_foreground() {
            let told_apart = match self.tells_apart.try_lock() {
                Ok(told_apart) => told_apart.is_some(),
                Err(_) => self.may_tell_apart.load(Ordering::SeqCst),
            };
            let _ = rustix::io::write(&self.tty, SANE);
            if told_apart {
                let _ = rustix::io::write(&self.tty, POP);
            }
            if self.alternate_screen.swap(false, Ordering::SeqCst) {
                let _ = rustix::io::write(&self.tty, LEAVE_ALTERNATE);
            }
        }
        self.set(&self.saved);
    }

    /// What the terminal does not take has not happened.
    fn tell_apart(&self, on: bool) {
        let mut tells_apart = self.tells_apart();
        let may = self.may_tell_apart.load(Ordering::SeqCst);
        if !may || *tells_apart == Some(on) || !self.in_foreground() {
            return;
        }
        let sequence = match *tells_apart {
            None => level('>', on),
            Some(_) => level('=', on),
        };
        if rustix::io::write(&self.tty, &sequence) == Ok(sequence.len()) {
            self.taken.store(true, Ordering::SeqCst);
            *tells_apart = Some(on);
        }
    }

    fn tells_apart(&self) -> MutexGuard<'_, Option<bool>> {
        self.tells_apart
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

    fn take_again(&self) {
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
        if let Some(on) = *self.tells_apart() {
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

/// A new level (`>`) of the keyboard, or the one on top (`=`), with keys told apart or not.
fn level(change: char, told_apart: bool) -> Vec<u8> {
    let flags = if told_apart { TOLD_APART } else { 0 };
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
        let guard = TerminalGuard::of(tty).unwrap();
        guard.host_mode();
        rustix::io::write(&main, b"\x03typed\r").unwrap();
        rustix::io::write(&ours, b"out\n").unwrap();
        has_written(&main, b"out\r\n");
        let mut keys = [0; 16];
        let count = rustix::io::read(&ours, &mut keys).unwrap();
        assert_eq!(&keys[..count], b"\x03typed\r");
    }

    #[test]
    fn who_waits_for_keys_is_told_of_them_again() {
        use rustix::event::{Timespec, epoll};
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let guard = TerminalGuard::of(tty).unwrap();
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
        assert!(guard.tell_of_keys());
        assert_eq!((told(), told()), (1, 0));
    }

    #[test]
    fn the_mode_comes_back_once() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let before = modes(&ours);
        let guard = TerminalGuard::of(tty).unwrap();
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
    fn keys_are_told_apart_while_a_line_is_edited() {
        let (main, tty) = pair();
        let ours = tty.try_clone().unwrap();
        let guard = TerminalGuard::of(tty).unwrap();
        guard.line_mode();
        guard.let_tell_apart(true);
        guard.line_mode();
        guard.line_mode();
        has_written(&main, b"\x1b[>5u");
        guard.take_again();
        has_written(&main, b"\x1b[=5u");
        guard.host_mode();
        guard.host_mode();
        has_written(&main, b"\x1b[=0u");
        guard.line_mode();
        guard.restorer().restore_for_good();
        guard.restorer().restore_for_good();
        let restored = b"\x1b[0m\x1b[?1004l\x1b[?2004l\x1b[?25h";
        has_written(&main, &[&b"\x1b[=5u"[..], restored, POP, restored].concat());
        // What another left is not in force for a program either.
        guard.host_mode();
        guard.line_mode();
        guard.let_tell_apart(false);
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
        let guard = TerminalGuard::of(tty).unwrap();
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
        let guard = TerminalGuard::of(tty).unwrap();
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
