//! What code that the agent runs asks of the session in the middle of its turn: which call is worked off, which wait.
//!
//! The turn waits for its code and cannot answer it: a question of the code is answered beside the turn, without the
//! conversation and without tools; a tool is worked off on a bench of its own and runs no cell, which would wait for
//! the cell that asks. `kernels/work.rs` does both. Invariants: one call at a time, in the order they came; each is
//! replied to once, unless its code has ended or it was called off; what is under way ends with the code.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::agent::{Activity, ActivityKind, InputPart, WorkStatus};
use crate::dialog::call_line;
use crate::runtime::{CallReply, CodeCall, CodeWish};
use crate::schema::AnswerSchema;
use crate::session::runtimes::Role;
use crate::session::toolbox::Toolbox;

/// Calls of tools here have numbers that those of the agent never reach.
const FIRST_CALL: u64 = 1 << 32;

/// The calls of the code that runs for the agent.
pub(super) struct FromAgent {
    pub(super) at: Option<InHand>,
    waiting: VecDeque<(Role, CodeCall)>,
    numbers: u64,
    /// Where a tool is worked off.
    pub(super) bench: Toolbox,
}

/// The call that is worked off.
pub(super) struct InHand {
    pub(super) number: u64,
    /// Whose code has called.
    pub(super) role: Role,
    pub(super) call: u64,
    /// As it is shown.
    title: String,
    /// What its answer is to fit.
    pub(super) schema: Option<AnswerSchema>,
    /// Ends the question when it is dropped.
    pub(super) asked: Option<oneshot::Sender<()>>,
}

impl InHand {
    /// How it stands, for the answer it is part of.
    pub(super) fn activity(&self, status: WorkStatus, said: &str) -> Activity {
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
            places: Vec::new(),
        }
    }

    /// How it ended.
    pub(super) fn ended(&self, reply: &CallReply) -> Activity {
        match reply {
            CallReply::Value(Value::String(said)) => self.activity(WorkStatus::Done, said),
            CallReply::Value(said) => {
                self.activity(WorkStatus::Done, said["text"].as_str().unwrap_or_default())
            }
            CallReply::Refused(why) => self.activity(WorkStatus::Failed, why),
            CallReply::Interrupted => self.activity(WorkStatus::Failed, "stopped"),
        }
    }
}

impl Default for FromAgent {
    fn default() -> Self {
        FromAgent {
            at: None,
            waiting: VecDeque::new(),
            numbers: 0,
            bench: Toolbox::counting_from(FIRST_CALL),
        }
    }
}

impl FromAgent {
    /// A call of code of this role.
    pub(super) fn line_up(&mut self, role: Role, call: CodeCall) {
        self.waiting.push_back((role, call));
    }

    /// The next call begins, unless one is worked off.
    pub(super) fn next(&mut self) -> Option<CodeWish> {
        if self.at.is_some() {
            return None;
        }
        let (role, call) = self.waiting.pop_front()?;
        self.numbers += 1;
        let title = match &call.wish {
            CodeWish::Ask { prompt, .. } => call_line("ipycodex.ask", &json!({"prompt": prompt})),
            CodeWish::Tool { name, arguments } => call_line(name, arguments),
        };
        self.at = Some(InHand {
            number: self.numbers,
            role,
            call: call.call,
            title,
            schema: None,
            asked: None,
        });
        Some(call.wish)
    }

    /// The one in hand is over.
    pub(super) fn over(&mut self) -> Option<InHand> {
        self.bench.abandon();
        self.at.take()
    }

    /// Nobody waits for this call any more; the one in hand is given back when it is that.
    pub(super) fn call_off(&mut self, role: Role, call: u64) -> Option<InHand> {
        self.waiting
            .retain(|(whose, waiting)| (*whose, waiting.call) != (role, call));
        match &self.at {
            Some(at) if (at.role, at.call) == (role, call) => self.over(),
            _ => None,
        }
    }

    /// Nobody waits for anything.
    pub(super) fn clear(&mut self) -> Option<InHand> {
        self.waiting.clear();
        self.over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: u64) -> CodeCall {
        CodeCall {
            call,
            wish: CodeWish::Tool {
                name: "read_output".into(),
                arguments: json!({"id": "cell-1"}),
            },
            waits: true,
        }
    }

    #[test]
    fn one_is_in_hand_and_each_ends_once() {
        let mut calls = FromAgent::default();
        let role = Role::Agent(1);
        (1..=4).for_each(|number| calls.line_up(role, call(number)));
        assert!(calls.next().is_some() && calls.next().is_none());
        assert!(calls.call_off(role, 2).is_none());
        assert!(calls.call_off(Role::User, 1).is_none());
        let first = calls.call_off(role, 1).unwrap();
        assert_eq!(first.title, "read_output(id='cell-1')");
        calls.next();
        assert_eq!(calls.over().map(|at| at.call), Some(3));
        calls.next();
        assert_eq!(calls.clear().map(|at| at.call), Some(4));
        assert!(calls.next().is_none());
    }
}
