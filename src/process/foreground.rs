//! Runs a program in the foreground of the user's terminal: the editor, a pager.
//!
//! In: its command and its standard input. Out: its exit status. The program shares our process group, so signals of
//! keys reach both; we ignore them. Invariant: at Ctrl-Z the program stops first, since it may have to restore the
//! screen and take its time; we stop, and give the shell the terminal, when the program has stopped.
//!
//! Absent on purpose: the terminal's mode, which `screen` restores before and sets again afterwards.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::job::{KeysIgnored, stop_our_job};

/// Runs a program until it ends; `input` is its standard input, `None` the terminal.
///
/// # Errors
/// When it could not be started.
pub fn run_in_foreground(command: &mut Command, input: Option<&[u8]>) -> io::Result<ExitStatus> {
    let mut keys = KeysIgnored::begin()?;
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn()?;
    let pipe = child.stdin.take();
    std::thread::scope(|threads| {
        if let (Some(mut pipe), Some(input)) = (pipe, input) {
            // Fails when the program ends before it has read everything.
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
        // Other stops need no action. A program that SIGTSTP could stop has a shell that will continue us.
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
    fn a_program_reads_its_input_and_its_exit_status_is_returned() {
        let mut command = Command::new("sh");
        command.args(["-c", "read first; test \"$first\" = one && exit 7"]);
        let long = b"one\n".repeat(1 << 20);
        let status = run_in_foreground(&mut command, Some(&long)).unwrap();
        assert_eq!(status.code(), Some(7));
        let mut killed = Command::new("sh");
        killed.args(["-c", "kill -9 $$"]);
        assert_eq!(
            run_in_foreground(&mut killed, None).unwrap().signal(),
            Some(9)
        );
        assert!(run_in_foreground(&mut Command::new("/nonexistent"), None).is_err());
    }

    #[test]
    fn a_program_stopped_by_another_signal_does_not_stop_us() {
        let mut command = Command::new("sh");
        command.args(["-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 3"]);
        let status = run_in_foreground(&mut command, None).unwrap();
        assert_eq!(status.code(), Some(3));
    }
}
