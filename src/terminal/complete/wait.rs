//! A short wait for an answer that is nearly always there at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long the editor may be kept: less than a paint, more than a warm interpreter takes. What takes longer wakes it
/// when it comes.
pub(super) const BRIEFLY: Duration = Duration::from_millis(12);

/// What became of a question.
pub(super) enum AnswerPoll<T> {
    /// Nothing yet.
    Waiting,
    /// There will be no answer.
    Never,
    /// This.
    Answer(T),
}

/// What has come by now; whoever waits for more is woken when it comes.
pub(super) fn look<T>(answer: &mut oneshot::Receiver<T>, waker: &Waker) -> AnswerPoll<T> {
    match Pin::new(answer).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(Ok(answer)) => AnswerPoll::Answer(answer),
        Poll::Ready(Err(_)) => AnswerPoll::Never,
        Poll::Pending => AnswerPoll::Waiting,
    }
}

/// What comes within [`BRIEFLY`].
pub(super) fn briefly<T>(answer: &mut oneshot::Receiver<T>) -> AnswerPoll<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let until = Instant::now() + BRIEFLY;
    loop {
        let told = look(answer, &waker);
        let left = until.saturating_duration_since(Instant::now());
        if !matches!(told, AnswerPoll::Waiting) || left.is_zero() {
            return told;
        }
        std::thread::park_timeout(left);
    }
}
