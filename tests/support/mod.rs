//! What the tests stand on: a pseudo-terminal with a virtual screen, private homes, real peers, a scripted model.
//!
//! The benches use it too; each user takes a part of it.
#![allow(dead_code, reason = "tests and benches each use a part")]

pub mod home;
pub mod peers;
pub mod pty;
pub mod responses;

/// Waits until `so`; fails after a minute.
pub fn await_true(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + home::PATIENCE;
    while !so() {
        assert!(
            std::time::Instant::now() < deadline,
            "not within a minute: {what}"
        );
        std::thread::yield_now();
    }
}
