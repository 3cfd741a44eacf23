//! The wire of Jupyter, as clients and kernels share it: kernelspecs, connection files, signed messages, sockets; and
//! the same over HTTP and a websocket, as gateways have it.
//!
//! Both ends are here: a client's (`channels`) and a kernel's (`server`).
//!
//! In: files of this machine, messages of kernels and of clients. Out: the same as values; a message that is signed
//! wrongly or cannot be read is no message. Version 5.5 of the messaging protocol. Words are those of
//! `jupyter-protocol`, sockets and signatures those of `jupyter-zmq-client`; what comes in is read as JSON, since
//! kernels of all languages leave out and add what they like. Absent on purpose: what messages mean, and who starts
//! whom.

mod channels;
mod comm;
mod connection;
mod gateway;
mod iopub;
mod kernelspec;
mod message;
mod server;
mod tls;
mod tls_transport;
mod websocket;
mod websocket_frames;
mod zmtp;

pub use channels::{ChannelEvent, ClientChannels, open_channels};
pub use comm::{comm_to_wire, parse_comm};
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
