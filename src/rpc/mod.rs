//! JSON-RPC with a child, with whoever started us, or over a socket.
//!
//! `message`, `dialect` and `frame` are pure (bytes and values), `pending` is a table without IO, `peer` owns the
//! threads that read and write; `child` and `socket` are what they read from and write to. One message is one line in
//! both directions. Absent on purpose: batches, and any knowledge of methods.

mod child;
mod dialect;
mod frame;
mod message;
mod peer;
mod pending;
mod socket;

pub use child::{ChildPeer, Launch, SpawnFailure};
pub use dialect::Dialect;
pub use frame::{RpcFrame, decode, encode, read_frame};
pub use message::{RpcError, RpcId, RpcMessage};
pub use peer::{Incoming, Peer};
pub use pending::Pending;
pub use socket::{Socket, over_socket};
