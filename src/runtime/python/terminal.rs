//! The pseudo-terminal the cells own: made once for every interpreter, one handle for all of them.
//!
//! In: what the user types, the size of the window. Out: the master's bytes are read by `interpreter.rs`. Invariants:
//! a handle outlives every interpreter and does nothing between two of them; a byte is taken only while a cell runs, as
//! its frames tell, so none waits in the terminal for a later cell; writing never blocks; a suspend character is never
//! acted upon (nobody could resume the interpreter). Absent on purpose: the user's own terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, Winsize, tcgetattr,
    tcsetattr, tcsetwinsize,
};

use super::super::{CellTerminal, Interrupter, TerminalMode, TerminalSize};
use super::control::Control;

/// What control-C sends.
const INTERRUPT: u8 = 3;

/// The handle; see the module.
#[derive(Debug)]
pub(super) struct InnerTerminal {
    state: Mutex<State>,
    control: Arc<Control>,
}

#[derive(Debug)]
struct State {
    master: Option<Arc<OwnedFd>>,
    size: TerminalSize,
    foreground_program: bool,
    /// A cell runs: it has begun, and its end has not been seen.
    in_cell: bool,
    /// Bytes were typed for it.
    typed: bool,
}

impl InnerTerminal {
    pub(super) fn new(size: TerminalSize, control: Arc<Control>) -> Self {
        let state = State {
            master: None,
            size,
            foreground_program: false,
            in_cell: false,
            typed: false,
        };
        InnerTerminal {
            state: Mutex::new(state),
            control,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a new pair and gives out its ends, the master's first. What is typed from now on goes there.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open(&self) -> io::Result<(Arc<OwnedFd>, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = cells_end(&master, OFlags::empty())?;
        let mut termios = tcgetattr(&slave)?;
        make_sane(&mut termios);
        tcsetattr(&slave, OptionalActions::Now, &termios)?;
        let mut state = self.state();
        tcsetwinsize(&slave, window(state.size))?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let master = Arc::new(master);
        state.master = Some(Arc::clone(&master));
        state.foreground_program = false;
        state.in_cell = false;
        Ok((master, slave))
    }

    /// The cells' end for a moment, when their terminal is in line mode; reading from it never waits.
    fn lines_end(&self) -> Option<OwnedFd> {
        let state = self.state();
        let master = state.master.as_ref().filter(|_| state.in_cell)?;
        let modes = tcgetattr(master).ok()?.local_modes;
        modes
            .contains(LocalModes::ICANON)
            .then(|| cells_end(master, OFlags::NONBLOCK).ok())?
    }

    /// The interpreter is gone.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.master = None;
        state.in_cell = false;
    }

    /// A cell has begun: from now on bytes are taken.
    pub(super) fn begin_cell(&self) {
        let mut state = self.state();
        state.in_cell = true;
        state.typed = false;
    }

    /// The cell is over: no more bytes are taken. True when some were, of which some may be unread.
    pub(super) fn end_cell(&self) -> bool {
        let mut state = self.state();
        std::mem::take(&mut state.in_cell) && state.typed
    }

    /// Whether a program of the cell owns the screen.
    pub(super) fn set_foreground_program(&self, owns: bool) {
        self.state().foreground_program = owns;
    }
}

impl CellTerminal for InnerTerminal {
    fn type_bytes(&self, bytes: &[u8]) -> usize {
        if self.control.is_starting() {
            // A signal would hit Python's own start-up: cancel what waits for it instead.
            if bytes.contains(&INTERRUPT) {
                self.control.interrupt();
                return bytes.len();
            }
        }
        // Held while writing: the end of the cell comes before a byte or after it.
        let mut state = self.state();
        let Some(master) = state.master.clone().filter(|_| state.in_cell) else {
            return 0;
        };
        let mut taken = 0;
        while taken < bytes.len() {
            match rustix::io::write(&master, &bytes[taken..]) {
                Ok(count @ 1..) => taken += count,
                Err(rustix::io::Errno::INTR) => {}
                // Full, or nobody there.
                _ => break,
            }
        }
        state.typed |= taken > 0;
        taken
    }

    fn take_lines(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        if let Some(end) = self.lines_end() {
            // In line mode a read gives one whole line; none is there while the cell itself waits for one.
            let mut line = [0; 4096];
            while let Ok(count @ 1..) = rustix::io::read(&end, &mut line) {
                lines.extend_from_slice(&line[..count]);
            }
        }
        lines
    }

    fn has_lines(&self) -> bool {
        self.lines_end()
            .is_some_and(|end| rustix::io::ioctl_fionread(&end).is_ok_and(|count| count > 0))
    }

    fn resize(&self, size: TerminalSize) {
        let mut state = self.state();
        state.size = size;
        if let Some(master) = &state.master {
            // Fails only when the other end is gone.
            let _ = tcsetwinsize(master, window(size));
        }
    }

    fn mode(&self) -> TerminalMode {
        let state = self.state();
        let flags = state
            .master
            .as_ref()
            .and_then(|master| tcgetattr(master).ok())
            .map_or(LocalModes::ISIG | LocalModes::ICANON, |termios| {
                termios.local_modes
            });
        TerminalMode {
            signals: flags.contains(LocalModes::ISIG),
            canonical: flags.contains(LocalModes::ICANON),
            foreground_program: state.foreground_program,
        }
    }
}

/// True when a program has taken the terminal out of line mode and does its own echo, as editors, pagers and line
/// editors do. The runner does so too, for a moment after each cell, to take back what was typed ahead; it is known by
/// reads that never wait (VMIN and VTIME both zero).
pub(super) fn is_raw(master: impl AsFd) -> bool {
    tcgetattr(master).is_ok_and(|termios| {
        let waits = termios.special_codes[SpecialCodeIndex::VMIN] > 0
            || termios.special_codes[SpecialCodeIndex::VTIME] > 0;
        waits
            && !termios
                .local_modes
                .intersects(LocalModes::ICANON | LocalModes::ECHO)
    })
}

/// Opens the end of a pair that the cells have.
fn cells_end(master: &OwnedFd, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    match ioctl_tiocgptpeer(master, OpenptFlags::from_bits_retain(flags.bits())) {
        Ok(end) => Ok(end),
        Err(_) => {
            let name = ptsname(master, Vec::new())?;
            Ok(rustix::fs::open(name, flags, Mode::empty())?)
        }
    }
}

fn make_sane(termios: &mut Termios) {
    termios.input_modes |= InputModes::IUTF8 | InputModes::ICRNL;
    termios.local_modes |= LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK
        | LocalModes::ICANON
        | LocalModes::ISIG
        | LocalModes::IEXTEN;
    // Zero is "no such character".
    termios.special_codes[SpecialCodeIndex::VSUSP] = 0;
}

fn window(size: TerminalSize) -> Winsize {
    Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
