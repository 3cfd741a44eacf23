//! The request channels: shell, whose requests are handled one after the other, and control, which does not wait
//! for a cell.
//!
//! In: requests. Out: each reply between the states `busy` and `idle`. The kernels differ only in their
//! [`RequestHandler`]. Invariant: when an input fails and its request has `stop_on_error`, inputs that arrived
//! before its reply are answered with `aborted`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Receiver;

use super::kernel_info::KernelInfo;
use super::messages::Failure;
use super::shutdown::{InterruptFn, Shutdown};
use crate::jupyter::{ClientRequest, IncomingMessage, KernelServer};

/// How long requests on their way are waited for when an input fails: clients send all cells at once, and the first
/// may fail before the last has arrived.
const IN_FLIGHT: Duration = Duration::from_millis(20);

/// Handles the requests of the shell channel, one after the other.
pub(super) trait RequestHandler {
    async fn execute(&mut self, request: &Arc<ClientRequest>) -> ExecuteReply;

    /// Content of the reply to any other request; `None`: no reply is sent.
    async fn handle(&mut self, request: &Arc<ClientRequest>) -> Option<Value>;

    /// Publishes background events while idle; cancel-safe.
    async fn idle(&mut self);

    /// Publishes the remaining output of the last request, before its `idle`.
    async fn flush(&mut self);

    /// The number of the last input.
    fn execution_count(&self) -> u32;
}

/// An `execute_request`; missing fields have the protocol's defaults.
pub(super) struct ExecuteRequest {
    pub(super) code: String,
    pub(super) silent: bool,
    pub(super) store_history: bool,
    pub(super) expressions: Map<String, Value>,
    pub(super) allow_stdin: bool,
    pub(super) stop_on_error: bool,
}

impl ExecuteRequest {
    /// # Errors
    /// The message has no code.
    pub(super) fn parse(message: &IncomingMessage) -> Result<ExecuteRequest, Failure> {
        let silent = flag(message, "silent", false);
        let code = message.content.get("code").and_then(Value::as_str);
        let why = "an `execute_request` needs its `code` as a text";
        Ok(ExecuteRequest {
            code: code
                .ok_or_else(|| Failure::new("ValueError", why))?
                .to_owned(),
            silent,
            store_history: flag(message, "store_history", true) && !silent,
            expressions: message.object("user_expressions"),
            allow_stdin: flag(message, "allow_stdin", true),
            stop_on_error: flag(message, "stop_on_error", true),
        })
    }
}

/// A boolean member of the content, or `default`.
pub(super) fn flag(message: &IncomingMessage, name: &str, default: bool) -> bool {
    let value = message.content.get(name);
    value.and_then(Value::as_bool).unwrap_or(default)
}

/// Of an input that succeeded: `user_expressions` and `payload` of its reply.
pub(super) type ExecuteResult = (Map<String, Value>, Vec<Value>);

/// The reply to an `execute_request`, and what follows from it.
pub(super) struct ExecuteReply {
    pub(super) content: Value,
    /// Queued inputs are answered with `aborted`.
    pub(super) aborts_queue: bool,
    /// The kernel ends.
    pub(super) exits: bool,
}

impl ExecuteReply {
    /// The reply to the input of this number.
    pub(super) fn new(
        line: u32,
        outcome: Result<ExecuteResult, Failure>,
        stop_on_error: bool,
    ) -> Self {
        let aborts_queue = stop_on_error && outcome.is_err();
        let content = match outcome {
            Ok(result) => execute_content("ok", line, result, json!({})),
            Err(failure) => execute_content("error", line, Default::default(), failure.content()),
        };
        ExecuteReply {
            content,
            aborts_queue,
            exits: false,
        }
    }
}

/// Adds to `content` what each `execute_reply` has.
fn execute_content(
    status: &str,
    line: u32,
    (expressions, payload): ExecuteResult,
    mut content: Value,
) -> Value {
    content["status"] = status.into();
    content["execution_count"] = line.into();
    content["user_expressions"] = expressions.into();
    content["payload"] = payload.into();
    content
}

pub(super) struct ShellChannel<H, I> {
    handler: H,
    server: KernelServer,
    info: I,
    requests: Receiver<ClientRequest>,
    queue: VecDeque<ClientRequest>,
    shutdown: Shutdown,
}

