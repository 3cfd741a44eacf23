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

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::dialect::Dialect;
use super::frame::{RpcFrame, decode, encode, encode_batch, read_line, value};
use super::message::RpcMessage;
use crate::trace::WIRE;

/// Messages that wait for the owner before the reader waits.
const ROOM: usize = 256;

/// What a peer says, in order; closed at the end of it.
pub type Incoming = mpsc::Receiver<RpcMessage>;

/// What a peer that is served says, line by line: its JSON, `None` where it is none. Closed at the end of it.
pub type Lines = mpsc::Receiver<Option<Value>>;

/// Comes when nobody takes answers any more; nothing is known of it before the end of what they say.
pub type Gone = oneshot::Receiver<()>;

/// What is made of a line.
pub(super) trait Heard: Sized + Send + 'static {
    /// `None`: nothing; such lines are counted.
    fn of(line: &[u8]) -> Option<Self>;

    /// What it is, without what it says.
    fn label(&self) -> String;
}

impl Heard for RpcMessage {
    fn of(line: &[u8]) -> Option<Self> {
        match decode(line) {
            RpcFrame::Message(message) => Some(message),
            RpcFrame::Junk => None,
        }
    }

    fn label(&self) -> String {
        RpcMessage::label(self)
    }
}

impl Heard for Option<Value> {
    fn of(line: &[u8]) -> Option<Self> {
        Some(value(line))
    }

    fn label(&self) -> String {
        let method = self.as_ref().map(|value| value["method"].as_str());
        method
            .map_or("no JSON", |method| method.unwrap_or("JSON"))
            .to_owned()
    }
}

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

    /// Serves whoever started us, over our standard input and output. Nothing else may be written to the latter.
    ///
    /// # Errors
    /// When one of them is closed, or the operating system refuses a thread.
    pub fn over_standard_streams(dialect: Dialect, name: &str) -> io::Result<(Peer, Lines, Gone)> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Peer::served(input, output, HangUp::default(), dialect, name)
    }

    /// Serves whoever is at the other end of these: what they ask for is answered after the end of what they say, too,
    /// until they take no answers any more.
    pub(super) fn served<W>(
        input: impl Read + Send + 'static,
        output: W,
        hang_up: HangUp,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Lines, Gone)>
    where
        W: Write + AsFd + Send + 'static,
    {
        let watched = output.as_fd().try_clone_to_owned()?;
        let (tell, gone) = oneshot::channel();
        let wait = move || {
            taken_no_more(&watched);
            // Whoever has left does not want to know.
            let _ = tell.send(());
        };
        let (peer, lines) = Peer::reading(input, output, hang_up, dialect, name, wait)?;
        Ok((peer, lines, gone))
    }

    pub(super) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        hang_up: HangUp,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Incoming)> {
        Peer::reading(input, output, hang_up, dialect, name, || {})
    }

    /// `after` runs where everything was read.
    fn reading<T: Heard>(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        hang_up: HangUp,
        dialect: Dialect,
        name: &str,
        after: impl FnOnce() + Send + 'static,
    ) -> io::Result<(Peer, mpsc::Receiver<T>)> {
        let junk = Arc::new(AtomicU64::new(0));
        let (arrived, incoming) = mpsc::channel(ROOM);
        let (counter, known) = (Arc::clone(&junk), name.to_owned());
        thread::Builder::new()
            .name(format!("{name}-reader"))
            .spawn(move || {
                read(input, arrived, &counter, &known);
                after();
            })?;
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

    /// Queues messages as one batch, as [`Peer::send`] does one.
    pub fn send_batch(&self, messages: Vec<RpcMessage>) {
        self.unread.fetch_add(1, Ordering::Relaxed);
        let _ = self.outgoing.send(encode_batch(messages, self.dialect));
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

fn read<T: Heard>(input: impl Read, arrived: mpsc::Sender<T>, junk: &AtomicU64, name: &str) {
    let mut reader = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    while let Ok(true) = read_line(&mut reader, &mut line) {
        match T::of(&line) {
            Some(heard) => {
                log::trace!(target: WIRE, "from {name}: {}, {} bytes", heard.label(), line.len());
                if arrived.blocking_send(heard).is_err() {
                    return;
                }
            }
            None => {
                log::trace!(target: WIRE, "from {name}: no message, {} bytes", line.len());
                junk.fetch_add(1, Ordering::Relaxed);
            }
        }
        // One huge line must not keep its memory for the rest of the session.
        line.shrink_to(1024 * 1024);
    }
}

/// Waits until nobody reads what is written to `output`; ends at once where that cannot be known.
pub(crate) fn taken_no_more(output: impl AsFd) {
    loop {
        let mut watched = [PollFd::new(&output, PollFlags::empty())];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
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
            let (peer, mut lines, _gone) =
                Peer::over_standard_streams(Dialect::Versioned, "started").unwrap();
            while let Some(line) = lines.blocking_recv() {
                line.and_then(RpcMessage::from_value)
                    .into_iter()
                    .for_each(|message| peer.send(message));
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
