//! A short wait for an answer that nearly always comes at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Longest time the editor is blocked: less than a paint, more than a warm interpreter takes. A later answer wakes
/// the editor.
pub(super) const BRIEFLY: Duration = Duration::from_millis(12);

/// The state of a pending answer.
pub(super) enum AnswerPoll<T> {
    /// No answer yet.
    Waiting,
    /// No answer will come.
    Closed,
    Answer(T),
}

/// Polls the answer; a later answer wakes `waker`.
pub(super) fn poll_answer<T>(answer: &mut oneshot::Receiver<T>, waker: &Waker) -> AnswerPoll<T> {
    match Pin::new(answer).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(Ok(answer)) => AnswerPoll::Answer(answer),
        Poll::Ready(Err(_)) => AnswerPoll::Closed,
        Poll::Pending => AnswerPoll::Waiting,
    }
}

/// Waits for the answer for [`BRIEFLY`] at most.
pub(super) fn wait_briefly<T>(answer: &mut oneshot::Receiver<T>) -> AnswerPoll<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let until = Instant::now() + BRIEFLY;
    loop {
        let told = poll_answer(answer, &waker);
        let left = until.saturating_duration_since(Instant::now());
        if !matches!(told, AnswerPoll::Waiting) || left.is_zero() {
            return told;
        }
        std::thread::park_timeout(left);
    }
}
