//! The Codex adapter on the real app-server (0.169.0) with a scripted model, and on an agent that misbehaves; then the
//! whole program on both.

mod asked;
pub(crate) mod bench;
mod demo;
pub(crate) mod faults;
mod offered;
mod program;
mod questions;
mod real;
mod stops;
mod suggest;
mod turns;
mod upstream;
mod work;
