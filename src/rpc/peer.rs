//! A child process that speaks JSON-RPC over its standard input and output: the threads that pump.
//!
//! In: messages to send. Out: the messages received, through a bounded channel that must deliver (the reader waits for
//! room, and so in the end does the peer). Threads: one reads, one writes (a peer that does not read never blocks the
//! caller), one drains standard error and keeps its end. Invariant: the channel closes exactly when the peer's
//! standard output ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as sync;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::frame::{Frame, encode, read_frame};
use super::message::Message;
use crate::process::{Child, Leadership, Plan, Tail, spawn};

/// Messages that wait for the owner before the reader waits.
const ROOM: usize = 256;

/// How long the last words of an ended peer are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What a peer says, in order; closed at the end of its output.
pub type Incoming = mpsc::Receiver<Message>;

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

/// A running peer. Dropping it kills its process group at once.
#[derive(Debug)]
pub struct Peer {
    outgoing: sync::Sender<Vec<u8>>,
    child: Child,
    words: Tail,
    junk: Arc<AtomicU64>,
}

impl Peer {
    /// Starts the peer as leader of its own process group.
    ///
    /// # Errors
    /// When the program is missing or the operating system refuses a process, pipe or thread.
    pub fn spawn(launch: Launch) -> Result<(Peer, Incoming), SpawnFailure> {
        let program = launch.program.clone();
        Peer::try_spawn(launch).map_err(|source| SpawnFailure { program, source })
    }

    fn try_spawn(launch: Launch) -> io::Result<(Peer, Incoming)> {
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
        let junk = Arc::new(AtomicU64::new(0));
        let (arrived, incoming) = mpsc::channel(ROOM);
        let counter = Arc::clone(&junk);
        thread::Builder::new()
            .name(format!("{}-reader", launch.name))
            .spawn(move || read(our_input.into(), &arrived, &counter))?;
        let (outgoing, departing) = sync::channel();
        thread::Builder::new()
            .name(format!("{}-writer", launch.name))
            .spawn(move || write(our_output.into(), &departing))?;
        let peer = Peer {
            outgoing,
            child,
            words,
            junk,
        };
        Ok((peer, incoming))
    }

    /// Queues a message; never blocks. A peer that is gone does not get it, which its closed channel tells.
    pub fn send(&self, message: Message) {
        let _ = self.outgoing.send(encode(message));
    }

    /// How many lines were no messages.
    pub fn junk(&self) -> u64 {
        self.junk.load(Ordering::Relaxed)
    }

    /// Ends the peer: closes its input, `grace` later SIGTERM to its group, `grace` later SIGKILL. Blocks that long at
    /// most. Returns its status and the end of its standard error (untrusted text).
    ///
    /// # Errors
    /// When the operating system does not tell the status.
    pub fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        let Peer {
            outgoing,
            mut child,
            words,
            ..
        } = self;
        drop(outgoing);
        let status = child.end(grace)?;
        words.settle(LAST_WORDS);
        Ok((status, words.text()))
    }

    /// Kills the peer's process group at once.
    pub fn kill(mut self) {
        self.child.group().kill();
        // A failure means that it is reaped already.
        let _ = self.child.wait();
    }
}

fn read(input: OwnedFd, arrived: &mpsc::Sender<Message>, junk: &AtomicU64) {
    let mut reader = BufReader::with_capacity(64 * 1024, File::from(input));
    let mut line = Vec::new();
    while let Ok(Some(frame)) = read_frame(&mut reader, &mut line) {
        match frame {
            Frame::Message(message) => {
                if arrived.blocking_send(message).is_err() {
                    return;
                }
            }
            Frame::Junk => {
                junk.fetch_add(1, Ordering::Relaxed);
            }
        }
        // One huge line must not keep its memory for the rest of the session.
        line.shrink_to(1024 * 1024);
    }
}

fn write(output: OwnedFd, departing: &sync::Receiver<Vec<u8>>) {
    let mut output = File::from(output);
    while let Ok(line) = departing.recv() {
        if output.write_all(&line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::{Launch, Peer};
    use crate::rpc::message::Message;
    use serde_json::json;

    fn shell(script: &str) -> Launch {
        Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            variables: BTreeMap::new(),
            cwd: None,
            name: "test".into(),
        }
    }

    fn note(text: &str) -> Message {
        Message::Notification {
            method: "n".into(),
            params: json!({ "text": text }),
        }
    }

    #[test]
    fn what_is_sent_comes_back_from_an_echo_and_junk_is_counted() {
        let (peer, mut incoming) = Peer::spawn(shell("echo hello; exec cat")).unwrap();
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
        let (peer, mut incoming) = Peer::spawn(shell("echo why >&2; exit 3")).unwrap();
        assert_eq!(incoming.blocking_recv(), None);
        let (status, words) = peer.end(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(words, "why\n");
    }

    #[test]
    fn a_peer_that_never_reads_does_not_block_the_sender() {
        let (peer, _incoming) = Peer::spawn(shell("exec sleep 1000")).unwrap();
        for _ in 0..10 {
            peer.send(note(&"x".repeat(1_000_000)));
        }
        peer.kill();
    }

    #[test]
    fn a_missing_program_is_named() {
        let mut launch = shell("");
        launch.program = "/nonexistent/agent".into();
        let failure = Peer::spawn(launch).unwrap_err();
        assert_eq!(failure.source.kind(), std::io::ErrorKind::NotFound);
        assert!(failure.to_string().starts_with("`/nonexistent/agent`"));
    }
}
