//! Our tools for clients of the Model Context Protocol: with raw messages, with the reference client, with Codex.

mod attached_clients;
pub mod client;
pub mod client_faults;
mod codex;
mod reference;
mod requests;
mod sockets;
