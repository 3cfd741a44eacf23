//! One running interpreter: its process and its descriptors.
//!
//! In: lines for its request pipe. Out: its frames and output, ordered by [`Sequencer`]. Invariants: no call blocks
//! but [`Interpreter::step`], which observes its `patience`; a stream that waits for a mark's frame is not read, so
//! memory does not grow with a cell's output. Absent on purpose: the meaning of requests and frames.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Signal, getrlimit};

use super::super::OutputStream;
use super::super::child_io::{CHUNK, InputPipe, OutputChunk, exit_descriptor};
use super::super::control::timespec;
use super::super::marks::nonce;
use super::super::terminal::CellPty;
use super::control::Control;
use super::ends::{self, BranchWish, OurEnds};
use super::find::Candidate;
use super::plan::{Confinement, ScriptRun};
use super::sequencer::Sequencer;
use super::wire::{Lines, describe_line, parse_frame};
use crate::process::{self, Child, Group, Leadership, is_raw};
use crate::text::trace::WIRE;

/// Numbers of the control descriptors in the child, of the hand-overs, the requests and the frames: high, because code
/// that closes "all" descriptors closes the low ones.
const NUMBERS: [i32; 3] = [197, 198, 199];

#[derive(Debug)]
pub(super) struct Interpreter {
    /// Frames and output, in order.
    pub(super) sequencer: Sequencer,
    /// Start of the first line on the frame pipe that was not a frame.
    pub(super) confusion: Option<String>,
    owner: Owner,
    exit: Option<OwnedFd>,
    requests: InputPipe,
    frames: Option<OwnedFd>,
    lines: Lines,
    streams: Vec<Stream>,
    /// Carries descriptors for a copy; the answers come back on it.
    handoff: OwnedFd,
    /// Our ends of the descriptors that were sent, until the answer.
    successor: Option<OurEnds>,
    /// The process that is the interpreter, once known.
    process: u32,
    nonce: String,
}

/// What ends with an interpreter.
#[derive(Debug)]
enum Owner {
    /// The guard, and all that it guards.
    Guard(Child),
    /// The group of a branch, below the guard of the interpreter that it was.
    Branch(Group),
}

#[derive(Debug)]
struct Stream {
    source: Option<Arc<OwnedFd>>,
    is_terminal: bool,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// A wake-up through [`Control`].
    Call,
    Exit,
    /// An answer to a hand-over.
    Handoff,
    /// Room in the request pipe.
    Requests,
    Stream(usize),
    Frames,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollStep {
    /// Bytes were read or written, or [`Control`] woke the thread.
    Active,
    /// Nothing happened within the allowed time.
    Idle,
    /// The process has ended, or its pipes are closed.
    Ended,
}

/// Facts common to all interpreters of a runtime.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) script: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) no_ipython: bool,
    /// The terminal of the cells; `None`: cells write to pipes.
    pub(super) terminal: Option<&'a CellPty>,
    pub(super) runs: Option<&'a ScriptRun>,
    pub(super) confined: Option<&'a Confinement>,
    /// The connection file of the Jupyter kernel that this interpreter serves.
    pub(super) kernel: Option<&'a Path>,
}

/// The last numbers that a process may use, where its limit is below [`NUMBERS`].
fn numbers_within(limit: Option<u64>) -> [i32; 3] {
    let limit = limit.and_then(|limit| i32::try_from(limit).ok());
    let above = limit.map_or(0, |limit| (NUMBERS[2] + 1 - limit).max(0));
    NUMBERS.map(|number| number - above)
}

