//! JSON-RPC with a child process, over our own standard streams, or over a socket.
//!
//! `message` and `frame` are pure (bytes and values), `pending` is a table without IO, `peer` owns the threads that
//! read and write, `child` and `socket` supply its streams. One message is one line in both directions. Batches are
//! written here; servers read them themselves. Absent on purpose: any knowledge of methods.

mod child;
mod frame;
mod message;
mod peer;
mod pending;
mod socket;

pub use child::{ChildPeer, Launch, SpawnFailure};
pub use frame::{RpcFrame, decode, encode, encode_batch, read_frame, read_line};
pub use message::{Dialect, RpcError, RpcId, RpcMessage};
pub use peer::wait_until_closed;
pub use peer::{CloseSignal, Incoming, Lines, Peer};
pub use pending::Pending;
pub use socket::{Socket, over_socket};
