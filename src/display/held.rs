//! What happens while the user is asked: held back, and shown afterwards in the same order.
//!
//! Invariant: what ends the question is acted on at once, or nobody could answer it any more.

use std::collections::VecDeque;

use super::asking::Talk;
use crate::screen::ScreenError;
use crate::session::{AnswerEvent, CellEvent, EndEvent, QuestionEvent, SessionEvent};

/// Events held back; with more, no further ones are taken.
const MOST: usize = 512;

/// Events that wait for the end of a question.
#[derive(Default)]
pub(super) struct Held {
    events: VecDeque<SessionEvent>,
}

impl Held {
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= MOST
    }

    /// What is to be shown next, unless the user is being asked.
    pub(super) fn next(&mut self, talk: &Talk) -> Option<SessionEvent> {
        self.events.pop_front_if(|_| !talk.is_open())
    }

    /// Takes an event while the user is asked: what ends the question does so, the rest waits.
    pub(super) fn hold(&mut self, event: SessionEvent, talk: &mut Talk) -> Result<(), ScreenError> {
        match &event {
            SessionEvent::Question(QuestionEvent::Over(id)) => {
                talk.over(*id)?;
                let asks = |held: &SessionEvent| match held {
                    SessionEvent::Question(QuestionEvent::Asked(question)) => question.id == *id,
                    _ => false,
                };
                self.events.retain(|held| !asks(held));
                return Ok(());
            }
            SessionEvent::End(EndEvent::Turn { .. } | EndEvent::Asked { .. })
            | SessionEvent::RuntimeDied { .. } => {
                self.forget_questions(talk)?;
            }
            SessionEvent::Cell(CellEvent::Ended { .. })
            | SessionEvent::Answer(AnswerEvent::ToolRan { .. } | AnswerEvent::Denied { .. }) => {
                talk.input_over()?;
            }
            // The end of the command brings all of it.
            SessionEvent::Answer(AnswerEvent::CommandOutput { .. }) => return Ok(()),
            // All else waits as it is.
            SessionEvent::Begin(_)
            | SessionEvent::Cell(
                CellEvent::Started
                | CellEvent::Output { .. }
                | CellEvent::Display(_)
                | CellEvent::Clear { .. }
                | CellEvent::Comm(_)
                | CellEvent::Status(_)
                | CellEvent::Late { .. }
                | CellEvent::InputRequested { .. }
                | CellEvent::Raised(_),
            )
            | SessionEvent::Answer(_)
            | SessionEvent::Question(QuestionEvent::Asked(_))
            | SessionEvent::End(EndEvent::Replay(_) | EndEvent::Call { .. } | EndEvent::NotRun)
            | SessionEvent::Told(_)
            | SessionEvent::Notice(_)
            | SessionEvent::After(_) => {}
        }
        self.events.push_back(event);
        Ok(())
    }

    /// Nobody waits for an answer any more.
    pub(super) fn forget_questions(&mut self, talk: &mut Talk) -> Result<(), ScreenError> {
        let asks = |event: &SessionEvent| {
            matches!(
                event,
                SessionEvent::Question(QuestionEvent::Asked(_))
                    | SessionEvent::Cell(CellEvent::InputRequested { .. })
            )
        };
        self.events.retain(|held| !asks(held));
        talk.drop_open()
    }
}
