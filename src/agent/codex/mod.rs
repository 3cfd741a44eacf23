//! The Codex app-server as an agent.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread: process, setup, turn) --lines--> codex app-server
//!  AgentEvents <--bounded--            <--messages, bounded--  reader thread
//! ```
//!
//! The handle here only queues commands, so it never blocks. The driver owns everything else; it starts the process
//! when first needed, and again after a death. Wire types stay in `wire/`. Facts about the peer: Codex 0.169.0. The
//! built-in offline agent speaks the same protocol and uses the same client.

mod active_turn;
mod activity;
mod answer;
mod client;
mod completion;
mod failure;
mod images;
mod limits;
mod lookups;
mod open_requests;
mod process;
mod questions;
mod seed;
mod server_requests;
mod settings;
mod thread_setup;
mod tool_names;
mod turn;
pub(crate) mod wire;

pub(crate) use client::Codex;
pub(crate) use process::Program;
