//! Questions on their way to the user and back: one open at a time, the others wait.
//!
//! In: what agents and tools want to know, what the user answers ([`AskingEvent`]). Out: what is to be done
//! ([`AskingAction`]). Invariants: who asked gets exactly one answer, or its turn has ended; where nobody can be asked,
//! everything is answered at once in the way that changes nothing; what the user decided is in the record before
//! anything comes of it. What was typed into a form is not recorded: it may be a secret.

mod allowed;
mod words;
mod work;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::agent::{Choosable, QuestionAnswer, Subject};
use crate::history::Decided;
use crate::session::question::{About, Question, QuestionChoice, Reply};
use crate::session::taken_back::TakenBack;
use crate::session::ticket::CalledBy;

pub(super) use allowed::Allowed;
use words::{decision, told, unasked};

/// Who waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asker {
    /// The agent.
    Agent {
        /// Its id of the question.
        question: String,
        /// How it can be answered.
        options: Vec<Choosable>,
        /// A no may come with its reason.
        reasons: bool,
    },
    /// The tool that is worked off for this caller.
    Tool(CalledBy),
    /// What is done before the first input.
    SetUp,
    /// Whoever takes this exchange back.
    TakesBack(TakenBack),
    /// Whoever resumes a session; its variables are in this file.
    BringsBack(PathBuf),
    /// The prompt that has the floor, before it is sent.
    Prompt,
}

impl Asker {
    /// What can be chosen, where that is the asker's to say.
    fn options(&self) -> &[Choosable] {
        match self {
            Asker::Agent { options, .. } => options,
            Asker::Tool(_)
            | Asker::SetUp
            | Asker::TakesBack(_)
            | Asker::BringsBack(_)
            | Asker::Prompt => &[],
        }
    }

    /// True when it has an answer that says no more than this one.
    fn takes(&self, reply: &Reply) -> bool {
        match self {
            Asker::Agent { options, .. } => reply.for_agent(options) != QuestionAnswer::Declined,
            Asker::Tool(_)
            | Asker::SetUp
            | Asker::TakesBack(_)
            | Asker::BringsBack(_)
            | Asker::Prompt => true,
        }
    }
}

/// What happened.
pub(super) enum AskingEvent {
    /// Somebody wants to know something, while the prompt at `line` is worked on.
    Wanted {
        about: About,
        asker: Asker,
        /// The name of who called the tool that asks, where that is not the agent.
        caller: Option<String>,
        line: u32,
        /// There is somebody who can be asked.
        somebody: bool,
    },
    /// The user answered the question of this id.
    Answered { question: u64, reply: Reply },
    /// The agent no longer waits for the answer to this question of its.
    Withdrawn { question: String },
    /// Who asked no longer waits for an answer.
    Gone(Asker),
    /// The turn is over: nobody waits any more.
    TurnOver,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(super) enum AskingAction {
    /// Ask the user.
    Show(Question),
    /// Say that the question of this id needs no answer any more.
    Over(u64),
    /// Say that nobody could be asked.
    Note(String),
    /// Record what was decided.
    Record(Decided),
    /// Hand the answer to whoever asked.
    Deliver(Asker, Reply),
}

/// The open questions of a session, and what was decided for all of it.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    last: u64,
    open: Option<Open>,
    waiting: VecDeque<Open>,
    pub(super) allowed: Allowed,
}

/// A question that has not been answered.
#[derive(Debug)]
struct Open {
    /// 0 until it is shown.
    id: u64,
    about: About,
    asker: Asker,
    caller: Option<String>,
    line: u32,
    asked_at: SystemTime,
}

impl Open {
    fn decided(&self, reply: &Reply) -> AskingAction {
        let (kind, mut subject) = told(&self.about);
        if let Some(caller) = &self.caller {
            subject.push_str(&format!("\n(asked by {caller})"));
        }
        AskingAction::Record(Decided {
            line: self.line,
            asked_at: self.asked_at,
            kind: kind.to_owned(),
            subject,
            decision: decision(reply, self.asker.options()),
        })
    }
}

impl OpenQuestions {
    /// Takes an event; says what is to be done, in order. The next question follows by [`OpenQuestions::next`], when
    /// all of it has been done.
    pub(super) fn on(&mut self, event: AskingEvent, now: SystemTime) -> Vec<AskingAction> {
        match event {
            AskingEvent::Wanted {
                about,
                asker,
                caller,
                line,
                somebody,
            } => {
                if !somebody {
                    let reply = match about {
                        About::Agent(Subject::Form { .. }) => Reply::Declined,
                        _ => Reply::Chosen(QuestionChoice::No),
                    };
                    let note = unasked(&about).map(AskingAction::Note);
                    return note
                        .into_iter()
                        .chain([AskingAction::Deliver(asker, reply)])
                        .collect();
                }
                let wanted = Open {
                    id: 0,
                    about,
                    asker,
                    caller,
                    line,
                    asked_at: now,
                };
                let reply = Reply::Chosen(QuestionChoice::Session);
                if self.allowed.allows(&wanted.about) && wanted.asker.takes(&reply) {
                    return vec![
                        wanted.decided(&reply),
                        AskingAction::Deliver(wanted.asker, reply),
                    ];
                }
                self.waiting.push_back(wanted);
                Vec::new()
            }
            AskingEvent::Answered { question, reply } => {
                let Some(open) = self.open.take_if(|open| open.id == question) else {
                    return Vec::new();
                };
                if reply == Reply::Chosen(QuestionChoice::Session) {
                    self.allowed.allow(&open.about);
                }
                vec![
                    open.decided(&reply),
                    AskingAction::Deliver(open.asker, reply),
                ]
            }
            AskingEvent::Withdrawn { question } => {
                let of = |open: &Open| matches!(&open.asker, Asker::Agent { question: it, .. } if *it == question);
                self.waiting.retain(|open| !of(open));
                let over = self.open.take_if(|open| of(open));
                over.into_iter()
                    .map(|open| AskingAction::Over(open.id))
                    .collect()
            }
            AskingEvent::Gone(asker) => {
                self.waiting.retain(|open| open.asker != asker);
                let over = self.open.take_if(|open| open.asker == asker);
                over.into_iter()
                    .map(|open| AskingAction::Over(open.id))
                    .collect()
            }
            AskingEvent::TurnOver => {
                self.waiting.clear();
                let over = self.open.take().map(|open| AskingAction::Over(open.id));
                over.into_iter().collect()
            }
        }
    }

    /// The question that is open is this one's.
    pub(super) fn is_asked_by(&self, asker: &Asker) -> bool {
        self.open.as_ref().is_some_and(|open| open.asker == *asker)
    }

    /// The next question, when none is open.
    pub(super) fn next(&mut self, now: SystemTime) -> Option<AskingAction> {
        if self.open.is_some() {
            return None;
        }
        let mut next = self.waiting.pop_front()?;
        self.last += 1;
        (next.id, next.asked_at) = (self.last, now);
        let open = self.open.insert(next);
        Some(AskingAction::Show(Question {
            id: open.id,
            caller: open.caller.clone(),
            about: open.about.clone(),
            // A tool of ours that asks as an agent would is answered in the usual ways.
            options: match (&open.asker, &open.about) {
                (Asker::Tool(_), About::Agent(subject)) => subject.usual_options(),
                (asker, _) => asker.options().to_vec(),
            },
            reasons: match (&open.asker, &open.about) {
                (Asker::Agent { reasons, .. }, _) => *reasons,
                (_, about) => matches!(about, About::Agent(_)),
            },
        }))
    }
}
