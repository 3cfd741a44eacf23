//! The persistent shell: the user's own bash or zsh on a pseudo-terminal.
//!
//! In: requests of the contract, of which it runs commands. Out: its events. A script of ours (`assets/shell`) is
//! read after the user's own settings (`launch.rs`) and lets one thread (`supervisor.rs`, `shell_process.rs`) pass
//! commands to the shell's top level; marks in the terminal's output report when one begins and how it ends. `plan.rs`
//! chooses the shell. Absent on purpose: the shell's language, sanitising output, the user's own terminal.

mod control;
mod launch;
mod plan;
mod shell_process;
mod supervisor;

use super::RuntimeCapabilities;
pub use plan::ShellPlan;
pub(super) use supervisor::start;

pub(super) fn capabilities(name: &str) -> RuntimeCapabilities {
    RuntimeCapabilities {
        input: true,
        terminal: true,
        interrupt: true,
        restart: true,
        ..RuntimeCapabilities::cells_only(name)
    }
}
