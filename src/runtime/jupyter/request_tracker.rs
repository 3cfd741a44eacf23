//! Tracks the requests sent to a kernel, and translates its messages into runtime events.
//!
//! In: runtime requests, messages of the kernel. Out: messages to send, runtime events. Pure, but for the clock.
//! Invariants: a request ends once, when its reply has come and the kernel is idle after it, since output may
//! follow a reply; messages that belong to other clients are ignored. Absent on purpose: sockets, processes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::convert::{self, text_of};
use super::{bash, injected_runner};
use crate::request_kind::{RequestKind, finished};
use crate::{
    Death, Ending, Execute, Finish, InputReply, RequestId, RuntimeEvent, RuntimeReply,
    RuntimeRequest, Stdin,
};
use ipycodex_jupyter::{Channel, IncomingMessage, OutgoingMessage, comm_to_wire};

/// A cell that contains this name may import our module.
const OUR_MODULE: &str = "ipycodex";
/// Number of ended requests whose tasks may still send output.
const REMEMBERED: usize = 256;
/// Time without a message after which a request ends that is idle without a reply, or was interrupted. ipykernel
/// sends no reply to a cell whose interrupt arrived outside the user's code (89 of 600 cells interrupted at random
/// moments, with `jupyter_client` the same), and iopub drops messages under a flood of output.
const QUIET: Duration = Duration::from_secs(1);
/// As `QUIET`, for a request that has a reply and was not interrupted: a large output may follow the reply late.
const LONG: Duration = Duration::from_secs(30);

/// Why a request is lost that a kernel has skipped.
pub(super) const SKIPPED: &str = "the kernel was restarted, or the request did not reach it";

#[derive(Debug, Default)]
pub(crate) struct RequestTracker {
    pending: Vec<PendingRequest>,
    ended: VecDeque<(String, RequestId)>,
    /// Input requests of the kernel: our number, and the header to answer.
    questions: Vec<(u64, Value)>,
    next_question: u64,
    /// The kernel runs Python, so the runner's modules can be injected.
    pub(crate) python: bool,
    pub(crate) bash: bool,
    injected_runner: bool,
}

#[derive(Debug)]
struct PendingRequest {
    name: String,
    id: RequestId,
    kind: RequestKind,
    number: Option<u32>,
    began: Instant,
    started: bool,
    reply: Option<Map<String, Value>>,
    idle: bool,
    heard: Instant,
    raised: bool,
    interrupted: bool,
}

impl RequestTracker {
    /// Returns the messages to send for a request, and its end where no reply will come.
    pub(crate) fn ask(
        &mut self,
        id: RequestId,
        request: &RuntimeRequest,
    ) -> (Vec<OutgoingMessage>, Option<RuntimeEvent>) {
        let Some(kind) = RequestKind::from_request(request) else {
            return (self.reply(request), None);
        };
        let at_once = |answer| Some(RuntimeEvent::Replied { id, answer });
        let mut before = Vec::new();
        let message = match request {
            RuntimeRequest::Execute(cell) => {
                before.extend(self.surroundings(cell));
                if cell.code.contains(OUR_MODULE) {
                    before.extend(self.bootstrap());
                }
                OutgoingMessage::new(Channel::Shell, "execute_request", self.content(cell))
            }
            RuntimeRequest::Complete { code, position, .. } => {
                let content = json!({"code": code, "cursor_pos": position.0});
                OutgoingMessage::new(Channel::Shell, "complete_request", content)
            }
            RuntimeRequest::Inspect {
                code,
                position,
                detailed,
            } => {
                let level = u8::from(*detailed);
                let content =
                    json!({"code": code, "cursor_pos": position.0, "detail_level": level});
                OutgoingMessage::new(Channel::Shell, "inspect_request", content)
            }
            RuntimeRequest::IsComplete { code } => {
                OutgoingMessage::new(Channel::Shell, "is_complete_request", json!({"code": code}))
            }
            RuntimeRequest::EvaluateExpressions { expressions } => OutgoingMessage::new(
                Channel::Shell,
                "execute_request",
                convert::expressing(expressions),
            ),
            RuntimeRequest::Comm(message) => {
                // The kernel does not reply to it; messages it causes carry its id.
                let message = comm_to_wire(Channel::Shell, message.clone());
                self.remember(message.id.clone(), id);
                return (vec![message], at_once(RuntimeReply::Done));
            }
            request => match injected_runner::content(id, request) {
                Some(content) if self.python => {
                    before.extend(self.bootstrap());
                    OutgoingMessage::new(Channel::Shell, "execute_request", content)
                }
                _ => {
                    let why = "this kernel cannot do that".to_owned();
                    return (before, at_once(RuntimeReply::Unsupported(why)));
                }
            },
        };
        self.pending.push(PendingRequest {
            name: message.id.clone(),
            id,
            kind,
            number: match request {
                RuntimeRequest::Execute(cell) => cell.execution_count,
                _ => None,
            },
            began: Instant::now(),
            started: false,
            reply: None,
            idle: false,
            heard: Instant::now(),
            raised: false,
            interrupted: false,
        });
        before.push(message);
        (before, None)
    }

