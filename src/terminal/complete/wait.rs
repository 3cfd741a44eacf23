//! A short wait for an answer that is nearly always there at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long the editor may be kept: less than a paint, more than a warm interpreter takes. What takes longer comes when
/// the editor polls.
pub(super) const BRIEFLY: Duration = Duration::from_millis(12);

/// What became of a question.
pub(super) enum Told<T> {
    /// Nothing yet.
    Waiting,
    /// There will be no answer.
    Never,
    /// This.
    Answer(T),
}

/// What has come by now.
pub(super) fn look<T>(answer: &mut oneshot::Receiver<T>) -> Told<T> {
    match answer.try_recv() {
        Ok(answer) => Told::Answer(answer),
        Err(oneshot::error::TryRecvError::Empty) => Told::Waiting,
        Err(oneshot::error::TryRecvError::Closed) => Told::Never,
    }
}

/// What comes within [`BRIEFLY`].
pub(super) fn briefly<T>(answer: &mut oneshot::Receiver<T>) -> Told<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let until = Instant::now() + BRIEFLY;
    loop {
        match Pin::new(&mut *answer).poll(&mut context) {
            Poll::Ready(Ok(answer)) => return Told::Answer(answer),
            Poll::Ready(Err(_)) => return Told::Never,
            Poll::Pending => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Told::Waiting;
        }
        std::thread::park_timeout(left);
    }
}
