//! The pseudo-terminal that cells, or the commands of a shell, own: a new pair for every interpreter, one handle
//! for all of them.
//!
//! In: the user's keys, the size of the window. Out: the caller of `open` reads the master's bytes. Invariants: a
//! handle outlives every interpreter and does nothing between two of them; a byte is taken only while a cell runs,
//! as reported by its owner, so that none is left in the terminal for a later cell; writing never blocks; a suspend
//! character takes effect only where a shell can resume the stopped job. Absent on purpose: the user's own
//! terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use super::{CellTerminal, TerminalMode, TerminalSize};
use crate::process::{self, SuspendKey, foreground_job};

/// Byte of Ctrl-C.
const INTERRUPT: u8 = 3;

/// Receives a Ctrl-C before an interpreter exists.
pub(super) trait EarlyInterrupt: std::fmt::Debug + Send + Sync {
    /// Returns true when the key was handled here, because the interpreter has not started yet.
    fn interrupt_before_start(&self) -> bool;
}

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
    /// True from the start of a cell until its end has been seen.
    in_cell: bool,
    typed: bool,
}

impl CellPty {
    /// `stop` says how to treat Ctrl-Z, which takes effect only where a shell can resume the stopped job.
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

    /// Creates a new pair and returns its ends, the master first. Later bytes are typed into the new pair.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn open(&self) -> io::Result<(Arc<OwnedFd>, OwnedFd)> {
        let (master, slave) = self.open_spare()?;
        self.install(&master, false);
        Ok((master, slave))
    }

    /// As [`CellPty::open`], without typing into the new pair.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn open_spare(&self) -> io::Result<(Arc<OwnedFd>, OwnedFd)> {
        let TerminalSize { columns, rows } = self.state().size;
        let (master, slave) = process::open_pty(columns, rows, self.stop)?;
        Ok((Arc::new(master), slave))
    }

    /// Types later bytes into the pair with this master; a cell may run there already.
    pub(super) fn install(&self, master: &Arc<OwnedFd>, in_cell: bool) {
        let mut state = self.state();
        state.master = Some(Arc::clone(master));
        state.foreground_program = false;
        state.in_cell = in_cell;
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.state().size
    }

    /// Duplicates the cells' end of the terminal when it is in line mode; reading from it never waits.
    fn lines_end(&self) -> Option<OwnedFd> {
        let state = self.state();
        let master = state.master.as_ref().filter(|_| state.in_cell)?;
        let modes = tcgetattr(master).ok()?.local_modes;
        modes
            .contains(LocalModes::ICANON)
            .then(|| process::open_peer(master, false).ok())?
    }

    pub(super) fn close(&self) {
        let mut state = self.state();
        state.master = None;
        state.in_cell = false;
    }

    /// Marks the start of a cell: bytes are taken from now on.
    pub(super) fn begin_cell(&self) {
        let mut state = self.state();
        state.in_cell = true;
        state.typed = false;
    }

    /// Marks the end of the cell: no more bytes are taken. Returns true when some were taken, which may be unread.
    pub(super) fn end_cell(&self) -> bool {
        let mut state = self.state();
        std::mem::take(&mut state.in_cell) && state.typed
    }

    pub(super) fn set_foreground_program(&self, owns: bool) {
        self.state().foreground_program = owns;
    }
}

impl CellTerminal for CellPty {
    fn type_bytes(&self, bytes: &[u8]) -> usize {
        if bytes.contains(&INTERRUPT) && self.keys.interrupt_before_start() {
            return bytes.len();
        }
        // The lock is held while writing: the end of the cell comes before a byte or after it.
        let mut state = self.state();
        let Some(master) = state.master.clone().filter(|_| state.in_cell) else {
            return 0;
        };
        let mut taken = 0;
        while taken < bytes.len() {
            match rustix::io::write(&master, &bytes[taken..]) {
                Ok(count @ 1..) => taken += count,
                Err(rustix::io::Errno::INTR) => {}
                // The terminal is full, or has no reader.
                _ => break,
            }
        }
        state.typed |= taken > 0;
        taken
    }

    fn take_lines(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        if let Some(end) = self.lines_end() {
            // In line mode a read returns one whole line; there is none while the cell itself waits for one.
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
