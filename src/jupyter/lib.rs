//! The wire of Jupyter, for clients and kernels: kernelspecs, connection files, signed messages and sockets; the
//! same over HTTP and websocket for gateways.
//!
//! Both sides are here: a client's (`channels`) and a kernel's (`server`).
//!
//! In: files of this machine, messages of kernels and clients. Out: the same as values; a message with a wrong
//! signature or that cannot be parsed is dropped. Version 5.5 of the messaging protocol. Names are those of
//! `jupyter-protocol`; sockets are our own (`zmtp`), since those of `zeromq` let one peer harm the others. Incoming
//! messages are read as JSON, since kernels of all languages omit and add fields freely. Absent on purpose: the
//! meaning of messages, and starting kernels.

mod channels;
mod comm;
mod connection;
mod gateway;
mod iopub;
mod kernelspec;
mod listener;
mod message;
mod router;
mod server;
mod signing;
mod tls;
mod tls_transport;
mod websocket;
mod websocket_frames;
mod zmtp;

use ipycodex_text as text;

pub use channels::{ChannelEvent, ClientChannels, open_channels};
pub use comm::{CommMessage, CommOp, comm_to_wire, parse_comm};
pub use connection::{
    ConnectionFileError, ReservedPort, check_listening, new_connection, read, unique_id, write,
};
pub use gateway::{Gateway, GatewayError};
pub use jupyter_protocol::ConnectionInfo;
pub use kernelspec::{Kernelspec, KernelspecError, data_dirs, find_kernelspec};
pub use message::{Channel, IncomingMessage, OutgoingMessage, PROTOCOL};
pub use server::{ClientRequest, ClientRequests, KernelServer, listen};
pub use tls::certificates;
pub use websocket::{Socket, open as open_socket};
