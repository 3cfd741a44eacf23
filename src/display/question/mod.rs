//! A question as a machine: keys in, rows and an answer out.
//!
//! Pure: no clock, no terminal, no session. [`OpenQuestion::body`] is the full question, to be printed once;
//! [`OpenQuestion::frame`] is the changing part below. Invariants: the choice marked at first changes nothing;
//! pasted text never answers a yes-or-no question; each question returns one reply.
//!
//! `keys` decodes, `entry` edits a line, `form` fills in fields, `body` lays the question out, `words` has the
//! short texts around it; `line_question` is for front-ends with lines in place of keys.

pub(super) mod body;
mod form;
mod line_question;
pub(super) mod words;

#[cfg(test)]
mod tests;

use crossterm::event::{Event, KeyCode};
use nu_ansi_term::Style;

pub(super) use self::form::QuestionFrame;
use self::form::{Form, FrameStep};
pub use self::line_question::LineQuestion;
use crate::agent::Subject;
use crate::display::rows::Rows;
use crate::keys::entry::Entry;
use crate::keys::{is_control, plain};
use crate::markdown::Appearance;
use crate::session::{Question, QuestionChoice, QuestionSubject, Reply};
use crate::text::MARKED;
use crate::text::escape::visible;
use crate::text::{Line, columns};

/// The outcome of a key, for the code that shows the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    /// Still open; the frame may have changed.
    Open,
    /// Still open; the line stays, then [`OpenQuestion::more`] is printed.
    Next(String),
    /// Answered; the line stays.
    Over(String, Reply),
    /// Ctrl-C in a form that the keyboard's reader does not recognize: the turn is to stop.
    Interrupt,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenQuestion {
    question: Question,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// Choosing one of the choices.
    Choosing {
        /// Index of the choice that Enter takes.
        marked: usize,
    },
    /// Typing a reason for a no.
    Why(Entry),
    Form(Box<Form>),
}

impl OpenQuestion {
    pub(super) fn new(question: Question) -> Self {
        let stage = match &question.about {
            QuestionSubject::Agent(Subject::Form { fields, .. }) => {
                Stage::Form(Box::new(Form::new(fields.clone())))
            }
            _ => choosing(&question),
        };
        OpenQuestion { question, stage }
    }

    pub(super) fn id(&self) -> u64 {
        self.question.id
    }

    pub(super) fn body(&self, width: usize, appearance: &Appearance) -> Vec<Line> {
        let mut rows = body::rows(&self.question, width, appearance);
        rows.extend(self.more(width));
        rows
    }

    /// The current field in full; empty for other questions.
    pub(super) fn more(&self, width: usize) -> Vec<Line> {
        match &self.stage {
            Stage::Form(form) => form.body(width),
            _ => Vec::new(),
        }
    }

    pub(super) fn frame(&self, width: usize) -> QuestionFrame {
        let mut rows = Rows::new(width);
        let mut back = 0;
        match &self.stage {
            Stage::Form(form) => return form.frame(width),
            Stage::Choosing { marked } => {
                rows.text(0, words::ask(&self.question.about), Style::new().bold());
                for (at, choice) in self.question.choices().iter().enumerate() {
                    let (key, words) = words::choice(&self.question, *choice);
                    let (pointer, style) = if at == *marked {
                        ("▸", MARKED.bold())
                    } else {
                        (" ", Style::new())
                    };
                    rows.text(0, &format!("{pointer} {key} {words}"), style);
                }
            }
            Stage::Why(entry) => {
                let label = "why not? ";
                let hint = "Enter sends it, Esc goes back";
                rows.text(0, hint, Style::new().dimmed());
                let room = width.saturating_sub(columns(label)).max(4);
                let (shown, behind) = entry.window(room);
                back = behind;
                let runs = [(shown.to_owned(), Style::new())];
                rows.runs((label, Style::new().bold()), "", &runs);
            }
        }
        QuestionFrame {
            rows: rows.into_rows(),
            back,
        }
    }

