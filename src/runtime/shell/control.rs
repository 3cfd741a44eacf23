//! Interrupts of a shell.
//!
//! Invariants: nothing here blocks; an interrupt before the shell has begun a command is kept until the command
//! begins, or kills a shell that is still reading its settings; a kill takes effect at once, in every state of the
//! shell.

use super::super::Interrupter;
use super::super::control;
use super::super::terminal::EarlyInterrupt;

pub(super) type Control = control::Control<Interrupts>;

#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// A command runs: keys reach it.
    running: bool,
    /// The user interrupted the running command, or the one about to run.
    interrupted: bool,
    /// Ctrl-C is being typed for the running command.
    typed: bool,
    /// The user wants the program that blocks the shell killed.
    killed: bool,
}

impl Control {
    /// Sets if a command runs; its end clears a pending interrupt.
    pub(super) fn set_running(&self, running: bool) {
        let mut state = self.state();
        state.own.running = running;
        state.own.interrupted &= running;
    }

    /// Returns true when Ctrl-C was typed since the last call.
    pub(super) fn take_typed(&self) -> bool {
        std::mem::take(&mut self.state().own.typed)
    }

    pub(super) fn take_kill(&self) -> bool {
        std::mem::take(&mut self.state().own.killed)
    }

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
