//! Translates frames into events of the contract.
//!
//! In: a frame and the requests in flight. Out: events. Invariants: every accepted request ends exactly once; a
//! frame that names no request in flight is ignored; nothing here does IO. Absent on purpose: order, which
//! `sequencer.rs` has restored.

mod answers;

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::{
    DisplayData, Ending, Finish, HostCall, HostRequest, RequestId, RuntimeEvent, RuntimeRequest,
};
use super::wire::{FrameId, RunnerFrame};
use crate::request_kind::{RequestKind, finished};
use answers::{bundle_of, cell_error, comm_message, raised};

pub(crate) use answers::answer_of;

/// Returns true for a cell that does nothing but exit.
pub(super) fn wants_to_leave(request: &RuntimeRequest) -> bool {
    let words = ["exit", "quit", "exit()", "quit()"];
    matches!(request, RuntimeRequest::Execute(cell) if words.contains(&cell.code.trim()))
}

#[derive(Debug, Default)]
pub(super) struct InFlightRequests {
    requests: VecDeque<(RequestId, RequestKind)>,
    /// The request that output without an id belongs to.
    pub(super) current: Option<RequestId>,
    /// Requests suspended beneath `current`, the innermost last.
    outer: Vec<RequestId>,
    /// Open questions of the runner: our number, the request, the runner's name for the question.
    questions: Vec<(u64, RequestId, Value)>,
    /// Never reused, also across interpreters.
    next_question: u64,
}

impl InFlightRequests {
    pub(super) fn add(&mut self, id: RequestId, kind: RequestKind) {
        self.requests.push_back((id, kind));
    }

