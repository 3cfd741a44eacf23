//! The iopub socket of a kernel: publishes messages to subscribers.
//!
//! In: our messages. Out: the same to every subscriber, and `iopub_welcome` to each new one, which marks the start
//! of its complete stream (JEP 65). Invariants: memory is bounded; a subscriber that reads gets every message, in
//! order, regardless of the others. Each subscriber has a queue of limited bytes. While the queue is full the
//! kernel waits as long as the subscriber reads; one that has read nothing for [`PATIENCE`] is skipped until its
//! queue is empty.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncWriteExt, WriteHalf, split};
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::listener::{GREETING, Listener, PATIENCE};
use super::message::{Channel, OutgoingMessage};
use super::signing::Signing;
use super::zmtp::{self, Stream, SubscriberMessage};

/// Maximum bytes in a subscriber's queue; a longer message is queued alone.
const WAITING: usize = 2 << 20;
const NEWS: usize = 64;

#[derive(Debug)]
pub(super) struct Published(pub(super) OutgoingMessage);

#[derive(Debug)]
pub(super) struct IopubSocket {
    subscribers: HashMap<u64, Subscriber>,
    patience: Duration,
}

#[derive(Debug)]
struct Subscriber {
    topics: Vec<Vec<u8>>,
    queue: UnboundedSender<QueuedMessage>,
    /// Permits for bytes that may still be queued.
    room: Arc<Semaphore>,
    /// Bytes that the subscriber has taken.
    taken: Arc<AtomicU64>,
    passed_by: bool,
}

/// A serialised message and the permit for its bytes.
type QueuedMessage = (Arc<Vec<u8>>, OwnedSemaphorePermit);

#[derive(Debug)]
enum SubscriberEvent {
    Connected(Subscriber),
    Message(SubscriberMessage),
    Disconnected,
}

/// Publishes until all senders of messages are gone.
pub(super) async fn publish(
    listener: Listener,
    mut iopub: IopubSocket,
    signing: Signing,
    mut messages: Receiver<Published>,
) {
    let (tell, mut news) = channel(NEWS);
    let listener = tokio::spawn(accept_subscribers(listener, tell));
    loop {
        // Subscriptions first: a subscriber gets every message published after its request.
        let (message, only, topic) = tokio::select! {
            biased;
            Some((who, news)) = news.recv() => match iopub.on_event(who, news) {
                Some(topic) => {
                    let content = json!({ "subscription": String::from_utf8_lossy(&topic) });
                    let welcome = OutgoingMessage::new(Channel::Iopub, "iopub_welcome", content);
                    (welcome, Some(who), Some(topic))
                }
                None => continue,
            },
            message = messages.recv() => match message {
                Some(Published(message)) => (message, None, None),
                None => break,
            },
        };
        // Subscriptions are matched against the first frame.
        let front = topic.unwrap_or_else(|| message.msg_type.clone().into_bytes());
        iopub.send(&signing.seal(vec![front], &message), only).await;
    }
    listener.abort();
}

impl Default for IopubSocket {
    fn default() -> Self {
        IopubSocket {
            subscribers: HashMap::new(),
            patience: PATIENCE,
        }
    }
}

impl IopubSocket {
    /// Applies a subscriber's event; returns the topic of a new subscription.
    fn on_event(&mut self, who: u64, news: SubscriberEvent) -> Option<Vec<u8>> {
        let said = match news {
            SubscriberEvent::Connected(subscriber) => {
                self.subscribers.insert(who, subscriber);
                return None;
            }
            SubscriberEvent::Disconnected => {
                self.subscribers.remove(&who);
                return None;
            }
            SubscriberEvent::Message(said) => said,
        };
        let topics = &mut self.subscribers.get_mut(&who)?.topics;
        match said {
            SubscriberMessage::Subscribe(topic) => {
                topics.push(topic.clone());
                Some(topic)
            }
            SubscriberMessage::Unsubscribe(topic) => {
                let at = topics.iter().position(|one| *one == topic)?;
                topics.swap_remove(at);
                None
            }
        }
    }

    /// Sends to this subscriber, or to all, if they asked for what a message's first part begins with.
    async fn send(&mut self, message: &[Vec<u8>], only: Option<u64>) {
        let bytes = Arc::new(zmtp::bytes(message));
        for (who, subscriber) in &mut self.subscribers {
            let wanted = subscriber
                .topics
                .iter()
                .any(|topic| message[0].starts_with(topic));
            if wanted && only.is_none_or(|only| only == *who) {
                subscriber.take(&bytes, self.patience).await;
            }
        }
    }
}

