//! JSON-RPC with a child, with whoever started us, or over a socket.
//!
//! `message`, `dialect` and `frame` are pure (bytes and values), `pending` is a table without IO, `peer` owns the
//! threads that read and write; `child` and `socket` are what they read from and write to. One message is one line in
//! both directions. Batches are written, and left to whoever serves to read. Absent on purpose: any knowledge of
//! methods.

mod child;
mod dialect;
mod frame;
mod message;
mod peer;
mod pending;
mod socket;

pub use child::{ChildPeer, Launch, SpawnFailure};
pub use dialect::Dialect;
pub use frame::{RpcFrame, decode, encode, encode_batch, read_frame, read_line};
pub use message::{RpcError, RpcId, RpcMessage};
pub(crate) use peer::taken_no_more;
pub use peer::{Gone, Incoming, Lines, Peer};
pub use pending::Pending;
pub use socket::{Socket, over_socket};
