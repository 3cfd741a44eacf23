//! What happens while the user is asked: held back, and shown afterwards in the same order.
//!
//! Invariant: what ends the question is acted on at once, or nobody could answer it any more.

use crate::display::Display;
use crate::screen::ScreenError;
use crate::session::{AnswerEvent, SessionEvent};

impl Display {
    /// Shows what was held back, until the next question.
    pub(super) fn release(&mut self) -> Result<(), ScreenError> {
        while !self.talk.is_open()
            && let Some(event) = self.held.pop_front()
        {
            self.show(event)?;
        }
        Ok(())
    }

    /// An event while the user is asked: what ends the question does so, the rest waits.
    pub(super) fn hold(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match &event {
            SessionEvent::QuestionOver(id) => {
                self.talk.over(*id)?;
                self.held.retain(
                    |held| !matches!(held, SessionEvent::Asked(question) if question.id == *id),
                );
                return self.release();
            }
            SessionEvent::TurnEnded { .. } | SessionEvent::RuntimeDied { .. } => {
                self.forget_questions()?;
            }
            SessionEvent::CellEnded { .. }
            | SessionEvent::Answer(AnswerEvent::ToolRan { .. } | AnswerEvent::Denied { .. }) => {
                self.talk.input_over()?;
            }
            // The end of the command brings all of it.
            SessionEvent::Answer(AnswerEvent::CommandOutput { .. }) => return Ok(()),
            // All else waits as it is.
            SessionEvent::Numbered { .. }
            | SessionEvent::CellStarted
            | SessionEvent::Output { .. }
            | SessionEvent::Display(_)
            | SessionEvent::Clear { .. }
            | SessionEvent::Page(_)
            | SessionEvent::InputRequested { .. }
            | SessionEvent::Raised(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Asked(_)
            | SessionEvent::AgentCell { .. }
            | SessionEvent::Replaying { .. }
            | SessionEvent::Earlier(_)
            | SessionEvent::ReplayEnded(_)
            | SessionEvent::Text(_)
            | SessionEvent::Verbatim(_)
            | SessionEvent::Help(_)
            | SessionEvent::Notice(_)
            | SessionEvent::Refill(_)
            | SessionEvent::NotRun
            | SessionEvent::ToolReturned { .. }
            | SessionEvent::Leave(_) => {}
        }
        self.held.push_back(event);
        self.release()
    }

    /// Nobody waits for an answer any more.
    pub(super) fn forget_questions(&mut self) -> Result<(), ScreenError> {
        let asks = |event: &SessionEvent| {
            matches!(
                event,
                SessionEvent::Asked(_) | SessionEvent::InputRequested { .. }
            )
        };
        self.held.retain(|held| !asks(held));
        self.talk.drop_open()
    }
}
