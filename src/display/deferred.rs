//! Events of a run that arrive while a question is open: deferred, and rendered afterwards in the same order.
//!
//! Invariant: an event that ends the question takes effect at once, since the question could not be answered any
//! more.

use std::collections::VecDeque;

use super::question_prompt::QuestionPrompt;
use crate::screen::ScreenError;
use crate::session::{AnswerEvent, CellEvent, EndEvent, QuestionEvent, SessionEvent};

/// Most deferred events; when they are reached the caller stops reading events.
const MAX_EVENTS: usize = 512;

#[derive(Default)]
pub(super) struct DeferredEvents {
    events: VecDeque<SessionEvent>,
}

impl DeferredEvents {
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= MAX_EVENTS
    }

    /// Returns the next event, unless a question is open.
    pub(super) fn next(&mut self, prompt: &QuestionPrompt) -> Option<SessionEvent> {
        self.events.pop_front_if(|_| !prompt.is_open())
    }

    /// Takes an event while a question is open: closes the question if the event ends it, else defers the event.
    pub(super) fn defer(
        &mut self,
        event: SessionEvent,
        prompt: &mut QuestionPrompt,
    ) -> Result<(), ScreenError> {
        match &event {
            SessionEvent::Question(QuestionEvent::Over(id)) => {
                prompt.close_question(*id)?;
                let asks = |event: &SessionEvent| match event {
                    SessionEvent::Question(QuestionEvent::Asked(question)) => question.id == *id,
                    _ => false,
                };
                self.events.retain(|event| !asks(event));
                return Ok(());
            }
            SessionEvent::End(EndEvent::Turn { .. } | EndEvent::Asked { .. }) => {
                self.drop_questions(prompt)?;
            }
            // The agent's questions stand; what the interpreter's code wanted to read is not needed any more.
            SessionEvent::RuntimeDied { .. } => {
                self.events.retain(|event| !wants_input(event));
                prompt.close_input()?;
            }
            SessionEvent::Cell(CellEvent::Ended { .. })
            | SessionEvent::Answer(AnswerEvent::ToolRan { .. } | AnswerEvent::Denied { .. }) => {
                prompt.close_input()?;
            }
            // The end of the command has the whole output.
            SessionEvent::Answer(AnswerEvent::CommandOutput { .. }) => return Ok(()),
            // All other events are deferred unchanged.
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
            | SessionEvent::Text(_)
            | SessionEvent::Notice(_)
            | SessionEvent::After(_) => {}
        }
        self.events.push_back(event);
        Ok(())
    }

    /// Drops every question, open or deferred, when answers are not needed any more.
    pub(super) fn drop_questions(
        &mut self,
        prompt: &mut QuestionPrompt,
    ) -> Result<(), ScreenError> {
        self.events.retain(|event| {
            !matches!(event, SessionEvent::Question(QuestionEvent::Asked(_))) && !wants_input(event)
        });
        prompt.dismiss()
    }
}

fn wants_input(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Cell(CellEvent::InputRequested { .. }))
}

#[cfg(test)]
mod tests {
    use super::super::question_prompt::tests::prompt;
    use super::*;
    use crate::runtime::Death;
    use crate::session::{Question, QuestionSubject};

    #[test]
    fn the_agents_question_stands_when_the_interpreter_dies_and_its_own_does_not() {
        let died = || SessionEvent::RuntimeDied {
            death: Death::Signalled(9),
            restarting: true,
        };
        let mut events = DeferredEvents::default();
        let (mut asked, _keyboard) = prompt();
        let question = Question {
            id: 1,
            caller: None,
            about: QuestionSubject::Cells(Vec::new()),
            options: Vec::new(),
            reasons: false,
            lasting: None,
        };
        asked.ask(question).unwrap();
        events.defer(died(), &mut asked).unwrap();
        assert!(asked.is_open());
        let (mut reads, _keyboard) = prompt();
        reads.input(1, "your name? ", false).unwrap();
        events.defer(died(), &mut reads).unwrap();
        assert!(!reads.is_open());
    }
}