    /// Returns the message that injects the modules, once.
    fn bootstrap(&mut self) -> Option<OutgoingMessage> {
        let comes = self.python && !std::mem::replace(&mut self.injected_runner, true);
        comes.then(injected_runner::bootstrap)
    }

    fn content(&self, cell: &Execute) -> Value {
        let expressions = match self.python && !cell.silent {
            true => json!({"cwd": "__import__('os').getcwd()"}),
            false => json!({}),
        };
        json!({
            "code": cell.code,
            "silent": false,
            "store_history": cell.store_history,
            "user_expressions": expressions,
            "allow_stdin": cell.stdin != Stdin::Refuse,
            "stop_on_error": false,
        })
    }

    /// Returns the message to send before a cell that needs another directory or other variables.
    fn surroundings(&self, cell: &Execute) -> Option<OutgoingMessage> {
        if cell.directory.is_none() && cell.environment.is_empty() {
            return None;
        }
        match (self.python, self.bash) {
            (true, _) => Some(injected_runner::silent_request(
                &injected_runner::setup_code(cell),
            )),
            (_, true) => Some(injected_runner::silent_request(&bash::setup_code(cell))),
            _ => None,
        }
    }

    fn reply(&mut self, request: &RuntimeRequest) -> Vec<OutgoingMessage> {
        let RuntimeRequest::ReplyInput { call, reply } = request else {
            return Vec::new();
        };
        let Some(at) = self.questions.iter().position(|(number, _)| number == call) else {
            return Vec::new();
        };
        let (_, header) = self.questions.swap_remove(at);
        let value = match reply {
            InputReply::Line(line) => line.as_str(),
            // ipykernel takes this character for the end of the input; other kernels read it as a character.
            InputReply::Eof => "\u{4}",
        };
        let mut message = OutgoingMessage::new(
            Channel::Stdin,
            "input_reply",
            json!({"value": value, "status": "ok"}),
        );
        message.parent = Some(header);
        vec![message]
    }

    fn remember(&mut self, name: String, id: RequestId) {
        self.ended.push_back((name, id));
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the time since the last message of any pending request.
    pub(crate) fn silent(&self) -> Option<Duration> {
        self.pending.iter().map(|one| one.heard.elapsed()).min()
    }

    /// Returns the ids of the pending messages without a reply.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        let waits = self.pending.iter().filter(|one| one.reply.is_none());
        waits.map(|one| one.name.clone()).collect()
    }

    /// Returns the first pending cell.
    pub(crate) fn cell(&self) -> Option<RequestId> {
        let is_cell = |one: &&PendingRequest| one.kind == RequestKind::Execute;
        self.pending.iter().find(is_cell).map(|one| one.id)
    }

