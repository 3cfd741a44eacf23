//! Calls of code that the agent runs, in the middle of its turn: the active one and the queue.
//!
//! The turn waits for its code and cannot answer it: a question is answered beside the turn, without the
//! conversation and without tools; a tool runs in a `ToolRunner` of its own and runs no cell, which would wait for
//! the cell that asks. `driver.rs` does both. Invariants: one call at a time, in order; each is replied to
//! once, unless its code has ended or it was cancelled; the active call ends with the code.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::agent::{Activity, ActivityKind, InputPart, WorkStatus};
use crate::dialog::call_line;
use crate::runtime::{HostCall, HostReply, HostRequest};
use crate::runtimes::RuntimeRole;
use crate::schema::AnswerSchema;
use crate::tools::ToolRunner;

/// Ids of tool calls here start above any id that the agent's calls reach.
const FIRST_CALL: u64 = 1 << 32;

pub(crate) struct AgentHostCalls {
    pub(crate) active: Option<ActiveAgentCall>,
    waiting: VecDeque<(RuntimeRole, HostCall)>,
    numbers: u64,
    pub(crate) tool_runner: ToolRunner,
}

pub(crate) struct ActiveAgentCall {
    pub(crate) number: u64,
    /// The runtime whose code called.
    pub(crate) role: RuntimeRole,
    pub(crate) call: u64,
    /// As shown.
    title: String,
    pub(crate) schema: Option<AnswerSchema>,
    /// Dropping this ends the question.
    pub(crate) asked: Option<oneshot::Sender<()>>,
}

impl ActiveAgentCall {
    /// Returns the state of the call, for the answer that the call is part of.
    pub(crate) fn activity(&self, status: WorkStatus, said: &str) -> Activity {
        Activity {
            id: format!("code-{}", self.number),
            kind: ActivityKind::Other,
            title: self.title.clone(),
            status,
            content: match said {
                "" => Vec::new(),
                said => vec![InputPart::Text(said.to_owned())],
            },
            denied: false,
            locations: Vec::new(),
        }
    }

    pub(crate) fn ended(&self, reply: &HostReply) -> Activity {
        match reply {
            HostReply::Value(Value::String(said)) => self.activity(WorkStatus::Done, said),
            HostReply::Value(said) => {
                self.activity(WorkStatus::Done, said["text"].as_str().unwrap_or_default())
            }
            HostReply::Refused(why) => self.activity(WorkStatus::Failed, why),
            HostReply::Interrupted => self.activity(WorkStatus::Failed, "stopped"),
        }
    }
}

impl Default for AgentHostCalls {
    fn default() -> Self {
        AgentHostCalls {
            active: None,
            waiting: VecDeque::new(),
            numbers: 0,
            tool_runner: ToolRunner::with_first_call(FIRST_CALL),
        }
    }
}

impl AgentHostCalls {
    pub(crate) fn enqueue(&mut self, role: RuntimeRole, call: HostCall) {
        self.waiting.push_back((role, call));
    }

    /// Makes the next call active; `None` while one is.
    pub(crate) fn next(&mut self) -> Option<HostRequest> {
        if self.active.is_some() {
            return None;
        }
        let (role, call) = self.waiting.pop_front()?;
        self.numbers += 1;
        let title = match &call.request {
            HostRequest::Ask { prompt, .. } => {
                call_line("ipycodex.ask", &json!({"prompt": prompt}))
            }
            HostRequest::Tool { name, arguments } => call_line(name, arguments),
        };
        self.active = Some(ActiveAgentCall {
            number: self.numbers,
            role,
            call: call.call,
            title,
            schema: None,
            asked: None,
        });
        Some(call.request)
    }

    pub(crate) fn finish(&mut self) -> Option<ActiveAgentCall> {
        self.tool_runner.abandon();
        self.active.take()
    }

    /// Cancels a call; returns it when it was the active one.
    pub(crate) fn cancel(&mut self, role: RuntimeRole, call: u64) -> Option<ActiveAgentCall> {
        self.waiting
            .retain(|(whose, waiting)| (*whose, waiting.call) != (role, call));
        match &self.active {
            Some(at) if (at.role, at.call) == (role, call) => self.finish(),
            _ => None,
        }
    }

    /// Cancels all calls; returns the active one.
    pub(crate) fn clear(&mut self) -> Option<ActiveAgentCall> {
        self.waiting.clear();
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: u64) -> HostCall {
        HostCall {
            call,
            request: HostRequest::Tool {
                name: "read_output".into(),
                arguments: json!({"id": "cell-1"}),
            },
            blocking: true,
        }
    }

    #[test]
    fn one_is_in_hand_and_each_ends_once() {
        let mut calls = AgentHostCalls::default();
        let role = RuntimeRole::Agent(1);
        (1..=4).for_each(|number| calls.enqueue(role, call(number)));
        assert!(calls.next().is_some() && calls.next().is_none());
        assert!(calls.cancel(role, 2).is_none());
        assert!(calls.cancel(RuntimeRole::User, 1).is_none());
        let first = calls.cancel(role, 1).unwrap();
        assert_eq!(first.title, "read_output(id='cell-1')");
        calls.next();
        assert_eq!(calls.finish().map(|at| at.call), Some(3));
        calls.next();
        assert_eq!(calls.clear().map(|at| at.call), Some(4));
        assert!(calls.next().is_none());
    }
}
