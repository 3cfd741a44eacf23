//! A runtime that plays a script, for tests: the contract needs no Python.
//!
//! In: a [`Script`], which gives the events for each request. Out: those events, with the ids filled in. Invariant:
//! a request the script does not know ends like every other (`Finished` or `Replied`), so no caller waits for ever.
//! Absent on purpose: timing; events come as soon as they are taken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::mpsc::Sender;

use super::{
    CellTerminal, Checkpoints, Completeness, Ending, Interrupter, LookBack, ReferenceValue,
    RequestId, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeInfo, RuntimeReply,
    RuntimeRequest, SavedVariables, Snapshot,
};
use crate::output::mime::MimeBundle;
use crate::request_kind::finished;

/// Returns the events that a scripted runtime sends for one request.
pub type ScriptedHandler = Box<dyn FnMut(RequestId, &RuntimeRequest) -> Vec<RuntimeEvent> + Send>;

/// Calls of the interrupter, which bypass the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlCall {
    /// Interrupt of the running cell.
    Interrupt,
    /// Kill of the interpreter.
    Kill,
}

/// Returns the events that a scripted runtime sends on an interrupt or kill.
pub type ControlHandler = Box<dyn FnMut(ControlCall) -> Vec<RuntimeEvent> + Send>;

/// A script: its initial events, and a handler called for every request.
pub struct Script {
    /// Capabilities that the runtime reports.
    pub capabilities: RuntimeCapabilities,
    /// Sent before any request.
    pub initial_events: Vec<RuntimeEvent>,
    /// Called for each request, in order.
    pub on_request: ScriptedHandler,
    /// Calls of the interrupter, for assertions.
    pub calls: Arc<ControlCalls>,
}

/// Counts the calls of the interrupter, and sends events in reaction.
#[derive(Default)]
pub struct ControlCalls {
    interrupts: AtomicUsize,
    kills: AtomicUsize,
    reaction: Mutex<Option<ControlHandler>>,
    out: OnceLock<Arc<EventQueue>>,
}

impl std::fmt::Debug for ControlCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls")
            .field("interrupts", &self.interrupts)
            .field("kills", &self.kills)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("opening", &self.initial_events)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// Creates a script that is ready at once and calls `scene` for every request.
    pub fn new(
        scene: impl FnMut(RequestId, &RuntimeRequest) -> Vec<RuntimeEvent> + Send + 'static,
    ) -> Self {
        let ready = RuntimeEvent::Ready(RuntimeInfo {
            language: "Python".into(),
            version: "3.11.7".into(),
            banner: String::new(),
            location: "/scripted/python3".into(),
            process: None,
            unprotected: None,
            milliseconds: 0.0,
            restarted: false,
        });
        Script {
            capabilities: RuntimeCapabilities {
                terminal: false,
                ..RuntimeCapabilities::all("Python")
            },
            initial_events: vec![ready],
            on_request: Box::new(scene),
            calls: Arc::default(),
        }
    }

    /// Returns the script with these capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, able: RuntimeCapabilities) -> Self {
        self.capabilities = able;
        self
    }

    /// Returns the script with a handler for interrupts and kills.
    #[must_use]
    pub fn with_control_handler(
        self,
        reaction: impl FnMut(ControlCall) -> Vec<RuntimeEvent> + Send + 'static,
    ) -> Self {
        let mut slot = self
            .calls
            .reaction
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Box::new(reaction));
        drop(slot);
        self
    }

    /// Returns the fewest events that end a request well: for a cell, its start and finish; otherwise one reply.
    pub fn default_reply(id: RequestId, request: &RuntimeRequest) -> Vec<RuntimeEvent> {
        let answer = match request {
            RuntimeRequest::Execute(_) | RuntimeRequest::Startup(_) => {
                return vec![RuntimeEvent::Started { id }, finished(id, Ending::Ok)];
            }
            RuntimeRequest::ReplyInput { .. }
            | RuntimeRequest::ReplyRecord { .. }
            | RuntimeRequest::ReplyCall { .. } => {
                return Vec::new();
            }
            RuntimeRequest::Complete { .. } => RuntimeReply::Completions(Vec::new()),
            RuntimeRequest::Inspect { .. } => RuntimeReply::Inspection(None),
            RuntimeRequest::IsComplete { .. } => RuntimeReply::Completeness(Completeness::Unknown),
            RuntimeRequest::DescribeTools { .. } => RuntimeReply::Tools(Vec::new()),
            RuntimeRequest::Evaluate { variables, shells } => RuntimeReply::Evaluated {
                variables: variables.iter().map(|word| undefined(word)).collect(),
                shells: vec![String::new(); shells.len()],
            },
            RuntimeRequest::EvaluateExpressions { expressions } => RuntimeReply::Expressed(
                expressions
                    .iter()
                    .map(|text| Ok(MimeBundle::plain(text.as_str())))
                    .collect(),
            ),
            RuntimeRequest::FindMissingNames { .. } => RuntimeReply::Missing(Vec::new()),
            RuntimeRequest::Checkpoints(_) => RuntimeReply::Checkpoints(Checkpoints::default()),
            RuntimeRequest::LookBack(_) => {
                RuntimeReply::LookedBack(LookBack::Unprotected("a scripted runtime".into()))
            }
            RuntimeRequest::Variables { .. } => RuntimeReply::Variables(SavedVariables::default()),
            RuntimeRequest::HandOff { .. }
            | RuntimeRequest::Fork { .. }
            | RuntimeRequest::TakeBack(_) => RuntimeReply::Failed("a scripted runtime".into()),
            RuntimeRequest::Background(_) => RuntimeReply::Background(Box::default()),
            RuntimeRequest::Snapshot { .. }
            | RuntimeRequest::DryRun { .. }
            | RuntimeRequest::Branch(_) => {
                RuntimeReply::Snapshot(Snapshot::Unprotected("a scripted runtime".into()))
            }
            RuntimeRequest::CallTool { .. }
            | RuntimeRequest::SetVariables { .. }
            | RuntimeRequest::Comm(_)
            | RuntimeRequest::Shutdown { .. } => RuntimeReply::Done,
        };
        vec![RuntimeEvent::Replied { id, answer }]
    }
}

