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
use crate::record::RecordedDecision;
use crate::session::ids::ToolCaller;
use crate::session::question::{Question, QuestionChoice, QuestionSubject, Reply};
use crate::session::undo::UndoRequest;

use description::{decision, describe, unasked_note};
pub(super) use grants::SessionGrants;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApprovalRequester {
    /// The agent.
    Agent {
        /// Its id of the question.
        question: String,
        /// How it can be answered.
        options: Vec<QuestionOption>,
        /// A no may come with its reason.
        reasons: bool,
    },
    /// The active tool of this caller.
    Tool(ToolCaller),
    /// The start-up files of the project.
    Startup,
    /// A command that undoes this exchange.
    Undo(UndoRequest),
    /// A resumed session whose variables are in this file.
    RestoreVariables(PathBuf),
    /// The active prompt, before it is sent.
    Prompt,
}

impl ApprovalRequester {
    /// The options, where the requester has its own.
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

    /// True when an option of the requester grants no more than this reply.
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
    /// Somebody wants to know something, while the prompt at `line` is worked on.
    Requested {
        about: QuestionSubject,
        asker: ApprovalRequester,
        /// The name of who called the tool that asks, where that is not the agent.
        caller: Option<String>,
        line: u32,
        /// There is can_ask who can be asked.
        can_ask: bool,
    },
    /// The user answered the question of this id.
    Answered { question: u64, reply: Reply },
    /// The agent no longer waits for the answer to this question of its.
    Withdrawn { question: String },
    /// Who asked no longer waits for an answer.
    Cancelled(ApprovalRequester),
    /// The turn is over: nobody waits any more.
    TurnOver,
}

#[derive(Debug, PartialEq)]
pub(super) enum ApprovalEffect {
    Show(Question),
    /// The question of this id needs no answer any more.
    Close(u64),
    /// Notice that nobody could be asked.
    Note(String),
    Record(RecordedDecision),
    Deliver(ApprovalRequester, Reply),
}

/// The open questions of a session, and what was decided for all of it.
#[derive(Debug, Default)]
pub(super) struct ApprovalQueue {
    last: u64,
    open: Option<PendingApproval>,
    waiting: VecDeque<PendingApproval>,
    pub(super) grants: SessionGrants,
}

/// A question that has not been answered.
#[derive(Debug)]
struct PendingApproval {
    /// 0 until it is shown.
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
    /// Takes an event; says what is to be done, in order. The next question follows by [`ApprovalQueue::next`], when
    /// all of it has been done.
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
                let of = |open: &PendingApproval| matches!(&open.asker, ApprovalRequester::Agent { question: it, .. } if *it == question);
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

    /// The question that is open is this one's.
    pub(super) fn is_asked_by(&self, asker: &ApprovalRequester) -> bool {
        self.open.as_ref().is_some_and(|open| open.asker == *asker)
    }

    /// The next question, when none is open.
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
            // A tool of ours that asks as an agent would is answered in the usual ways.
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
