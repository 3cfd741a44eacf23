//! JSON-RPC over a child process: message types, a table of pending ids, and the threads that pump.
//!
//! `message` and `frame` are pure (bytes and values), `pending` is a table without IO, `peer` alone owns threads and
//! pipes. One message is one line in both directions; the `jsonrpc` field is neither needed nor sent (the Codex
//! app-server 0.169.0 does neither). Absent on purpose: batches, and any knowledge of methods.

mod frame;
mod message;
mod peer;
mod pending;

pub use frame::{Frame, decode, encode, read_frame};
pub use message::{Id, Message, RpcError};
pub use peer::{Incoming, Launch, Peer, SpawnFailure};
pub use pending::Pending;
