//! Runs on a terminal: takes the events of a run, shows them, and says what is left to do.
//!
//! Shared by every front-end that writes to a terminal. `cell.rs` shows what cells put out, `answer.rs` streams answers.
//! Absent on purpose: keys, and output that is not a terminal.

mod answer;
mod cell;
mod follow;
mod help;

use std::sync::Arc;

use nu_ansi_term::{Color, Style};

use crate::markdown::Appearance;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};
use crate::session::{Notice, RunKind, SessionEvent};
use crate::text::escape::visible_lines;
use answer::AnswerView;
use cell::CellView;

pub use follow::follow;

/// What a run leaves to the shell.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Aftermath {
    /// Text for the editor.
    pub refill: String,
    /// Typed while the cell ran and not read by it.
    pub typeahead: Vec<u8>,
    /// The user asked to leave with this status.
    pub leave: Option<i32>,
}

/// Shows one run on a terminal.
pub struct Display {
    screen: Screen,
    cell: CellView,
    answer: Option<AnswerView>,
    appearance: Appearance,
    aftermath: Aftermath,
}

/// Shows a run, wherever to.
pub trait Showing {
    /// Shows an event.
    ///
    /// # Errors
    /// When nothing can be written any more.
    fn on(&mut self, event: SessionEvent) -> Result<(), ScreenError>;

    /// Something is shown that has to be redrawn from time to time.
    fn is_live(&self) -> bool;

    /// What is live is redrawn.
    ///
    /// # Errors
    /// As [`Showing::on`].
    fn tick(&mut self) -> Result<(), ScreenError>;

    /// Nothing more comes: everything shown becomes final.
    ///
    /// # Errors
    /// As [`Showing::on`].
    fn settle(&mut self) -> Result<(), ScreenError>;
}

impl Display {
    /// A view on `screen`; `guard` is told when a program in a cell owns the terminal.
    pub fn new(screen: Screen, appearance: Appearance, guard: Option<Arc<TerminalGuard>>) -> Self {
        Display {
            cell: CellView::new(screen.clone(), appearance, guard),
            answer: None,
            appearance,
            screen,
            aftermath: Aftermath::default(),
        }
    }

    /// What is left when the run is over.
    pub fn into_aftermath(self) -> Aftermath {
        self.aftermath
    }
}

impl Showing for Display {
    fn is_live(&self) -> bool {
        self.answer.is_some()
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        self.answer.as_mut().map_or(Ok(()), AnswerView::tick)
    }

    fn on(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Output { bytes, foreign, .. } => match &mut self.answer {
                Some(answer) => answer.output(&bytes),
                None => self.cell.output(&bytes, foreign),
            },
            SessionEvent::Display(display) => {
                self.settle()?;
                self.cell.display(&display)
            }
            SessionEvent::Page(bundle) => self.cell.page(&bundle),
            SessionEvent::Raised(error) => {
                self.settle()?;
                self.cell.raised(&error)
            }
            SessionEvent::Clear { .. } => self.cell.clear(),
            SessionEvent::CellEnded { typeahead, .. } => {
                self.aftermath.typeahead.extend(typeahead);
                self.cell.end()
            }
            SessionEvent::Answer(event) => {
                let answer = self
                    .answer
                    .get_or_insert_with(|| AnswerView::new(self.screen.clone(), self.appearance));
                answer.on(event)
            }
            SessionEvent::TurnEnded {
                outcome,
                usage,
                took,
            } => match self.answer.take() {
                Some(mut answer) => answer.end(&outcome, usage, took),
                None => Ok(()),
            },
            SessionEvent::Text(text) => {
                self.settle()?;
                self.screen.untrusted(&text)?;
                self.screen.trusted(b"\n")
            }
            SessionEvent::Help(page) => {
                self.settle()?;
                let columns = usize::from(self.screen.size().columns);
                self.screen
                    .trusted(help::page(&page, columns, self.screen.colour()).as_bytes())
            }
            SessionEvent::Notice(notice) => {
                self.settle()?;
                say(&self.screen, &notice)
            }
            SessionEvent::Refill(text) => {
                self.aftermath.refill = text;
                Ok(())
            }
            SessionEvent::Leave(status) => {
                self.aftermath.leave = Some(status);
                Ok(())
            }
            SessionEvent::RuntimeDied { death, restarting } => {
                self.settle()?;
                say(&self.screen, &died(&death.to_string(), restarting))
            }
            SessionEvent::Numbered {
                kind: RunKind::Prompt,
                ..
            } => {
                self.answer = Some(AnswerView::new(self.screen.clone(), self.appearance));
                Ok(())
            }
            SessionEvent::Numbered { .. }
            | SessionEvent::CellStarted
            | SessionEvent::Asked(_)
            | SessionEvent::QuestionOver(_)
            | SessionEvent::AgentCell { .. }
            | SessionEvent::InputRequested { .. } => Ok(()),
        }
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        match &mut self.answer {
            Some(answer) => answer.settle(),
            None => self.cell.start_line(),
        }
    }
}

/// What is said of a dead interpreter.
pub fn died(cause: &str, restarting: bool) -> Notice {
    let notice = Notice::warning(format!(
        "the Python interpreter ended ({cause}); its variables are lost"
    ));
    if restarting {
        notice.hint("a fresh one is starting; the cell was not run again (Up brings it back)")
    } else {
        notice.hint("it ended twice within a minute: the next cell starts a new one")
    }
}

/// Prints a notice: its line, then its hints.
pub fn say(screen: &Screen, notice: &Notice) -> Result<(), ScreenError> {
    screen.trusted(notice_text(notice, screen.colour()).as_bytes())?;
    screen.flush()
}

/// A notice as safe text, ending in a newline.
pub fn notice_text(notice: &Notice, colour: bool) -> String {
    let style = match (colour, notice.warning) {
        (false, _) => Style::new(),
        (true, true) => Color::Yellow.normal(),
        (true, false) => Style::new().dimmed(),
    };
    let mut text = style
        .paint(visible_lines(&notice.message).as_ref())
        .to_string();
    for hint in &notice.hints {
        text.push_str(&format!("\n  hint: {}", visible_lines(hint)));
    }
    text.push('\n');
    text
}
