//! Host calls of the user's cells: the active one and the queue.
//!
//! A cell that calls is suspended beneath the prompt or tool it called for; `driver.rs` runs that.
//! Invariants: one call at a time, in order; each is replied to once, unless its cell has ended or it was
//! cancelled; when the user stops one, all calls of the cell are stopped.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{AgentFailure, FailureKind};
use crate::dialog::tool_line;
use crate::events::{AfterEvent, AnswerEvent, EndEvent, SessionEvent, TurnOutcome};
use crate::runtime::{HostCall, HostReply, HostRequest};
use crate::schema::AnswerSchema;
use crate::tool_return::ToolReturn;

#[derive(Default)]
pub(crate) struct CellHostCalls {
    active: Option<ActiveHostCall>,
    waiting: VecDeque<HostCall>,
}

pub(crate) struct FinishedCall {
    /// The end of a prompt that was not sent and therefore had no end yet.
    pub(crate) told: Option<EndEvent>,
    pub(crate) replies: Vec<(u64, HostReply)>,
    /// The user stopped the call and no waiting code would get the reply: interrupt the code.
    pub(crate) interrupts: bool,
}

struct ActiveHostCall {
    call: u64,
    /// The call was cancelled.
    off: bool,
    said: Vec<String>,
    /// How the call's turn ended; `None` while it goes on.
    outcome: Option<TurnOutcome>,
    refused: Option<String>,
    /// Name and arguments, where the call is for a tool.
    tool: Option<(String, Value)>,
    returned: Option<HostReply>,
    /// The calling code blocks until the reply.
    waits: bool,
    schema: Option<AnswerSchema>,
}

impl ActiveHostCall {
    fn new(call: &HostCall) -> Self {
        ActiveHostCall {
            call: call.call,
            off: false,
            said: Vec::new(),
            outcome: None,
            refused: None,
            tool: match &call.request {
                HostRequest::Tool { name, arguments } => Some((name.clone(), arguments.clone())),
                HostRequest::Ask { .. } => None,
            },
            returned: None,
            waits: call.blocking,
            schema: match &call.request {
                HostRequest::Ask { schema, .. } => {
                    schema.as_ref().and_then(|it| AnswerSchema::new(it).ok())
                }
                HostRequest::Tool { .. } => None,
            },
        }
    }

    fn unsent(&self) -> Option<EndEvent> {
        if self.outcome.is_some() {
            return None;
        }
        let failure = AgentFailure {
            kind: FailureKind::Refused,
            message: self.refused.clone()?,
            hints: Vec::new(),
        };
        Some(EndEvent::Asked {
            outcome: TurnOutcome::Failed(failure),
            usage: None,
            took: Duration::ZERO,
        })
    }

    fn reply(&self) -> HostReply {
        if let Some(returned) = &self.returned {
            return returned.clone();
        }
        match &self.outcome {
            Some(TurnOutcome::Complete) => {
                let last = self.said.last().map_or("", String::as_str);
                answered(&self.said.join("\n\n"), last, self.schema.as_ref())
            }
            Some(TurnOutcome::Interrupted) => HostReply::Interrupted,
            Some(TurnOutcome::Failed(failure)) => HostReply::Refused(text_of(failure)),
            None => HostReply::Refused(self.refused.clone().unwrap_or_default()),
        }
    }
}

/// Returns the reply for code: the whole answer and its last text, as JSON where a schema was given and the text
/// fits it; else why the text does not fit.
pub(crate) fn answered(text: &str, last: &str, schema: Option<&AnswerSchema>) -> HostReply {
    let mut told = json!({"text": text, "last": last});
    match schema.map(|schema| schema.parse_answer(last)) {
        None => {}
        Some(Ok(fitting)) => told["last"] = fitting.into(),
        Some(Err(problems)) => told["problems"] = problems.into(),
    }
    HostReply::Value(told)
}

/// Returns why the schema of a call cannot be used.
pub(crate) fn schema_error(wish: &HostRequest) -> Option<String> {
    match wish {
        HostRequest::Ask {
            schema: Some(schema),
            ..
        } => AnswerSchema::new(schema).err(),
        _ => None,
    }
}

fn text_of(failure: &AgentFailure) -> String {
    let lines = std::iter::once(&failure.message).chain(&failure.hints);
    lines.map(String::as_str).collect::<Vec<_>>().join("\n")
}

impl CellHostCalls {
    pub(crate) fn enqueue(&mut self, call: HostCall) {
        self.waiting.push_back(call);
    }

    /// Cancels the calls of a cell that has ended; returns true when one was active.
    pub(crate) fn cell_ended(&mut self) -> bool {
        self.waiting.clear();
        self.cancel(None)
    }

