//! A runtime that plays a script: for tests, and the proof that the contract needs no Python.
//!
//! In: a [`Script`], which says for each request what is told. Out: those events, the ids filled in. Invariant: a
//! request the script does not know ends like every other (`Finished` or `Answered`), so nothing waits for ever.
//! Absent on purpose: timing; events come as soon as they are taken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::mpsc::Sender;

use super::{
    CellTerminal, Checkpoints, Completeness, Ending, Finish, Interrupter, ReferenceValue,
    RequestId, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeInfo, RuntimeReply,
    RuntimeRequest, SavedVariables, Snapshot,
};
use crate::output::mime::MimeBundle;

/// What a scripted runtime tells in answer to one request.
pub type ScriptedHandler = Box<dyn FnMut(RequestId, &RuntimeRequest) -> Vec<RuntimeEvent> + Send>;

/// What came in beside the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlCall {
    /// An interrupt.
    Interrupt,
    /// A kill.
    Kill,
}

/// What a scripted runtime tells when it is interrupted or killed.
pub type ControlHandler = Box<dyn FnMut(ControlCall) -> Vec<RuntimeEvent> + Send>;

/// The script: told at the start, then asked for every request.
pub struct Script {
    /// What it can do.
    pub capabilities: RuntimeCapabilities,
    /// Sent before any request.
    pub initial_events: Vec<RuntimeEvent>,
    /// Asked for each request, in order.
    pub on_request: ScriptedHandler,
    /// What went through the interrupter, for assertions.
    pub calls: Arc<ControlCalls>,
}

/// Counts what came in beside the queue, and reacts to it.
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
    /// A script that is ready at once and asks `scene` for every request.
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

    /// The same script, of a runtime that can do this.
    #[must_use]
    pub fn with_capabilities(mut self, able: RuntimeCapabilities) -> Self {
        self.capabilities = able;
        self
    }

    /// The same script, telling what `reaction` gives when it is interrupted or killed.
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

    /// The least a runtime tells of a cell or another request: that it began and ended well.
    pub fn default_reply(id: RequestId, request: &RuntimeRequest) -> Vec<RuntimeEvent> {
        let answer = match request {
            RuntimeRequest::Execute(_) | RuntimeRequest::Startup(_) => {
                let finish = Finish {
                    ending: Ending::Ok,
                    exit: None,
                    milliseconds: 0.0,
                    cwd: None,
                    typeahead: Vec::new(),
                };
                return vec![
                    RuntimeEvent::Started { id },
                    RuntimeEvent::Finished { id, finish },
                ];
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
            RuntimeRequest::Variables { .. } => RuntimeReply::Variables(SavedVariables::default()),
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
    /// How often an interrupt was asked for.
    pub fn interrupts(&self) -> usize {
        self.interrupts.load(Ordering::SeqCst)
    }

    /// How often a kill was asked for.
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

/// Events on their way to a bounded channel: `submit` must not block.
#[derive(Default)]
struct EventQueue {
    events: Mutex<(VecDeque<RuntimeEvent>, bool)>,
    changed: std::sync::Condvar,
}

impl ScriptedRuntime {
    /// Starts playing to `events`.
    pub(super) fn start(script: Script, events: Sender<RuntimeEvent>) -> Self {
        let queue = Arc::new(EventQueue::default());
        queue.push(script.initial_events);
        // A script is played once.
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

    /// The next event; `None` once closed and empty.
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
        // The teller ends by itself once it has told the rest or nobody listens; it is not waited for, because the
        // listener may be the one who drops.
        self.queue.close();
        drop(self.teller.take());
    }
}
