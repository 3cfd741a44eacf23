//! A running shell: its input, the output of its terminal, its directory, its end.
//!
//! In: lines, commands and keys. Out: pieces of output with the marks that our scripts (`assets/shell`) write; their
//! framing is `runtime/marks.rs`. Invariant: no call blocks but [`ShellProcess::wait`], which observes its `patience`,
//! and those that end the shell. Absent on purpose: the state of a command (`supervisor.rs`).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, kill_process_group};

use super::super::Death;
use super::super::child_io::{CHUNK, OutputChunk};
use super::super::marks::{Mark, MarkFilter, StreamPiece};
use super::control::Control;
use super::launch::LaunchedShell;
use super::plan::Dialect;
use crate::process::{Group, foreground_job, is_raw, set_echo, take_unread};

/// Time for a shell to exit by itself before it is killed.
const GRACE: Duration = Duration::from_millis(800);
/// Interval of checks for its end, where no descriptor reports it.
const LOOK: Duration = Duration::from_millis(200);
/// Line that makes the shell repeat how the last command ended.
const AGAIN: &str = " __ipycodex_again\n";
/// Sequences that switch to the alternate screen.
const WHOLE_SCREEN: [&[u8]; 3] = [b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellMark {
    /// `0.4711`: the last command ended with this status, and the shell with this process id waits for the next.
    Ended { status: i32, process: i32 },
    /// `go`: the shell has read the line that announces a command, and waits for the command.
    Go,
    /// `run`: the shell has read the command, and runs it.
    Run,
    /// `prompt`: the shell reads the next line.
    Prompt,
}

impl Mark for ShellMark {
    fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"go" => Some(ShellMark::Go),
            b"run" => Some(ShellMark::Run),
            b"prompt" => Some(ShellMark::Prompt),
            word => {
                let (status, process) = std::str::from_utf8(word).ok()?.split_once('.')?;
                Some(ShellMark::Ended {
                    status: status.parse().ok()?,
                    process: process.parse().ok()?,
                })
            }
        }
    }

    fn is_prefix(word: &[u8]) -> bool {
        [&b"go"[..], b"run", b"prompt"]
            .iter()
            .any(|known| known.starts_with(word))
            || word
                .iter()
                .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    }
}

pub(super) struct ShellProcess {
    launched: LaunchedShell,
    marks: MarkFilter<ShellMark>,
    /// Number of commands announced so far.
    count: u64,
    /// Process id of the shell itself.
    pub(super) process: Option<i32>,
    /// Every process has closed the terminal.
    silent: bool,
}

impl ShellProcess {
    pub(super) fn new(launched: LaunchedShell) -> Self {
        ShellProcess {
            marks: MarkFilter::new(&launched.nonce),
            launched,
            count: 0,
            process: None,
            silent: false,
        }
    }

    pub(super) fn group(&self) -> Group {
        self.launched.child.group()
    }

    /// Waits for output, the shell's end or a wake-up, at most `patience`.
    pub(super) fn wait(&mut self, control: &Control, patience: Option<Duration>) {
        let launched = &self.launched;
        let mut watched = Vec::with_capacity(4);
        if !self.silent {
            watched.push(PollFd::new(&launched.master, PollFlags::IN));
        }
        if let Some(exit) = &launched.exit {
            watched.push(PollFd::new(exit, PollFlags::IN));
        }
        if let Some(commands) = launched.commands.blocked() {
            watched.push(PollFd::new(commands, PollFlags::OUT));
        }
        let look = launched.exit.is_none().then_some(LOOK);
        control.wait(watched, patience.into_iter().chain(look).min());
        self.launched.commands.send(b"");
    }

    /// Sends the line that announces a command.
    pub(super) fn wake(&mut self) {
        self.count += 1;
        let count = self.count;
        self.send_line(&match self.launched.dialect {
            Dialect::Bash => format!(
                " __ipycodex_go {count} \"$__ipycodex_last\"; \
                 builtin eval \"$__ipycodex_command\" 0<&199 196<&- 198<&- 199>&-; __ipycodex_hook\n"
            ),
            // The second line is an alias for the command, defined by the first.
            Dialect::Zsh => format!(" __ipycodex_go {count}\n __ipycodex_run\n"),
        });
    }

    /// Returns true when a prompt without a mark of the command's end reads the terminal: zsh reads the pipe only
    /// after that mark, bash after the end of the command.
    pub(super) fn reads_terminal(&self) -> bool {
        self.launched.dialect == Dialect::Zsh
    }

    /// Makes the shell report how the command ended, after such a prompt. Returns the typed and unread bytes where
    /// this goes through the terminal, which must not receive keys meanwhile.
    pub(super) fn ask_again(&mut self) -> Vec<u8> {
        if !self.reads_terminal() {
            self.send_line(AGAIN);
            return Vec::new();
        }
        let unread = self.take_unread();
        let master = &self.launched.master;
        // These fail only when the shell is gone, which is detected elsewhere.
        let _ = set_echo(master, false);
        let _ = rustix::io::write(master, AGAIN.as_bytes());
        unread
    }

    /// Ctrl-C was typed, which may cause a prompt without a mark.
    pub(super) fn was_interrupted(&mut self) {
        if !self.reads_terminal() {
            self.send_line(AGAIN);
        }
    }

    pub(super) fn show_typing(&self) {
        let _ = set_echo(&self.launched.master, true);
    }

