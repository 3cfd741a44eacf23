//! The shell channel: requests one after the other, each between `busy` and `idle`.
//!
//! Invariant: when an input fails and its sender wants that, inputs that came before its reply are answered `aborted`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::about::About;
use super::asides;
use super::desk::Desk;
use super::execute::{execute, follow};
use super::leaving::Leaving;
use crate::jupyter::{Request, comm_message};
use crate::runtime::RuntimeRequest;
use crate::session::{Next, Run};

/// Requests on their way when an input fails are waited for so long: clients send all cells at once, and the first may
/// have failed before the last has come.
const ON_THEIR_WAY: Duration = Duration::from_millis(20);

/// Works the channel off.
pub(super) struct Shell {
    desk: Desk,
    about: About,
    requests: Receiver<Request>,
    /// Taken, and not begun.
    waiting: VecDeque<Request>,
    leaving: Leaving,
}

impl Shell {
    pub(super) fn new(
        desk: Desk,
        about: About,
        requests: Receiver<Request>,
        leaving: Leaving,
    ) -> Self {
        Shell {
            desk,
            about,
            requests,
            waiting: VecDeque::new(),
            leaving,
        }
    }

    /// Works requests off until the kernel is to end; what is done before the first cell is told with it.
    pub(super) async fn work(mut self, set_up: Run) {
        let mut set_up = Some(set_up);
        while let Some(request) = self.next().await {
            let request = Arc::new(request);
            self.desk.voice.state(&request, "busy").await;
            if request.message.kind == "execute_request"
                && let Some(set_up) = set_up.take()
            {
                // What went wrong has been told, and is no fault of the cell.
                drop(follow(&mut self.desk, &set_up, &request, false).await);
            }
            let leaves = self.on(&request).await;
            self.hear_background().await;
            self.desk.voice.state(&request, "idle").await;
            if leaves {
                self.leaving.leave();
            }
        }
    }

    async fn next(&mut self) -> Option<Request> {
        loop {
            if let Some(request) = self.waiting.pop_front() {
                return Some(request);
            }
            let (late, background) = (&mut self.desk.late, &self.desk.background);
            tokio::select! {
                request = self.requests.recv() => return request,
                Some(event) = background.next() => {
                    late.tell(&self.desk.voice, &mut self.desk.comms, event).await;
                }
            }
        }
    }

    /// Tells what came beside what has just been asked.
    async fn hear_background(&mut self) {
        while let Next::Event(event) = self.desk.background.next_blocking(Some(Duration::ZERO)) {
            self.desk
                .late
                .tell(&self.desk.voice, &mut self.desk.comms, *event)
                .await;
        }
    }

    /// Works a request off; true when the kernel is to end.
    async fn on(&mut self, request: &Arc<Request>) -> bool {
        let content = match request.message.kind.as_str() {
            "execute_request" => {
                let done = execute(&mut self.desk, request).await;
                if done.stops {
                    self.abort_waiting().await;
                }
                self.desk.voice.reply(request, done.content).await;
                return done.leaves;
            }
            "comm_open" | "comm_msg" | "comm_close" => {
                self.comm(request).await;
                return false;
            }
            "shutdown_request" => {
                let restart = request.message.content.get("restart");
                let content =
                    json!({"status": "ok", "restart": restart.cloned().unwrap_or(json!(false))});
                self.desk.voice.reply(request, content).await;
                return true;
            }
            "kernel_info_request" => self.about.kernel(&self.desk.session).await,
            "comm_info_request" => {
                let target = request.message.text("target_name");
                self.desk
                    .comms
                    .listed((!target.is_empty()).then_some(target))
            }
            "complete_request" => asides::complete(&self.desk.session, &request.message).await,
            "inspect_request" => asides::inspect(&self.desk.session, &request.message).await,
            "is_complete_request" => {
                asides::is_complete(&self.desk.session, &request.message).await
            }
            "history_request" => {
                self.desk.consoles.insert(request.session().to_owned());
                asides::history(&self.desk.history, &request.message).await
            }
            // What nobody knows is not answered, as all kernels have it.
            _ => return false,
        };
        self.desk.voice.reply(request, content).await;
        false
    }

    async fn comm(&mut self, request: &Arc<Request>) {
        let Some(message) = comm_message(&request.message) else {
            return;
        };
        self.desk.comms.says(&message);
        self.desk.late.now(Arc::clone(request));
        // Who says nothing back has still heard it.
        drop(self.desk.session.ask(RuntimeRequest::Comm(message)).await);
    }

    /// Inputs that wait are not run; other requests are answered in their turn.
    pub(super) async fn abort_waiting(&mut self) {
        tokio::time::sleep(ON_THEIR_WAY).await;
        while let Ok(request) = self.requests.try_recv() {
            self.waiting.push_back(request);
        }
        let (inputs, others): (VecDeque<Request>, VecDeque<Request>) = self
            .waiting
            .drain(..)
            .partition(|request| request.message.kind == "execute_request");
        self.waiting = others;
        for request in inputs {
            self.desk.voice.state(&request, "busy").await;
            let content: Value = json!({
                "status": "aborted",
                "execution_count": self.desk.last_line(),
                "user_expressions": {},
                "payload": [],
            });
            self.desk.voice.reply(&request, content).await;
            self.desk.voice.state(&request, "idle").await;
        }
    }
}
