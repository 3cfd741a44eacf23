//! A program that says one short thing and ends: asked, and not waited for longer than was said.
//!
//! Invariants: it is gone when [`short_answer`] returns; what it has started and left behind is not waited for. Absent
//! on purpose: answers of more than [`LARGEST`] bytes, which are waited for in vain.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Bytes of an answer.
const LARGEST: u64 = 64 << 20;

/// How long the rest of what it has written is waited for when it has ended.
const REST: Duration = Duration::from_millis(500);

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
    let stdout = child.stdout.take().map(reading).transpose()?;
    let stderr = child.stderr.take().map(reading).transpose()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if asked.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    };
    let all = |pipe: Option<Receiver<Vec<u8>>>| pipe.and_then(|it| it.recv_timeout(REST).ok());
    Ok(Some(Output {
        status,
        stdout: all(stdout).unwrap_or_default(),
        stderr: all(stderr).unwrap_or_default(),
    }))
}

/// Reads all that comes, on a thread of its own: a pipe takes only so much.
fn reading(pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (tell, told) = channel();
    std::thread::Builder::new()
        .name("short answer".into())
        .spawn(move || {
            let mut bytes = Vec::new();
            // What was read so far is the answer; whoever asked may have gone.
            let _ = pipe.take(LARGEST).read_to_end(&mut bytes);
            let _ = tell.send(bytes);
        })?;
    Ok(told)
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
        let long = ask("head -c 300000 /dev/zero", Duration::MAX).unwrap();
        assert_eq!(long.stdout.len(), 300_000);
        assert!(ask("exec sleep 60", Duration::from_millis(20)).is_none());
        assert!(short_answer(&mut Command::new("/nonexistent"), Duration::MAX).is_err());
    }
}
