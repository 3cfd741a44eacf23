//! Where a kernel listens: an address of its connection file, over TCP or a Unix socket.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;

use super::zmtp::Stream;

/// Time limit of a new connection's greeting.
pub(super) const GREETING: Duration = Duration::from_secs(30);
/// A client that takes nothing for this long counts as not reading. ZeroMQ takes messages in batches of five hundred,
/// so a slow client takes nothing for seconds, too.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Ipc(UnixListener),
}

impl Listener {
    /// Binds an address of the connection file.
    ///
    /// # Errors
    /// The address is not available.
    pub(super) async fn open(url: &str) -> io::Result<Self> {
        match url.split_once("://") {
            Some(("ipc", path)) => UnixListener::bind(path).map(Listener::Ipc),
            Some((_, address)) => TcpListener::bind(address).await.map(Listener::Tcp),
            None => Err(ErrorKind::InvalidInput.into()),
        }
    }

    /// Waits for the next connection.
    pub(super) async fn next(&self) -> Box<dyn Stream> {
        loop {
            match self.accept().await {
                Ok(stream) => return stream,
                // Accepting may fail while too many files are open; retry after a pause.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Listener::Ipc(listener) => Box::new(listener.accept().await?.0),
        })
    }
}