    pub(super) fn running(&self) -> usize {
        self.requests
            .iter()
            .filter(|(_, kind)| kind.runs_code())
            .count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Parts with the cell that goes to the background: returns it and its questions, and the other requests.
    pub(super) fn split(
        &mut self,
        cell: RequestId,
    ) -> (InFlightRequests, VecDeque<(RequestId, RequestKind)>) {
        let next_question = self.next_question;
        let mut branch = std::mem::take(self);
        self.next_question = next_question;
        let requests = std::mem::take(&mut branch.requests).into_iter();
        let (own, others) = requests.partition(|(id, _)| *id == cell);
        branch.requests = own;
        (branch, others)
    }

    fn kind(&self, id: RequestId) -> Option<RequestKind> {
        let found = self.requests.iter().find(|(known, _)| *known == id);
        found.map(|(_, kind)| *kind)
    }

    /// Allocates our number for a question of request `id` that the runner names `call`.
    fn question(&mut self, id: RequestId, call: Value) -> u64 {
        self.next_question += 1;
        self.questions.push((self.next_question, id, call));
        self.next_question
    }

    /// Returns the runner's name for question `call`, once.
    pub(super) fn take_question(&mut self, call: u64) -> Option<Value> {
        let at = self
            .questions
            .iter()
            .position(|(number, ..)| *number == call)?;
        Some(self.questions.swap_remove(at).2)
    }

    /// Takes the unanswered requests after the interpreter's end.
    pub(super) fn abandon(&mut self) -> VecDeque<(RequestId, RequestKind)> {
        self.current = None;
        self.outer.clear();
        self.questions.clear();
        std::mem::take(&mut self.requests)
    }

    /// Ends request `id`; `None` when it is not in flight.
    fn end(&mut self, id: RequestId) -> Option<RequestKind> {
        let at = self.requests.iter().position(|(known, _)| *known == id)?;
        let (_, kind) = self.requests.remove(at)?;
        self.outer.retain(|outer| *outer != id);
        if self.current == Some(id) {
            self.current = self.outer.pop();
        }
        self.questions.retain(|(_, asker, _)| *asker != id);
        Some(kind)
    }

    /// Returns the request that a frame belongs to: the one that the frame names, else the running one.
    fn of(&self, of: FrameId) -> Option<RequestId> {
        of.0.or(self.current)
    }

    /// Translates a frame; `None` for a frame without meaning for the session.
    pub(super) fn event(&mut self, frame: RunnerFrame) -> Option<RuntimeEvent> {
        let known = |FrameId(id): FrameId| {
            let id = id?;
            self.requests
                .iter()
                .any(|(known, _)| *known == id)
                .then_some(id)
        };
        Some(match frame {
            RunnerFrame::Ready { .. }
            | RunnerFrame::Leaving {}
            | RunnerFrame::Moved { .. }
            | RunnerFrame::Typed { .. }
            | RunnerFrame::Unknown => {
                return None;
            }
            RunnerFrame::Started { id } => {
                let id = known(id)?;
                self.outer.extend(self.current.replace(id));
                if self.kind(id) != Some(RequestKind::Execute) {
                    // The request's output and reply contain everything.
                    return None;
                }
                RuntimeEvent::Started { id }
            }
            RunnerFrame::Result {
                id,
                bundle,
                metadata,
                execution_count,
                transient,
            } => RuntimeEvent::Display {
                id: Some(known(id)?),
                display: DisplayData {
                    execution_count,
                    transient: *transient,
                    ..DisplayData::new(bundle_of(bundle).with_metadata(*metadata))
                },
            },
            RunnerFrame::Comm { of, message } => RuntimeEvent::Comm {
                id: self.of(of),
                message: comm_message(*message),
            },
            RunnerFrame::Display {
                of,
                bundle,
                metadata,
                display_id,
                transient,
                update,
            } => RuntimeEvent::Display {
                id: self.of(of),
                display: DisplayData {
                    bundle: bundle_of(bundle).with_metadata(*metadata),
                    execution_count: None,
                    display_id,
                    transient: *transient,
                    update,
                },
            },
            RunnerFrame::Clear { wait, .. } => RuntimeEvent::Clear {
                id: self.current?,
                wait,
            },
            RunnerFrame::Page { bundle, .. } => RuntimeEvent::Page {
                id: self.current?,
                bundle: bundle_of(bundle),
            },
            RunnerFrame::InputRequest {
                id,
                call,
                prompt,
                password,
            } => {
                let id = known(id)?;
                RuntimeEvent::InputRequested {
                    id,
                    call: self.question(id, call),
                    prompt,
                    password,
                }
            }
            RunnerFrame::RecordRequest { id, call } => {
                let id = known(id)?;
                let call = self.question(id, call);
                RuntimeEvent::RecordRequested { id, call }
            }
            RunnerFrame::Call {
                id,
                call,
                waits,
                wish,
            } => {
                // Such a call gets its reply even when its cell has just ended.
                let asker = id.0?;
                let call = HostCall {
                    call: self.question(asker, call),
                    request: HostRequest::from(*wish),
                    blocking: waits,
                };
                RuntimeEvent::HostCalled { id: id.0, call }
            }
            RunnerFrame::CalledOff { call } => {
                let named = |(_, _, name): &&(u64, RequestId, Value)| *name == call;
                let call = self.questions.iter().find(named)?.0;
                self.take_question(call);
                RuntimeEvent::HostCallCancelled { call }
            }
            RunnerFrame::Status { id, text } => RuntimeEvent::Status {
                id: known(id)?,
                text: text?,
            },
            RunnerFrame::NextInput { id, text, replace } => RuntimeEvent::NextInput {
                id: known(id)?,
                text,
                replaces: replace,
            },
            RunnerFrame::ExitRequested {
                id,
                code,
                keep_kernel,
            } => RuntimeEvent::ExitRequested {
                id: known(id)?,
                code: exit_code(&code),
                stays: keep_kernel,
            },
            RunnerFrame::Error { id, error } => match known(id) {
                Some(id) => RuntimeEvent::Error {
                    id,
                    error: cell_error(error),
                },
                None => RuntimeEvent::Notice(format!(
                    "the Python interpreter reports {}: {}",
                    error.ename, error.evalue
                )),
            },
            RunnerFrame::Notice { text } => RuntimeEvent::Notice(text),
            RunnerFrame::Done {
                id,
                status,
                cancelled,
                ms,
                cwd,
                typeahead,
            } => {
                let id = id.0?;
                self.end(id)?;
                let ending = match status.as_str() {
                    _ if cancelled => Ending::Interrupted,
                    "ok" => Ending::Ok,
                    _ => Ending::Error,
                };
                RuntimeEvent::Finished {
                    id,
                    finish: Finish {
                        ending,
                        exit: None,
                        milliseconds: ms,
                        cwd,
                        typeahead: typed_bytes(&typeahead),
                    },
                }
            }
            RunnerFrame::Answer { id, answer } => {
                let Some(id) = id.0 else {
                    let error = raised(&answer)?;
                    return Some(RuntimeEvent::Notice(format!(
                        "the Python interpreter reports {}: {}",
                        error.ename, error.evalue
                    )));
                };
                let kind = self.end(id)?;
                if kind == RequestKind::Execute {
                    // Only a refusal answers a cell this way.
                    return Some(finished(id, Ending::Error));
                }
                RuntimeEvent::Replied {
                    id,
                    answer: answer_of(kind, answer),
                }
            }
        })
    }
}

pub(super) fn typed_bytes(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}

/// Returns the exit status of Python's `exit(code)`: 0 for nothing, a number itself, 1 for anything else.
fn exit_code(code: &Value) -> i32 {
    match code {
        Value::Null => 0,
        Value::Bool(failed) => i32::from(*failed),
        Value::Number(number) => number
            .as_i64()
            .and_then(|code| i32::try_from(code).ok())
            .unwrap_or(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
