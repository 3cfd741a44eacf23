//! Any agent that speaks the Agent Client Protocol (version 1) over its standard input and output.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread) --lines--> the agent's process
//!  AgentEvents <--bounded--    |      <--messages, bounded--  reader thread
//!                              +-- files, terminals: requests of the agent, on threads of their own
//! ```
//!
//! `program` has the purposes of requests, `initialize` the agent's features, `sessions` (with
//! `options`) opens the session of a prompt, `active_turn` is the current turn, `event_mapper` (with `tool_calls`)
//! maps updates to events, `client_services` (with `permission`, `elicitation`, `files`, `terminals`) serves requests
//! of the agent, `side_requests` sends requests outside of turns. Each owns its fields; `client` passes messages to
//! them and carries out the effects they return. Facts about peers: protocol version 1, codex-acp 2.6.0 and 0.16.0,
//! gemini-cli 0.61.0, opencode 1.18.33, claude-agent-acp 0.49.0.
//!
//! Absent on purpose: wire types. Messages are read field by field, so unknown updates and additional fields do no
//! harm.

mod active_turn;
mod client;
mod client_services;
mod content;
mod elicitation;
mod event_mapper;
mod failure;
mod files;
mod initialize;
mod options;
mod permission;
mod process;
mod program;
mod sessions;
mod side_requests;
mod terminals;
mod tool_calls;

pub(crate) use client::Acp;
pub use program::{Program, SizeLimit};
