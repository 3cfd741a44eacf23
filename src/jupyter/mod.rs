//! The wire of Jupyter, as clients and kernels share it: kernelspecs, connection files, signed messages, sockets; and
//! the same over HTTP and a websocket, as gateways have it.
//!
//! Both ends are here: a client's (`channels`) and a kernel's (`host`).
//!
//! In: files of this machine, messages of kernels and of clients. Out: the same as values; a message that is signed
//! wrongly or cannot be read is no message. Version 5.5 of the messaging protocol. Words are those of
//! `jupyter-protocol`, sockets and signatures those of `jupyter-zmq-client`; what comes in is read as JSON, since
//! kernels of all languages leave out and add what they like. Absent on purpose: what messages mean, and who starts
//! whom.

mod channels;
mod comm;
mod connection;
mod frames;
mod host;
mod kernelspec;
mod message;
mod publishing;
mod rest;
mod socket;
mod tls;
mod tls_transport;
mod zmtp;

pub use channels::{Channels, Heard, open};
pub use comm::{comm_message, comm_to_send};
pub use connection::{ConnectionFault, KeptPort, answers, for_new_kernel, fresh_name, read, write};
pub use host::{Host, Request, Requests, listen};
pub use jupyter_protocol::ConnectionInfo;
pub use kernelspec::{Kernelspec, KernelspecFault, data_folders, find};
pub use message::{Channel, Incoming, Outgoing, PROTOCOL};
pub use rest::{Gateway, GatewayFault};
pub use socket::{Socket, open as open_socket};
pub use tls::certificates;
