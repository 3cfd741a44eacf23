//! What the tests stand on: a pseudo-terminal with a virtual screen, private homes, real peers, a scripted model.
//!
//! The benches use it too; each user takes a part of it.
#![allow(dead_code, reason = "tests and benches each use a part")]

pub mod home;
pub mod lab;
pub mod peers;
pub mod pty;
pub mod random;
pub mod responses;
pub mod second_terminal;
pub mod strace;
pub mod tmux;
pub mod ways;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at what nobody tells of (files, processes): a test that only looks takes the processor from what
/// it looks for.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until `so`; fails after a minute.
#[track_caller]
pub fn await_true(what: &str, so: impl FnMut() -> bool) {
    await_within(what, home::PATIENCE, so);
}

/// Waits until `so`; fails after `within`.
#[track_caller]
pub fn await_within(what: &str, within: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Writes an executable file. Another process does it: a child that another test starts at this moment would hold the
/// file open for writing until it runs its own program, and until then nothing could run this one ("text file busy").
pub fn write_executable(path: &Path, text: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat >"$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut input = writer.stdin.take().expect("piped above");
    input
        .write_all(text.as_bytes())
        .expect("it reads to the end");
    drop(input);
    let written = writer.wait().expect("our own child");
    assert!(written.success(), "cannot write {}", path.display());
}
