//! Kernels of Jupyter behind the session: the real ipykernel, one of another language, and bad ones.

mod bad;
mod bench;
mod cells;
mod program;
