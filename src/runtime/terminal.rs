//! The pseudo-terminal that cells, or the commands of a shell, own: made once for every interpreter, one handle for all
//! of them.
//!
//! In: what the user types, the size of the window. Out: whoever made it reads the master's bytes. Invariants: a handle
//! outlives every interpreter and does nothing between two of them; a byte is taken only while a cell runs, as its
//! owner tells, so none waits in the terminal for a later cell; writing never blocks; a suspend character is acted upon
//! only where there is a shell to bring back what it stops. Absent on purpose: the user's own terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use super::{CellTerminal, TerminalMode, TerminalSize};
use crate::process::{self, SuspendKey, foreground_job};

/// What control-C sends.
const INTERRUPT: u8 = 3;

/// Whoever hears of a Ctrl-C before a program could.
pub(super) trait EarlyInterrupt: std::fmt::Debug + Send + Sync {
    /// It has done what there is to do: the interpreter is not there yet.
    fn interrupt_before_start(&self) -> bool;
}

/// The handle; see the module.
#[derive(Debug)]
pub(super) struct CellPty {
    state: Mutex<PtyState>,
    keys: Arc<dyn EarlyInterrupt>,
    stop: SuspendKey,
}

#[derive(Debug)]
struct PtyState {
    master: Option<Arc<OwnedFd>>,
    size: TerminalSize,
    foreground_program: bool,
    /// A cell runs: it has begun, and its end has not been seen.
    in_cell: bool,
    /// Bytes were typed for it.
    typed: bool,
}

impl CellPty {
    /// `stop`: there is somebody to bring back what Ctrl-Z stops.
    pub(super) fn new(size: TerminalSize, stop: SuspendKey, keys: Arc<dyn EarlyInterrupt>) -> Self {
        let state = PtyState {
            master: None,
            size,
            foreground_program: false,
            in_cell: false,
            typed: false,
        };
        CellPty {
            state: Mutex::new(state),
            keys,
            stop,
        }
    }

    fn state(&self) -> MutexGuard<'_, PtyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a new pair and gives out its ends, the master's first. What is typed from now on goes there.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open(&self) -> io::Result<(Arc<OwnedFd>, OwnedFd)> {
        let mut state = self.state();
        let TerminalSize { columns, rows } = state.size;
        let (master, slave) = process::open_pty(columns, rows, self.stop)?;
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
            .then(|| process::open_peer(master, false).ok())?
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

impl CellTerminal for CellPty {
    fn type_bytes(&self, bytes: &[u8]) -> usize {
        if bytes.contains(&INTERRUPT) && self.keys.interrupt_before_start() {
            return bytes.len();
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

    fn is_waiting_for_input(&self) -> bool {
        let state = self.state();
        let master = state.master.as_ref().filter(|_| state.in_cell);
        let group = master.and_then(|master| tcgetpgrp(master).ok());
        group.is_some_and(process::reads_input)
    }

    fn resize(&self, size: TerminalSize) {
        let mut state = self.state();
        state.size = size;
        if let Some(master) = &state.master {
            // Fails only when the other end is gone.
            let _ = process::set_size(master, size.columns, size.rows);
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
        let jobs = self.stop == SuspendKey::Enabled;
        TerminalMode {
            signals: flags.contains(LocalModes::ISIG),
            canonical: flags.contains(LocalModes::ICANON),
            foreground_program: state.foreground_program
                || (jobs
                    && state
                        .master
                        .as_ref()
                        .is_some_and(|it| foreground_job(it).is_some())),
            job_control: jobs,
        }
    }
}
