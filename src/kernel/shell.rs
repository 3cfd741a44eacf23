//! The shell channel: requests one after the other, each between `busy` and `idle`.
//!
//! Invariant: when an input fails and its sender wants that, inputs that came before its reply are answered `aborted`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::front::{Front, Introduces};
use super::leaving::Leaving;
use super::voice::Voice;
use crate::jupyter::Request;

/// Requests on their way when an input fails are waited for so long: clients send all cells at once, and the first may
/// have failed before the last has come.
const ON_THEIR_WAY: Duration = Duration::from_millis(20);

/// Works the channel off.
pub(super) struct Shell<F, I> {
    front: F,
    voice: Voice,
    about: I,
    requests: Receiver<Request>,
    /// Taken, and not begun.
    waiting: VecDeque<Request>,
    leaving: Leaving,
}

/// What a request leads to beside its reply.
#[derive(Default)]
struct Outcome {
    /// The kernel is to end.
    leaves: bool,
    /// Inputs that are not run, in their order.
    aborted: VecDeque<Request>,
}

impl<F: Front, I: Introduces> Shell<F, I> {
    pub(super) fn new(
        front: F,
        voice: Voice,
        about: I,
        requests: Receiver<Request>,
        leaving: Leaving,
    ) -> Self {
        Shell {
            front,
            voice,
            about,
            requests,
            waiting: VecDeque::new(),
            leaving,
        }
    }

    /// Works requests off until the kernel is to end.
    pub(super) async fn work(mut self) {
        while let Some(request) = self.next().await {
            let request = Arc::new(request);
            self.voice.state(&request, "busy").await;
            let outcome = self.on(&request).await;
            self.front.settle().await;
            self.voice.state(&request, "idle").await;
            for request in outcome.aborted {
                self.abort(&request).await;
            }
            if outcome.leaves {
                self.leaving.leave();
            }
        }
    }

    async fn next(&mut self) -> Option<Request> {
        if let Some(request) = self.waiting.pop_front() {
            return Some(request);
        }
        tokio::select! {
            request = self.requests.recv() => request,
            () = self.front.meanwhile() => None,
        }
    }

    /// Works a request off.
    async fn on(&mut self, request: &Arc<Request>) -> Outcome {
        let content = match request.message.kind.as_str() {
            "execute_request" => {
                let done = self.front.execute(request).await;
                let aborted = match done.stops {
                    true => self.inputs_behind().await,
                    false => VecDeque::new(),
                };
                self.voice.reply(request, done.content).await;
                let leaves = done.leaves;
                return Outcome { leaves, aborted };
            }
            "shutdown_request" => {
                let restart = request.message.content.get("restart");
                let content =
                    json!({"status": "ok", "restart": restart.cloned().unwrap_or(json!(false))});
                self.voice.reply(request, content).await;
                return Outcome {
                    leaves: true,
                    ..Outcome::default()
                };
            }
            "kernel_info_request" => Some(self.about.kernel().await),
            _ => self.front.answer(request).await,
        };
        if let Some(content) = content {
            self.voice.reply(request, content).await;
        }
        Outcome::default()
    }

    /// Inputs that wait; other requests are answered in their turn.
    async fn inputs_behind(&mut self) -> VecDeque<Request> {
        tokio::time::sleep(ON_THEIR_WAY).await;
        while let Ok(request) = self.requests.try_recv() {
            self.waiting.push_back(request);
        }
        let (inputs, others): (VecDeque<Request>, VecDeque<Request>) = self
            .waiting
            .drain(..)
            .partition(|request| request.message.kind == "execute_request");
        self.waiting = others;
        inputs
    }

    /// An input is not run.
    async fn abort(&mut self, request: &Request) {
        self.voice.state(request, "busy").await;
        let content: Value = json!({
            "status": "aborted",
            "execution_count": self.front.last_line(),
            "user_expressions": {},
            "payload": [],
        });
        self.voice.reply(request, content).await;
        self.voice.state(request, "idle").await;
    }
}
