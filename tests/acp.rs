//! Agents of the Agent Client Protocol: a scripted one that does what a prompt's words name, recorded sessions of real
//! ones played again, and the built-in one; the adapter first, then the whole program.

pub(crate) mod bench;
mod faults;
mod program;
mod real;
mod recorded;
mod servers;
mod turns;
