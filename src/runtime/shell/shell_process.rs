//! A shell that runs: what it is typed and sent, what its terminal shows, where it is, how it ended.
//!
//! Invariant: no call blocks but [`ShellProcess::wait`], and that no longer than it was told, and those that end it.
//! Absent on purpose: what comes of a command (`supervisor.rs`).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Signal, kill_process_group};

use super::super::Death;
use super::super::marks::{MarkFilter, StreamPiece};
use super::control::Control;
use super::launch::LaunchedShell;
use super::marks::ShellMark;
use super::plan::Dialect;
use crate::process::{Group, foreground_job, is_raw, set_echo, take_unread};

/// Largest chunk handed on, in bytes.
const CHUNK: usize = 64 * 1024;
/// How long a shell that is to end may take before it is ended.
const GRACE: Duration = Duration::from_millis(800);
/// How often it is looked whether it has ended, where nothing tells.
const LOOK: Duration = Duration::from_millis(200);
/// The line that has it say how the last command ended.
const AGAIN: &str = " __ipycodex_again\n";
/// What gives a program the whole screen.
const WHOLE_SCREEN: [&[u8]; 3] = [b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h"];

/// The shell and what we know of it.
pub(super) struct ShellProcess {
    launched: LaunchedShell,
    marks: MarkFilter<ShellMark>,
    /// Not yet in the pipe.
    unsent: Vec<u8>,
    /// How many commands it was to take.
    count: u64,
    /// Its own process.
    pub(super) process: Option<i32>,
    /// Its terminal has been closed by all who had it.
    silent: bool,
}

impl ShellProcess {
    pub(super) fn new(launched: LaunchedShell) -> Self {
        ShellProcess {
            marks: MarkFilter::new(&launched.nonce),
            launched,
            unsent: Vec::new(),
            count: 0,
            process: None,
            silent: false,
        }
    }

    pub(super) fn group(&self) -> Group {
        self.launched.child.group()
    }

    /// Waits until it says something or ends, or somebody calls, at most `patience`.
    pub(super) fn wait(&mut self, control: &Control, patience: Option<Duration>) {
        let launched = &self.launched;
        let mut watched = Vec::with_capacity(4);
        if !self.silent {
            watched.push(PollFd::new(&launched.master, PollFlags::IN));
        }
        if let Some(exit) = &launched.exit {
            watched.push(PollFd::new(exit, PollFlags::IN));
        }
        if !self.unsent.is_empty() {
            watched.push(PollFd::new(&launched.commands, PollFlags::OUT));
        }
        let look = launched.exit.is_none().then_some(LOOK);
        control.wait(watched, patience.into_iter().chain(look).min());
        self.send(b"");
    }

    /// Sends the line that takes a command.
    pub(super) fn wake(&mut self) {
        self.count += 1;
        let count = self.count;
        self.send_line(&match self.launched.dialect {
            Dialect::Bash => format!(
                " __ipycodex_go {count} \"$__ipycodex_last\"; \
                 builtin eval \"$__ipycodex_command\" 0<&199 196<&- 198<&- 199>&-; __ipycodex_hook\n"
            ),
            // The second line is what the first makes of it: an alias for the command.
            Dialect::Zsh => format!(" __ipycodex_go {count}\n __ipycodex_run\n"),
        });
    }

    /// True when a prompt that comes without the word of how the command ended reads the terminal: in zsh it is that
    /// word that puts the pipe in its place, in bash the end of the command.
    pub(super) fn reads_terminal(&self) -> bool {
        self.launched.dialect == Dialect::Zsh
    }

    /// Such a prompt has come: has the shell say how the command ended. What was typed and not read is given back where
    /// this goes over the terminal; nobody may be typing.
    pub(super) fn ask_again(&mut self) -> Vec<u8> {
        if !self.reads_terminal() {
            self.send_line(AGAIN);
            return Vec::new();
        }
        let unread = self.take_unread();
        let master = &self.launched.master;
        // These fail only when the shell is gone, which is noticed elsewhere.
        let _ = set_echo(master, false);
        let _ = rustix::io::write(master, AGAIN.as_bytes());
        unread
    }

    /// Ctrl-C was typed: a prompt may come of it that says nothing.
    pub(super) fn was_interrupted(&mut self) {
        if !self.reads_terminal() {
            self.send_line(AGAIN);
        }
    }

    /// What is typed shows.
    pub(super) fn show_typing(&self) {
        let _ = set_echo(&self.launched.master, true);
    }

    /// Hands over a command and where it is to run.
    pub(super) fn hand_over(&mut self, place: &str, code: &str) {
        let name = format!("{}{}", self.launched.nonce, self.count);
        let words = [name.as_bytes(), place.as_bytes(), code.as_bytes(), b""];
        self.send(&words.join(&0));
    }

    /// Ends the job in front of it, if there is one and `job` is wanted; else the shell itself.
    pub(super) fn end_front(&self, job: bool) {
        let job = foreground_job(&self.launched.master).filter(|_| job);
        // One that runs as another user cannot be ended.
        if job.is_none_or(|job| kill_process_group(job, Signal::KILL).is_err()) {
            self.group().kill();
        }
    }

    /// True while it has its terminal itself, and no program of it.
    pub(super) fn is_in_front(&self) -> bool {
        foreground_job(&self.launched.master).is_none()
    }

    /// The key that interrupts the job in front.
    pub(super) fn interrupt(&self) {
        let _ = rustix::io::write(&self.launched.master, b"\x03");
    }

    /// Reads one chunk of what the terminal shows, if there is something; true: a program has the terminal for itself.
    pub(super) fn read(&mut self) -> Option<bool> {
        let master = &self.launched.master;
        let raw = is_raw(master);
        let mut chunk = Vec::with_capacity(CHUNK);
        while chunk.len() < CHUNK && (chunk.is_empty() || is_raw(master) == raw) {
            match rustix::io::read(master, rustix::buffer::spare_capacity(&mut chunk)) {
                Ok(1..) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // EIO: nobody holds the other end.
                Ok(0) | Err(_) => {
                    self.silent = true;
                    break;
                }
            }
        }
        if chunk.is_empty() {
            return None;
        }
        chunk.shrink_to_fit();
        let takes = |sequence: &&[u8]| memchr::memmem::find(&chunk, sequence).is_some();
        let owns = raw || WHOLE_SCREEN.iter().any(takes);
        self.marks.push(chunk);
        Some(owns)
    }

    /// The next piece of what was read.
    pub(super) fn next(&mut self) -> Option<StreamPiece<ShellMark>> {
        self.marks.next()
    }

    /// What was held back because it might have become a mark.
    pub(super) fn rest(&mut self) -> Option<StreamPiece<ShellMark>> {
        self.marks.finish()
    }

    /// Takes back what was typed for the command and not read, and repairs what it has left of its terminal.
    pub(super) fn take_unread(&self) -> Vec<u8> {
        take_unread(&self.launched.master)
    }

    /// Its directory, if that is still there.
    pub(super) fn place(&self) -> Option<PathBuf> {
        let place = std::fs::read_link(format!("/proc/{}/cwd", self.process?)).ok()?;
        Some(place).filter(|place| place.is_dir())
    }

    /// It has ended.
    pub(super) fn is_over(&mut self) -> bool {
        !matches!(self.launched.child.wait_for(Duration::ZERO), Ok(None))
    }

    /// How it ended; true: it was killed on request.
    pub(super) fn death(mut self) -> (Death, bool) {
        let killed = self.group().was_killed();
        match self.launched.child.wait() {
            _ if killed => (Death::Killed, true),
            status => (Death::from(status), false),
        }
    }

    /// Ends it: it leaves by itself when `idle`, or is ended. What it still prints is told.
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
        // A shell that waits for a command leaves when none can come any more.
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
        // It has been killed.
        let _ = child.wait();
    }

    /// Sends what it reads at its prompt: a few short lines, for which there is room.
    fn send_line(&self, line: &str) {
        // Fails only when the shell is gone, which is noticed elsewhere.
        let _ = rustix::io::write(&self.launched.lines, line.as_bytes());
    }

    /// Sends what it is to read on its pipe, as far as there is room.
    fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        let mut written = 0;
        while written < self.unsent.len() {
            match rustix::io::write(&self.launched.commands, &self.unsent[written..]) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // Nobody reads any more: its end is noticed elsewhere.
                Err(_) => written = self.unsent.len(),
            }
        }
        self.unsent.drain(..written);
    }
}
