//! Somebody who speaks JSON-RPC: the threads that pump.
//!
//! In: messages to send. Out: the messages received, through a bounded channel that must deliver (the reader waits for
//! room, and so in the end does the peer). Threads: one reads, one writes (a peer that does not read never blocks the
//! caller). Invariant: the channel closes exactly when what the peer says ends.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc as sync;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::dialect::Dialect;
use super::frame::{RpcFrame, encode, read_frame};
use super::message::RpcMessage;
use crate::trace::WIRE;

/// Messages that wait for the owner before the reader waits.
const ROOM: usize = 256;

/// What a peer says, in order; closed at the end of it.
pub type Incoming = mpsc::Receiver<RpcMessage>;

/// Whom we speak with. Dropping it hangs up.
#[derive(Debug)]
pub struct Peer {
    /// As the log of what passes calls it.
    name: String,
    outgoing: sync::Sender<Vec<u8>>,
    /// Disconnected when the writer is done.
    written: sync::Receiver<()>,
    junk: Arc<AtomicU64>,
    /// Messages on their way out.
    unread: Arc<AtomicUsize>,
    dialect: Dialect,
    _hang_up: HangUp,
}

impl Peer {
    /// Speaks with whoever reads `output` and writes `input`. `name` names the threads: `NAME-reader`, `NAME-writer`.
    ///
    /// # Errors
    /// When the operating system refuses a thread.
    pub fn over(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Incoming)> {
        Peer::new(input, output, HangUp::default(), dialect, name)
    }

    /// Speaks with whoever started us, over our standard input and output. Nothing else may be written to the latter.
    ///
    /// # Errors
    /// When one of them is closed, or the operating system refuses a thread.
    pub fn over_standard_streams(dialect: Dialect, name: &str) -> io::Result<(Peer, Incoming)> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Peer::over(input, output, dialect, name)
    }

    pub(super) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        hang_up: HangUp,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Incoming)> {
        let junk = Arc::new(AtomicU64::new(0));
        let (arrived, incoming) = mpsc::channel(ROOM);
        let (counter, known) = (Arc::clone(&junk), name.to_owned());
        thread::Builder::new()
            .name(format!("{name}-reader"))
            .spawn(move || read(input, &arrived, &counter, &known))?;
        let (outgoing, departing) = sync::channel();
        let (done, written) = sync::channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let taken = Arc::clone(&unread);
        thread::Builder::new()
            .name(format!("{name}-writer"))
            .spawn(move || {
                write(output, &departing, &taken);
                drop(done);
            })?;
        let peer = Peer {
            name: name.to_owned(),
            outgoing,
            written,
            junk,
            unread,
            dialect,
            _hang_up: hang_up,
        };
        Ok((peer, incoming))
    }

    /// Queues a message; never blocks. A peer that is gone does not get it, which its closed channel tells.
    pub fn send(&self, message: RpcMessage) {
        self.unread.fetch_add(1, Ordering::Relaxed);
        let traced = log::log_enabled!(target: WIRE, log::Level::Trace).then(|| message.label());
        let line = encode(message, self.dialect);
        if let Some(label) = traced {
            log::trace!(target: WIRE, "to {}: {label}, {} bytes", self.name, line.len());
        }
        let _ = self.outgoing.send(line);
    }

    /// How many messages the other side has still to take.
    pub fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// How many lines were no messages.
    pub fn junk(&self) -> u64 {
        self.junk.load(Ordering::Relaxed)
    }

    /// Hangs up when everything is said; false when the peer did not take all of it within `patience`.
    pub fn finish(self, patience: Duration) -> bool {
        let Peer {
            outgoing,
            written,
            _hang_up,
            ..
        } = self;
        drop(outgoing);
        written.recv_timeout(patience) == Err(sync::RecvTimeoutError::Disconnected)
    }
}

/// What ends the connection when the peer is dropped: where closing our writing end does not.
#[derive(Default)]
pub(super) struct HangUp(Option<Box<dyn Fn() + Send>>);

impl HangUp {
    pub(super) fn by(how: impl Fn() + Send + 'static) -> Self {
        HangUp(Some(Box::new(how)))
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        if let Some(how) = &self.0 {
            how();
        }
    }
}

impl fmt::Debug for HangUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HangUp").field(&self.0.is_some()).finish()
    }
}