    /// Returns a cell that was sent at least `patience` ago and has not begun.
    pub(crate) fn blocked_cell(&self, patience: Duration) -> Option<RequestId> {
        let waits = |one: &&PendingRequest| {
            one.kind == RequestKind::Execute && !one.started && one.began.elapsed() > patience
        };
        self.pending.iter().find(waits).map(|one| one.id)
    }

    pub(crate) fn interrupted(&mut self) {
        for one in &mut self.pending {
            one.interrupted = true;
        }
    }

    /// Returns the ends of all requests after the interpreter's death.
    pub(crate) fn abandon(&mut self, death: &Death) -> Vec<RuntimeEvent> {
        self.forget();
        let gone = std::mem::take(&mut self.pending);
        gone.iter().map(|one| one.kind.end(one.id, death)).collect()
    }

    /// Returns the ends of all requests after the loss of the connection.
    pub(crate) fn lose(&mut self, why: &str) -> Vec<RuntimeEvent> {
        self.forget();
        self.lose_where(|_| true, why)
    }

    /// Forgets all that was sent to the kernel.
    fn forget(&mut self) {
        self.injected_runner = false;
        self.questions.clear();
    }

    /// Returns the ends of those of these requests that wait for a reply and that the kernel has skipped.
    pub(crate) fn skipped(&mut self, names: &[String]) -> Vec<RuntimeEvent> {
        let waits = |one: &PendingRequest| one.reply.is_none() && names.contains(&one.name);
        self.lose_where(waits, SKIPPED)
    }

    fn lose_where(
        &mut self,
        lost: impl Fn(&PendingRequest) -> bool,
        why: &str,
    ) -> Vec<RuntimeEvent> {
        let gone: Vec<PendingRequest> = self.pending.extract_if(.., |one| lost(one)).collect();
        if !gone.is_empty() {
            self.forget();
        }
        let end = |one: &PendingRequest| match one.kind {
            RequestKind::Execute => finished(one.id, Ending::Lost(why.to_owned())),
            _ => RuntimeEvent::Replied {
                id: one.id,
                answer: RuntimeReply::Failed(format!("the connection to the kernel broke: {why}")),
            },
        };
        gone.iter().map(end).collect()
    }

    /// Returns the ends of requests whose reply or idle status is overdue.
    pub(crate) fn overdue(&mut self) -> Vec<RuntimeEvent> {
        let late = |one: &PendingRequest| {
            let patience = match one.idle || one.interrupted {
                true => QUIET,
                false => LONG,
            };
            (one.reply.is_some() || one.idle) && one.heard.elapsed() > patience
        };
        let names: Vec<String> = self
            .pending
            .iter()
            .filter(|one| late(one))
            .map(|one| one.name.clone())
            .collect();
        names.iter().flat_map(|name| self.end(name)).collect()
    }