    pub(super) fn line(&self) -> String {
        match &self.stage {
            Stage::Choosing { .. } => {
                let choices: Vec<String> = self
                    .question
                    .choices()
                    .iter()
                    .map(|choice| {
                        let (key, words) = words::choice(&self.question, *choice);
                        format!("[{key}] {words}")
                    })
                    .collect();
                format!(
                    "{} {} ",
                    words::ask(&self.question.about),
                    choices.join("  ")
                )
            }
            Stage::Why(entry) => format!("why not? {}", entry.shown()),
            Stage::Form(form) => form.line(),
        }
    }

    pub(super) fn take(&mut self, key: &Event) -> KeyOutcome {
        if is_control(key, 'c') {
            return KeyOutcome::Interrupt;
        }
        let step = match &mut self.stage {
            Stage::Choosing { marked } => match choose(&self.question, marked, plain(key)) {
                None => FrameStep::Changed,
                Some(QuestionChoice::NoBecause) => {
                    self.stage = Stage::Why(Entry::new(false));
                    FrameStep::Changed
                }
                Some(choice) => FrameStep::Answered(Reply::Chosen(choice)),
            },
            Stage::Why(entry) => match plain(key) {
                KeyCode::Esc => {
                    self.stage = choosing(&self.question);
                    FrameStep::Changed
                }
                KeyCode::Enter if entry.text().trim().is_empty() => {
                    FrameStep::Answered(Reply::Chosen(QuestionChoice::No))
                }
                KeyCode::Enter => {
                    FrameStep::Answered(Reply::NoBecause(entry.text().trim().to_owned()))
                }
                _ => {
                    entry.take(key);
                    FrameStep::Changed
                }
            },
            Stage::Form(form) => form.take(key),
        };
        match step {
            FrameStep::Changed => KeyOutcome::Open,
            FrameStep::Next(verdict) => KeyOutcome::Next(verdict),
            FrameStep::Filled(verdict, reply) => KeyOutcome::Over(verdict, reply),
            FrameStep::Answered(reply) => KeyOutcome::Over(self.verdict(&reply), reply),
        }
    }

    /// The line that stays when an answer is not needed any more.
    pub(super) fn dismissed(&self) -> String {
        format!("· not answered: {}", self.brief())
    }

    fn verdict(&self, reply: &Reply) -> String {
        let verdict = match reply {
            Reply::Chosen(choice) => words::verdict(&self.question, *choice),
            Reply::NoBecause(why) => {
                return format!("✗ not allowed ({}): {}", visible(why), self.brief());
            }
            Reply::Filled(_) => "✓ answered".into(),
            Reply::Declined => "✗ declined".into(),
        };
        format!("{verdict}: {}", self.brief())
    }

    fn brief(&self) -> String {
        match (&self.question.about, &self.stage) {
            (QuestionSubject::Agent(Subject::Form { .. }), Stage::Form(form)) => {
                let message = words::brief(&self.question.about);
                if message.is_empty() {
                    visible(form.first_question()).into_owned()
                } else {
                    message
                }
            }
            (about, _) => words::brief(about),
        }
    }
}

/// Offers the choices with a "no" marked.
fn choosing(question: &Question) -> Stage {
    let choices = question.choices();
    let rejects = |choice: &QuestionChoice| match choice {
        QuestionChoice::No => true,
        QuestionChoice::Named(number) => {
            let option = question.options.get(*number);
            option.is_some_and(|option| !option.kind.allows())
        }
        _ => false,
    };
    // Without a "no" among them nothing is marked; Esc still means no.
    let marked = choices.iter().position(rejects).unwrap_or(choices.len());
    Stage::Choosing { marked }
}

/// Returns the choice that a key makes, or moves the mark.
fn choose(question: &Question, marked: &mut usize, key: KeyCode) -> Option<QuestionChoice> {
    let choices = question.choices();
    let count = choices.len().max(1);
    match key {
        KeyCode::Up | KeyCode::Left | KeyCode::BackTab => *marked = (*marked + count - 1) % count,
        KeyCode::Down | KeyCode::Right | KeyCode::Tab => *marked = (*marked + 1) % count,
        KeyCode::Enter => return choices.get(*marked).copied(),
        KeyCode::Esc => return Some(QuestionChoice::No),
        KeyCode::Char(c) => {
            let pressed = c.to_ascii_lowercase();
            return choices
                .iter()
                .copied()
                .find(|choice| words::choice(question, *choice).0 == pressed);
        }
        _ => {}
    }
    None
}
