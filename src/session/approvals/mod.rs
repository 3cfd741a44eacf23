//! Questions to the user: one open at a time, the others queued.
//!
//! In: requests of agents, tools and commands, and the user's replies ([`ApprovalEvent`]). Out: effects for the loop
//! ([`ApprovalEffect`]). Invariants: a requester gets exactly one reply, or its turn has ended; where no user can be
//! asked, every request gets at once the reply that changes nothing; a decision is in the record before its effect.
//! Values typed into a form are not recorded: they may be secrets.

mod description;
mod driver;
mod grants;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::agent::{QuestionAnswer, QuestionOption, Subject};
use crate::ids::ToolCaller;
use crate::question::{Question, QuestionChoice, QuestionSubject, Reply};
use crate::record::RecordedDecision;
use crate::undo::UndoRequest;

use description::{decision, describe, unasked_note};
pub(super) use grants::SessionGrants;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApprovalRequester {
    Agent {
        /// The agent's id of the question.
        question: String,
        /// The answers that the agent accepts.
        options: Vec<QuestionOption>,
        /// A no may carry its reason.
        reasons: bool,
    },
    /// The active tool call of this caller.
    Tool(ToolCaller),
    Startup,
    /// A command that undoes an exchange.
    Undo(UndoRequest),
    /// A resumed session; the file holds its variables.
    RestoreVariables(PathBuf),
    /// The active prompt, before the agent gets it.
    Prompt,
}

impl ApprovalRequester {
    /// Returns the answers that the requester lists; empty where it lists none.
    fn options(&self) -> &[QuestionOption] {
        match self {
            ApprovalRequester::Agent { options, .. } => options,
            ApprovalRequester::Tool(_)
            | ApprovalRequester::Startup
            | ApprovalRequester::Undo(_)
            | ApprovalRequester::RestoreVariables(_)
            | ApprovalRequester::Prompt => &[],
        }
    }

    /// Returns true when an option of the requester grants no more than this reply.
    fn takes(&self, reply: &Reply) -> bool {
        match self {
            ApprovalRequester::Agent { options, .. } => {
                reply.for_agent(options) != QuestionAnswer::Declined
            }
            ApprovalRequester::Tool(_)
            | ApprovalRequester::Startup
            | ApprovalRequester::Undo(_)
            | ApprovalRequester::RestoreVariables(_)
            | ApprovalRequester::Prompt => true,
        }
    }
}

pub(super) enum ApprovalEvent {
    /// Somebody asks a question while the prompt at `line` is in progress.
    Requested {
        about: QuestionSubject,
        asker: ApprovalRequester,
        /// The name of the tool's caller, where the caller is not the agent.
        caller: Option<String>,
        line: u32,
        /// False where no front-end can ask the user.
        can_ask: bool,
    },
    /// The user answered the question with this id.
    Answered { question: u64, reply: Reply },
    /// The agent withdrew its question.
    Withdrawn { question: String },
    /// The requester no longer waits for an answer.
    Cancelled(ApprovalRequester),
    /// The turn ended, and with it the wait for any answer.
    TurnOver,
}

#[derive(Debug, PartialEq)]
pub(super) enum ApprovalEffect {
    Show(Question),
    /// The question with this id needs no answer any more.
    Close(u64),
    /// Notice that nobody could be asked.
    Note(String),
    Record(RecordedDecision),
    Deliver(ApprovalRequester, Reply),
}

/// The open questions of a session, and the grants that hold for all of it.
#[derive(Debug, Default)]
pub(super) struct ApprovalQueue {
    last: u64,
    open: Option<PendingApproval>,
    waiting: VecDeque<PendingApproval>,
    pub(super) grants: SessionGrants,
}

#[derive(Debug)]
struct PendingApproval {
    /// 0 until the question is shown.
    id: u64,
    about: QuestionSubject,
    asker: ApprovalRequester,
    caller: Option<String>,
    line: u32,
    asked_at: SystemTime,
}

