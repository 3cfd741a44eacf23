//! One JSON-RPC connection: a reader thread and a writer thread.
//!
//! In: messages to send. Out: the messages received, through a bounded channel that loses nothing: when the channel
//! is full, the reader waits, and finally the peer. The writer's queue is unbounded, so that a peer that does not
//! read never blocks the caller. Invariant: the channel closes when the peer's output ends, or [`LAST_WORDS`] after it
//! closed its input under something we said.

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
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::frame::{RpcFrame, decode, encode, encode_batch, parse_json, read_line};
use super::message::{Dialect, RpcMessage};
use crate::text::trace::WIRE;

/// Received messages that may be queued before the reader blocks.
const CAPACITY: usize = 256;

/// Time for the messages of a peer that cannot be told anything any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The peer's messages, in order, until its output ends or it can no longer be told anything.
#[derive(Debug)]
pub struct Incoming {
    messages: mpsc::Receiver<RpcMessage>,
    /// Notified when a message could not be written.
    unwritten: Arc<Notify>,
    /// When no more is waited for.
    end: Option<Instant>,
}

impl Incoming {
    /// The next message; `None` when there will be none. Loses nothing when it is dropped.
    pub async fn recv(&mut self) -> Option<RpcMessage> {
        let end = match self.end {
            Some(end) => end,
            None => tokio::select! {
                biased;
                message = self.messages.recv() => return message,
                () = self.unwritten.notified() => *self.end.insert(Instant::now() + LAST_WORDS),
            },
        };
        let last = tokio::time::timeout_at(end, self.messages.recv()).await;
        last.ok().flatten()
    }

    #[cfg(test)]
    pub(super) fn blocking_recv(&mut self) -> Option<RpcMessage> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().unwrap();
        runtime.block_on(self.recv())
    }
}

/// A client's lines, in order, as JSON; `None` for a line that is not JSON. Closed when its output ends.
pub type Lines = mpsc::Receiver<Option<Value>>;

/// Fires when the client no longer reads answers. Watched only after the end of the client's output.
pub type CloseSignal = oneshot::Receiver<()>;

/// A value read from one line.
pub(super) trait FromLine: Sized + Send + 'static {
    /// `None` for junk, which is counted and skipped.
    fn from_line(line: &[u8]) -> Option<Self>;

    /// A description for logs, without content.
    fn label(&self) -> String;
}

impl FromLine for RpcMessage {
    fn from_line(line: &[u8]) -> Option<Self> {
        match decode(line) {
            RpcFrame::Message(message) => Some(message),
            RpcFrame::Junk => None,
        }
    }

    fn label(&self) -> String {
        RpcMessage::label(self)
    }
}

impl FromLine for Option<Value> {
    fn from_line(line: &[u8]) -> Option<Self> {
        Some(parse_json(line))
    }

    fn label(&self) -> String {
        let method = self.as_ref().map(|value| value["method"].as_str());
        method
            .map_or("no JSON", |method| method.unwrap_or("JSON"))
            .to_owned()
    }
}

/// The sending half of a connection. Dropping it closes the connection.
#[derive(Debug)]
pub struct Peer {
    /// The peer's name in the trace.
    name: String,
    outgoing: sync::Sender<Vec<u8>>,
    /// Disconnected when the writer thread has ended.
    written: sync::Receiver<()>,
    junk: Arc<AtomicU64>,
    /// Messages queued or being written.
    unsent: Arc<AtomicUsize>,
    dialect: Dialect,
    _on_drop: CloseOnDrop,
}

impl Peer {
    /// Serves our parent process over our standard input and output. Nothing else may be written to standard output.
    ///
    /// # Errors
    /// When one of them is closed, or the operating system refuses a thread.
    pub fn over_stdio(dialect: Dialect, name: &str) -> io::Result<(Peer, Lines, CloseSignal)> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Peer::server(input, output, CloseOnDrop::default(), dialect, name)
    }

    /// Serves the client at the other end. Requests are answered also after the client's output has ended, until
    /// the client no longer reads.
    pub(super) fn server<W>(
        input: impl Read + Send + 'static,
        output: W,
        on_drop: CloseOnDrop,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Lines, CloseSignal)>
    where
        W: Write + AsFd + Send + 'static,
    {
        let watched = output.as_fd().try_clone_to_owned()?;
        let (tell, closed) = oneshot::channel();
        let wait = move || {
            wait_until_closed(&watched);
            // Fails only when the owner has dropped the receiver.
            let _ = tell.send(());
        };
        let (peer, lines, _) = Peer::start(input, output, on_drop, dialect, name, wait)?;
        Ok((peer, lines, closed))
    }

    pub(super) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        on_drop: CloseOnDrop,
        dialect: Dialect,
        name: &str,
    ) -> io::Result<(Peer, Incoming)> {
        let (peer, messages, unwritten) =
            Peer::start(input, output, on_drop, dialect, name, || {})?;
        let incoming = Incoming {
            messages,
            unwritten,
            end: None,
        };
        Ok((peer, incoming))
    }

    /// `after` runs on the reader thread once the input has ended.
    fn start<T: FromLine>(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        on_drop: CloseOnDrop,
        dialect: Dialect,
        name: &str,
        after: impl FnOnce() + Send + 'static,
    ) -> io::Result<(Peer, mpsc::Receiver<T>, Arc<Notify>)> {
        let junk = Arc::new(AtomicU64::new(0));
        let (received, incoming) = mpsc::channel(CAPACITY);
        let (junk_counter, thread_name) = (Arc::clone(&junk), name.to_owned());
        thread::Builder::new()
            .name(format!("{name}-reader"))
            .spawn(move || {
                read_lines(input, received, &junk_counter, &thread_name);
                after();
            })?;
        let (outgoing, queued) = sync::channel();
        let (done, written) = sync::channel();
        let unsent = Arc::new(AtomicUsize::new(0));
        let unsent_counter = Arc::clone(&unsent);
        let unwritten = Arc::new(Notify::new());
        let notify = Arc::clone(&unwritten);
        thread::Builder::new()
            .name(format!("{name}-writer"))
            .spawn(move || {
                if !write_lines(output, &queued, &unsent_counter) {
                    notify.notify_one();
                }
                drop(done);
            })?;
        let peer = Peer {
            name: name.to_owned(),
            outgoing,
            written,
            junk,
            unsent,
            dialect,
            _on_drop: on_drop,
        };
        Ok((peer, incoming, unwritten))
    }

    /// Queues a message; never blocks. Messages to a peer that is gone are lost; the closed channel reports that.
    pub fn send(&self, message: RpcMessage) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        let traced = log::log_enabled!(target: WIRE, log::Level::Trace).then(|| message.label());
        let line = encode(message, self.dialect);
        if let Some(label) = traced {
            log::trace!(target: WIRE, "to {}: {label}, {} bytes", self.name, line.len());
        }
        let _ = self.outgoing.send(line);
    }

    /// Queues messages as one batch; otherwise as [`Peer::send`].
    pub fn send_batch(&self, messages: Vec<RpcMessage>) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        let _ = self.outgoing.send(encode_batch(messages, self.dialect));
    }

    /// Number of messages that the peer has not taken yet.
    pub fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Number of received lines that were no messages.
    pub fn junk(&self) -> u64 {
        self.junk.load(Ordering::Relaxed)
    }

    /// Closes the connection after everything was written; false when the peer did not take all of it within `timeout`.
    pub fn finish(self, timeout: Duration) -> bool {
        let Peer {
            outgoing,
            written,
            _on_drop,
            ..
        } = self;
        drop(outgoing);
        written.recv_timeout(timeout) == Err(sync::RecvTimeoutError::Disconnected)
    }
}

