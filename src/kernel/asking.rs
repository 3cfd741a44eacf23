//! What is asked of the user through the client: lines for code that reads them, questions with their choices.
//!
//! Invariant: one thing is asked at a time; an answer goes to what was asked last, and to nothing else.

use crate::display::Spoken;
use crate::jupyter::Request;
use crate::runtime::InputReply;
use crate::session::{Reply, SessionHandle};

/// What waits for an answer.
#[derive(Debug)]
pub(super) struct Asked {
    /// The name of the message that asks.
    pub(super) id: String,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A line for the call of this number.
    Line(u64),
    /// A question.
    Question(Box<Spoken>),
}

/// What an answer led to.
pub(super) enum Heard {
    /// This is for the call of this number.
    Line(u64, InputReply),
    /// The question of this id is answered; the line that stays of it.
    Answered(u64, Reply, String),
    /// This is to be asked, of a text that is not shown where it is true.
    Again(Box<Spoken>),
}

impl Asked {
    /// Whether a message answers this: some clients do not say what they answer.
    pub(super) fn is_answered_by(&self, reply: &Request) -> bool {
        let parent = reply.message.parent.as_deref();
        reply.message.kind == "input_reply"
            && parent.is_none_or(|parent| parent.is_empty() || parent == self.id)
    }

    /// Takes the answer.
    pub(super) fn answer(self, reply: &Request) -> Heard {
        let content = &reply.message.content;
        let refused = content
            .get("status")
            .is_some_and(|status| status == "error");
        let text = reply.message.text("value");
        match self.what {
            What::Line(call) if refused => Heard::Line(call, InputReply::Eof),
            What::Line(call) => Heard::Line(call, InputReply::Line(text.to_owned())),
            What::Question(mut spoken) => match spoken.take(text) {
                Some((said, reply)) => Heard::Answered(spoken.id(), reply, said),
                None => Heard::Again(spoken),
            },
        }
    }

    /// Nobody will answer: what changes nothing is the answer.
    pub(super) fn nobody(self, session: &SessionHandle) {
        match self.what {
            What::Line(call) => session.reply_input(call, InputReply::Eof),
            What::Question(spoken) => session.answer(spoken.id(), Reply::Declined),
        }
    }

    /// It is this question.
    pub(super) fn is_question(&self, id: u64) -> bool {
        matches!(&self.what, What::Question(spoken) if spoken.id() == id)
    }
}