#[derive(Default)]
struct Outcome {
    exits: bool,
    /// Inputs that are not run, in their order.
    aborted: VecDeque<ClientRequest>,
}

impl<H: RequestHandler, I: KernelInfo> ShellChannel<H, I> {
    pub(super) fn new(
        handler: H,
        server: KernelServer,
        info: I,
        requests: Receiver<ClientRequest>,
        shutdown: Shutdown,
    ) -> Self {
        ShellChannel {
            handler,
            server,
            info,
            requests,
            queue: VecDeque::new(),
            shutdown,
        }
    }

    /// Handles requests until the channel is closed.
    pub(super) async fn serve(mut self) {
        while let Some(request) = self.next().await {
            let request = Arc::new(request);
            self.server.publish_status(&request, "busy").await;
            let outcome = self.dispatch(&request).await;
            self.handler.flush().await;
            self.server.publish_status(&request, "idle").await;
            for request in outcome.aborted {
                self.abort(&request).await;
            }
            if outcome.exits {
                self.shutdown.request();
            }
        }
    }

    async fn next(&mut self) -> Option<ClientRequest> {
        if let Some(request) = self.queue.pop_front() {
            return Some(request);
        }
        tokio::select! {
            request = self.requests.recv() => request,
            () = self.handler.idle() => None,
        }
    }

    async fn dispatch(&mut self, request: &Arc<ClientRequest>) -> Outcome {
        let content = match request.message.msg_type.as_str() {
            "execute_request" => {
                let reply = self.handler.execute(request).await;
                let aborted = match reply.aborts_queue {
                    true => self.queued_inputs().await,
                    false => VecDeque::new(),
                };
                self.server.reply(request, reply.content).await;
                let exits = reply.exits;
                return Outcome { exits, aborted };
            }
            "shutdown_request" => {
                self.server.reply(request, shutdown_reply(request)).await;
                return Outcome {
                    exits: true,
                    ..Outcome::default()
                };
            }
            "kernel_info_request" => Some(self.info.kernel_info().await),
            _ => self.handler.handle(request).await,
        };
        if let Some(content) = content {
            self.server.reply(request, content).await;
        }
        Outcome::default()
    }

    /// Removes the queued inputs; other requests keep their place.
    async fn queued_inputs(&mut self) -> VecDeque<ClientRequest> {
        tokio::time::sleep(IN_FLIGHT).await;
        while let Ok(request) = self.requests.try_recv() {
            self.queue.push_back(request);
        }
        let (inputs, others): (VecDeque<ClientRequest>, VecDeque<ClientRequest>) = self
            .queue
            .drain(..)
            .partition(|request| request.message.msg_type == "execute_request");
        self.queue = others;
        inputs
    }

    async fn abort(&mut self, request: &ClientRequest) {
        self.server.publish_status(request, "busy").await;
        let count = self.handler.execution_count();
        let content = execute_content("aborted", count, Default::default(), json!({}));
        self.server.reply(request, content).await;
        self.server.publish_status(request, "idle").await;
    }
}

/// Handles the requests of the control channel until it is closed.
pub(super) async fn serve_control(
    mut requests: Receiver<ClientRequest>,
    interrupt: InterruptFn,
    server: KernelServer,
    info: impl KernelInfo,
    shutdown: Shutdown,
) {
    while let Some(request) = requests.recv().await {
        let kind = request.message.msg_type.as_str();
        if kind == "interrupt_request" {
            // First, since publishing may have to wait for a client to read.
            interrupt();
            server.reply(&request, json!({"status": "ok"})).await;
        }
        server.publish_status(&request, "busy").await;
        match kind {
            "kernel_info_request" => {
                let content = info.kernel_info().await;
                server.reply(&request, content).await;
            }
            "shutdown_request" => {
                server.reply(&request, shutdown_reply(&request)).await;
                shutdown.request();
            }
            // The debugger is declared absent; an unknown request has no reply.
            _ => {}
        }
        server.publish_status(&request, "idle").await;
    }
}

fn shutdown_reply(request: &ClientRequest) -> Value {
    let restart = request.message.content.get("restart");
    json!({"status": "ok", "restart": restart.cloned().unwrap_or(json!(false))})
}
