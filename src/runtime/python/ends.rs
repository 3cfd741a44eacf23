//! Both ends of an interpreter's descriptors: for its start, for a copy that gets the prompt while a cell runs, and for
//! an interpreter that is forked beside it.
//!
//! In: the terminal of the cells, if they have one. Out: pipes and a socket; the message that carries their ends to a
//! copy, and the answer to it (`assets/python/_ipycodex_runner/handoff.py`). Invariants: our ends never block; all ends
//! are closed in children that are not given them.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use serde::Deserialize;
use serde_json::json;

use super::super::{OutputStream, RequestId};

/// Requested pipe size in bytes, where the system allows it.
const PIPE: usize = 1024 * 1024;
/// Longest answer, in bytes.
const ANSWER: usize = 64 * 1024;

/// The ends that we keep.
#[derive(Debug)]
pub(super) struct OurEnds {
    pub(super) requests: OwnedFd,
    pub(super) frames: OwnedFd,
    /// The terminal, or standard output and standard error.
    pub(super) streams: Vec<(OutputStream, Arc<OwnedFd>)>,
    pub(super) handoff: OwnedFd,
}

/// The ends of the interpreter.
#[derive(Debug)]
pub(super) struct TheirEnds {
    pub(super) requests: OwnedFd,
    pub(super) frames: OwnedFd,
    /// Standard input, output and error.
    pub(super) streams: [OwnedFd; 3],
    pub(super) handoff: OwnedFd,
}

/// What gets ends: the copy from before a cell, which goes on in the background, or an interpreter forked beside.
#[derive(Debug, Clone)]
pub(super) enum BranchWish {
    Cell { cell: RequestId, branch: u32 },
    Aside { branch: u32, folder: PathBuf },
}

/// The answer to a hand-over.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Process(u32),
    Failed(String),
}

/// Opens the ends; `terminal` is a pair, the master first.
///
/// # Errors
/// Errors of the operating system.
pub(super) fn open(terminal: Option<(Arc<OwnedFd>, OwnedFd)>) -> io::Result<(OurEnds, TheirEnds)> {
    let (their_requests, requests) = pipe_with(PipeFlags::CLOEXEC)?;
    let (frames, their_frames) = pipe_with(PipeFlags::CLOEXEC)?;
    let (handoff, their_handoff) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let (streams, their_streams) = match terminal {
        Some((master, slave)) => (
            vec![(OutputStream::Terminal, master)],
            [slave.try_clone()?, slave.try_clone()?, slave],
        ),
        None => {
            let (out, their_out) = pipe_with(PipeFlags::CLOEXEC)?;
            let (err, their_err) = pipe_with(PipeFlags::CLOEXEC)?;
            let streams = vec![
                (OutputStream::Stdout, Arc::new(out)),
                (OutputStream::Stderr, Arc::new(err)),
            ];
            let null = OwnedFd::from(File::open("/dev/null")?);
            (streams, [null, their_out, their_err])
        }
    };
    for pipe in [requests.as_fd(), frames.as_fd()]
        .into_iter()
        .chain(streams.iter().map(|(_, source)| source.as_fd()))
    {
        // Fails for terminals, and for users over their pipe limit; both keep the default size.
        let _ = fcntl_setpipe_size(pipe, PIPE);
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let ours = OurEnds {
        requests,
        frames,
        streams,
        handoff,
    };
    let theirs = TheirEnds {
        requests: their_requests,
        frames: their_frames,
        streams: their_streams,
        handoff: their_handoff,
    };
    Ok((ours, theirs))
}

impl TheirEnds {
    /// Sends the ends to the interpreter, for another process, and what that is to be.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn send(&self, handoff: &OwnedFd, wish: &BranchWish) -> io::Result<()> {
        let message = match wish {
            BranchWish::Cell { cell, branch } => json!({"id": cell.0, "branch": branch}),
            BranchWish::Aside { branch, folder } => {
                json!({"branch": branch, "folder": folder.to_string_lossy()})
            }
        };
        let message = message.to_string();
        let [stdin, stdout, stderr] = &self.streams;
        let ends = [
            &self.requests,
            &self.frames,
            stdin,
            stdout,
            stderr,
            &self.handoff,
        ];
        let ends = ends.map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(6))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        rights.push(SendAncillaryMessage::ScmRights(&ends));
        let parts = [IoSlice::new(message.as_bytes())];
        sendmsg(handoff, &parts, &mut rights, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Reads the answer to a hand-over, if it has come.
pub(super) fn receive_answer(handoff: &OwnedFd) -> Option<Result<u32, String>> {
    let mut answer = vec![0; ANSWER];
    match recv(handoff, answer.as_mut_slice(), RecvFlags::DONTWAIT) {
        Err(Errno::AGAIN | Errno::INTR) => None,
        Ok((_, count @ 1..)) => match serde_json::from_slice(&answer[..count]) {
            Ok(Answer::Process(process)) => Some(Ok(process)),
            Ok(Answer::Failed(why)) => Some(Err(why)),
            Err(error) => Some(Err(error.to_string())),
        },
        // The interpreter has ended, or its code has closed the socket.
        Ok(_) | Err(_) => Some(Err("the interpreter does not listen any more".into())),
    }
}
