//! A question for a front-end with lines in place of keys: asked and answered by a line.
//!
//! Invariant: only the key of a choice, `yes` and `no` choose one, an empty line chooses the answer that changes
//! nothing; a word that merely begins like a choice is refused.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{KeyOutcome, OpenQuestion, Stage};
use crate::markdown::Appearance;
use crate::session::{Question, Reply};

const WIDTH: usize = 100;

#[derive(Debug)]
pub struct LineQuestion(OpenQuestion);

impl LineQuestion {
    pub fn new(question: Question) -> Self {
        LineQuestion(OpenQuestion::new(question))
    }

    /// The id of the question.
    pub fn id(&self) -> u64 {
        self.0.id()
    }

    pub fn body(&self) -> String {
        let rows = self.0.body(WIDTH, &Appearance::default());
        let rows = rows.iter().map(|row| row.plain().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    /// The line to ask with.
    pub fn line(&self) -> String {
        self.0.line()
    }

    /// True while the typed text must not be shown.
    pub fn secret(&self) -> bool {
        match &self.0.stage {
            Stage::Form(form) => form.secret(),
            Stage::Choosing { .. } | Stage::Why(_) => false,
        }
    }

    /// Takes a line; returns the line that stays and the answer, once there is one.
    pub fn take(&mut self, text: &str) -> Option<(String, Reply)> {
        let text = text.trim();
        let choosing = matches!(self.0.stage, Stage::Choosing { .. });
        let typed = match text.to_lowercase().as_str() {
            "yes" if choosing => "y",
            "no" if choosing => "n",
            _ if choosing && text.chars().count() > 1 => return None,
            _ => text,
        };
        let keys = typed.chars().map(KeyCode::Char);
        // A choice needs only its key.
        let enter = (!choosing || typed.is_empty()).then_some(KeyCode::Enter);
        for key in keys.chain(enter) {
            let key = Event::Key(KeyEvent::new(key, KeyModifiers::NONE));
            if let KeyOutcome::Over(verdict, reply) = self.0.take(&key) {
                return Some((verdict, reply));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{ProposedCell, QuestionChoice, QuestionSubject};

    #[test]
    fn keys_and_words_choose_and_other_words_do_not() {
        let cells = || {
            let cell = ProposedCell {
                code: "x = 1".into(),
                title: String::new(),
                reset: false,
            };
            LineQuestion::new(Question::usual(3, QuestionSubject::Cells(vec![cell])))
        };
        let chosen = |text: &str| cells().take(text).map(|(_, reply)| reply);
        let of = |choice| Some(Reply::Chosen(choice));
        assert_eq!(chosen("y"), of(QuestionChoice::Once));
        assert_eq!(chosen(" YES "), of(QuestionChoice::Once));
        assert_eq!(chosen(""), of(QuestionChoice::No));
        assert_eq!(chosen("maybe"), None);
        assert_eq!(chosen("always"), None);
        assert!(cells().body().contains("1 x = 1"), "{}", cells().body());
        let mut why = cells();
        let key = why.0.question.choices();
        let key = key
            .iter()
            .position(|choice| *choice == QuestionChoice::NoBecause);
        assert!(key.is_some());
        let (key, _) = super::super::words::choice(&why.0.question, QuestionChoice::NoBecause);
        assert_eq!(why.take(&key.to_string()), None);
        assert!(why.line().starts_with("why not?"), "{}", why.line());
        let told = why.take("not now").map(|(_, reply)| reply);
        assert_eq!(told, Some(Reply::NoBecause("not now".into())));
    }
}
