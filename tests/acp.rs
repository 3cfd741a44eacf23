//! Agents of the Agent Client Protocol: a scripted one that does what a prompt's words name, recorded sessions of real
//! ones played again, and the built-in one; the adapter first, then the whole program.

mod codex_acp;
mod faults;
pub(crate) mod harness;
mod program;
pub mod program_faults;
mod recorded;
mod servers;
mod turns;
