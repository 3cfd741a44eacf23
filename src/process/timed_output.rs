//! Runs a program for its output, with a time limit.
//!
//! Invariants: the program has ended when [`output_within`] returns; its descendants are not waited for. Absent on
//! purpose: output of more than [`MAX_OUTPUT`] bytes, which runs into the time limit.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Limit of each stream, in bytes.
const MAX_OUTPUT: u64 = 64 << 20;

/// How long the rest of the output is waited for after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Runs `command` with empty standard input; `None` when it has not ended within `timeout`, and was killed.
///
/// # Errors
/// The operating system's: the program could not be started, or its output not be read.
pub fn output_within(command: &mut Command, timeout: Duration) -> io::Result<Option<Output>> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().map(read_in_thread).transpose()?;
    let stderr = child.stderr.take().map(read_in_thread).transpose()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() >= timeout {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let all =
        |pipe: Option<Receiver<Vec<u8>>>| pipe.and_then(|it| it.recv_timeout(DRAIN_TIMEOUT).ok());
    Ok(Some(Output {
        status,
        stdout: all(stdout).unwrap_or_default(),
        stderr: all(stderr).unwrap_or_default(),
    }))
}

/// Reads a pipe to its end on a thread, so that a full pipe does not block the program.
fn read_in_thread(pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, output) = channel();
    std::thread::Builder::new()
        .name("short answer".into())
        .spawn(move || {
            let mut bytes = Vec::new();
            // On an error the bytes so far are the output; the receiver may be gone.
            let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
        })?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_returned_within_the_timeout_and_none_after_it() {
        let ask = |script: &str, timeout| {
            let mut shell = Command::new("sh");
            output_within(shell.args(["-c", script]), timeout).unwrap()
        };
        let answer = ask("cat; echo out; echo err >&2; exit 3", Duration::MAX).unwrap();
        assert_eq!(
            (&*answer.stdout, &*answer.stderr, answer.status.code()),
            (&b"out\n"[..], &b"err\n"[..], Some(3))
        );
        let long = ask("head -c 300000 /dev/zero", Duration::MAX).unwrap();
        assert_eq!(long.stdout.len(), 300_000);
        assert!(ask("exec sleep 60", Duration::from_millis(20)).is_none());
        assert!(output_within(&mut Command::new("/nonexistent"), Duration::MAX).is_err());
    }
}
