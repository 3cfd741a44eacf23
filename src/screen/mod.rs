//! The one writer to the terminal, and the guard that gives the terminal back.

pub mod live;
