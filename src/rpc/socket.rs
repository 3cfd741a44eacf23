//! A peer at the other end of a socket: Unix, or TCP to this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use super::dialect::Dialect;
use super::peer::{HangUp, Incoming, Peer};

/// A connected stream socket.
pub trait Socket: Read + Write + Send + Sized + 'static {
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

/// Speaks over `socket`. Dropping the peer ends the connection at once; [`Peer::finish`] delivers first.
///
/// # Errors
/// When the operating system refuses a descriptor or a thread.
pub fn over_socket(
    socket: impl Socket,
    dialect: Dialect,
    name: &str,
) -> io::Result<(Peer, Incoming)> {
    let (input, line) = (socket.twin()?, socket.twin()?);
    let hang_up = HangUp::by(move || line.shut());
    Peer::new(input, socket, hang_up, dialect, name)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Dialect, Socket, over_socket};
    use crate::rpc::message::{RpcId, RpcMessage};
    use serde_json::json;

    fn request(text: &str) -> RpcMessage {
        RpcMessage::Request {
            id: RpcId::Number(1),
            method: "m".into(),
            params: json!({ "text": text }),
        }
    }

    fn check(ours: impl Socket, theirs: impl Socket) {
        let (ours, mut from_them) = over_socket(ours, Dialect::Versioned, "ours").unwrap();
        let (theirs, mut from_us) = over_socket(theirs, Dialect::Bare, "theirs").unwrap();
        let big = "x".repeat(3_000_000);
        ours.send(request(&big));
        assert_eq!(from_us.blocking_recv(), Some(request(&big)));
        for text in ["a", "b"] {
            theirs.send(request(text));
        }
        // What was said before the end arrives.
        assert!(theirs.finish(Duration::from_secs(10)));
        for text in ["a", "b"] {
            assert_eq!(from_them.blocking_recv(), Some(request(text)));
        }
        assert_eq!(from_them.blocking_recv(), None);
        assert_eq!(from_us.blocking_recv(), None);
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
    fn dropping_a_peer_that_never_reads_frees_its_reader() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (peer, mut incoming) = over_socket(ours, Dialect::Bare, "ours").unwrap();
        peer.send(request(&"x".repeat(3_000_000)));
        drop(peer);
        assert_eq!(incoming.blocking_recv(), None);
        drop(theirs);
    }
}