impl Interpreter {
    /// Starts `candidate`.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn start(launch: &Launch<'_>, candidate: &Candidate) -> io::Result<Self> {
        let nonce = nonce()?;
        let numbers = numbers_within(getrlimit(Resource::Nofile).current);
        let [handoff_number, requests_number, frames_number] = numbers;
        let pair = launch.terminal.map(CellPty::open).transpose()?;
        let leadership = match pair {
            Some(_) => Leadership::Terminal,
            None => Leadership::Session,
        };
        let (ours, theirs) = ends::open(pair)?;
        let [null, stdout, stderr] = theirs.streams;
        let stdin = match launch.runs {
            Some(script) if script.alone && launch.terminal.is_none() => {
                std::io::stdin().as_fd().try_clone_to_owned()?
            }
            _ => null,
        };
        let mut plan =
            process::SpawnPlan::new(&candidate.program, leadership, stdin, stdout, stderr);
        plan.spares_trackers = launch.confined.is_none();
        plan.arguments = vec![
            launch.script.into(),
            requests_number.to_string().into(),
            frames_number.to_string().into(),
            nonce.clone().into(),
            "--handoff".into(),
            handoff_number.to_string().into(),
        ];
        if launch.no_ipython {
            plan.arguments.push("--no-ipython".into());
        }
        if launch.terminal.is_some() {
            plan.arguments.push("--pty".into());
        }
        if let Some(file) = launch.kernel {
            plan.arguments.push("--kernel".into());
            plan.arguments.push(file.into());
        }
        if let Some(confined) = launch.confined {
            let writes = confined
                .writes
                .iter()
                .map(|folder| folder.to_string_lossy());
            let writes: Vec<_> = writes.collect();
            plan.arguments.push("--confine".into());
            plan.arguments
                .push(serde_json::json!(writes).to_string().into());
        }
        if let Some(script) = launch.runs {
            if script.alone {
                plan.arguments.push("--alone".into());
            }
            plan.arguments.push("--script".into());
            plan.arguments.push(script.file.clone().into());
            plan.arguments.extend(script.arguments.iter().cloned());
        }
        plan.variables = Some(candidate.variables.clone());
        // A deleted directory must not keep the interpreter from starting.
        plan.cwd = Some(launch.cwd.to_owned()).filter(|cwd| cwd.is_dir());
        plan.inherited = vec![
            (theirs.handoff, handoff_number),
            (theirs.requests, requests_number),
            (theirs.frames, frames_number),
        ];
        let child = process::spawn(plan)?;
        let exit = exit_descriptor(child.id());
        Ok(Interpreter::new(Owner::Guard(child), exit, ours, nonce))
    }

    fn new(owner: Owner, exit: Option<OwnedFd>, ours: OurEnds, nonce: String) -> Self {
        let kinds: Vec<OutputStream> = ours.streams.iter().map(|(which, _)| *which).collect();
        let streams = ours.streams.into_iter().map(|(which, source)| Stream {
            source: Some(source),
            is_terminal: which == OutputStream::Terminal,
        });
        Interpreter {
            sequencer: Sequencer::new(&kinds, &nonce),
            confusion: None,
            owner,
            exit,
            requests: InputPipe::new(ours.requests),
            frames: Some(ours.frames),
            lines: Lines::default(),
            streams: streams.collect(),
            handoff: ours.handoff,
            successor: None,
            process: 0,
            nonce,
        }
    }

    /// Another process is the interpreter from now on, or it is known which.
    pub(super) fn is_process(&mut self, process: u32) {
        self.process = process;
    }

    /// Returns our end of the terminal of its cells.
    pub(super) fn terminal(&self) -> Option<&Arc<OwnedFd>> {
        let stream = self.streams.first().filter(|stream| stream.is_terminal)?;
        stream.source.as_ref()
    }

    /// Asks the interpreter for a branch: to hand the prompt over, or to fork. [`Interpreter::handoff_answer`] says
    /// what came of it.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn begin_handoff(
        &mut self,
        wish: &BranchWish,
        terminal: Option<&CellPty>,
    ) -> io::Result<()> {
        let (ours, theirs) = ends::open(terminal.map(CellPty::open_spare).transpose()?)?;
        theirs.send(&self.handoff, wish)?;
        self.successor = Some(ours);
        Ok(())
    }

    /// Returns the answer to a hand-over, once it has come: the process that has the prompt, or why none has.
    pub(super) fn handoff_answer(&mut self) -> Option<Result<u32, String>> {
        self.successor.as_ref()?;
        let answer = ends::receive_answer(&self.handoff)?;
        if answer.is_err() {
            self.successor = None;
        }
        Some(answer)
    }

    /// After a hand-over to this process: becomes the interpreter that it is, and returns the branch, the one it was.
    pub(super) fn split(&mut self, process: u32) -> Option<Interpreter> {
        let successor = self.successor.take()?;
        let branch = self.group().of_other(self.process);
        self.group().follow(process);
        let exit = exit_descriptor(self.process);
        let owner = std::mem::replace(&mut self.owner, Owner::Branch(branch));
        let own_exit = std::mem::replace(&mut self.exit, exit);
        let mut front = Interpreter::new(owner, own_exit, successor, self.nonce.clone());
        front.process = process;
        Some(std::mem::replace(self, front))
    }

    /// After a fork: returns the interpreter that this process is, beside this one.
    pub(super) fn beside(&mut self, process: u32) -> Option<Interpreter> {
        let ours = self.successor.take()?;
        let owner = Owner::Branch(self.group().of_other(process));
        let exit = exit_descriptor(process);
        let mut beside = Interpreter::new(owner, exit, ours, self.nonce.clone());
        beside.process = process;
        Some(beside)
    }

    /// Becomes the branch again that it was split from, and ends the process that it was.
    pub(super) fn return_to(&mut self, branch: Interpreter) {
        let front = std::mem::replace(self, branch);
        front.group().follow(self.process);
        front.group().of_other(front.process).signal(Signal::KILL);
        self.owner = front.owner;
        self.exit = front.exit;
    }

    pub(super) fn group(&self) -> Group {
        match &self.owner {
            Owner::Guard(child) => child.group(),
            Owner::Branch(group) => group.clone(),
        }
    }

    pub(super) fn request(&mut self, line: &[u8]) {
        log::trace!(target: WIRE, "to python: {}, {} bytes", describe_line(line), line.len());
        self.requests.send(line);
    }

    /// Closes the request pipe: an idle interpreter then exits.
    pub(super) fn close_requests(&mut self) {
        self.requests.close();
    }

    /// Waits until a descriptor is ready, the process ends or `control` wakes the thread, at most `patience`; then
    /// reads and writes all that is possible.
    pub(super) fn step(&mut self, control: &Control, patience: Option<Duration>) -> PollStep {
        let idle_tick = Duration::from_secs(1);
        // Without these two descriptors the state has to be polled.
        let blind = self.exit.is_none() || control.wake_fd().is_none();
        let wait = match patience {
            Some(patience) if blind => Some(patience.min(idle_tick)),
            None if blind => Some(idle_tick),
            patience => patience,
        };
        let mut watched = Vec::with_capacity(6);
        let mut sources = Vec::with_capacity(6);
        let mut watch = |source, fd, flags| {
            sources.push(source);
            watched.push(PollFd::from_borrowed_fd(fd, flags));
        };
        if let Some(wake) = control.wake_fd() {
            watch(Source::Call, wake, PollFlags::IN);
        }
        if let Some(exit) = &self.exit {
            watch(Source::Exit, exit.as_fd(), PollFlags::IN);
        }
        if self.successor.is_some() {
            watch(Source::Handoff, self.handoff.as_fd(), PollFlags::IN);
        }
        if let Some(requests) = self.requests.blocked() {
            watch(Source::Requests, requests.as_fd(), PollFlags::OUT);
        }
        for (index, stream) in self.streams.iter().enumerate() {
            let wanted = self.sequencer.wants_output(index);
            if let Some(source) = stream.source.as_ref().filter(|_| wanted) {
                watch(Source::Stream(index), source.as_fd(), PollFlags::IN);
            }
        }
        if let Some(frames) = self
            .frames
            .as_ref()
            .filter(|_| self.sequencer.wants_frames())
        {
            watch(Source::Frames, frames.as_fd(), PollFlags::IN);
        }
        let timeout = wait.map(timespec);
        // An interrupted wait found nothing; the next one will.
        let count = poll(&mut watched, timeout.as_ref()).unwrap_or(0);
        let happened: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        if count == 0 {
            return match patience {
                Some(patience) if wait == Some(patience) => PollStep::Idle,
                _ => PollStep::Active,
            };
        }
        let mut ended = false;
        for (source, _) in sources.into_iter().zip(happened).filter(|(_, it)| *it) {
            match source {
                Source::Call => control.clear_wake(),
                Source::Exit => ended = true,
                // The answer is read once what came before it was.
                Source::Handoff => {}
                Source::Requests => self.requests.send(b""),
                Source::Stream(index) => drop(self.read_stream(index)),
                Source::Frames => drop(self.read_frames()),
            }
        }
        if ended || self.frames.is_none() || self.confusion.is_some() {
            PollStep::Ended
        } else {
            PollStep::Active
        }
    }

    /// Reads what an ended process left behind; returns true when there may be more.
    pub(super) fn read_rest(&mut self) -> bool {
        if self.read_all() {
            return true;
        }
        // A terminal delivers its last bytes a moment after they were written; its end is an error.
        let mut watched: Vec<PollFd<'_>> = self
            .streams
            .iter()
            .enumerate()
            .filter(|(index, stream)| stream.is_terminal && self.sequencer.wants_output(*index))
            .filter_map(|(_, stream)| stream.source.as_ref())
            .map(|source| PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN))
            .collect();
        let moment = timespec(Duration::from_millis(50));
        let more = !watched.is_empty() && poll(&mut watched, Some(&moment)).is_ok_and(|n| n > 0);
        drop(watched);
        more && self.read_all()
    }

    /// Reads everything that is available; returns true when there was something.
    fn read_all(&mut self) -> bool {
        let mut read = false;
        for index in 0..self.streams.len() {
            if self.sequencer.wants_output(index) {
                read |= self.read_stream(index);
            }
        }
        if self.sequencer.wants_frames() {
            read |= self.read_frames();
        }
        read
    }

    /// Waits for the process and returns its status; kills it when it does not end within `patience`. The guard has the
    /// status of a branch.
    pub(super) fn reap(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        match &mut self.owner {
            Owner::Guard(child) => {
                if let Some(status) = child.wait_for(patience)? {
                    return Ok(Some(status));
                }
                child.group().signal(Signal::KILL);
                child.wait().map(Some)
            }
            Owner::Branch(group) => {
                group.signal(Signal::KILL);
                Ok(None)
            }
        }
    }

    /// Closes all streams; bytes held back come out of `sequencer`.
    pub(super) fn close_streams(&mut self) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            stream.source = None;
            self.sequencer.close(index);
        }
    }

    /// Reads one chunk, at most up to a change of the terminal's mode; returns true when there was something.
    fn read_stream(&mut self, index: usize) -> bool {
        let stream = &mut self.streams[index];
        let Some(source) = &stream.source else {
            return false;
        };
        let chunk = match stream.is_terminal {
            true => OutputChunk::of_terminal(source, || is_raw(source)),
            false => OutputChunk::of_pipe(source),
        };
        if chunk.ended {
            stream.source = None;
        }
        let mut read = false;
        for (mut bytes, raw) in [(chunk.bytes, chunk.is_raw), (chunk.last_read, true)] {
            if bytes.is_empty() {
                continue;
            }
            if bytes.len() < CHUNK / 4 {
                // The chunk may stay in a queue for long.
                bytes.shrink_to_fit();
            }
            self.sequencer.push_output(index, bytes, raw);
            read = true;
        }
        if chunk.ended {
            self.sequencer.close(index);
        }
        read
    }

    fn read_frames(&mut self) -> bool {
        let Some(frames) = &self.frames else {
            return false;
        };
        let mut chunk = Vec::with_capacity(CHUNK);
        let outcome = rustix::io::read(frames, rustix::buffer::spare_capacity(&mut chunk));
        match outcome {
            Ok(1..) => {}
            Err(Errno::AGAIN | Errno::INTR) => return false,
            Ok(0) | Err(_) => {
                self.frames = None;
                return false;
            }
        }
        self.lines.push(&chunk);
        while let Some(line) = self.lines.next() {
            log::trace!(target: WIRE, "from python: {}, {} bytes", describe_line(&line), line.len());
            match parse_frame(&line) {
                Ok(frame) => self.sequencer.push_frame(frame),
                Err(what) if self.confusion.is_none() => self.confusion = Some(what),
                Err(_) => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::numbers_within;

    #[test]
    fn control_descriptors_stay_below_the_limit() {
        for (limit, numbers) in [
            (None, [197, 198, 199]),
            (Some(u64::MAX), [197, 198, 199]),
            (Some(200), [197, 198, 199]),
            (Some(199), [196, 197, 198]),
            (Some(64), [61, 62, 63]),
        ] {
            assert_eq!(numbers_within(limit), numbers, "{limit:?}");
        }
    }
}
