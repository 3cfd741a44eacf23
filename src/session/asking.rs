//! Questions on their way to the user and back: one open at a time, the others wait.
//!
//! Invariants: who asked gets exactly one answer, or its turn has ended; where nobody can be asked, everything is
//! answered at once in the way that changes nothing.

use std::collections::VecDeque;

use crate::agent::{AgentReply, TurnId};
use crate::session::events::SessionEvent;
use crate::session::question::{About, Choice, Question, Reply};
use crate::session::task::Session;

/// Who waits for an answer.
#[derive(Debug, Clone)]
pub(super) enum Asker {
    /// The agent.
    Agent {
        /// The turn it asked in.
        turn: TurnId,
        /// Its id of the question.
        question: String,
    },
}

/// The open questions of a session.
#[derive(Debug)]
pub(super) struct Asking {
    /// There is somebody to ask.
    asks: bool,
    last: u64,
    open: Option<(u64, Asker)>,
    waiting: VecDeque<(About, Asker)>,
}

impl Asking {
    pub(super) fn new(asks: bool) -> Self {
        Asking {
            asks,
            last: 0,
            open: None,
            waiting: VecDeque::new(),
        }
    }
}

impl Session {
    /// Asks, now or after the questions before.
    pub(super) fn ask_user(&mut self, about: About, asker: Asker) {
        if !self.asking.asks {
            let reply = if about.choices().is_empty() {
                Reply::Declined
            } else {
                Reply::Chosen(Choice::No)
            };
            return self.deliver(asker, &reply);
        }
        self.asking.waiting.push_back((about, asker));
        self.ask_next();
    }

    fn ask_next(&mut self) {
        if self.asking.open.is_some() {
            return;
        }
        let Some((about, asker)) = self.asking.waiting.pop_front() else {
            return;
        };
        self.asking.last += 1;
        let id = self.asking.last;
        self.asking.open = Some((id, asker));
        self.out_or_background()
            .send(SessionEvent::Asked(Question { id, about }));
    }

    /// The user answered.
    pub(super) fn on_reply(&mut self, question: u64, reply: Reply) {
        let Some((_, asker)) = self.asking.open.take_if(|(open, _)| *open == question) else {
            return;
        };
        self.deliver(asker, &reply);
        self.ask_next();
    }

    /// Nobody waits any more: the turn is over.
    pub(super) fn drop_questions(&mut self) {
        self.asking.waiting.clear();
        if let Some((id, _)) = self.asking.open.take() {
            self.out_or_background()
                .send(SessionEvent::QuestionOver(id));
        }
    }

    fn deliver(&mut self, asker: Asker, reply: &Reply) {
        match asker {
            Asker::Agent { turn, question } => {
                let answer = reply.for_agent();
                let reply = AgentReply::Answered { question, answer };
                self.exchanges.agent.get().reply(turn, reply);
            }
        }
    }
}
