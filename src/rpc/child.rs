//! A child process that speaks JSON-RPC over its standard input and output.
//!
//! A third thread beside those of [`Peer`] drains its standard error and keeps the end of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use super::dialect::Dialect;
use super::message::RpcMessage;
use super::peer::{HangUp, Incoming, Peer};
use crate::process::{Child, Leadership, Plan, Tail, spawn};

/// How long the last words of an ended peer are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How to start a peer.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program; searched on PATH when it has no slash.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// Its directory; `None` is ours.
    pub cwd: Option<PathBuf>,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Names its threads: `NAME-reader` and so on.
    pub name: String,
}

/// Why a peer could not be started.
#[derive(Debug, thiserror::Error)]
#[error("`{}` could not be started: {source}", program.display())]
pub struct SpawnFailure {
    /// What was to be started.
    pub program: PathBuf,
    /// Why not; `NotFound` when the program does not exist.
    pub source: io::Error,
}

/// A running child. Dropping it kills its process group at once.
#[derive(Debug)]
pub struct ChildPeer {
    peer: Peer,
    child: Child,
    words: Tail,
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
        let (our_words, their_words) = io::pipe()?;
        let mut plan = Plan::new(
            launch.program,
            Leadership::Group,
            their_input.into(),
            their_output.into(),
            their_words.into(),
        );
        plan.arguments = launch.arguments;
        plan.variables = Some(launch.variables);
        plan.cwd = launch.cwd;
        let child = spawn(plan)?;
        let words = Tail::of(our_words.into(), &format!("{}-stderr", launch.name));
        let (peer, incoming) = Peer::new(
            our_input,
            our_output,
            // The child's end closes its pipes.
            HangUp::default(),
            launch.dialect,
            &launch.name,
        )?;
        Ok((ChildPeer { peer, child, words }, incoming))
    }

    /// As [`Peer::send`].
    pub fn send(&self, message: RpcMessage) {
        self.peer.send(message);
    }

    /// As [`Peer::junk`].
    pub fn junk(&self) -> u64 {
        self.peer.junk()
    }

    /// Ends the child: closes its input, `grace` later SIGTERM to its group, `grace` later SIGKILL. Blocks that long at
    /// most. Returns its status and the end of its standard error (untrusted text).
    ///
    /// # Errors
    /// When the operating system does not tell the status.
    pub fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        let ChildPeer {
            peer,
            mut child,
            words,
        } = self;
        drop(peer);
        let status = child.end(grace)?;
        words.settle(LAST_WORDS);
        Ok((status, words.text()))
    }

    /// Kills the child's process group at once.
    pub fn kill(mut self) {
        self.child.group().kill();
        // A failure means that it is reaped already.
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
    fn what_is_sent_comes_back_from_an_echo_and_junk_is_counted() {
        let (peer, mut incoming) = ChildPeer::spawn(shell("echo hello; exec cat")).unwrap();
        let big = "x".repeat(3_000_000);
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
    fn last_words_and_status_are_told() {
        let (peer, mut incoming) = ChildPeer::spawn(shell("echo why >&2; exit 3")).unwrap();
        assert_eq!(incoming.blocking_recv(), None);
        let (status, words) = peer.end(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(words, "why\n");
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
    fn a_missing_program_is_named() {
        let mut launch = shell("");
        launch.program = "/nonexistent/agent".into();
        let failure = ChildPeer::spawn(launch).unwrap_err();
        assert_eq!(failure.source.kind(), std::io::ErrorKind::NotFound);
        assert!(failure.to_string().starts_with("`/nonexistent/agent`"));
    }
}
