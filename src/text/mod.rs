//! Text as such: positions, display width, foreign text made safe.

pub mod escape;
pub mod offset;
pub mod width;
