//! One MCP client, from its first message to the end of its connection.
//!
//! In: the client's lines, changes of the session. Out: responses, in the order they are ready;
//! `tools/list_changed` notifications for clients that asked for them. Each connection has one thread, which does
//! all of this.
//!
//! Invariants: every request is answered once unless it was cancelled, also after the client has stopped writing; a
//! tool that is not on the list reaches no function; a client that no longer reads leaves no call running; a client
//! that sends without reading, or calls without waiting, is not read from until it catches up, or is refused.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

use super::call::{ToolProgress, follow};
use super::jsonrpc::{self, Batches, Refusal};
use super::permissions::PermissionSet;
use super::wire::{self, Envelope, Lifecycle};
use crate::agent::{ToolCall, ToolSpec};
use crate::rpc::{CloseSignal, Lines, Peer, RpcError, RpcId, RpcMessage};
use crate::session::{Caller, SessionHandle, Toolset};

/// Requests that may be open at a time.
const MAX_OPEN: usize = 64;

/// Messages that may wait for the client to read them.
const MAX_UNSENT: usize = 512;

/// Interval at which the backlog of a client that does not read is checked.
const UNSENT_POLL: Duration = Duration::from_millis(10);

/// Changes of the session come in groups; the list of tools is fetched this long after the first.
const CHANGE_DEBOUNCE: Duration = Duration::from_millis(100);

/// Time for the last responses to reach the client.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);

/// As [`FLUSH_TIMEOUT`], after the session has ended.
const SESSION_END_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The session and the rights of one client.
pub(super) struct ClientContext {
    pub(super) session: SessionHandle,
    /// Answers in place of the user; `None`: the user is asked at the shell.
    pub(super) allowance: Option<PermissionSet>,
    /// The client is a descendant of the session's process.
    pub(super) inside: bool,
}

pub(super) struct McpConnection {
    context: Rc<ClientContext>,
    peer: Rc<Peer>,
    /// The name that the client reports.
    name: String,
    /// After `notifications/initialized` changes are announced without a subscription.
    initialized: bool,
    /// Ids of the open `subscriptions/listen` requests.
    subscriptions: Vec<RpcId>,
    /// The tools as last fetched; a difference is announced.
    tools: Option<Vec<ToolSpec>>,
    refresh: Refresh,
    open: HashMap<RpcId, OpenRequest>,
    batches: Batches,
    /// The revision of `initialize`; empty before.
    revision: &'static str,
    tasks: JoinSet<TaskOutcome>,
}

#[derive(Default)]
struct OpenRequest {
    /// The session's call, once made.
    call: Option<u64>,
    /// The batch that contained it.
    batch: Option<u64>,
}

/// State of fetching the list of tools after a change.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Refresh {
    #[default]
    Idle,
    Running,
    /// The session has changed again since the fetch began.
    Outdated,
}

/// Purpose of fetching the list of tools.
enum ToolsPurpose {
    Initialize(String),
    Discover,
    List(Lifecycle),
    Call(Box<CallRequest>),
    Refresh,
}

/// A call whose tool has not been looked up yet.
struct CallRequest {
    name: String,
    arguments: Value,
    lifecycle: Lifecycle,
    progress: Option<Value>,
}

/// The result of a task.
enum TaskOutcome {
    /// The tools, for a request or after a change; no toolset when the session has ended.
    Tools(Option<RpcId>, ToolsPurpose, Option<Toolset>),
    Result(RpcId, Value),
}

impl McpConnection {
    pub(super) fn new(context: ClientContext, peer: Peer) -> Self {
        McpConnection {
            context: Rc::new(context),
            peer: Rc::new(peer),
            name: "an MCP client".into(),
            initialized: false,
            subscriptions: Vec::new(),
            tools: None,
            refresh: Refresh::Idle,
            open: HashMap::new(),
            batches: Batches::default(),
            revision: "",
            tasks: JoinSet::new(),
        }
    }

    /// Serves the client on this thread until it is gone.
    ///
    /// # Errors
    /// When there are no timers.
    pub(super) fn run(self, lines: Lines, closed: CloseSignal) -> io::Result<()> {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        LocalSet::new().block_on(&executor, self.serve(lines, closed));
        Ok(())
    }

