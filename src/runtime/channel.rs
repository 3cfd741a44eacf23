//! Sends events into the bounded channel from a plain thread.
//!
//! Invariant: [`EventSender::send`] waits while the channel is full, which bounds memory, and returns at once when
//! the runtime is closed. Absent on purpose: an async runtime; the waiting thread is parked.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::RuntimeEvent;

/// The closed state of a runtime. Setting it must unpark the sending thread.
pub(super) trait CloseFlag: Send + Sync {
    fn is_closing(&self) -> bool;
}

pub(super) struct EventSender {
    sender: Sender<RuntimeEvent>,
    control: Arc<dyn CloseFlag>,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl EventSender {
    pub(super) fn new(sender: Sender<RuntimeEvent>, control: Arc<dyn CloseFlag>) -> Self {
        EventSender { sender, control }
    }

    /// Sends, waiting for room; drops the event when the receiver is gone or the runtime closes.
    pub(super) fn send(&self, event: RuntimeEvent) {
        let Err(TrySendError::Full(event)) = self.sender.try_send(event) else {
            return;
        };
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut room = pin!(self.sender.reserve());
        loop {
            match room.as_mut().poll(&mut context) {
                Poll::Ready(Ok(permit)) => {
                    permit.send(event);
                    return;
                }
                Poll::Ready(Err(_)) => return,
                Poll::Pending if self.control.is_closing() => return,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}
