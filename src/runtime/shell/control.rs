//! How a shell is interrupted.
//!
//! Invariants: nothing here blocks; an interrupt before the shell has begun with a command is kept until it has, or
//! ends a shell that is still reading its settings; an end comes at once, whatever the shell is doing.

use super::super::Interrupter;
use super::super::control;
use super::super::terminal::EarlyInterrupt;

/// Shared by the thread and all handles.
pub(super) type Control = control::Control<Interrupts>;

#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// A command runs: keys reach it.
    running: bool,
    /// Somebody wants what runs, or is about to, to stop.
    interrupted: bool,
    /// Ctrl-C is being typed for what runs.
    typed: bool,
    /// Somebody wants what holds the shell up to end.
    killed: bool,
}

impl Control {
    /// Whether a command runs. A wish to stop it is over when it is.
    pub(super) fn set_running(&self, running: bool) {
        let mut state = self.state();
        state.own.running = running;
        state.own.interrupted &= running;
    }

    /// Whether Ctrl-C was typed since this was asked.
    pub(super) fn take_typed(&self) -> bool {
        std::mem::take(&mut self.state().own.typed)
    }

    /// Whether somebody wants an end; nobody does afterwards.
    pub(super) fn take_kill(&self) -> bool {
        std::mem::take(&mut self.state().own.killed)
    }

    /// Whether somebody wants a stop; nobody does afterwards.
    pub(super) fn take_interrupt(&self) -> bool {
        std::mem::take(&mut self.state().own.interrupted)
    }
}

impl EarlyInterrupt for Control {
    fn interrupt_before_start(&self) -> bool {
        let mut state = self.state();
        let early = !state.own.running;
        state.own.interrupted |= early;
        state.own.typed |= !early;
        drop(state);
        self.wake();
        early
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        self.state().own.interrupted = true;
        self.wake();
    }

    fn kill(&self) {
        self.state().own.killed = true;
        self.wake();
    }
}