    /// Sends a command and its working directory.
    pub(super) fn hand_over(&mut self, place: &str, code: &str) {
        let name = format!("{}{}", self.launched.nonce, self.count);
        let words = [name.as_bytes(), place.as_bytes(), code.as_bytes(), b""];
        self.launched.commands.send(&words.join(&0));
    }

    /// Kills the foreground job, if there is one and `job` is true; else the shell itself.
    pub(super) fn end_front(&self, job: bool) {
        let job = foreground_job(&self.launched.master).filter(|_| job);
        // A job that runs as another user cannot be killed.
        if job.is_none_or(|job| kill_process_group(job, Signal::KILL).is_err()) {
            self.group().kill();
        }
    }

    /// Returns true while the shell itself, and no program, is in the foreground.
    pub(super) fn is_in_front(&self) -> bool {
        foreground_job(&self.launched.master).is_none()
    }

    /// Types Ctrl-C for the foreground job.
    pub(super) fn interrupt(&self) {
        let _ = rustix::io::write(&self.launched.master, b"\x03");
    }

    /// Reads one chunk of output, if there is one; true: the terminal is out of line mode, or a program switched to
    /// the alternate screen.
    pub(super) fn read(&mut self) -> Option<bool> {
        let master = &self.launched.master;
        let read = OutputChunk::of_terminal(master, || is_raw(master));
        self.silent |= read.ended;
        // What follows a change to raw mode is the program's own, and with it the line before.
        let raw = read.is_raw || !read.last_read.is_empty();
        let mut chunk = read.bytes;
        chunk.extend(read.last_read);
        if chunk.is_empty() {
            return None;
        }
        chunk.shrink_to_fit();
        let takes = |sequence: &&[u8]| memchr::memmem::find(&chunk, sequence).is_some();
        let owns = raw || WHOLE_SCREEN.iter().any(takes);
        self.marks.push(chunk);
        Some(owns)
    }

    pub(super) fn next(&mut self) -> Option<StreamPiece<ShellMark>> {
        self.marks.next()
    }

    /// Returns the bytes held back as a possible start of a mark.
    pub(super) fn rest(&mut self) -> Option<StreamPiece<ShellMark>> {
        self.marks.finish()
    }

    /// Takes back bytes that were typed for the command and not read, and restores the terminal's modes.
    pub(super) fn take_unread(&self) -> Vec<u8> {
        take_unread(&self.launched.master)
    }

    /// Returns the shell's directory, if it still exists.
    pub(super) fn place(&self) -> Option<PathBuf> {
        let place = std::fs::read_link(format!("/proc/{}/cwd", self.process?)).ok()?;
        Some(place).filter(|place| place.is_dir())
    }

    pub(super) fn is_over(&mut self) -> bool {
        !matches!(self.launched.child.wait_for(Duration::ZERO), Ok(None))
    }

    /// Returns how the shell ended; true: it was killed on request.
    pub(super) fn death(mut self) -> (Death, bool) {
        let killed = self.group().was_killed();
        match self.launched.child.wait() {
            _ if killed => (Death::Killed, true),
            status => (Death::from(status), false),
        }
    }

    /// Ends the shell: an `idle` one exits by itself, others are killed. `printed` receives its last output.
    pub(super) fn end(self, idle: bool, mut printed: impl FnMut(Vec<u8>)) {
        let ShellProcess {
            launched,
            mut marks,
            ..
        } = self;
        let LaunchedShell {
            mut child,
            master,
            lines,
            commands,
            ..
        } = launched;
        // A shell that waits for a command exits at the end of its input.
        drop((lines, commands));
        let group = child.group();
        if !idle {
            group.signal(Signal::HUP);
        }
        for signal in [Signal::HUP, Signal::KILL] {
            let deadline = Instant::now() + GRACE;
            while Instant::now() < deadline {
                let over = !matches!(child.wait_for(Duration::from_millis(10)), Ok(None));
                let mut chunk = Vec::with_capacity(CHUNK);
                let spare = rustix::buffer::spare_capacity(&mut chunk);
                if let Ok(1..) = rustix::io::read(&master, spare) {
                    marks.push(chunk);
                    while let Some(piece) = marks.next() {
                        if let StreamPiece::Bytes(bytes) = piece {
                            printed(bytes);
                        }
                    }
                }
                if over {
                    return;
                }
            }
            group.signal(signal);
        }
        // The process was killed above.
        let _ = child.wait();
    }

    /// Sends a line for the shell's prompt: the pipe has room for a few short lines.
    fn send_line(&self, line: &str) {
        // Fails only when the shell is gone, which is detected elsewhere.
        let _ = rustix::io::write(&self.launched.lines, line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_other_words_are_not() {
        let ended = |status, process| Some(ShellMark::Ended { status, process });
        for (word, expected) in [
            ("go", Some(ShellMark::Go)),
            ("run", Some(ShellMark::Run)),
            ("prompt", Some(ShellMark::Prompt)),
            ("0.4194304", ended(0, 4_194_304)),
            ("255.7", ended(255, 7)),
            ("255", None),
            ("1.2.3", None),
            (".", None),
            ("gone", None),
        ] {
            assert_eq!(ShellMark::parse(word.as_bytes()), expected, "{word}");
            let starts = (0..=word.len()).all(|end| ShellMark::is_prefix(&word.as_bytes()[..end]));
            assert!(expected.is_none() || starts, "{word}");
        }
    }
}
