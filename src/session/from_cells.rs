//! What cells ask of the session: which call is worked off, which wait, what is known of the one in hand.
//!
//! A cell that asks waits beneath the prompt or the tool it has asked for, and goes on when that is over;
//! `outside/work.rs` does what is asked. Invariants: one call at a time, in the order they came; each is replied to
//! once, unless its cell has ended or it was called off; when the user stops one, all of the cell's are stopped. Absent
//! on purpose: calls of code the agent runs (`from_agent`).

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{AgentFailure, FailureKind};
use crate::dialog::tool_line;
use crate::runtime::{CallReply, CodeCall, CodeWish};
use crate::schema::AnswerSchema;
use crate::session::events::{AfterEvent, AnswerEvent, EndEvent, SessionEvent, TurnOutcome};
use crate::session::tool_return::ToolReturn;

/// The calls of the cell that runs.
#[derive(Default)]
pub(super) struct FromCells {
    at: Option<InHand>,
    waiting: VecDeque<CodeCall>,
}

/// What is to be done at the end of a call.
pub(super) struct CallOver {
    /// A prompt that was not sent has had no end yet: it is told.
    pub(super) told: Option<EndEvent>,
    /// Calls and what they are told.
    pub(super) replies: Vec<(u64, CallReply)>,
    /// The user has stopped it, and nobody waits whom a reply would stop: the code is interrupted.
    pub(super) interrupts: bool,
}

/// The call that is worked off.
struct InHand {
    call: u64,
    /// Nobody waits for it any more.
    off: bool,
    /// The texts of the answer.
    said: Vec<String>,
    /// How its turn ended, once it has.
    outcome: Option<TurnOutcome>,
    /// Why it was not sent.
    refused: Option<String>,
    /// The tool it is, with what it was given.
    tool: Option<(String, Value)>,
    /// What came of the tool.
    returned: Option<CallReply>,
    /// The code that waits can do nothing else meanwhile.
    waits: bool,
    /// What the answer is to fit.
    schema: Option<AnswerSchema>,
}

impl InHand {
    fn new(call: &CodeCall) -> Self {
        InHand {
            call: call.call,
            off: false,
            said: Vec::new(),
            outcome: None,
            refused: None,
            tool: match &call.wish {
                CodeWish::Tool { name, arguments } => Some((name.clone(), arguments.clone())),
                CodeWish::Ask { .. } => None,
            },
            returned: None,
            waits: call.waits,
            schema: match &call.wish {
                CodeWish::Ask { schema, .. } => {
                    schema.as_ref().and_then(|it| AnswerSchema::new(it).ok())
                }
                CodeWish::Tool { .. } => None,
            },
        }
    }

    /// The end of a prompt that was not sent.
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

    /// What the code is told.
    fn reply(&self) -> CallReply {
        if let Some(returned) = &self.returned {
            return returned.clone();
        }
        match &self.outcome {
            Some(TurnOutcome::Complete) => {
                let last = self.said.last().map_or("", String::as_str);
                answered(&self.said.join("\n\n"), last, self.schema.as_ref())
            }
            Some(TurnOutcome::Interrupted) => CallReply::Interrupted,
            Some(TurnOutcome::Failed(failure)) => CallReply::Refused(text_of(failure)),
            None => CallReply::Refused(self.refused.clone().unwrap_or_default()),
        }
    }
}

/// The answer that code is told: all of its text, and the last of it, as JSON that fits the schema where it does; else
/// what of it does not.
pub(super) fn answered(text: &str, last: &str, schema: Option<&AnswerSchema>) -> CallReply {
    let mut told = json!({"text": text, "last": last});
    match schema.map(|schema| schema.read(last)) {
        None => {}
        Some(Ok(fitting)) => told["last"] = fitting.into(),
        Some(Err(problems)) => told["problems"] = problems.into(),
    }
    CallReply::Value(told)
}