fn read(input: impl Read, arrived: &mpsc::Sender<RpcMessage>, junk: &AtomicU64, name: &str) {
    let mut reader = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    while let Ok(Some(frame)) = read_frame(&mut reader, &mut line) {
        match frame {
            RpcFrame::Message(message) => {
                log::trace!(target: WIRE, "from {name}: {}, {} bytes", message.label(), line.len());
                if arrived.blocking_send(message).is_err() {
                    return;
                }
            }
            RpcFrame::Junk => {
                log::trace!(target: WIRE, "from {name}: no message, {} bytes", line.len());
                junk.fetch_add(1, Ordering::Relaxed);
            }
        }
        // One huge line must not keep its memory for the rest of the session.
        line.shrink_to(1024 * 1024);
    }
}

fn write(mut output: impl Write, departing: &sync::Receiver<Vec<u8>>, unread: &AtomicUsize) {
    while let Ok(line) = departing.recv() {
        if output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
        unread.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::time::Duration;

    use super::{Dialect, Peer};
    use crate::rpc::child::{ChildPeer, Launch};
    use crate::rpc::message::{RpcId, RpcMessage};
    use serde_json::json;

    #[test]
    fn peers_of_either_dialect_understand_each_other() {
        let (our_input, their_output) = io::pipe().unwrap();
        let (their_input, our_output) = io::pipe().unwrap();
        let mut noise = their_output.try_clone().unwrap();
        let (ours, mut from_them) =
            Peer::over(our_input, our_output, Dialect::Bare, "ours").unwrap();
        let (theirs, mut from_us) =
            Peer::over(their_input, their_output, Dialect::Versioned, "theirs").unwrap();
        // Both count from 1: the direction tells whose id it is.
        let request = RpcMessage::Request {
            id: RpcId::Number(1),
            method: "ask".into(),
            params: json!({}),
        };
        let response = RpcMessage::Response {
            id: RpcId::Number(1),
            outcome: Ok(json!("yes")),
        };
        ours.send(request.clone());
        assert_eq!(from_us.blocking_recv(), Some(request.clone()));
        theirs.send(request.clone());
        theirs.send(response.clone());
        assert_eq!(from_them.blocking_recv(), Some(request));
        assert_eq!(from_them.blocking_recv(), Some(response.clone()));
        noise.write_all(b"a log line\n").unwrap();
        theirs.send(response.clone());
        assert_eq!(from_them.blocking_recv(), Some(response));
        assert_eq!(ours.junk(), 1);
        drop(noise);
        assert!(theirs.finish(Duration::from_secs(10)));
        assert_eq!(from_them.blocking_recv(), None);
    }

    /// This test is both sides: it starts itself and speaks with that. What the harness prints is junk.
    #[test]
    fn whoever_started_us_is_heard_over_our_own_streams() {
        const STARTED: &str = "RPC_TEST_STARTED";
        if std::env::var_os(STARTED).is_some() {
            let (peer, mut incoming) =
                Peer::over_standard_streams(Dialect::Versioned, "started").unwrap();
            while let Some(message) = incoming.blocking_recv() {
                peer.send(message);
            }
            assert!(peer.finish(Duration::from_secs(10)));
            return;
        }
        let name = "rpc::peer::tests::whoever_started_us_is_heard_over_our_own_streams";
        let launch = Launch {
            program: std::env::current_exe().unwrap(),
            arguments: ["--exact", "--nocapture", name].map(Into::into).into(),
            variables: [(STARTED.into(), "1".into())].into(),
            cwd: None,
            dialect: Dialect::Versioned,
            name: "test".into(),
        };
        let (peer, mut incoming) = ChildPeer::spawn(launch).unwrap();
        for text in ["a", "b"] {
            let message = RpcMessage::Notification {
                method: "n".into(),
                params: json!([text]),
            };
            peer.send(message.clone());
            assert_eq!(incoming.blocking_recv(), Some(message));
        }
        let (status, words) = peer.end(Duration::from_secs(10)).unwrap();
        assert!(status.success(), "{words}");
    }

    #[test]
    fn a_peer_that_does_not_read_is_not_waited_for_for_ever() {
        let (_kept, output) = io::pipe().unwrap();
        let (peer, _incoming) = Peer::over(io::empty(), output, Dialect::Bare, "deaf").unwrap();
        peer.send(RpcMessage::Notification {
            method: "n".into(),
            params: json!("x".repeat(1_000_000)),
        });
        assert!(!peer.finish(Duration::from_millis(50)));
    }
}
