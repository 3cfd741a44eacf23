//! Our tools for any client of the Model Context Protocol: a front-end whose inputs are tool calls.
//!
//! A *guest* is one client on one connection (`guest.rs`): over our own standard streams, for a session without a
//! terminal, or over the socket of a running shell (`door.rs`, in `folder.rs`, found by `shells.rs`), where `ipycodex
//! mcp` carries the bytes (`relay.rs`). Calls go to the session, which runs them in their turn; what is asked is asked
//! at the shell, and without one answered by what the command line allows (`allowance.rs`). The protocol is in
//! `wire.rs` alone, its JSON-RPC in `reading.rs` and `batches.rs`.
//!
//! Absent on purpose: a transport of our own (`rpc`), and types of a library: what is said here are a dozen small
//! objects, while the library for it brings an executor's whole networking.

mod allowance;
mod batches;
mod call;
mod door;
mod folder;
mod guest;
mod reading;
mod relay;
mod shells;
mod wire;

use crate::report::Report;
use crate::rpc::{Dialect, Peer};
use crate::session::SessionHandle;

pub use allowance::{Allowance, Allowed};
pub use door::Door;
pub use relay::relay;
pub use shells::{RunningShell, running};
pub use wire::SERVER_NAME;

use guest::{Guest, Host};

/// Serves whoever started us, over our standard streams, until they hang up and have their answers.
///
/// # Errors
/// When standard input or output is closed, or no thread can be had.
pub fn serve(session: &SessionHandle, allowance: Allowance) -> Result<(), Report> {
    let failed = |error| Report::failure("could not serve MCP").because(error);
    let (peer, lines, gone) =
        Peer::over_standard_streams(Dialect::Versioned, "mcp").map_err(failed)?;
    let host = Host {
        session: session.clone(),
        allowance: Some(allowance),
        inside: false,
    };
    Guest::new(host, peer).receive(lines, gone).map_err(failed)
}
