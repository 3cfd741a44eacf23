//! A program that says one short thing and ends: asked, and not waited for longer than was said.
//!
//! Invariant: it is gone when [`short_answer`] returns. Absent on purpose: long answers. What does not fit into a pipe
//! is waited for in vain.

use std::io;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How often a program that has not ended is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What `command` writes, and how it ends; `None` when it has not ended within `patience`. Its standard input is empty.
///
/// # Errors
/// The operating system's: it could not be started, or what it wrote could not be read.
pub fn short_answer(command: &mut Command, patience: Duration) -> io::Result<Option<Output>> {
    let asked = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    while child.try_wait()?.is_none() {
        if asked.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
    child.wait_with_output().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_or_that_it_says_nothing() {
        let ask = |script: &str, patience| {
            let mut shell = Command::new("sh");
            short_answer(shell.args(["-c", script]), patience).unwrap()
        };
        let answer = ask("cat; echo out; echo err >&2; exit 3", Duration::MAX).unwrap();
        assert_eq!(
            (&*answer.stdout, &*answer.stderr, answer.status.code()),
            (&b"out\n"[..], &b"err\n"[..], Some(3))
        );
        assert!(ask("exec sleep 60", Duration::from_millis(20)).is_none());
        assert!(short_answer(&mut Command::new("/nonexistent"), Duration::MAX).is_err());
    }
}
