//! The Codex adapter on the real app-server (0.169.0) with a scripted model, and on an agent that misbehaves; then the
//! whole program on both.

mod activity;
mod app_server;
mod demo;
pub(crate) mod faults;
pub(crate) mod harness;
mod interruptions;
mod model_service;
mod odd_requests;
mod offered_tools;
mod plan_mode;
pub(crate) mod program;
mod questions;
mod suggest;
mod turns;