impl Subscriber {
    async fn take(&mut self, bytes: &Arc<Vec<u8>>, patience: Duration) {
        if self.passed_by && self.room.available_permits() < WAITING {
            return;
        }
        self.passed_by = true;
        let size = bytes.len().min(WAITING) as u32;
        let mut room = std::pin::pin!(self.room.clone().acquire_many_owned(size));
        loop {
            let before = self.taken.load(Ordering::Relaxed);
            match timeout(patience, &mut room).await {
                Ok(Ok(room)) => {
                    self.passed_by = false;
                    // The subscriber is gone, which an event reports as well.
                    let _ = self.queue.send((bytes.clone(), room));
                    return;
                }
                Ok(Err(_)) => return,
                Err(_) if self.taken.load(Ordering::Relaxed) == before => {
                    log::debug!("a subscriber does not read; messages pass it by");
                    return;
                }
                Err(_) => {}
            }
        }
    }
}

async fn accept_subscribers(listener: Listener, tell: Sender<(u64, SubscriberEvent)>) {
    for who in 0.. {
        let stream = listener.next().await;
        tokio::spawn(serve(stream, who, tell.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, who: u64, tell: Sender<(u64, SubscriberEvent)>) {
    if !matches!(
        timeout(GREETING, zmtp::greet_subscriber(&mut stream)).await,
        Ok(Ok(()))
    ) {
        return;
    }
    let (mut from, to) = split(stream);
    let (queue, waiting) = unbounded_channel();
    let taken = Arc::new(AtomicU64::new(0));
    let subscriber = Subscriber {
        topics: Vec::new(),
        queue,
        room: Arc::new(Semaphore::new(WAITING)),
        taken: taken.clone(),
        passed_by: false,
    };
    let listening = async {
        if tell
            .send((who, SubscriberEvent::Connected(subscriber)))
            .await
            .is_err()
        {
            return;
        }
        while let Ok(said) = zmtp::read_subscription(&mut from).await {
            if tell
                .send((who, SubscriberEvent::Message(said)))
                .await
                .is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        () = listening => {}
        // The subscriber no longer takes messages.
        _ = write(to, waiting, &taken) => {}
    }
    let _ = tell.send((who, SubscriberEvent::Disconnected)).await;
}

async fn write(
    mut to: WriteHalf<Box<dyn Stream>>,
    mut waiting: UnboundedReceiver<QueuedMessage>,
    taken: &AtomicU64,
) -> io::Result<()> {
    while let Some((bytes, _room)) = waiting.recv().await {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let written = to.write(rest).await?;
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            taken.fetch_add(written as u64, Ordering::Relaxed);
            rest = &rest[written..];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Instant;

    use jupyter_protocol::ConnectionInfo;
    use jupyter_protocol::connection_info::Transport;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use zeromq::{Socket, SocketRecv, SubSocket};

    use super::*;

    /// Replaces [`PATIENCE`] in tests.
    const SHORT: Duration = Duration::from_secs(2);

    fn running(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async { timeout(Duration::from_secs(60), test).await.unwrap() });
    }

    fn publishing(listener: Listener) -> Sender<Published> {
        let (published, messages) = channel(1);
        let iopub = IopubSocket {
            patience: SHORT,
            ..IopubSocket::default()
        };
        let signing = Signing::new("", "s".to_owned());
        tokio::spawn(publish(listener, iopub, signing, messages));
        published
    }

    async fn on_a_port() -> (String, Sender<Published>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (address, publishing(Listener::Tcp(listener)))
    }

    /// Connects a subscriber and waits for its welcome to the topic.
    async fn subscriber(url: &str, topic: &str) -> SubSocket {
        let mut socket = SubSocket::new();
        socket.connect(url).await.unwrap();
        socket.subscribe(topic).await.unwrap();
        assert_eq!(
            heard(&mut socket).await,
            [topic, &format!("{{\"subscription\":\"{topic}\"}}")]
        );
        socket
    }

    /// Returns the topic frame and the text of the next message.
    async fn heard(socket: &mut SubSocket) -> [String; 2] {
        let message = socket.recv().await.unwrap();
        [0, 6].map(|at| String::from_utf8(message.get(at).unwrap().to_vec()).unwrap())
    }

    fn stream(text: &str) -> Published {
        Published(OutgoingMessage::new(
            Channel::Iopub,
            "stream",
            json!({ "text": text }),
        ))
    }

    /// A quarter of a MiB that begins with its number.
    fn long(number: usize) -> Published {
        stream(&format!("{number} {}", "x".repeat(1 << 18)))
    }

    /// More messages than a subscriber's queue and the system's buffers hold together.
    const MANY: usize = 128;

    async fn hears(socket: &mut SubSocket, number: usize) {
        let [_, said] = heard(socket).await;
        assert!(
            said.starts_with(&format!("{{\"text\":\"{number} ")),
            "{number}: {}",
            &said[..20]
        );
    }

    #[test]
    fn who_does_not_read_costs_who_reads_nothing() {
        running(async {
            let (address, published) = on_a_port().await;
            let url = format!("tcp://{address}");
            // A socket whose messages are not received does not read.
            let mut deaf = subscriber(&url, "st").await;
            let mut hearing = subscriber(&url, "").await;
            let reader = tokio::spawn(async move {
                for number in 0..MANY {
                    hears(&mut hearing, number).await;
                }
            });
            let mut longest = Duration::ZERO;
            for number in 0..MANY {
                let began = Instant::now();
                published.send(long(number)).await.unwrap();
                if began.elapsed() >= SHORT {
                    assert!(longest < SHORT, "waited for twice");
                }
                longest = longest.max(began.elapsed());
            }
            reader.await.unwrap();
            // When it reads again, it gets the first messages, whole, and those published from then on.
            let mut read = 0;
            while let Ok(()) = timeout(Duration::from_secs(1), hears(&mut deaf, read)).await {
                read += 1;
            }
            assert!((WAITING >> 18..MANY).contains(&(read + 1)), "{read}");
            published.send(stream("end")).await.unwrap();
            assert_eq!(heard(&mut deaf).await, ["stream", r#"{"text":"end"}"#]);
        });
    }

    #[test]
    fn who_reads_slowly_is_waited_for() {
        running(async {
            let (address, published) = on_a_port().await;
            let mut slow = subscriber(&format!("tcp://{address}"), "").await;
            let writer = tokio::spawn(async move {
                for number in 0..MANY {
                    published.send(long(number)).await.unwrap();
                }
                published
            });
            for number in 0..MANY {
                // Slow reading is the point: the whole takes longer than the patience.
                tokio::time::sleep(2 * SHORT / MANY as u32).await;
                hears(&mut slow, number).await;
            }
            drop(writer.await);
        });
    }

    #[test]
    fn subscriptions_are_by_the_beginning_of_the_kind_and_can_end() {
        running(async {
            let folder = tempfile::tempdir().unwrap();
            let info = ConnectionInfo {
                transport: Transport::IPC,
                ip: folder.path().join("kernel").display().to_string(),
                iopub_port: 2,
                shell_port: 1,
                stdin_port: 3,
                control_port: 4,
                hb_port: 5,
                key: String::new(),
                signature_scheme: "hmac-sha256".to_owned(),
                kernel_name: None,
            };
            let published = publishing(Listener::open(&info.iopub_url()).await.unwrap());
            let mut one = subscriber(&info.iopub_url(), "display").await;
            let mut other = subscriber(&info.iopub_url(), "").await;
            let shown = || {
                Published(OutgoingMessage::new(
                    Channel::Iopub,
                    "display_data",
                    json!({}),
                ))
            };
            published.send(stream("a")).await.unwrap();
            published.send(shown()).await.unwrap();
            assert_eq!(heard(&mut one).await[0], "display_data");
            assert_eq!(heard(&mut other).await[0], "stream");
            assert_eq!(heard(&mut other).await[0], "display_data");
            one.unsubscribe("display").await.unwrap();
            one.subscribe("str").await.unwrap();
            assert_eq!(heard(&mut one).await[0], "str");
            published.send(shown()).await.unwrap();
            published.send(stream("b")).await.unwrap();
            assert_eq!(heard(&mut one).await[1], r#"{"text":"b"}"#);
        });
    }

    #[test]
    fn strangers_are_shown_the_door() {
        running(async {
            let (address, _published) = on_a_port().await;
            let ready = |kind: &str| {
                let greeting = [
                    &[0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0][..],
                    b"NULL",
                    &[0; 48],
                ]
                .concat();
                let ready = format!(
                    "\x05READY\x0bSocket-Type\0\0\0{}{kind}",
                    char::from(kind.len() as u8)
                );
                [&greeting, &[4, ready.len() as u8][..], ready.as_bytes()].concat()
            };
            let endless = [ready("SUB"), vec![2; 9]].concat();
            for said in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), ready("PULL"), endless] {
                let mut stranger = tokio::net::TcpStream::connect(&address).await.unwrap();
                stranger.write_all(&said).await.unwrap();
                let mut heard = Vec::new();
                // Closed, with or without our greeting before.
                let _ = stranger.read_to_end(&mut heard).await;
                assert!(heard.len() <= 64 + 2 + READY_LENGTH);
            }
        });
    }

    const READY_LENGTH: usize = 26;
}
