//! Our tools for clients of the Model Context Protocol: with raw messages, with the reference client, with Codex.

mod attached_clients;
pub mod client;
mod codex;
mod reference;
mod requests;
mod sockets;
