//! Our tools for any client of the Model Context Protocol: a front-end whose inputs are tool calls.
//!
//! A client connects (`connection.rs`) over our own standard streams, for a session without a terminal, or over the
//! socket of a running shell (`socket_server.rs`); `ipycodex mcp` finds that socket and copies the bytes (`attach.rs`).
//! Calls go to the session, which runs them in order. Questions are asked at the shell; without a shell, the
//! permissions of the command line answer them (`permissions.rs`). `wire.rs` alone knows the protocol, `jsonrpc.rs` its
//! envelope.
//!
//! Absent on purpose: a transport of our own (`rpc`), and types of a library: the messages are a dozen small objects,
//! while the library brings the networking of a whole async runtime.

mod attach;
mod call;
mod connection;
mod jsonrpc;
mod permissions;
mod socket_server;
mod wire;

use crate::rpc::{Dialect, Peer};
use crate::session::SessionHandle;
use crate::text::report::Report;

pub use attach::{RunningShell, relay, running_shells};
pub use permissions::{Permission, PermissionSet};
pub use socket_server::SocketServer;
pub use wire::SERVER_NAME;

use connection::{ClientContext, McpConnection};

/// Serves our parent process over our standard streams, until the parent has closed them and has its answers.
///
/// # Errors
/// When standard input or output is closed, or no thread can be started.
pub fn serve(session: &SessionHandle, allowance: PermissionSet) -> Result<(), Report> {
    let failed = |error| Report::failure("could not serve MCP").because(error);
    let (peer, lines, closed) = Peer::over_stdio(Dialect::Versioned, "mcp").map_err(failed)?;
    let context = ClientContext {
        session: session.clone(),
        allowance: Some(allowance),
        inside: false,
    };
    McpConnection::new(context, peer)
        .run(lines, closed)
        .map_err(failed)
}