    async fn serve(mut self, mut lines: Lines, mut closed: CloseSignal) {
        let mut changes = self.context.session.changes();
        let (mut reading, mut timeout) = (true, FLUSH_TIMEOUT);
        while reading || !self.open.is_empty() {
            let reads = self.peer.unsent() < MAX_UNSENT;
            tokio::select! {
                line = lines.recv(), if reading && reads => match line {
                    Some(line) => self.on_line(line),
                    None => reading = false,
                },
                // Fires at once where a closed reader cannot be observed.
                _ = &mut closed, if !reading => break,
                () = tokio::time::sleep(UNSENT_POLL), if !reads => {}
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(done) = done {
                        self.on_task_done(done);
                    }
                }
                changed = changes.changed() => match changed {
                    Ok(()) => self.on_session_changed(),
                    Err(_) => {
                        timeout = SESSION_END_FLUSH_TIMEOUT;
                        break;
                    }
                },
            }
        }
        for open in self.open.values() {
            open.call
                .iter()
                .for_each(|call| self.context.session.stop_call(*call));
        }
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        if let Ok(peer) = Rc::try_unwrap(self.peer) {
            peer.finish(timeout);
        }
    }

    /// Handles a line: a message, or a batch in revisions that have them.
    fn on_line(&mut self, line: Option<Value>) {
        match line {
            None => self.refuse(*jsonrpc::not_json(), None),
            Some(Value::Array(items)) => {
                let why = match self.revision {
                    "" => "a batch before `initialize`",
                    revision if !wire::supports_batches(revision) => {
                        "this revision has no batches: one message a line is expected"
                    }
                    _ if items.is_empty() => "an empty batch",
                    _ => return self.on_batch(items),
                };
                self.refuse(*jsonrpc::invalid_request(RpcId::Null, why), None);
            }
            Some(value) => self.on_message(jsonrpc::parse(value), None),
        }
    }

    fn on_batch(&mut self, items: Vec<Value>) {
        let alone = "`initialize` stands alone, not in a batch";
        let read = items.into_iter().map(|item| match jsonrpc::parse(item)? {
            RpcMessage::Request { id, method, .. } if method == "initialize" => {
                Err(jsonrpc::invalid_request(id, alone))
            }
            message => Ok(message),
        });
        let read: Vec<Result<RpcMessage, Refusal>> = read.collect();
        let wants = |it: &&Result<_, _>| matches!(it, Err(_) | Ok(RpcMessage::Request { .. }));
        let purpose = read.iter().filter(wants).count();
        let batch = (purpose > 0).then(|| self.batches.begin(purpose));
        read.into_iter()
            .for_each(|message| self.on_message(message, batch));
    }

    fn on_message(&mut self, message: Result<RpcMessage, Refusal>, batch: Option<u64>) {
        match message {
            Err(refusal) => self.refuse(*refusal, batch),
            Ok(RpcMessage::Request { id, method, params }) => {
                if let Err(refused) = self.on_request(&id, &method, params, batch) {
                    self.refuse((id, refused), batch);
                }
            }
            Ok(RpcMessage::Notification { method, params }) => match method.as_str() {
                "notifications/initialized" => self.initialized = true,
                "notifications/cancelled" => {
                    if let Some(id) = RpcId::from_value(&params["requestId"]) {
                        self.cancel(&id);
                    }
                }
                _ => {}
            },
            // Responses are ignored, since no requests are sent.
            Ok(RpcMessage::Response { .. }) => {}
        }
    }

    fn on_request(
        &mut self,
        id: &RpcId,
        method: &str,
        params: Value,
        batch: Option<u64>,
    ) -> Result<(), RpcError> {
        let envelope = Envelope::parse(&params)?;
        let lifecycle = envelope.lifecycle;
        if let Some(name) = envelope.client {
            self.name = name;
        }
        let purpose = match method {
            "initialize" => {
                let revision = params["protocolVersion"].as_str().unwrap_or_default();
                self.revision = wire::negotiate(revision);
                ToolsPurpose::Initialize(revision.to_owned())
            }
            "server/discover" => ToolsPurpose::Discover,
            "tools/list" => ToolsPurpose::List(lifecycle),
            "tools/call" => {
                let Some(name) = params["name"].as_str() else {
                    return Err(RpcError::invalid_params(
                        "`name` is missing: which tool is called?",
                    ));
                };
                let arguments = match params.get("arguments") {
                    None | Some(Value::Null) => json!({}),
                    Some(arguments) if arguments.is_object() => arguments.clone(),
                    Some(_) => {
                        return Err(RpcError::invalid_params("`arguments` is not an object"));
                    }
                };
                ToolsPurpose::Call(Box::new(CallRequest {
                    name: name.to_owned(),
                    arguments,
                    lifecycle,
                    progress: envelope.progress,
                }))
            }
            "subscriptions/listen" => return self.subscribe(id.clone(), &params, batch),
            "ping" | "logging/setLevel" => {
                self.answer(id.clone(), Ok(wire::result(json!({}), lifecycle)), batch);
                return Ok(());
            }
            _ => return Err(RpcError::unknown_method(method)),
        };
        if self.open.len() >= MAX_OPEN {
            return Err(RpcError::new(
                -32000,
                format!(
                    "{MAX_OPEN} requests are open already: wait for one of them to be answered"
                ),
            ));
        }
        if self.open.contains_key(id) {
            return Err(RpcError::new(
                -32600,
                "a request with this id is still open: give each request its own",
            ));
        }
        let open = OpenRequest { call: None, batch };
        self.open.insert(id.clone(), open);
        match (purpose, &self.tools) {
            (ToolsPurpose::Call(called), Some(tools))
                if tools.iter().any(|tool| tool.name == called.name) =>
            {
                self.call(id.clone(), *called);
            }
            (purpose, _) => self.fetch_tools(Some(id.clone()), purpose),
        }
        Ok(())
    }

    fn on_session_changed(&mut self) {
        match self.refresh {
            Refresh::Idle if self.tools.is_some() => {
                self.refresh = Refresh::Running;
                self.fetch_tools(None, ToolsPurpose::Refresh);
            }
            Refresh::Running => self.refresh = Refresh::Outdated,
            Refresh::Idle | Refresh::Outdated => {}
        }
    }

    fn fetch_tools(&mut self, id: Option<RpcId>, purpose: ToolsPurpose) {
        let context = Rc::clone(&self.context);
        self.tasks.spawn_local(async move {
            if let ToolsPurpose::Refresh = purpose {
                tokio::time::sleep(CHANGE_DEBOUNCE).await;
            }
            let found: oneshot::Receiver<Toolset> = context.session.tools();
            TaskOutcome::Tools(id, purpose, found.await.ok())
        });
    }

    fn on_task_done(&mut self, done: TaskOutcome) {
        if let TaskOutcome::Tools(_, ToolsPurpose::Refresh, _) = done
            && std::mem::take(&mut self.refresh) == Refresh::Outdated
        {
            self.on_session_changed();
        }
        let (id, purpose, toolset) = match done {
            TaskOutcome::Result(id, value) => {
                return self.settle(id, Ok(value));
            }
            TaskOutcome::Tools(id, purpose, toolset) => (id, purpose, toolset),
        };
        let Some(toolset) = toolset else {
            if let Some(id) = id {
                self.settle(id, Err(RpcError::new(-32603, "the session has ended")));
            }
            return;
        };
        let known = self.tools.replace(toolset.tools.clone());
        if known.is_some_and(|known| known != toolset.tools) {
            self.notify_tools_changed();
        }
        let Some(id) = id.filter(|id| self.open.contains_key(id)) else {
            return;
        };
        let value = match purpose {
            ToolsPurpose::Refresh => return,
            ToolsPurpose::Call(called) => {
                if toolset.tools.iter().any(|tool| tool.name == called.name) {
                    return self.call(id, *called);
                }
                let names: Vec<&str> = toolset.tools.iter().map(|it| it.name.as_str()).collect();
                let refused = format!(
                    "there is no tool `{}`; there are {}",
                    called.name,
                    names.join(", ")
                );
                return self.settle(id, Err(RpcError::invalid_params(refused)));
            }
            ToolsPurpose::Initialize(revision) => wire::initialize_result(&revision, &toolset),
            ToolsPurpose::Discover => {
                wire::result(wire::discover_result(&toolset), Lifecycle::Stateless)
            }
            ToolsPurpose::List(lifecycle) => wire::result(
                wire::tools_list_result(&toolset.tools, lifecycle),
                lifecycle,
            ),
        };
        self.settle(id, Ok(value));
    }

    fn call(&mut self, id: RpcId, called: CallRequest) {
        let CallRequest {
            name,
            arguments,
            lifecycle,
            progress,
        } = called;
        let call = ToolCall {
            id: String::new(),
            name,
            arguments,
        };
        let caller = Caller {
            name: self.name.clone(),
            asks: self.context.allowance.is_some(),
            inside: self.context.inside,
        };
        let calling = self.context.session.call(call, caller);
        if let Some(open) = self.open.get_mut(&id) {
            open.call = Some(calling.id);
        }
        let (context, peer) = (Rc::clone(&self.context), Rc::clone(&self.peer));
        self.tasks.spawn_local(async move {
            let progress = ToolProgress::new(&peer, progress);
            let followed = follow(
                calling.run,
                &context.session,
                context.allowance.as_ref(),
                progress,
            );
            let (content, success) = followed.await;
            TaskOutcome::Result(
                id,
                wire::result(wire::call_result(content, success), lifecycle),
            )
        });
    }

    /// Handles `notifications/cancelled`: no response will be sent.
    fn cancel(&mut self, id: &RpcId) {
        self.subscriptions.retain(|known| known != id);
        let Some(open) = self.open.remove(id) else {
            return;
        };
        if let Some(call) = open.call {
            self.context.session.stop_call(call);
        }
        self.settle_batch(open.batch, None);
    }

    /// Handles `subscriptions/listen`: changes are announced under the id of this request, which stays open.
    fn subscribe(&mut self, id: RpcId, params: &Value, batch: Option<u64>) -> Result<(), RpcError> {
        if self.subscriptions.len() >= MAX_OPEN {
            return Err(RpcError::new(-32000, "too many subscriptions"));
        }
        let tools = params["notifications"]["toolsListChanged"] == true;
        let granted = match tools {
            true => json!({"toolsListChanged": true}),
            false => json!({}),
        };
        self.notify(
            "notifications/subscriptions/acknowledged",
            wire::with_subscription_id(id.to_value(), json!({"notifications": granted})),
        );
        if tools {
            self.subscriptions.push(id);
            // A difference can be seen only against a known list.
            if self.tools.is_none() {
                self.refresh = Refresh::Running;
                self.fetch_tools(None, ToolsPurpose::Refresh);
            }
        }
        self.settle_batch(batch, None);
        Ok(())
    }

    fn notify_tools_changed(&self) {
        let method = "notifications/tools/list_changed";
        if self.initialized {
            self.notify(method, Value::Null);
        }
        for id in &self.subscriptions {
            self.notify(method, wire::with_subscription_id(id.to_value(), json!({})));
        }
    }
}

impl McpConnection {
    fn notify(&self, method: &str, params: Value) {
        self.peer.send(RpcMessage::Notification {
            method: method.to_owned(),
            params,
        });
    }

    /// Answers an open request; a cancelled one gets no response.
    fn settle(&mut self, id: RpcId, outcome: Result<Value, RpcError>) {
        if let Some(open) = self.open.remove(&id) {
            self.answer(id, outcome, open.batch);
        }
    }

    fn refuse(&mut self, (id, error): (RpcId, RpcError), batch: Option<u64>) {
        self.answer(id, Err(error), batch);
    }

    fn answer(&mut self, id: RpcId, outcome: Result<Value, RpcError>, batch: Option<u64>) {
        let answer = RpcMessage::Response { id, outcome };
        match batch {
            None => self.peer.send(answer),
            Some(_) => self.settle_batch(batch, Some(answer)),
        }
    }

    fn settle_batch(&mut self, batch: Option<u64>, answer: Option<RpcMessage>) {
        let whole = batch.map(|batch| self.batches.complete(batch, answer));
        if let Some(answers) = whole.filter(|answers| !answers.is_empty()) {
            self.peer.send_batch(answers);
        }
    }
}
