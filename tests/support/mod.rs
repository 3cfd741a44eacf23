//! What the tests stand on: a pseudo-terminal with a virtual screen, private homes, real peers, a scripted model.

pub mod home;
pub mod peers;
pub mod pty;
pub mod responses;
