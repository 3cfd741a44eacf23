//! A program that has the terminal for a while: the user's editor, a pager.
//!
//! In: its command, and what it reads. Out: how it ended. It shares our process group: keys that make signals reach us
//! both, and mean nothing to us. Invariant: a stop (Ctrl-Z) is the program's first. It may have a screen to put away,
//! and may take its time: the shell gets the terminal back when the program stands still, and not before; whatever is
//! written to it meanwhile.
//!
//! Absent on purpose: the terminal's mode, which `screen` gives back before and takes again afterwards.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::job::{KeysIgnored, stop_our_job};

/// Runs a program that has the terminal until it ends; `input` is what it reads, the terminal when there is none.
///
/// # Errors
/// When it could not be started.
pub fn run_in_front(command: &mut Command, input: Option<&[u8]>) -> io::Result<ExitStatus> {
    let mut keys = KeysIgnored::begin()?;
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn()?;
    let pipe = child.stdin.take();
    std::thread::scope(|threads| {
        if let (Some(mut pipe), Some(input)) = (pipe, input) {
            // A program that is left before it has read all closes the pipe.
            threads.spawn(move || pipe.write_all(input));
        }
        wait(&child, &mut keys)
    })
}

fn wait(child: &Child, keys: &mut KeysIgnored) -> io::Result<ExitStatus> {
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        let status = match waitpid(child, WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        if !status.stopped() {
            return Ok(ExitStatus::from_raw(status.as_raw()));
        }
        // Any other stop is between the program and whoever stopped it. That it could stop by this one says that there
        // is a shell that lets us go on.
        if status.stopping_signal() == Some(Signal::TSTP.as_raw()) {
            keys.with_stops(stop_our_job);
            if let Some(child) = child {
                let _ = kill_process(child, Signal::CONT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_is_given_and_tells_how_it_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "read first; test \"$first\" = one && exit 7"]);
        let long = b"one\n".repeat(1 << 20);
        let status = run_in_front(&mut command, Some(&long)).unwrap();
        assert_eq!(status.code(), Some(7));
        let mut killed = Command::new("sh");
        killed.args(["-c", "kill -9 $$"]);
        assert_eq!(run_in_front(&mut killed, None).unwrap().signal(), Some(9));
        assert!(run_in_front(&mut Command::new("/nonexistent"), None).is_err());
    }

    #[test]
    fn a_stop_from_outside_is_not_ours() {
        let mut command = Command::new("sh");
        command.args(["-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 3"]);
        let status = run_in_front(&mut command, None).unwrap();
        assert_eq!(status.code(), Some(3));
    }
}
