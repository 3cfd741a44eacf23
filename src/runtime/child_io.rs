//! What a thread needs to serve a child without waiting for it: word of the child's end, a pipe with room or not, and a
//! chunk of its output.
//!
//! Invariant: nothing here blocks; bytes that find no room are kept, in order, until the pipe is gone.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Returns a descriptor that becomes readable when the process has ended; `None` where the system has none.
pub(super) fn exit_descriptor(process: u32) -> Option<OwnedFd> {
    let process = Pid::from_raw(i32::try_from(process).ok()?)?;
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Our end of a pipe that the child reads; non-blocking.
#[derive(Debug)]
pub(super) struct InputPipe {
    pipe: Option<OwnedFd>,
    unsent: Vec<u8>,
}

impl InputPipe {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        InputPipe {
            pipe: Some(pipe),
            unsent: Vec::new(),
        }
    }

    /// Returns the pipe while bytes wait for room in it.
    pub(super) fn blocked(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref().filter(|_| !self.unsent.is_empty())
    }

    /// Sends the bytes that wait and then these, as far as there is room.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        let Some(pipe) = &self.pipe else { return };
        self.unsent.extend_from_slice(bytes);
        while !self.unsent.is_empty() {
            match rustix::io::write(pipe, &self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The reader is gone: the child is about to end, which is detected elsewhere.
                Err(_) => return self.close(),
            }
        }
    }

    pub(super) fn close(&mut self) {
        self.pipe = None;
    }
}

/// Most of a chunk, in bytes.
pub(super) const CHUNK: usize = 64 * 1024;

/// Output that was there at once; of a terminal, at most up to a change of its mode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutputChunk {
    pub(super) bytes: Vec<u8>,
    /// The terminal's mode when these were written.
    pub(super) is_raw: bool,
    /// What was read last, when the mode changed: written before or after that, and taken as raw.
    pub(super) last_read: Vec<u8>,
    /// The other end is closed.
    pub(super) ended: bool,
}

impl OutputChunk {
    fn new(is_raw: bool) -> Self {
        OutputChunk {
            bytes: Vec::with_capacity(CHUNK),
            is_raw,
            last_read: Vec::new(),
            ended: false,
        }
    }

    /// Reads once: a pipe returns all it has.
    pub(super) fn of_pipe(source: impl AsFd) -> Self {
        let mut chunk = OutputChunk::new(false);
        chunk.read(source);
        chunk
    }

    /// Reads what is there (a terminal returns a line or a page), and looks at the mode before and after each read.
    pub(super) fn of_terminal(source: impl AsFd, mut is_raw: impl FnMut() -> bool) -> Self {
        let mut chunk = OutputChunk::new(is_raw());
        while chunk.bytes.len() < CHUNK {
            let start = chunk.bytes.len();
            if !chunk.read(&source) {
                break;
            }
            if is_raw() != chunk.is_raw {
                chunk.last_read = chunk.bytes.split_off(start);
                break;
            }
        }
        chunk
    }

    /// Reads once; false: nothing was there.
    fn read(&mut self, source: impl AsFd) -> bool {
        loop {
            match rustix::io::read(&source, rustix::buffer::spare_capacity(&mut self.bytes)) {
                Ok(1..) => return true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                // EIO: the other end of the terminal is closed.
                Ok(0) | Err(_) => {
                    self.ended = true;
                    return false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn what_was_read_while_the_mode_changed_is_apart_and_raw() {
        let (source, other) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).unwrap();
        let write = |text: &str| rustix::io::write(&other, text.as_bytes()).unwrap();
        let chunk = |bytes: &str, is_raw, last_read: &str, ended| OutputChunk {
            bytes: bytes.into(),
            is_raw,
            last_read: last_read.into(),
            ended,
        };
        // The first question comes before the first read.
        for (modes, is_raw, bytes, last_read) in [
            (&[false, false, false][..], false, "line", ""),
            (&[true, true, true], true, "line", ""),
            (&[false, true], false, "", "line"),
            (&[true, false], true, "", "line"),
        ] {
            write("line");
            let mut modes = modes.iter();
            let read = OutputChunk::of_terminal(&source, || *modes.next().unwrap());
            assert_eq!(read, chunk(bytes, is_raw, last_read, false));
        }
        // A program writes a line, changes the mode and writes on.
        write("line");
        let mut asked = 0;
        let read = OutputChunk::of_terminal(&source, || {
            asked += 1;
            if asked == 2 {
                write("clear");
            }
            asked == 3
        });
        assert_eq!(read, chunk("line", false, "clear", false));
        drop(other);
        // What another test forks holds the other end until it runs its own program.
        let mut reads = std::iter::repeat_with(|| OutputChunk::of_terminal(&source, || false));
        let read = reads.find(|read| *read != chunk("", false, "", false));
        assert_eq!(read, Some(chunk("", false, "", true)));
    }
}