/// Runs a function when the peer is dropped, for streams that do not close with our writing end.
#[derive(Default)]
pub(super) struct CloseOnDrop(Option<Box<dyn Fn() + Send>>);

impl CloseOnDrop {
    pub(super) fn new(close: impl Fn() + Send + 'static) -> Self {
        CloseOnDrop(Some(Box::new(close)))
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(close) = &self.0 {
            close();
        }
    }
}

impl fmt::Debug for CloseOnDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HangUp").field(&self.0.is_some()).finish()
    }
}

fn read_lines<T: FromLine>(
    input: impl Read,
    received: mpsc::Sender<T>,
    junk: &AtomicU64,
    name: &str,
) {
    let mut reader = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    while let Ok(true) = read_line(&mut reader, &mut line) {
        match T::from_line(&line) {
            Some(message) => {
                log::trace!(target: WIRE, "from {name}: {}, {} bytes", message.label(), line.len());
                if received.blocking_send(message).is_err() {
                    return;
                }
            }
            None => {
                log::trace!(target: WIRE, "from {name}: no message, {} bytes", line.len());
                junk.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Free the memory of a huge line.
        line.shrink_to(1024 * 1024);
    }
}

/// Blocks until the reading end of `output` is closed; returns at once where that cannot be observed.
pub fn wait_until_closed(output: impl AsFd) {
    loop {
        let mut watched = [PollFd::new(&output, PollFlags::empty())];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}

/// Writes until there is nothing to write; false when the peer no longer reads.
fn write_lines(
    mut output: impl Write,
    queued: &sync::Receiver<Vec<u8>>,
    unsent: &AtomicUsize,
) -> bool {
    while let Ok(line) = queued.recv() {
        if output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_err()
        {
            return false;
        }
        unsent.fetch_sub(1, Ordering::Relaxed);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::time::Duration;

    use super::{CloseOnDrop, Dialect, Peer};
    use crate::rpc::child::{ChildPeer, Launch};
    use crate::rpc::message::{RpcId, RpcMessage};
    use serde_json::json;

    #[test]
    fn peers_of_different_dialects_understand_each_other() {
        let (our_input, their_output) = io::pipe().unwrap();
        let (their_input, our_output) = io::pipe().unwrap();
        let mut noise = their_output.try_clone().unwrap();
        let (ours, mut from_them) = Peer::new(
            our_input,
            our_output,
            CloseOnDrop::default(),
            Dialect::Bare,
            "ours",
        )
        .unwrap();
        let (theirs, mut from_us) = Peer::new(
            their_input,
            their_output,
            CloseOnDrop::default(),
            Dialect::Versioned,
            "theirs",
        )
        .unwrap();
        // Both sides count their ids from 1: the direction decides whose id is meant.
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

    /// The test starts its own program as the other side; the output of the test harness counts as junk.
    #[test]
    fn whoever_started_us_is_heard_over_our_own_streams() {
        const STARTED: &str = "RPC_TEST_STARTED";
        if std::env::var_os(STARTED).is_some() {
            let (peer, mut lines, _gone) = Peer::over_stdio(Dialect::Versioned, "started").unwrap();
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
    fn finish_gives_up_on_a_peer_that_does_not_read() {
        let (_kept, output) = io::pipe().unwrap();
        let (peer, _incoming) = Peer::new(
            io::empty(),
            output,
            CloseOnDrop::default(),
            Dialect::Bare,
            "deaf",
        )
        .unwrap();
        peer.send(RpcMessage::Notification {
            method: "n".into(),
            params: json!("x".repeat(1_000_000)),
        });
        assert!(!peer.finish(Duration::from_millis(50)));
    }
}
