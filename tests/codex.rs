//! The Codex adapter on the real app-server (0.169.0) with a scripted model, and on an agent that misbehaves.

mod bench;
mod demo;
mod faults;
mod real;
mod stops;
mod turns;
mod upstream;
mod work;
