//! An answer as one JSON object: `status`, `answer`, `error`, `tools`, `input_tokens`, `output_tokens`, `cost` (of
//! the conversation so far, where the agent reports prices), `seconds`.
//!
//! In: the events of a prompt's run. Out: the object.

use serde_json::{Value, json};

use crate::dialog::AnswerBlocks;
use crate::display::RunRenderer;
use crate::screen::ScreenError;
use crate::session::{AnswerEvent, EndEvent, SessionEvent, TurnOutcome};

#[derive(Debug, Default)]
pub(super) struct Json {
    messages: AnswerBlocks<()>,
    tools: Vec<String>,
    /// Reason why the prompt was not sent.
    refused: Option<String>,
    end: Option<Value>,
}

impl Json {
    pub(super) fn begin(&mut self) {
        self.messages = AnswerBlocks::default();
    }

    /// Records the answer that fits the schema; returns the exit code.
    pub(super) fn fits(&mut self, answer: &str) -> i32 {
        self.begin();
        self.messages.push_text(0, answer);
        0
    }

    /// Records that the answer does not fit the schema; returns the exit code.
    pub(super) fn fails(&mut self, why: String) -> i32 {
        if let Some(end) = &mut self.end {
            end["status"] = "failed".into();
            end["error"] = why.into();
        }
        1
    }

    pub(super) fn into_value(self) -> Value {
        let mut value = self.end.unwrap_or_else(|| {
            let why = self
                .refused
                .unwrap_or_else(|| "the session ended".to_owned());
            json!({"status": "failed", "error": why})
        });
        value["answer"] = self.messages.text().into();
        value["tools"] = self.tools.into();
        value
    }
}

impl RunRenderer for Json {
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Answer(AnswerEvent::Text { message, delta }) => {
                self.messages.push_text(message, &delta);
            }
            SessionEvent::Answer(AnswerEvent::Restarted { message }) => {
                self.messages.restart_message(message);
            }
            SessionEvent::Answer(AnswerEvent::ToolRan { line, .. }) => self.tools.push(line),
            SessionEvent::Notice(notice) if notice.warning => self.refused = Some(notice.message),
            SessionEvent::End(EndEvent::Turn {
                outcome,
                usage,
                took,
            }) => {
                let (status, error) = match outcome {
                    TurnOutcome::Complete => ("complete", None),
                    TurnOutcome::Interrupted => ("interrupted", None),
                    TurnOutcome::Failed(failure) => ("failed", Some(failure.message)),
                };
                let before = self.end.take().unwrap_or_default();
                let with = |key: &str, now: Option<u64>| {
                    now.map(|now| now + before[key].as_u64().unwrap_or_default())
                };
                self.end = Some(json!({
                    "status": status,
                    "error": error,
                    "input_tokens": with("input_tokens", usage.map(|usage| usage.input)),
                    "output_tokens": with("output_tokens", usage.map(|usage| usage.output)),
                    "cost": usage.and_then(|usage| usage.cost).map(|cost| {
                        json!({"amount": cost.amount(), "currency": cost.currency()})
                    }),
                    "seconds": took.as_secs_f64() + before["seconds"].as_f64().unwrap_or_default(),
                }));
            }
            // Not part of the answer.
            SessionEvent::Begin(_)
            | SessionEvent::Cell(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(
                EndEvent::Asked { .. }
                | EndEvent::Replay(_)
                | EndEvent::Call { .. }
                | EndEvent::NotRun,
            )
            | SessionEvent::Text(_)
            | SessionEvent::Notice(_)
            | SessionEvent::After(_)
            | SessionEvent::RuntimeDied { .. } => {}
        }
        Ok(())
    }

    fn is_live(&self) -> bool {
        false
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        Ok(())
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Notice;

    fn text(message: u64, delta: &str) -> SessionEvent {
        SessionEvent::Answer(AnswerEvent::Text {
            message,
            delta: delta.into(),
        })
    }

    #[test]
    fn messages_are_paragraphs_and_a_restart_voids_only_its_own() {
        let mut json = Json::default();
        let restart = SessionEvent::Answer(AnswerEvent::Restarted { message: 2 });
        for event in [
            text(1, "a"),
            text(1, "b"),
            text(2, "lost"),
            restart,
            text(3, "c"),
        ] {
            json.on_event(event).unwrap();
        }
        assert_eq!(json.into_value()["answer"], "ab\n\nc");
    }

    #[test]
    fn a_prompt_that_was_not_sent_says_why() {
        let mut json = Json::default();
        json.on_event(SessionEvent::Notice(Notice::warning("NameError: x")))
            .unwrap();
        let value = json.into_value();
        assert_eq!(
            (&value["status"], &value["error"]),
            (&json!("failed"), &json!("NameError: x"))
        );
    }
}
