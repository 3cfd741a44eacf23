//! Questions to the user: one open at a time, the others queued.
//!
//! In: requests of agents, tools and commands, and the user's replies ([`ApprovalEvent`]). Out: effects. Invariants: a
//! requester gets exactly one reply, or its turn has ended; where no user can be asked, every request gets at once the
//! reply that changes nothing; a decision is in the record before its effect. Values typed into a form are not
//! recorded: they may be secrets.

mod description;
mod grants;
mod policy;
mod requester;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::SystemTime;

use crate::agent::Subject;
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::events::{Notice, QuestionEvent};
use crate::lasting::{Coverage, Lasting};
use crate::question::{Question, QuestionChoice, QuestionSubject, Reply};
use crate::record::RecordedDecision;

use description::{decision, describe, refused_note, unasked_note};
pub(super) use grants::SessionGrants;
pub(super) use policy::{ApprovalPolicy, Verdict, may_last};
pub(super) use requester::ApprovalRequester;

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
        /// Why the answer is no without asking.
        refusal: Option<&'static str>,
        /// Whether a yes lasts that covers it, or could.
        coverage: Coverage,
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
    /// What a yes can cover that lasts.
    lasting: Option<Box<Lasting>>,
}

impl PendingApproval {
    fn decided(&self, reply: &Reply) -> Effect {
        let (kind, mut subject) = describe(&self.about);
        if let Some(caller) = &self.caller {
            subject.push_str(&format!("\n(asked by {caller})"));
        }
        Effect::Record(RecordWrite::Decision(RecordedDecision {
            line: self.line,
            asked_at: self.asked_at,
            kind: kind.to_owned(),
            subject,
            decision: decision(reply, self.asker.options()),
        }))
    }

    /// Takes the yes that lasts; where none was offered, it is a no.
    fn made_lasting(mut self) -> Vec<Effect> {
        let Some(lasting) = self.lasting.take() else {
            let no = Reply::Chosen(QuestionChoice::No);
            let decided = self.decided(&no);
            return vec![decided, Effect::Raise(Event::Replied(self.asker, no))];
        };
        vec![
            self.decided(&Reply::Chosen(QuestionChoice::Always)),
            Effect::Raise(Event::MadeLasting(lasting)),
            Effect::Raise(Event::Replied(
                self.asker,
                Reply::Chosen(QuestionChoice::Once),
            )),
        ]
    }

    /// The question needs no answer any more.
    fn closed(&self) -> Effect {
        Effect::show(QuestionEvent::Over(self.id))
    }
}

impl ApprovalQueue {
    /// Returns the effects of an event, in order. The next question comes after the consequences of a reply.
    pub(super) fn on(&mut self, event: ApprovalEvent, now: SystemTime) -> Vec<Effect> {
        let mut effects = self.take(event, now);
        match effects.last() {
            Some(Effect::Raise(_)) => effects.push(Effect::Raise(Event::NextQuestion)),
            _ => effects.extend(self.next(now)),
        }
        effects
    }

    fn take(&mut self, event: ApprovalEvent, now: SystemTime) -> Vec<Effect> {
        match event {
            ApprovalEvent::Requested {
                about,
                asker,
                caller,
                line,
                can_ask,
                refusal,
                coverage,
            } => {
                let allowed = coverage == Coverage::Allowed;
                let mut wanted = PendingApproval {
                    id: 0,
                    about,
                    asker,
                    caller,
                    line,
                    asked_at: now,
                    lasting: None,
                };
                if let Some(why) = refusal {
                    let note = Effect::show(Notice::note(refused_note(&wanted.about)));
                    let reply = Reply::NoBecause(why.to_owned());
                    return vec![
                        wanted.decided(&reply),
                        note,
                        Effect::Raise(Event::Replied(wanted.asker, reply)),
                    ];
                }
                let once = Reply::Chosen(QuestionChoice::Once);
                if allowed && wanted.asker.takes(&once) {
                    return vec![
                        wanted.decided(&Reply::Chosen(QuestionChoice::Always)),
                        Effect::Raise(Event::Replied(wanted.asker, once)),
                    ];
                }
                if !can_ask {
                    let reply = match wanted.about {
                        QuestionSubject::Agent(Subject::Form { .. }) => Reply::Declined,
                        _ => Reply::Chosen(QuestionChoice::No),
                    };
                    let note = unasked_note(&wanted.about);
                    let note = note.map(|line| Effect::show(Notice::note(line)));
                    let replied = Effect::Raise(Event::Replied(wanted.asker, reply));
                    return note.into_iter().chain([replied]).collect();
                }
                if let Coverage::Offered(lasting) = coverage
                    && wanted.asker.takes(&once)
                {
                    wanted.lasting = Some(lasting);
                }
                let reply = Reply::Chosen(QuestionChoice::Session);
                if self.grants.allows(&wanted.about) && wanted.asker.takes(&reply) {
                    return vec![
                        wanted.decided(&reply),
                        Effect::Raise(Event::Replied(wanted.asker, reply)),
                    ];
                }
                self.waiting.push_back(wanted);
                Vec::new()
            }
            ApprovalEvent::Answered { question, reply } => {
                let Some(open) = self.open.take_if(|open| open.id == question) else {
                    return Vec::new();
                };
                if reply == Reply::Chosen(QuestionChoice::Always) {
                    return open.made_lasting();
                }
                if reply == Reply::Chosen(QuestionChoice::Session) {
                    self.grants.allow(&open.about);
                }
                vec![
                    open.decided(&reply),
                    Effect::Raise(Event::Replied(open.asker, reply)),
                ]
            }
            ApprovalEvent::Withdrawn { question } => {
                let of = |open: &PendingApproval| match &open.asker {
                    ApprovalRequester::Agent { question: it, .. } => *it == question,
                    _ => false,
                };
                self.waiting.retain(|open| !of(open));
                let over = self.open.take_if(|open| of(open));
                over.into_iter().map(|open| open.closed()).collect()
            }
            ApprovalEvent::Cancelled(asker) => {
                self.waiting.retain(|open| open.asker != asker);
                let over = self.open.take_if(|open| open.asker == asker);
                over.into_iter().map(|open| open.closed()).collect()
            }
            ApprovalEvent::TurnOver => {
                self.waiting.clear();
                let over = self.open.take();
                over.into_iter().map(|open| open.closed()).collect()
            }
        }
    }

    /// Returns true when this requester asked the open question.
    pub(super) fn is_asked_by(&self, asker: &ApprovalRequester) -> bool {
        self.open.as_ref().is_some_and(|open| open.asker == *asker)
    }

    /// Opens and shows the next question, unless one is open.
    pub(super) fn next(&mut self, now: SystemTime) -> Vec<Effect> {
        if self.open.is_some() {
            return Vec::new();
        }
        let Some(mut next) = self.waiting.pop_front() else {
            return Vec::new();
        };
        self.last += 1;
        (next.id, next.asked_at) = (self.last, now);
        let open = self.open.insert(next);
        let question = Question {
            id: open.id,
            caller: open.caller.clone(),
            lasting: open.lasting.clone(),
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
        };
        let asked = |to| Effect::Emit(to, QuestionEvent::Asked(question.clone()).into());
        vec![asked(To::Caller), asked(To::Job)]
    }
}