fn undefined(expression: &str) -> ReferenceValue {
    ReferenceValue::Undefined {
        expression: expression.to_owned(),
        names: vec![expression.to_owned()],
    }
}

impl ControlCalls {
    /// Returns the number of interrupts.
    pub fn interrupts(&self) -> usize {
        self.interrupts.load(Ordering::SeqCst)
    }

    /// Returns the number of kills.
    pub fn kills(&self) -> usize {
        self.kills.load(Ordering::SeqCst)
    }

    fn react(&self, call: ControlCall) {
        let mut reaction = self.reaction.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(reaction), Some(out)) = (reaction.as_mut(), self.out.get()) {
            out.push(reaction(call));
        }
    }
}

impl Interrupter for ControlCalls {
    fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        self.react(ControlCall::Interrupt);
    }

    fn kill(&self) {
        self.kills.fetch_add(1, Ordering::SeqCst);
        self.react(ControlCall::Kill);
    }
}

/// Plays a [`Script`].
pub struct ScriptedRuntime {
    able: RuntimeCapabilities,
    scene: ScriptedHandler,
    calls: Arc<ControlCalls>,
    last_id: u64,
    queue: Arc<EventQueue>,
    teller: Option<std::thread::JoinHandle<()>>,
}

/// Unbounded queue before the bounded channel, since `submit` must not block.
#[derive(Default)]
struct EventQueue {
    events: Mutex<(VecDeque<RuntimeEvent>, bool)>,
    changed: std::sync::Condvar,
}

impl ScriptedRuntime {
    /// Starts the thread that sends to `events`.
    pub(super) fn start(script: Script, events: Sender<RuntimeEvent>) -> Self {
        let queue = Arc::new(EventQueue::default());
        queue.push(script.initial_events);
        // Fails only if the script was started before, which its ownership rules out.
        let _ = script.calls.out.set(Arc::clone(&queue));
        let source = Arc::clone(&queue);
        let teller = std::thread::Builder::new()
            .name("scripted runtime".into())
            .spawn(move || {
                while let Some(event) = source.next() {
                    if events.blocking_send(event).is_err() {
                        return;
                    }
                }
            });
        ScriptedRuntime {
            able: script.capabilities,
            scene: script.on_request,
            calls: script.calls,
            last_id: 0,
            queue,
            teller: teller.ok(),
        }
    }
}

impl EventQueue {
    fn push(&self, events: Vec<RuntimeEvent>) {
        let mut state = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.extend(events);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_one();
    }

    /// Takes the next event; `None` once closed and empty.
    fn next(&self) -> Option<RuntimeEvent> {
        let mut state = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(event) = state.0.pop_front() {
                return Some(event);
            }
            if state.1 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Runtime for ScriptedRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        self.able.clone()
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.queue.push((self.scene)(id, &request));
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.calls) as Arc<dyn Interrupter>
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        None
    }
}

impl Drop for ScriptedRuntime {
    fn drop(&mut self) {
        // The thread ends by itself once the queue is empty or the receiver is gone. Joining it could deadlock: the
        // receiver may be the caller of this drop.
        self.queue.close();
        drop(self.teller.take());
    }
}
