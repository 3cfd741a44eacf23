//! Kernels of Jupyter behind the session: the real ipykernel, one of another language, bad
//! ones, and the real gateway.

mod bad;
mod bench;
mod cells;
mod gateway;
mod program;
