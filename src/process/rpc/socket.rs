//! A JSON-RPC client connected through a stream socket: Unix, or TCP on this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::message::Dialect;
use super::peer::{CloseOnDrop, CloseSignal, Lines, Peer};

pub trait Socket: Read + Write + AsFd + Send + Sized + 'static {
    /// Another handle to the same socket.
    ///
    /// # Errors
    /// When no descriptors are left.
    fn duplicate(&self) -> io::Result<Self>;

    /// Ends the connection in both directions; readers see the end of input.
    fn close(&self);
}

impl Socket for UnixStream {
    fn duplicate(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self) {
        // Fails only when the other side has closed the socket already.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Socket for TcpStream {
    fn duplicate(&self) -> io::Result<Self> {
        // The other side waits for each line, so none is held back.
        self.set_nodelay(true)?;
        self.try_clone()
    }

    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Serves the client at the other end of `socket`. Dropping the peer ends the connection at once; [`Peer::finish`]
/// delivers queued messages first.
///
/// # Errors
/// When the operating system refuses a descriptor or a thread.
pub fn over_socket(
    socket: impl Socket,
    dialect: Dialect,
    name: &str,
) -> io::Result<(Peer, Lines, CloseSignal)> {
    let (input, line) = (socket.duplicate()?, socket.duplicate()?);
    let on_drop = CloseOnDrop::new(move || line.close());
    Peer::server(input, socket, on_drop, dialect, name)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Dialect, Lines, Socket, over_socket};
    use crate::rpc::frame::read_line;
    use crate::rpc::message::{RpcId, RpcMessage};
    use serde_json::{Value, json};
    use tokio::sync::oneshot::error::TryRecvError;

    fn request(text: &str) -> RpcMessage {
        RpcMessage::Request {
            id: RpcId::Number(1),
            method: "m".into(),
            params: json!({ "text": text }),
        }
    }

    fn check(ours: impl Socket, theirs: impl Socket) {
        let (ours, mut from_them, _) = over_socket(ours, Dialect::Versioned, "ours").unwrap();
        let (theirs, mut from_us, closed) = over_socket(theirs, Dialect::Bare, "theirs").unwrap();
        let said = |lines: &mut Lines| {
            lines
                .blocking_recv()
                .map(|line| line.and_then(RpcMessage::from_value))
        };
        let big = "x".repeat(3_000_000);
        ours.send(request(&big));
        assert_eq!(said(&mut from_us), Some(Some(request(&big))));
        for text in ["a", "b"] {
            theirs.send(request(text));
        }
        // Messages sent before the end arrive.
        assert!(theirs.finish(Duration::from_secs(10)));
        for text in ["a", "b"] {
            assert_eq!(said(&mut from_them), Some(Some(request(text))));
        }
        assert_eq!(said(&mut from_them), None);
        assert_eq!(said(&mut from_us), None);
        drop(ours);
        assert_eq!(closed.blocking_recv(), Ok(()));
    }

    #[test]
    fn messages_cross_a_unix_socket_both_ways() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        check(ours, theirs);
    }

    #[test]
    fn messages_cross_a_tcp_connection_both_ways() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        check(ours, listener.accept().unwrap().0);
    }

    #[test]
    fn a_client_that_stopped_writing_gets_answers_until_it_closes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (peer, mut lines, mut closed) = over_socket(ours, Dialect::Versioned, "ours").unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        assert_eq!(lines.blocking_recv(), None);
        peer.send_batch(vec![request("a"), request("b")]);
        let mut line = Vec::new();
        assert!(read_line(&mut BufReader::new(&theirs), &mut line).unwrap());
        let batch: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(batch[1]["params"]["text"], "b");
        assert_eq!(closed.try_recv(), Err(TryRecvError::Empty));
        drop(theirs);
        assert_eq!(closed.blocking_recv(), Ok(()));
    }

    #[test]
    fn dropping_a_peer_that_never_reads_frees_its_reader() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (peer, mut incoming, _) = over_socket(ours, Dialect::Bare, "ours").unwrap();
        peer.send(request(&"x".repeat(3_000_000)));
        drop(peer);
        assert_eq!(incoming.blocking_recv(), None);
        drop(theirs);
    }
}
