//! An open `input_request`: a line for code that reads one, or a question to the user with its choices.
//!
//! Invariant: one request is open at a time; a reply goes to the last request only.

use tokio::sync::mpsc::Receiver;

use crate::display::LineQuestion;
use crate::jupyter::ClientRequest;
use crate::runtime::InputReply;
use crate::session::{Reply, SessionHandle};

/// A request that waits for its `input_reply`.
#[derive(Debug)]
pub(super) struct InputRequest {
    /// The id of the message.
    pub(super) id: String,
    pub(super) target: InputTarget,
}

#[derive(Debug)]
pub(super) enum InputTarget {
    /// To the call of this number, which reads a line.
    Line(u64),
    Question(Box<LineQuestion>),
}

pub(super) enum InputOutcome {
    /// A line for the call of this number.
    Line(u64, InputReply),
    /// The answer to the question of this id, and the line to print for it.
    Answered(u64, Reply, String),
    /// The question is asked again, because the text matches none of its answers.
    AskAgain(Box<LineQuestion>),
}

impl InputRequest {
    /// True for replies without a parent, too, since some clients send none.
    pub(super) fn is_answered_by(&self, reply: &ClientRequest) -> bool {
        let parent = reply.message.parent.as_deref();
        reply.message.msg_type == "input_reply"
            && parent.is_none_or(|parent| parent.is_empty() || parent == self.id)
    }

    pub(super) fn resolve(self, reply: &ClientRequest) -> InputOutcome {
        let content = &reply.message.content;
        let refused = content
            .get("status")
            .is_some_and(|status| status == "error");
        let text = reply.message.text("value");
        match self.target {
            InputTarget::Line(call) if refused => InputOutcome::Line(call, InputReply::Eof),
            InputTarget::Line(call) => InputOutcome::Line(call, InputReply::Line(text.to_owned())),
            InputTarget::Question(mut spoken) => match spoken.take(text) {
                Some((line, reply)) => InputOutcome::Answered(spoken.id(), reply, line),
                None => InputOutcome::AskAgain(spoken),
            },
        }
    }

    /// Answers with the end of the input, or with the answer that changes nothing.
    pub(super) fn cancel(self, session: &SessionHandle) {
        match self.target {
            InputTarget::Line(call) => session.reply_input(call, InputReply::Eof),
            InputTarget::Question(spoken) => session.answer(spoken.id(), Reply::Declined),
        }
    }

    pub(super) fn is_question(&self, id: u64) -> bool {
        matches!(&self.target, InputTarget::Question(spoken) if spoken.id() == id)
    }
}

/// Drops replies to earlier requests, which must not answer the next one.
pub(super) fn discard_replies(stdin: &mut Receiver<ClientRequest>) {
    while stdin.try_recv().is_ok() {}
}
