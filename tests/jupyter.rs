//! Kernels of Jupyter behind the session: the real ipykernel, ones of other languages, bad
//! ones, and the real gateway: found, behind TLS, shared.

mod cells;
mod faults;
pub mod faulty_kernels;
mod gateway;
mod gateway_server;
mod harness;
mod languages;
mod lost_kernels;
mod program;
mod proxy;
mod shared;
mod tls;
mod waiting_notices;