/// Why what code wants cannot be looked at: its schema is none.
pub(super) fn no_schema(wish: &CodeWish) -> Option<String> {
    match wish {
        CodeWish::Ask {
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

impl FromCells {
    /// A call of the cell that runs.
    pub(super) fn line_up(&mut self, call: CodeCall) {
        self.waiting.push_back(call);
    }

    /// Nobody waits for anything: the cell has ended. True when a call is worked off.
    pub(super) fn cell_ended(&mut self) -> bool {
        self.waiting.clear();
        self.call_off(None)
    }

    /// What the turn of a call has to say, as those who show the cell are told; without a call as it is.
    pub(super) fn told(&mut self, event: SessionEvent) -> Option<SessionEvent> {
        let Some(at) = self.at.as_mut() else {
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
            // Its text is the cell's; the editor has nothing of it.
            SessionEvent::After(AfterEvent::Refill(_) | AfterEvent::Replace(_)) => None,
            SessionEvent::Notice(notice) if notice.warning && at.refused.is_none() => {
                at.refused = Some(notice.message);
                None
            }
            event => Some(event),
        }
    }

    /// The texts of the answer.
    pub(super) fn said(&mut self, said: &[String]) {
        if let Some(at) = &mut self.at {
            at.said = said.to_vec();
        }
    }

    /// The tool that is called returned, or was `stopped`: what is shown of it; `None`: no cell has called it.
    pub(super) fn tool_returned(
        &mut self,
        result: &ToolReturn,
        stopped: bool,
    ) -> Option<AnswerEvent> {
        let at = self.at.as_mut()?;
        let (name, arguments) = at.tool.as_ref()?;
        at.outcome = stopped.then_some(TurnOutcome::Interrupted);
        at.returned = Some(match (stopped, result.success) {
            (true, _) => CallReply::Interrupted,
            (false, true) => CallReply::Value(result.text.clone().into()),
            (false, false) => {
                let why = result.text.strip_prefix("Error: ");
                CallReply::Refused(why.unwrap_or(&result.text).to_owned())
            }
        });
        Some(AnswerEvent::ToolRan {
            line: tool_line(name, arguments, &result.text),
            success: result.success,
        })
    }

    /// What was asked for is over.
    pub(super) fn over(&mut self) -> Option<CallOver> {
        let at = self.at.take()?;
        let mut over = CallOver {
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
            over.interrupts = !at.waits && !others.iter().any(|other| other.waits);
            let others = others.iter();
            let stopped = others.map(|other| (other.call, CallReply::Interrupted));
            over.replies.extend(stopped);
        }
        Some(over)
    }

    /// The next call begins, unless one is worked off.
    pub(super) fn next(&mut self) -> Option<CodeCall> {
        if self.at.is_some() {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.at = Some(InHand::new(&call));
        Some(call)
    }

    /// Forgets a call that waits; false when it is none of those.
    pub(super) fn drop_waiting(&mut self, call: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.call != call);
        self.waiting.len() < before
    }

    /// The one in hand is wanted no longer; false when it is another.
    pub(super) fn call_off(&mut self, call: Option<u64>) -> bool {
        match &mut self.at {
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

    fn call(call: u64) -> CodeCall {
        let (name, arguments) = ("read_output".to_owned(), json!({}));
        CodeCall {
            call,
            wish: CodeWish::Tool { name, arguments },
            waits: true,
        }
    }

    #[test]
    fn one_call_is_in_hand_and_the_others_keep_their_order() {
        let mut calls = FromCells::default();
        calls.waiting.extend([call(1), call(2), call(3)]);
        assert_eq!(calls.next().map(|next| next.call), Some(1));
        assert!(calls.next().is_none());
        assert!(calls.drop_waiting(2) && !calls.drop_waiting(1));
        assert!(!calls.call_off(Some(3)) && calls.call_off(Some(1)));
        calls.at = None;
        assert_eq!(calls.next().map(|next| next.call), Some(3));
        assert!(calls.call_off(None));
    }

    #[test]
    fn who_stops_one_stops_all_of_the_cell() {
        for (waits, interrupts) in [(true, false), (false, true)] {
            let mut calls = FromCells::default();
            let call = |number| CodeCall {
                waits,
                ..call(number)
            };
            calls.line_up(call(1));
            calls.line_up(call(2));
            calls.next();
            calls.tool_returned(&ToolReturn::failed("stopped"), true);
            let over = calls.over().unwrap();
            assert_eq!((over.replies.len(), over.interrupts), (2, interrupts));
            assert!(calls.next().is_none() && calls.over().is_none());
        }
    }

    #[test]
    fn the_code_is_told_all_texts_and_the_last() {
        let mut at = InHand::new(&call(1));
        at.said = vec!["a".into(), "b".into()];
        at.outcome = Some(TurnOutcome::Complete);
        let told = json!({"text": "a\n\nb", "last": "b"});
        assert_eq!(at.reply(), CallReply::Value(told));
        at.outcome = Some(TurnOutcome::Interrupted);
        assert_eq!(at.reply(), CallReply::Interrupted);
    }
}
