//! Our tools for clients of the Model Context Protocol: with raw messages, with the reference client, with Codex.

pub mod client;
mod codex;
mod doors;
mod guests;
mod reference;
mod requests;