    pub(crate) fn on_message(&mut self, message: IncomingMessage) -> Vec<RuntimeEvent> {
        let parent = message.parent.clone().unwrap_or_default();
        let at = self.pending.iter().position(|one| one.name == parent);
        let late = self.ended.iter().find(|(name, _)| *name == parent);
        let id = match (at, late) {
            (Some(at), _) => Some(self.pending[at].id),
            (None, Some((_, id))) => Some(*id),
            // Belongs to another client, unless it has no parent.
            (None, None) if !parent.is_empty() => return Vec::new(),
            (None, None) => None,
        };
        let mut events = Vec::new();
        if let Some(at) = at {
            self.pending[at].heard = Instant::now();
        }
        if let Some(one) = at.map(|at| &mut self.pending[at])
            && message.channel == Channel::Iopub
            && one.kind == RequestKind::Execute
            && !std::mem::replace(&mut one.started, true)
        {
            events.push(RuntimeEvent::Started { id: one.id });
        }
        match (message.channel, message.msg_type.as_str()) {
            (Channel::Iopub, "status") if message.text("execution_state") == "idle" => {
                if let Some(at) = at {
                    self.pending[at].idle = true;
                    events.extend(self.end_if_over(&parent));
                }
            }
            (Channel::Iopub, "error") => {
                if let Some(one) = at.map(|at| &mut self.pending[at])
                    && one.kind == RequestKind::Execute
                {
                    one.raised = true;
                    let error = convert::error(&message.content);
                    events.push(RuntimeEvent::Error { id: one.id, error });
                }
            }
            (Channel::Iopub, _) => {
                let number = at.and_then(|at| self.pending[at].number);
                events.extend(convert::shown(&message, id, number));
            }
            (Channel::Stdin, "input_request") => {
                if let Some(id) = id {
                    self.next_question += 1;
                    self.questions
                        .push((self.next_question, message.header.clone()));
                    events.push(RuntimeEvent::InputRequested {
                        id,
                        call: self.next_question,
                        prompt: message.text("prompt").to_owned(),
                        password: message.content.get("password") == Some(&Value::Bool(true)),
                    });
                }
            }
            (Channel::Shell, kind) if kind.ends_with("_reply") => {
                if let Some(one) = at.map(|at| &mut self.pending[at]) {
                    one.reply = Some(message.content);
                    events.extend(self.end_if_over(&parent));
                }
            }
            _ => {}
        }
        events
    }

    /// Returns the end of a request whose reply and idle status have come.
    fn end_if_over(&mut self, name: &str) -> Vec<RuntimeEvent> {
        let over = |one: &PendingRequest| {
            // Requests that only inspect have no output to wait for.
            let quiet = !one.kind.runs_code() && one.kind != RequestKind::Execute;
            one.name == name && one.reply.is_some() && (one.idle || quiet)
        };
        match self.pending.iter().any(over) {
            true => self.end(name),
            false => Vec::new(),
        }
    }

    fn end(&mut self, name: &str) -> Vec<RuntimeEvent> {
        let Some(at) = self.pending.iter().position(|one| one.name == name) else {
            return Vec::new();
        };
        let mut one = self.pending.remove(at);
        self.remember(one.name.clone(), one.id);
        let reply = one.reply.take().unwrap_or_default();
        if one.kind != RequestKind::Execute {
            let answer = match one.kind {
                RequestKind::Complete => convert::completions(&reply),
                RequestKind::Inspect => convert::inspection(&reply),
                RequestKind::IsComplete => convert::completeness(&reply),
                RequestKind::Express => convert::expressed(&reply),
                kind => injected_runner::answer(kind, &reply, one.interrupted),
            };
            return vec![RuntimeEvent::Replied { id: one.id, answer }];
        }
        end_of_cell(&one, &reply)
    }
}

fn end_of_cell(one: &PendingRequest, reply: &Map<String, Value>) -> Vec<RuntimeEvent> {
    let id = one.id;
    let mut events = Vec::new();
    let status = text_of(reply, "status");
    if status == "error" && !one.raised {
        let error = convert::error(reply);
        events.push(RuntimeEvent::Error { id, error });
    }
    for payload in reply
        .get("payload")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        events.extend(convert::payload(id, payload));
    }
    let ending = match status {
        "ok" => Ending::Ok,
        "" if !one.raised && !one.interrupted => Ending::Ok,
        "aborted" | "abort" => Ending::Interrupted,
        _ if one.interrupted || text_of(reply, "ename") == "KeyboardInterrupt" => {
            Ending::Interrupted
        }
        _ => Ending::Error,
    };
    let cwd = reply.get("user_expressions").and_then(|told| {
        let quoted = told["cwd"]["data"]["text/plain"].as_str()?;
        convert::unquoted(quoted)
    });
    events.push(RuntimeEvent::Finished {
        id,
        finish: Finish {
            ending,
            milliseconds: one.began.elapsed().as_secs_f64() * 1000.0,
            cwd,
            typeahead: Vec::new(),
            exit: None,
        },
    });
    events
}
