//! Renders a run without a terminal: bytes unchanged, values as text, answers raw.
//!
//! In: the events of a run. Out: standard output and standard error.

use crate::agent::PlanStep;
use crate::display::{RunRenderer, death_notice, plan_line};
use crate::output::mime::TerminalForm;
use crate::output::traceback::CellError;
use crate::runtime::OutputStream;
use crate::screen::{Screen, ScreenError};
use crate::session::{
    AnswerEvent, BeginEvent, CellEvent, EndEvent, Notice, SessionEvent, TextEvent, TurnOutcome,
};
use crate::text::cut_characters;

/// Characters of a cell's prompt that the notice quotes.
const FIRST: usize = 100;

pub(super) struct Plain {
    screen: Screen,
    /// The answer's text does not end in a newline yet.
    open_line: bool,
    message: Option<u64>,
    /// A cell sent the prompt: the answer goes to the cell, and is not printed.
    asked: bool,
    /// The plan of the turn, shown at its end.
    plan: Vec<PlanStep>,
}

impl Plain {
    pub(super) fn new(screen: Screen) -> Self {
        Plain {
            screen,
            open_line: false,
            message: None,
            asked: false,
            plan: Vec::new(),
        }
    }

    fn answer(&mut self, event: AnswerEvent) -> Result<(), ScreenError> {
        match event {
            AnswerEvent::Text { message, delta } => {
                if self.message.is_some_and(|earlier| earlier != message) {
                    self.say(if self.open_line { b"\n\n" } else { b"\n" })?;
                }
                self.message = Some(message);
                self.open_line = !delta.ends_with('\n') && (self.open_line || !delta.is_empty());
                self.say(delta.as_bytes())
            }
            AnswerEvent::Planned(steps) => {
                self.plan = steps;
                Ok(())
            }
            AnswerEvent::Restarted { .. } => self
                .screen
                .print_notice("the connection was lost; the answer starts again"),
            AnswerEvent::ToolRan { line, .. } => self.screen.print_notice(&line),
            AnswerEvent::Progress(message) => self.screen.print_notice(&message),
            AnswerEvent::AgentStarts(Some(waits)) => {
                self.screen.print_notice(&format!("{waits}; Ctrl-C stops"))
            }
            AnswerEvent::FileWritten(written) => self.screen.print_notice(&written.summary()),
            AnswerEvent::Worked(activity) => match activity.summary_line() {
                Some(line) => self.screen.print_notice(&line),
                None => Ok(()),
            },
            AnswerEvent::Thought { .. }
            | AnswerEvent::AgentStarts(None)
            | AnswerEvent::CommandStarted { .. }
            | AnswerEvent::CommandOutput { .. }
            | AnswerEvent::CommandRan { .. }
            | AnswerEvent::Denied { .. }
            | AnswerEvent::ToolStarted { .. }
            | AnswerEvent::Picture(_)
            | AnswerEvent::Steered { .. }
            | AnswerEvent::CellsProgress(_)
            | AnswerEvent::FilesChanged(_) => Ok(()),
        }
    }

    fn say(&self, text: &[u8]) -> Result<(), ScreenError> {
        match self.asked {
            true => self.screen.write_stderr(text),
            false => self.screen.write_stdout(text),
        }
    }

    fn end_answer(&mut self) -> Result<(), ScreenError> {
        self.message = None;
        match std::mem::take(&mut self.open_line) {
            true => self.say(b"\n"),
            false => Ok(()),
        }
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), ScreenError> {
        self.screen.print_notice(&notice.message)?;
        notice
            .hints
            .iter()
            .try_for_each(|hint| self.screen.print_notice(&format!("  hint: {hint}")))
    }

    fn value(&mut self, form: TerminalForm) -> Result<(), ScreenError> {
        match form {
            TerminalForm::Nothing => Ok(()),
            TerminalForm::Plain(text)
            | TerminalForm::Json { text, .. }
            | TerminalForm::Markdown(text)
            | TerminalForm::Image { text, .. }
            | TerminalForm::Drawing { text, .. } => {
                self.screen.write_stdout(text.as_bytes())?;
                self.screen.write_stdout(b"\n")
            }
        }
    }
}

