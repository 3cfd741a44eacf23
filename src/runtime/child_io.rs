//! What a thread needs to serve a child without waiting for it: word of the child's end, and a pipe with room or not.
//!
//! Invariant: nothing here blocks; bytes that find no room are kept, in order, until the pipe is gone. Absent on
//! purpose: the child's output, which each runtime reads in its own way.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::Child;

/// Returns a descriptor that becomes readable when the child has ended; `None` where the system has none.
pub(super) fn exit_descriptor(child: &Child) -> Option<OwnedFd> {
    let process = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
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
