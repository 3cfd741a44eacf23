//! A guest: one client, from its first message to the end of its connection.
//!
//! In: its lines, changes of the session. Out: answers, in the order they are ready; notices that the list of tools
//! has changed, where they are wanted. Each guest has a thread, on which everything of it happens.
//!
//! Invariants: every request is answered once, unless it was cancelled, also those of a guest that says nothing more; a
//! tool that is not on the list reaches no function; a guest that takes no answers any more leaves no call behind; one
//! that asks without reading, or calls without waiting, is not heard until it does, or refused.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

use super::allowance::Allowance;
use super::batches::Batches;
use super::call::{Progress, follow};
use super::reading::{self, Refusal};
use super::wire::{self, Envelope, Era};
use crate::agent::{ToolCall, ToolSpec};
use crate::rpc::{Gone, Lines, Peer, RpcError, RpcId, RpcMessage};
use crate::session::{Caller, SessionHandle, Toolset};

/// Requests that may be open at a time.
const OPEN: usize = 64;

/// Messages that may wait for a guest to read them.
const UNREAD: usize = 512;

/// How often it is looked whether it reads.
const LOOK: Duration = Duration::from_millis(10);

/// Changes come in groups: how long their end is waited for.
const SETTLED: Duration = Duration::from_millis(100);

/// How long the last answers may take to reach a guest that waits for them.
const TAKING: Duration = Duration::from_secs(60);

/// The same where the session has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// Where a guest works.
pub(super) struct Host {
    pub(super) session: SessionHandle,
    /// What is answered in the user's place; `None`: the user is asked, at the shell.
    pub(super) allowance: Option<Allowance>,
    /// The session started the guest.
    pub(super) inside: bool,
}

/// See the module.
pub(super) struct Guest {
    host: Rc<Host>,
    peer: Rc<Peer>,
    /// Who it says it is.
    name: String,
    /// It has greeted: it wants to hear of changes without asking.
    greeted: bool,
    /// The requests that changes are told under.
    subscriptions: Vec<RpcId>,
    /// The tools as of the last look; changed ones are told.
    tools: Option<Vec<ToolSpec>>,
    looks: Looks,
    open: HashMap<RpcId, Open>,
    batches: Batches,
    /// The revision it has greeted in; empty before.
    revision: &'static str,
    tasks: JoinSet<Done>,
}

/// A request that has not been answered.
#[derive(Default)]
struct Open {
    /// The call it has become.
    call: Option<u64>,
    /// The batch it came in.
    batch: Option<u64>,
}

/// Whether a change is being looked at.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Looks {
    #[default]
    No,
    Once,
    /// There was another one meanwhile.
    Again,
}

/// What a request turned out to need.
enum Wanted {
    Greeting(String),
    Discovery,
    Listing(Era),
    Call(Box<Called>),
    /// Nobody asked: the session has changed.
    Change,
}

/// A call before its tool was looked up.
struct Called {
    name: String,
    arguments: Value,
    era: Era,
    progress: Option<Value>,
}

/// What a task brought.
enum Done {
    /// The tools, for a request or a change.
    Tools(Option<RpcId>, Wanted, Option<Toolset>),
    /// The result of a call.
    Result(RpcId, Value),
}

impl Guest {
    pub(super) fn new(host: Host, peer: Peer) -> Self {
        Guest {
            host: Rc::new(host),
            peer: Rc::new(peer),
            name: "an MCP client".into(),
            greeted: false,
            subscriptions: Vec::new(),
            tools: None,
            looks: Looks::No,
            open: HashMap::new(),
            batches: Batches::default(),
            revision: "",
            tasks: JoinSet::new(),
        }
    }

    /// Answers it until it leaves; keeps the thread.
    ///
    /// # Errors
    /// When there are no timers.
    pub(super) fn receive(self, lines: Lines, gone: Gone) -> io::Result<()> {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        LocalSet::new().block_on(&executor, self.work(lines, gone));
        Ok(())
    }

