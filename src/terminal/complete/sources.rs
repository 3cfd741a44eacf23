//! The sources of completions, requests to them, and a short wait for an answer that nearly always comes at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::lookup;
use super::rules::{CompletionSource, FoundCompletion};
use crate::environment::Environment;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::session::SessionHandle;

#[derive(Clone)]
pub(in crate::terminal) struct Sources {
    session: SessionHandle,
    environment: Arc<Environment>,
}

impl Sources {
    /// `environment` provides the home directory and the search path.
    pub(in crate::terminal) fn new(session: SessionHandle, environment: Environment) -> Self {
        Sources {
            session,
            environment: Arc::new(environment),
        }
    }

    pub(super) fn ask(&self, request: RuntimeRequest) -> oneshot::Receiver<RuntimeReply> {
        self.session.ask(request)
    }

    /// Looks completions up on a thread of their own; without a thread there is no answer.
    pub(super) fn look_up(
        &self,
        source: CompletionSource,
        before: String,
    ) -> oneshot::Receiver<Vec<FoundCompletion>> {
        let (tell, told) = oneshot::channel();
        let sources = self.clone();
        let look = move || {
            let found = lookup::look_up(&source, &before, &sources.session, &sources.environment);
            // Fails when the editor no longer waits.
            let _ = tell.send(found);
        };
        let _ = std::thread::Builder::new()
            .name("completion".into())
            .spawn(look);
        told
    }
}

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
