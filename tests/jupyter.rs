//! Kernels of Jupyter behind the session: the real ipykernel, ones of other languages, bad
//! ones, and the real gateway: found, behind TLS, shared.

mod bad;
mod bench;
mod cells;
mod gateway;
mod gone;
mod languages;
mod program;
mod served;
mod shared;
mod tls;
mod waits;
mod way;
