//! A peer at the other end of a socket: Unix, or TCP to this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::dialect::Dialect;
use super::peer::{Gone, HangUp, Lines, Peer};

/// A connected stream socket.
pub trait Socket: Read + Write + AsFd + Send + Sized + 'static {
    /// The same socket once more.
    ///
    /// # Errors
    /// When there are no descriptors left.
    fn twin(&self) -> io::Result<Self>;

    /// Ends the connection in both directions; whoever reads it sees its end.
    fn shut(&self);
}

impl Socket for UnixStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn shut(&self) {
        // One that the other side has closed is shut.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Socket for TcpStream {
    fn twin(&self) -> io::Result<Self> {
        // Each line is a message somebody waits for.
        self.set_nodelay(true)?;
        self.try_clone()
    }

    fn shut(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Serves whoever is at the other end of `socket`. Dropping the peer ends the connection at once; [`Peer::finish`]
/// delivers first.
///
/// # Errors
/// When the operating system refuses a descriptor or a thread.
pub fn over_socket(
    socket: impl Socket,
    dialect: Dialect,
    name: &str,
) -> io::Result<(Peer, Lines, Gone)> {
    let (input, line) = (socket.twin()?, socket.twin()?);
    let hang_up = HangUp::by(move || line.shut());
    Peer::served(input, socket, hang_up, dialect, name)
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
        let (theirs, mut from_us, gone) = over_socket(theirs, Dialect::Bare, "theirs").unwrap();
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
        // What was said before the end arrives.
        assert!(theirs.finish(Duration::from_secs(10)));
        for text in ["a", "b"] {
            assert_eq!(said(&mut from_them), Some(Some(request(text))));
        }
        assert_eq!(said(&mut from_them), None);
        assert_eq!(said(&mut from_us), None);
        drop(ours);
        assert_eq!(gone.blocking_recv(), Ok(()));
    }

    #[test]
    fn both_ends_of_a_unix_socket_are_heard() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        check(ours, theirs);
    }

    #[test]
    fn both_ends_of_a_tcp_connection_are_heard() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        check(ours, listener.accept().unwrap().0);
    }

    #[test]
    fn one_that_says_nothing_more_takes_answers_until_it_is_gone() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (peer, mut lines, mut gone) = over_socket(ours, Dialect::Versioned, "ours").unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        assert_eq!(lines.blocking_recv(), None);
        peer.send_batch(vec![request("a"), request("b")]);
        let mut line = Vec::new();
        assert!(read_line(&mut BufReader::new(&theirs), &mut line).unwrap());
        let batch: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(batch[1]["params"]["text"], "b");
        assert_eq!(gone.try_recv(), Err(TryRecvError::Empty));
        drop(theirs);
        assert_eq!(gone.blocking_recv(), Ok(()));
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