    async fn work(mut self, mut lines: Lines, mut gone: Gone) {
        let mut changes = self.host.session.changes();
        let (mut speaks, mut patience) = (true, TAKING);
        while speaks || !self.open.is_empty() {
            let reads = self.peer.unread() < UNREAD;
            tokio::select! {
                line = lines.recv(), if speaks && reads => match line {
                    Some(line) => self.hear(line),
                    None => speaks = false,
                },
                // Also where that cannot be known.
                _ = &mut gone, if !speaks => break,
                () = tokio::time::sleep(LOOK), if !reads => {}
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(done) = done {
                        self.done(done);
                    }
                }
                changed = changes.changed() => match changed {
                    Ok(()) => self.changed(),
                    Err(_) => {
                        patience = FAREWELL;
                        break;
                    }
                },
            }
        }
        for open in self.open.values() {
            open.call
                .iter()
                .for_each(|call| self.host.session.stop_call(*call));
        }
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
        if let Ok(peer) = Rc::try_unwrap(self.peer) {
            peer.finish(patience);
        }
    }

    /// Takes a line: a message, or several where the revision has batches.
    fn hear(&mut self, line: Option<Value>) {
        match line {
            None => self.refuse(*reading::no_json(), None),
            Some(Value::Array(items)) => {
                let why = match self.revision {
                    "" => "a batch before `initialize`",
                    revision if !wire::has_batches(revision) => {
                        "this revision has no batches: one message a line is expected"
                    }
                    _ if items.is_empty() => "an empty batch",
                    _ => return self.hear_batch(items),
                };
                self.refuse(*reading::no_request(RpcId::Null, why), None);
            }
            Some(value) => self.on(reading::read(value), None),
        }
    }

    fn hear_batch(&mut self, items: Vec<Value>) {
        let greets = "`initialize` stands alone, not in a batch";
        let read = items.into_iter().map(|item| match reading::read(item)? {
            RpcMessage::Request { id, method, .. } if method == "initialize" => {
                Err(reading::no_request(id, greets))
            }
            message => Ok(message),
        });
        let read: Vec<Result<RpcMessage, Refusal>> = read.collect();
        let wants = |it: &&Result<_, _>| matches!(it, Err(_) | Ok(RpcMessage::Request { .. }));
        let wanted = read.iter().filter(wants).count();
        let batch = (wanted > 0).then(|| self.batches.begin(wanted));
        read.into_iter().for_each(|message| self.on(message, batch));
    }

    fn on(&mut self, message: Result<RpcMessage, Refusal>, batch: Option<u64>) {
        match message {
            Err(refusal) => self.refuse(*refusal, batch),
            Ok(RpcMessage::Request { id, method, params }) => {
                if let Err(refused) = self.request(&id, &method, params, batch) {
                    self.refuse((id, refused), batch);
                }
            }
            Ok(RpcMessage::Notification { method, params }) => match method.as_str() {
                "notifications/initialized" => self.greeted = true,
                "notifications/cancelled" => {
                    if let Some(id) = RpcId::from_value(&params["requestId"]) {
                        self.cancel(&id);
                    }
                }
                _ => {}
            },
            // We ask nothing.
            Ok(RpcMessage::Response { .. }) => {}
        }
    }

    fn request(
        &mut self,
        id: &RpcId,
        method: &str,
        params: Value,
        batch: Option<u64>,
    ) -> Result<(), RpcError> {
        let envelope = Envelope::of(&params)?;
        let era = envelope.era;
        if let Some(name) = envelope.client {
            self.name = name;
        }
        let wanted = match method {
            "initialize" => {
                let revision = params["protocolVersion"].as_str().unwrap_or_default();
                self.revision = wire::spoken(revision);
                Wanted::Greeting(revision.to_owned())
            }
            "server/discover" => Wanted::Discovery,
            "tools/list" => Wanted::Listing(era),
            "tools/call" => {
                let Some(name) = params["name"].as_str() else {
                    return Err(wire::invalid("`name` is missing: which tool is called?"));
                };
                let arguments = match params.get("arguments") {
                    None | Some(Value::Null) => json!({}),
                    Some(arguments) if arguments.is_object() => arguments.clone(),
                    Some(_) => return Err(wire::invalid("`arguments` is not an object")),
                };
                Wanted::Call(Box::new(Called {
                    name: name.to_owned(),
                    arguments,
                    era,
                    progress: envelope.progress,
                }))
            }
            "subscriptions/listen" => return self.subscribe(id.clone(), &params, batch),
            "ping" | "logging/setLevel" => {
                self.answer(id.clone(), Ok(wire::result(json!({}), era)), batch);
                return Ok(());
            }
            _ => return Err(RpcError::unknown_method(method)),
        };
        if self.open.len() >= OPEN {
            return Err(wire::error(
                -32000,
                format!("{OPEN} requests are open already: wait for one of them to be answered"),
            ));
        }
        if self.open.contains_key(id) {
            return Err(wire::error(
                -32600,
                "a request with this id is still open: give each request its own",
            ));
        }
        let open = Open { call: None, batch };
        self.open.insert(id.clone(), open);
        match (wanted, &self.tools) {
            (Wanted::Call(called), Some(tools))
                if tools.iter().any(|tool| tool.name == called.name) =>
            {
                self.call(id.clone(), *called);
            }
            (wanted, _) => self.look(Some(id.clone()), wanted),
        }
        Ok(())
    }

    /// The session may have other tools now.
    fn changed(&mut self) {
        match self.looks {
            Looks::No if self.tools.is_some() => {
                self.looks = Looks::Once;
                self.look(None, Wanted::Change);
            }
            Looks::Once => self.looks = Looks::Again,
            Looks::No | Looks::Again => {}
        }
    }

    /// Looks up what the tools are.
    fn look(&mut self, id: Option<RpcId>, wanted: Wanted) {
        let host = Rc::clone(&self.host);
        self.tasks.spawn_local(async move {
            if let Wanted::Change = wanted {
                tokio::time::sleep(SETTLED).await;
            }
            let found: oneshot::Receiver<Toolset> = host.session.tools();
            Done::Tools(id, wanted, found.await.ok())
        });
    }

    fn done(&mut self, done: Done) {
        if let Done::Tools(_, Wanted::Change, _) = done
            && std::mem::take(&mut self.looks) == Looks::Again
        {
            self.changed();
        }
        let (id, wanted, toolset) = match done {
            Done::Result(id, value) => {
                return self.settle(id, Ok(value));
            }
            Done::Tools(id, wanted, toolset) => (id, wanted, toolset),
        };
        let Some(toolset) = toolset else {
            if let Some(id) = id {
                self.settle(id, Err(wire::error(-32603, "the session has ended")));
            }
            return;
        };
        let known = self.tools.replace(toolset.tools.clone());
        if known.is_some_and(|known| known != toolset.tools) {
            self.tell_change();
        }
        let Some(id) = id.filter(|id| self.open.contains_key(id)) else {
            return;
        };
        let value = match wanted {
            Wanted::Change => return,
            Wanted::Call(called) => {
                if toolset.tools.iter().any(|tool| tool.name == called.name) {
                    return self.call(id, *called);
                }
                let names: Vec<&str> = toolset.tools.iter().map(|it| it.name.as_str()).collect();
                let refused = format!(
                    "there is no tool `{}`; there are {}",
                    called.name,
                    names.join(", ")
                );
                return self.settle(id, Err(wire::invalid(refused)));
            }
            Wanted::Greeting(revision) => wire::greeting(&revision, &toolset),
            Wanted::Discovery => wire::result(wire::discovery(&toolset), Era::Current),
            Wanted::Listing(era) => wire::result(wire::listing(&toolset.tools, era), era),
        };
        self.settle(id, Ok(value));
    }

    fn call(&mut self, id: RpcId, called: Called) {
        let Called {
            name,
            arguments,
            era,
            progress,
        } = called;
        let call = ToolCall {
            id: String::new(),
            name,
            arguments,
        };
        let caller = Caller {
            name: self.name.clone(),
            asks: self.host.allowance.is_some(),
            inside: self.host.inside,
        };
        let calling = self.host.session.call(call, caller);
        if let Some(open) = self.open.get_mut(&id) {
            open.call = Some(calling.id);
        }
        let (host, peer) = (Rc::clone(&self.host), Rc::clone(&self.peer));
        self.tasks.spawn_local(async move {
            let progress = Progress::new(&peer, progress);
            let followed = follow(
                calling.run,
                &host.session,
                host.allowance.as_ref(),
                progress,
            );
            let (content, success) = followed.await;
            Done::Result(id, wire::result(wire::called(content, success), era))
        });
    }

    /// It no longer wants an answer.
    fn cancel(&mut self, id: &RpcId) {
        self.subscriptions.retain(|known| known != id);
        let Some(open) = self.open.remove(id) else {
            return;
        };
        if let Some(call) = open.call {
            self.host.session.stop_call(call);
        }
        self.settle_batch(open.batch, None);
    }

    /// It wants to hear of changes under the id of this request, which stays open.
    fn subscribe(&mut self, id: RpcId, params: &Value, batch: Option<u64>) -> Result<(), RpcError> {
        if self.subscriptions.len() >= OPEN {
            return Err(wire::error(-32000, "too many subscriptions"));
        }
        let tools = params["notifications"]["toolsListChanged"] == true;
        let honoured = match tools {
            true => json!({"toolsListChanged": true}),
            false => json!({}),
        };
        self.notify(
            "notifications/subscriptions/acknowledged",
            wire::subscribed(id.to_value(), json!({"notifications": honoured})),
        );
        if tools {
            self.subscriptions.push(id);
            // What changes is told from now on.
            if self.tools.is_none() {
                self.looks = Looks::Once;
                self.look(None, Wanted::Change);
            }
        }
        self.settle_batch(batch, None);
        Ok(())
    }

    fn tell_change(&self) {
        let method = "notifications/tools/list_changed";
        if self.greeted {
            self.notify(method, Value::Null);
        }
        for id in &self.subscriptions {
            self.notify(method, wire::subscribed(id.to_value(), json!({})));
        }
    }
}

impl Guest {
    fn notify(&self, method: &str, params: Value) {
        self.peer.send(RpcMessage::Notification {
            method: method.to_owned(),
            params,
        });
    }

    /// Answers a request that was open; one that was cancelled meanwhile gets no answer.
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
        let whole = batch.map(|batch| self.batches.settle(batch, answer));
        if let Some(answers) = whole.filter(|answers| !answers.is_empty()) {
            self.peer.send_batch(answers);
        }
    }
}