impl PendingApproval {
    fn decided(&self, reply: &Reply) -> ApprovalEffect {
        let (kind, mut subject) = describe(&self.about);
        if let Some(caller) = &self.caller {
            subject.push_str(&format!("\n(asked by {caller})"));
        }
        ApprovalEffect::Record(RecordedDecision {
            line: self.line,
            asked_at: self.asked_at,
            kind: kind.to_owned(),
            subject,
            decision: decision(reply, self.asker.options()),
        })
    }
}

impl ApprovalQueue {
    /// Returns the effects of an event, in order. Call [`ApprovalQueue::next`] for the next question once all of
    /// them are carried out.
    pub(super) fn on(&mut self, event: ApprovalEvent, now: SystemTime) -> Vec<ApprovalEffect> {
        match event {
            ApprovalEvent::Requested {
                about,
                asker,
                caller,
                line,
                can_ask,
            } => {
                if !can_ask {
                    let reply = match about {
                        QuestionSubject::Agent(Subject::Form { .. }) => Reply::Declined,
                        _ => Reply::Chosen(QuestionChoice::No),
                    };
                    let note = unasked_note(&about).map(ApprovalEffect::Note);
                    return note
                        .into_iter()
                        .chain([ApprovalEffect::Deliver(asker, reply)])
                        .collect();
                }
                let wanted = PendingApproval {
                    id: 0,
                    about,
                    asker,
                    caller,
                    line,
                    asked_at: now,
                };
                let reply = Reply::Chosen(QuestionChoice::Session);
                if self.grants.allows(&wanted.about) && wanted.asker.takes(&reply) {
                    return vec![
                        wanted.decided(&reply),
                        ApprovalEffect::Deliver(wanted.asker, reply),
                    ];
                }
                self.waiting.push_back(wanted);
                Vec::new()
            }
            ApprovalEvent::Answered { question, reply } => {
                let Some(open) = self.open.take_if(|open| open.id == question) else {
                    return Vec::new();
                };
                if reply == Reply::Chosen(QuestionChoice::Session) {
                    self.grants.allow(&open.about);
                }
                vec![
                    open.decided(&reply),
                    ApprovalEffect::Deliver(open.asker, reply),
                ]
            }
            ApprovalEvent::Withdrawn { question } => {
                let of = |open: &PendingApproval| match &open.asker {
                    ApprovalRequester::Agent { question: it, .. } => *it == question,
                    _ => false,
                };
                self.waiting.retain(|open| !of(open));
                let over = self.open.take_if(|open| of(open));
                over.into_iter()
                    .map(|open| ApprovalEffect::Close(open.id))
                    .collect()
            }
            ApprovalEvent::Cancelled(asker) => {
                self.waiting.retain(|open| open.asker != asker);
                let over = self.open.take_if(|open| open.asker == asker);
                over.into_iter()
                    .map(|open| ApprovalEffect::Close(open.id))
                    .collect()
            }
            ApprovalEvent::TurnOver => {
                self.waiting.clear();
                let over = self.open.take().map(|open| ApprovalEffect::Close(open.id));
                over.into_iter().collect()
            }
        }
    }

    /// Returns true when this requester asked the open question.
    pub(super) fn is_asked_by(&self, asker: &ApprovalRequester) -> bool {
        self.open.as_ref().is_some_and(|open| open.asker == *asker)
    }

    /// Opens and returns the next question; `None` while one is open.
    pub(super) fn next(&mut self, now: SystemTime) -> Option<ApprovalEffect> {
        if self.open.is_some() {
            return None;
        }
        let mut next = self.waiting.pop_front()?;
        self.last += 1;
        (next.id, next.asked_at) = (self.last, now);
        let open = self.open.insert(next);
        Some(ApprovalEffect::Show(Question {
            id: open.id,
            caller: open.caller.clone(),
            about: open.about.clone(),
            // A question of our own tools, asked in an agent's form, takes our usual answers.
            options: match (&open.asker, &open.about) {
                (ApprovalRequester::Tool(_), QuestionSubject::Agent(subject)) => {
                    subject.default_options()
                }
                (asker, _) => asker.options().to_vec(),
            },
            reasons: match (&open.asker, &open.about) {
                (ApprovalRequester::Agent { reasons, .. }, _) => *reasons,
                (_, about) => matches!(about, QuestionSubject::Agent(_)),
            },
        }))
    }
}