impl RunRenderer for Plain {
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Cell(CellEvent::Output {
                stream: OutputStream::Stderr,
                bytes,
                ..
            }) => self.screen.write_stderr(&bytes),
            SessionEvent::Cell(CellEvent::Output { bytes, .. }) => self.screen.write_stdout(&bytes),
            SessionEvent::Cell(CellEvent::Display(display)) => {
                self.value(display.bundle.for_terminal(usize::MAX))
            }
            SessionEvent::Cell(CellEvent::Late { event, .. }) => {
                self.on_event(SessionEvent::Cell(*event))
            }
            SessionEvent::Text(TextEvent::Page(bundle)) => {
                self.value(bundle.for_terminal(usize::MAX))
            }
            SessionEvent::Cell(CellEvent::Raised(CellError {
                leaves: Some(leaving),
                ..
            })) => match leaving.words {
                Some(words) => self.screen.print_notice(&words),
                None => Ok(()),
            },
            SessionEvent::Cell(CellEvent::Raised(error)) => {
                self.screen.print_notice(&error.plain())
            }
            SessionEvent::Text(TextEvent::Help(page)) => {
                self.screen.write_untrusted(&page.text())?;
                self.screen.write_trusted(b"\n")
            }
            SessionEvent::Text(TextEvent::Text(text) | TextEvent::Verbatim(text)) => {
                self.screen.write_untrusted(&text)?;
                self.screen.write_trusted(b"\n")
            }
            SessionEvent::Notice(notice) => self.notice(&notice),
            SessionEvent::End(EndEvent::Replay(replayed)) => self.notice(&replayed.notice()),
            SessionEvent::RuntimeDied { death, restarting } => {
                self.notice(&death_notice(&death.to_string(), restarting))
            }
            SessionEvent::Answer(event) => self.answer(event),
            SessionEvent::End(EndEvent::Turn {
                outcome: TurnOutcome::Failed(failure),
                ..
            }) => {
                self.plan.clear();
                self.notice(&Notice {
                    message: format!("error: {}", failure.message),
                    hints: failure.hints,
                    warning: true,
                })
            }
            SessionEvent::End(EndEvent::Turn { .. }) => {
                self.end_answer()?;
                let plan = std::mem::take(&mut self.plan);
                let mut lines = plan.iter().map(plan_line);
                lines.try_for_each(|line| self.screen.print_notice(&line))
            }
            SessionEvent::Begin(BeginEvent::Asked { line, prompt }) => {
                self.asked = true;
                let first = prompt.trim().lines().next().unwrap_or_default();
                self.screen.print_notice(&format!(
                    "In [{line}] asks: {}",
                    cut_characters(first, FIRST)
                ))
            }
            SessionEvent::End(EndEvent::Asked { .. }) => {
                let ended = self.end_answer();
                self.asked = false;
                ended
            }
            SessionEvent::Cell(CellEvent::Status(text)) if !text.is_empty() => {
                self.screen.print_notice(&text)
            }
            // Meaningless without a viewer.
            SessionEvent::Begin(_)
            | SessionEvent::Cell(
                CellEvent::Started
                | CellEvent::Clear { .. }
                | CellEvent::Comm(_)
                | CellEvent::Status(_)
                | CellEvent::InputRequested { .. }
                | CellEvent::Ended { .. },
            )
            | SessionEvent::Question(_)
            | SessionEvent::End(EndEvent::Call { .. } | EndEvent::NotRun)
            | SessionEvent::Text(TextEvent::Earlier(_))
            | SessionEvent::After(_) => Ok(()),
        }
    }

    fn is_live(&self) -> bool {
        false
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        Ok(())
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        self.screen.flush()
    }
}
