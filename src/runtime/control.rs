//! What passes between the thread that polls an interpreter and all others: requests and the end of the runtime go
//! down, woken through a descriptor that the thread polls; events go up.
//!
//! Invariants: nothing here blocks but [`Control::wait`] and [`EventSender::send`], which waits while the channel is
//! full, which bounds memory, and returns at once when the runtime is closed. Each runtime defines what an interrupt
//! means and adds the state for it (`Own`). Absent on purpose: knowledge of any protocol; async.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::supervisor::Orders;
use super::{Interrupter, RequestId, RuntimeEvent, RuntimeRequest};

/// Interval at which the owner checks for requests when there is no wake descriptor.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Control<Own> {
    state: Mutex<Shared<Own>>,
    closing: Arc<AtomicBool>,
    /// `None` where no descriptor could be created: the owner then polls every [`LOOK`].
    wake: Option<OwnedFd>,
}

#[derive(Debug, Default)]
pub(super) struct Shared<Own> {
    /// Submitted, not yet taken by the owner.
    pub(super) queue: VecDeque<(RequestId, RuntimeRequest)>,
    /// State that this runtime needs to interrupt what runs.
    pub(super) own: Own,
}

impl<Own: Default> Control<Own> {
    pub(super) fn new() -> Self {
        Control {
            state: Mutex::default(),
            closing: Arc::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }
}

impl<Own> Control<Own> {
    /// Returns the sender of the owner's events.
    pub(super) fn sender(&self, events: Sender<RuntimeEvent>) -> EventSender {
        EventSender {
            events,
            closing: Arc::clone(&self.closing),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Shared<Own>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.state().queue.push_back((id, request));
        self.wake();
    }

    pub(super) fn next(&self) -> Option<(RequestId, RuntimeRequest)> {
        self.state().queue.pop_front()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Returns true when a submitted request satisfies `wanted`.
    pub(super) fn has_request(&self, wanted: impl Fn(&RuntimeRequest) -> bool) -> bool {
        let state = self.state();
        state.queue.iter().any(|(_, request)| wanted(request))
    }

    /// Waits until a watched descriptor is ready, the owner is woken, or `patience` has passed.
    pub(super) fn wait<'a>(&'a self, mut watched: Vec<PollFd<'a>>, patience: Option<Duration>) {
        if let Some(wake) = self.wake_fd() {
            watched.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        }
        let blind = self.wake.is_none().then_some(LOOK);
        let timeout = patience.into_iter().chain(blind).min().map(timespec);
        // An interrupted wait found nothing; the next one will.
        let _ = poll(&mut watched, timeout.as_ref());
        self.clear_wake();
    }

    /// Returns the descriptor that becomes readable with every change.
    pub(super) fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }

    /// Makes the descriptor unreadable again.
    pub(super) fn clear_wake(&self) {
        if let Some(wake) = &self.wake {
            // Fails with `EAGAIN` when the descriptor is clear already.
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Fails with `EAGAIN` only when the counter is full, and the descriptor is then readable.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }
}

impl<Own> Orders for Control<Own>
where
    Control<Own>: Interrupter,
{
    fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.submit(id, request);
    }

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake();
    }
}

pub(super) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    }
}

/// Sends events into the bounded channel from a plain thread.
pub(super) struct EventSender {
    events: Sender<RuntimeEvent>,
    closing: Arc<AtomicBool>,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl EventSender {
    /// Sends, waiting for room; drops the event when the receiver is gone or the runtime closes.
    pub(super) fn send(&self, event: RuntimeEvent) {
        let Err(TrySendError::Full(event)) = self.events.try_send(event) else {
            return;
        };
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut room = pin!(self.events.reserve());
        loop {
            match room.as_mut().poll(&mut context) {
                Poll::Ready(Ok(permit)) => return permit.send(event),
                Poll::Ready(Err(_)) => return,
                Poll::Pending if self.closing.load(Ordering::SeqCst) => return,
                // The end of the runtime unparks, too.
                Poll::Pending => std::thread::park(),
            }
        }
    }

    pub(super) fn send_all(&self, events: impl IntoIterator<Item = RuntimeEvent>) {
        events.into_iter().for_each(|event| self.send(event));
    }
}