    /// Maps an event of the call's turn to one of the cell; unchanged without a call.
    pub(crate) fn map_event(&mut self, event: SessionEvent) -> Option<SessionEvent> {
        let Some(at) = self.active.as_mut() else {
            return Some(event);
        };
        match event {
            SessionEvent::End(EndEvent::Turn {
                outcome,
                usage,
                took,
            }) => {
                at.outcome = Some(outcome.clone());
                Some(SessionEvent::End(EndEvent::Asked {
                    outcome,
                    usage,
                    took,
                }))
            }
            // The text belongs to the cell, not to the editor.
            SessionEvent::After(AfterEvent::Refill(_) | AfterEvent::Replace(_)) => None,
            SessionEvent::Notice(notice) if notice.warning && at.refused.is_none() => {
                at.refused = Some(notice.message);
                None
            }
            event => Some(event),
        }
    }

    pub(crate) fn set_answer(&mut self, said: &[String]) {
        if let Some(at) = &mut self.active {
            at.said = said.to_vec();
        }
    }

    /// Stores the result of the called tool, or that the tool was `stopped`; returns what to show of it, `None`
    /// when no cell called it.
    pub(crate) fn tool_returned(
        &mut self,
        result: &ToolReturn,
        stopped: bool,
    ) -> Option<AnswerEvent> {
        let at = self.active.as_mut()?;
        let (name, arguments) = at.tool.as_ref()?;
        at.outcome = stopped.then_some(TurnOutcome::Interrupted);
        at.returned = Some(match (stopped, result.success) {
            (true, _) => HostReply::Interrupted,
            (false, true) => HostReply::Value(result.text.clone().into()),
            (false, false) => {
                let why = result.text.strip_prefix("Error: ");
                HostReply::Refused(why.unwrap_or(&result.text).to_owned())
            }
        });
        Some(AnswerEvent::ToolRan {
            line: tool_line(name, arguments, &result.text),
            success: result.success,
        })
    }

    pub(crate) fn finish(&mut self) -> Option<FinishedCall> {
        let at = self.active.take()?;
        let mut over = FinishedCall {
            told: at.unsent(),
            replies: Vec::new(),
            interrupts: false,
        };
        if at.off {
            return Some(over);
        }
        over.replies.push((at.call, at.reply()));
        if at.outcome == Some(TurnOutcome::Interrupted) {
            let others = std::mem::take(&mut self.waiting);
            over.interrupts = !at.waits && !others.iter().any(|other| other.blocking);
            let others = others.iter();
            let stopped = others.map(|other| (other.call, HostReply::Interrupted));
            over.replies.extend(stopped);
        }
        Some(over)
    }

    /// Makes the next call active; `None` while one is.
    pub(crate) fn next(&mut self) -> Option<HostCall> {
        if self.active.is_some() {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.active = Some(ActiveHostCall::new(&call));
        Some(call)
    }

    /// Removes a call from the queue; false when it is not there.
    pub(crate) fn drop_waiting(&mut self, call: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.call != call);
        self.waiting.len() < before
    }

    /// Cancels the active call; false when `call` is another.
    pub(crate) fn cancel(&mut self, call: Option<u64>) -> bool {
        match &mut self.active {
            Some(at) if call.is_none_or(|call| call == at.call) => {
                at.off = true;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: u64) -> HostCall {
        let (name, arguments) = ("read_output".to_owned(), json!({}));
        HostCall {
            call,
            request: HostRequest::Tool { name, arguments },
            blocking: true,
        }
    }

    #[test]
    fn one_call_is_active_and_the_others_keep_their_order() {
        let mut calls = CellHostCalls::default();
        calls.waiting.extend([call(1), call(2), call(3)]);
        assert_eq!(calls.next().map(|next| next.call), Some(1));
        assert!(calls.next().is_none());
        assert!(calls.drop_waiting(2) && !calls.drop_waiting(1));
        assert!(!calls.cancel(Some(3)) && calls.cancel(Some(1)));
        calls.active = None;
        assert_eq!(calls.next().map(|next| next.call), Some(3));
        assert!(calls.cancel(None));
    }

    #[test]
    fn stopping_one_call_stops_all_calls_of_the_cell() {
        for (waits, interrupts) in [(true, false), (false, true)] {
            let mut calls = CellHostCalls::default();
            let call = |number| HostCall {
                blocking: waits,
                ..call(number)
            };
            calls.enqueue(call(1));
            calls.enqueue(call(2));
            calls.next();
            calls.tool_returned(&ToolReturn::failed("stopped"), true);
            let over = calls.finish().unwrap();
            assert_eq!((over.replies.len(), over.interrupts), (2, interrupts));
            assert!(calls.next().is_none() && calls.finish().is_none());
        }
    }

    #[test]
    fn the_reply_holds_all_texts_and_the_last_one() {
        let mut at = ActiveHostCall::new(&call(1));
        at.said = vec!["a".into(), "b".into()];
        at.outcome = Some(TurnOutcome::Complete);
        let told = json!({"text": "a\n\nb", "last": "b"});
        assert_eq!(at.reply(), HostReply::Value(told));
        at.outcome = Some(TurnOutcome::Interrupted);
        assert_eq!(at.reply(), HostReply::Interrupted);
    }
}
