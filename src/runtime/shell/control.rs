//! How a shell is interrupted.
//!
//! Invariants: nothing here blocks; an interrupt before the shell has begun with a command is kept until it has, or
//! ends a shell that is still reading its settings.

use super::super::Interrupter;
use super::super::control;
use super::super::terminal::EarlyKeys;

/// Shared by the thread and all handles.
pub(super) type Control = control::Control<Interrupts>;

#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// A command runs: keys reach it.
    running: bool,
    /// Somebody wants what runs, or is about to, to stop.
    interrupted: bool,
}

impl Control {
    /// Whether a command runs. A wish to stop it is over when it is.
    pub(super) fn set_running(&self, running: bool) {
        let mut state = self.state();
        state.own.running = running;
        state.own.interrupted &= running;
    }

    /// Whether somebody wants a stop; nobody does afterwards.
    pub(super) fn take_interrupt(&self) -> bool {
        std::mem::take(&mut self.state().own.interrupted)
    }
}

impl EarlyKeys for Control {
    fn interrupts_early(&self) -> bool {
        let early = !self.state().own.running;
        if early {
            self.interrupt();
        }
        early
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        self.state().own.interrupted = true;
        self.wake();
    }

    fn kill(&self) {
        if let Some(group) = &self.state().group {
            group.kill();
        }
    }
}
