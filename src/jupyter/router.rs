//! A socket at which a kernel takes requests: each client is a connection, with a name by which it is answered.
//!
//! In: connections. Out: their messages, each behind its client's name; messages to the client of a name. Invariants:
//! what a client sends takes no memory before it has arrived; one that breaks the protocol, or takes no answer for
//! [`PATIENCE`], loses its connection, and no other client anything. Absent on purpose: what the messages mean.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWriteExt, BufReader, WriteHalf, split};
use tokio::sync::Mutex as Turns;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use super::listener::{GREETING, Listener, PATIENCE};
use super::signing::Parts;
use super::zmtp::{self, Stream};

/// The side of a connection that is written to, by one answer after the other.
type Client = Arc<Turns<WriteHalf<Box<dyn Stream>>>>;

/// The clients that are connected, by name.
#[derive(Clone, Default)]
pub(super) struct Router(Arc<Mutex<HashMap<Vec<u8>, Client>>>);

/// Serves all who connect, in tasks that end when the receiver of their messages is dropped.
pub(super) fn serve(listener: Listener) -> (Router, Receiver<Parts>) {
    let router = Router::default();
    let (to, messages) = channel(1);
    tokio::spawn(accept(listener, router.clone(), to));
    (router, messages)
}

async fn accept(listener: Listener, router: Router, to: Sender<Parts>) {
    for number in 0_u32.. {
        tokio::select! {
            stream = listener.next() => {
                tokio::spawn(router.clone().attend(stream, number, to.clone()));
            }
            () = to.closed() => return,
        }
    }
}

impl Router {
    /// Passes on what comes from a connection until its end.
    async fn attend(self, mut stream: Box<dyn Stream>, number: u32, to: Sender<Parts>) {
        let Ok(Ok(mut name)) = timeout(GREETING, zmtp::greet_client(&mut stream)).await else {
            return;
        };
        if name.is_empty() {
            // Such a name is never given by a client (ZMTP 3.0, "The Identity Property").
            name = [&[0], number.to_be_bytes().as_slice()].concat();
        }
        let (from, writes) = split(stream);
        let client = Arc::new(Turns::new(writes));
        // Of two with one name, the later is meant: a client that connects again.
        self.clients().insert(name.clone(), Arc::clone(&client));
        let mut from = BufReader::new(from);
        while let Ok(mut message) = zmtp::read_message(&mut from).await {
            message.insert(0, name.clone());
            if to.send(message).await.is_err() {
                break;
            }
        }
        self.forget(&name, &client);
    }

    /// Sends to the client whose name is the first part; drops what is for one that is gone.
    pub(super) async fn send(&self, message: &[Vec<u8>]) {
        let Some((name, content)) = message.split_first() else {
            return;
        };
        let Some(client) = self.clients().get(name).cloned() else {
            return;
        };
        let bytes = zmtp::bytes(content);
        let (mut to, mut rest) = (client.lock().await, bytes.as_slice());
        while !rest.is_empty() {
            match timeout(PATIENCE, to.write(rest)).await {
                Ok(Ok(written @ 1..)) => rest = &rest[written..],
                _ => {
                    // It may be gone already.
                    let _ = to.shutdown().await;
                    return self.forget(name, &client);
                }
            }
        }
    }

    fn forget(&self, name: &[u8], client: &Client) {
        let mut clients = self.clients();
        if clients
            .get(name)
            .is_some_and(|now| Arc::ptr_eq(now, client))
        {
            clients.remove(name);
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Greets at this address as a client of this name.
    async fn client(address: std::net::SocketAddr, name: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        zmtp::greet_router(&mut stream, name).await.unwrap();
        stream
    }

    #[test]
    fn each_client_is_answered_by_its_name_and_none_takes_what_it_only_announces() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let test = async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (router, mut messages) = serve(Listener::Tcp(listener));
            let mut named = client(address, "a").await;
            let mut nameless = client(address, "").await;
            let mut huge = client(address, "huge").await;
            // The header of a frame of four terabytes.
            huge.write_all(b"\x02\0\0\x04\0\0\0\0\0").await.unwrap();
            assert!(zmtp::read_message(&mut huge).await.is_err());
            for stream in [&mut named, &mut nameless] {
                stream.write_all(b"\x01\x01x\0\x01y").await.unwrap();
                let message = messages.recv().await.unwrap();
                assert_eq!(message[1..], [b"x", b"y"]);
                router.send(&message).await;
                let echo = zmtp::read_message(stream).await.unwrap();
                assert_eq!(echo, [b"x", b"y"]);
            }
            // The client connects again before its old connection has ended.
            let mut again = client(address, "a").await;
            again.write_all(b"\0\x01z").await.unwrap();
            let message = messages.recv().await.unwrap();
            assert_eq!(message, [b"a", b"z"]);
            drop(named);
            router.send(&message).await;
            let echo = zmtp::read_message(&mut again).await.unwrap();
            assert_eq!(echo, [b"z"]);
            // Nobody of that name: it is dropped.
            router.send(&[b"nobody".to_vec()]).await;
            drop(messages);
            while TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        runtime.block_on(async { timeout(PATIENCE * 6, test).await.unwrap() });
    }
}
