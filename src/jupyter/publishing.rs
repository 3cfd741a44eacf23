//! What everybody sees: the socket a kernel publishes on.
//!
//! In: messages of ours. Out: the same to every subscriber; and a welcome to each new one, so that it knows from when
//! on it sees everything (JEP 65). Invariant: memory is bounded, and one who does not read holds nobody up for long: a
//! message that cannot be sent for a while costs the ones we are connected to their connections, one by one, until it
//! can; whoever reads connects again by itself.

use std::time::Duration;

use jupyter_zmq_client::{KernelIoPubXPubConnection, PeerIdentity, SubscriptionEvent};
use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use zeromq::{Socket, SocketEvent};

use super::message::{Channel, Outgoing};

/// How long a message may wait for a subscriber who does not read.
const HELD_UP: Duration = Duration::from_secs(3);
/// The same, when one of them has just been cut off.
const STILL_HELD_UP: Duration = Duration::from_secs(1);
/// How often a message is tried.
const TRIES: usize = 16;
/// Subscribers that are remembered for it.
const REMEMBERED: usize = 64;

/// A message for everybody.
#[derive(Debug)]
pub(super) struct Published(pub(super) Outgoing);

/// Publishes until nobody has anything to say any more.
pub(super) async fn publish(
    mut connection: KernelIoPubXPubConnection,
    mut messages: Receiver<Published>,
) {
    let mut news = connection.socket.monitor();
    let mut subscribers: Vec<PeerIdentity> = Vec::new();
    loop {
        // Subscriptions first: who has asked for it sees it.
        let message = tokio::select! {
            biased;
            subscribed = connection.recv_subscription() => match subscribed {
                Ok(SubscriptionEvent::Subscribe(topic)) => {
                    Outgoing::new(Channel::Iopub, "iopub_welcome", json!({ "subscription": topic }))
                }
                Ok(SubscriptionEvent::Unsubscribe(_)) | Err(_) => continue,
            },
            message = messages.recv() => match message {
                Some(Published(message)) => message,
                None => return,
            },
        };
        let mut patience = HELD_UP;
        for _ in 0..TRIES {
            let mut words = message.clone().words();
            words.zmq_identities = vec![message.kind.clone().into_bytes().into()];
            if timeout(patience, connection.send(words)).await.is_ok() {
                break;
            }
            // Who does not read connects again at once, and is the newest again: it goes before those who read.
            while let Ok(event) = news.try_recv() {
                if let SocketEvent::Accepted(_, peer) = event {
                    subscribers.push(peer);
                    let surplus = subscribers.len().saturating_sub(REMEMBERED);
                    subscribers.drain(..surplus);
                }
            }
            // Who was served already is served twice, which is better than not at all.
            let Some(peer) = subscribers.pop() else {
                break;
            };
            connection.socket.backend().peer_disconnected(&peer);
            patience = STILL_HELD_UP;
        }
    }
}
