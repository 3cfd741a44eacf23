//! A buffered file descriptor whose failure is final.
//!
//! In: bytes. Out: whole writes to the descriptor, or [`ScreenError`] from the first failure on.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The reader is gone: a closed pipe, a terminal that hung up.
    #[error("the output was closed")]
    Closed,
    /// Any other error, such as a full disk.
    #[error("cannot write the output")]
    Write(#[source] std::io::Error),
}

/// Bytes that are buffered at most before they are written without a flush.
const HELD: usize = 64 * 1024;

/// Bytes that are not copied into an empty buffer but written at once.
const DIRECT: usize = HELD / 2;

#[derive(Debug)]
pub(super) struct Sink {
    file: File,
    held: Vec<u8>,
    closed: bool,
}

impl Sink {
    pub(super) fn for_fd(fd: &impl AsFd) -> std::io::Result<Self> {
        Ok(Sink {
            file: File::from(fd.as_fd().try_clone_to_owned()?),
            held: Vec::new(),
            closed: false,
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        if self.closed {
            return Err(ScreenError::Closed);
        }
        if self.held.len() + bytes.len() > HELD {
            self.flush()?;
        }
        if self.held.is_empty() && bytes.len() >= DIRECT {
            return self.send(bytes);
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), ScreenError> {
        if self.closed {
            return Err(ScreenError::Closed);
        }
        let mut held = std::mem::take(&mut self.held);
        let sent = self.send(&held);
        held.clear();
        self.held = held;
        sent
    }

    /// Writes all of `bytes`. After a failed write the rest is dropped, since a retry could repeat half of it.
    fn send(&mut self, mut bytes: &[u8]) -> Result<(), ScreenError> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(self.fail(std::io::Error::from(ErrorKind::WriteZero))),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another program may have left the terminal non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), ScreenError> {
        let ready = poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], None);
        match ready {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(self.fail(error.into())),
        }
    }

    fn fail(&mut self, error: std::io::Error) -> ScreenError {
        // A terminal that hung up gives EIO.
        let hung_up = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
        if error.kind() == ErrorKind::BrokenPipe || hung_up {
            self.closed = true;
            ScreenError::Closed
        } else {
            ScreenError::Write(error)
        }
    }
}
