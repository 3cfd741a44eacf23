//! A child process that speaks JSON-RPC over its standard input and output.
//!
//! Beside the threads of [`Peer`], a third one drains the child's standard error and keeps the end of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::message::{Dialect, RpcMessage};
use super::peer::{CloseOnDrop, Incoming, Peer};
use crate::{Child, Leadership, SpawnPlan, StderrTail, spawn};

/// Time for the rest of the standard error to arrive after the child has ended.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Debug, Clone)]
pub struct Launch {
    /// Searched on PATH when it has no slash.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub variables: BTreeMap<OsString, OsString>,
    /// Working directory; `None`: our own.
    pub cwd: Option<PathBuf>,
    pub dialect: Dialect,
    /// Prefix of the thread names: `NAME-reader` and so on.
    pub name: String,
}

#[derive(Debug, thiserror::Error)]
#[error("`{}` could not be started: {source}", program.display())]
pub struct SpawnFailure {
    pub program: PathBuf,
    /// `NotFound` when the program does not exist.
    pub source: io::Error,
}

/// A running child. Dropping it kills its process group at once.
#[derive(Debug)]
pub struct ChildPeer {
    peer: Peer,
    /// The pipe that the child reads from.
    input: io::PipeWriter,
    child: Child,
    stderr: StderrTail,
}

impl ChildPeer {
    /// Starts the child as leader of its own process group.
    ///
    /// # Errors
    /// When the program is missing or the operating system refuses a process, pipe or thread.
    pub fn spawn(launch: Launch) -> Result<(ChildPeer, Incoming), SpawnFailure> {
        let program = launch.program.clone();
        ChildPeer::try_spawn(launch).map_err(|source| SpawnFailure { program, source })
    }

    fn try_spawn(launch: Launch) -> io::Result<(ChildPeer, Incoming)> {
        let (their_input, our_output) = io::pipe()?;
        let (our_input, their_output) = io::pipe()?;
        let (our_stderr, their_stderr) = io::pipe()?;
        let mut plan = SpawnPlan::new(
            launch.program,
            Leadership::Group,
            their_input.into(),
            their_output.into(),
            their_stderr.into(),
        );
        plan.arguments = launch.arguments;
        plan.variables = Some(launch.variables);
        plan.cwd = launch.cwd;
        let child = spawn(plan)?;
        let stderr = StderrTail::new(our_stderr.into(), &format!("{}-stderr", launch.name));
        let input = our_output.try_clone()?;
        let (peer, incoming) = Peer::new(
            our_input,
            our_output,
            // The pipes close when the child ends.
            CloseOnDrop::default(),
            launch.dialect,
            &launch.name,
        )?;
        Ok((
            ChildPeer {
                peer,
                input,
                child,
                stderr,
            },
            incoming,
        ))
    }

    /// As [`Peer::send`].
    pub fn send(&self, message: RpcMessage) {
        self.peer.send(message);
    }

    /// False once the child has closed its input: what is sent from then on is lost.
    pub fn listens(&self) -> bool {
        let mut watched = [PollFd::new(&self.input, PollFlags::empty())];
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        !matches!(poll(&mut watched, Some(&none)), Ok(1..))
    }

    /// As [`Peer::junk`].
    pub fn junk(&self) -> u64 {
        self.peer.junk()
    }

    /// Ends the child: closes its input, `grace` later SIGTERM to its group, `grace` later SIGKILL. Blocks at most
    /// that long. Returns its status and the end of its standard error (untrusted text).
    ///
    /// # Errors
    /// When the operating system does not report the status.
    pub fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        let ChildPeer {
            peer,
            input,
            mut child,
            stderr,
        } = self;
        drop((peer, input));
        let status = child.end(grace)?;
        stderr.wait_closed(STDERR_TIMEOUT);
        Ok((status, stderr.text()))
    }

    pub fn kill(mut self) {
        self.child.group().kill();
        // A failure means that the child has been reaped already.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::{ChildPeer, Dialect, Launch};
    use crate::rpc::message::RpcMessage;
    use serde_json::json;

    fn shell(script: &str) -> Launch {
        Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            variables: BTreeMap::new(),
            cwd: None,
            dialect: Dialect::Bare,
            name: "test".into(),
        }
    }

    fn note(text: &str) -> RpcMessage {
        RpcMessage::Notification {
            method: "n".into(),
            params: json!({ "text": text }),
        }
    }

    #[test]
    fn an_echo_returns_each_message_and_junk_is_counted() {
        let (peer, mut incoming) = ChildPeer::spawn(shell("echo hello; exec cat")).unwrap();
        let big = "x".repeat(3_000_000);
        assert!(peer.listens());
        for text in ["a", &big, "b\nc"] {
            peer.send(note(text));
            assert_eq!(incoming.blocking_recv(), Some(note(text)));
        }
        assert_eq!(peer.junk(), 1);
        let (status, _) = peer.end(Duration::from_secs(10)).unwrap();
        assert!(status.success());
        assert_eq!(incoming.blocking_recv(), None);
    }

    #[test]
    fn the_end_of_stderr_and_the_status_are_returned() {
        let (peer, mut incoming) = ChildPeer::spawn(shell("echo why >&2; exit 3")).unwrap();
        assert_eq!(incoming.blocking_recv(), None);
        let (status, stderr) = peer.end(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(stderr, "why\n");
    }

    #[test]
    fn a_peer_that_never_reads_does_not_block_the_sender() {
        let (peer, _incoming) = ChildPeer::spawn(shell("exec sleep 1000")).unwrap();
        for _ in 0..10 {
            peer.send(note(&"x".repeat(1_000_000)));
        }
        peer.kill();
    }

    #[test]
    fn a_peer_that_closed_its_input_is_over_soon_after_something_is_said() {
        let script =
            "exec 0<&-; echo '{\"method\":\"n\",\"params\":{\"text\":\"last\"}}'; exec sleep 1000";
        let (peer, mut incoming) = ChildPeer::spawn(shell(script)).unwrap();
        assert_eq!(incoming.blocking_recv(), Some(note("last")));
        assert!(!peer.listens());
        peer.send(note("do you hear?"));
        assert_eq!(incoming.blocking_recv(), None);
        peer.kill();
    }

    #[test]
    fn a_missing_program_is_named() {
        let mut launch = shell("");
        launch.program = "/nonexistent/agent".into();
        let failure = ChildPeer::spawn(launch).unwrap_err();
        assert_eq!(failure.source.kind(), std::io::ErrorKind::NotFound);
        assert!(failure.to_string().starts_with("`/nonexistent/agent`"));
    }
}
