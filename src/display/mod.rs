//! Runs on a terminal: takes the events of a run, shows them, and says what is left to do.
//!
//! Shared by every front-end that writes to a terminal. `cell.rs` shows what cells put out, `answer.rs` streams
//! answers, `asking.rs` puts questions to the user. While a question is open, whatever else happens is held back and
//! shown afterwards, in order. Absent on purpose: where keys come from, and output that is not a terminal.

mod aftermath;
mod answer;
mod asking;
mod cell;
mod colours;
mod diff;
mod earlier;
mod elapsed;
mod follow;
mod held;
mod live;
mod notice;
mod pager;
mod picture;
mod question;
mod replay;
mod rows;
mod source;
mod themes;
mod work;

use std::sync::Arc;
use std::time::Duration;

use crate::markdown::Appearance;
use crate::output::mime::MimeBundle;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};
use crate::session::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, Notice, QuestionEvent, RunKind,
    SessionEvent, ToldEvent,
};
use crate::text::escape::visible_lines;
use answer::AnswerView;
use asking::Talk;
use cell::CellView;
use elapsed::Elapsed;
use held::Held;
use replay::ReplayView;

pub use aftermath::{Aftermath, Ended};
pub use asking::{Ahead, Keyboard};
pub use earlier::show_earlier;
pub use follow::{Showing, follow};
pub use notice::{copied, died, notice_text, say};
pub use pager::show as page;
pub use picture::Pictures;
pub use question::Spoken;
pub use themes::theme_rows;

/// Who typed this lately types on: what was typed is to be seen at once.
const TYPING: Duration = Duration::from_secs(1);

/// Shows one run on a terminal.
pub struct Display {
    screen: Screen,
    cell: CellView,
    /// A cell of the agent is running: its output is a cell's.
    in_cell: bool,
    answer: Option<AnswerView>,
    /// It is of a tool that no turn has called: a cell's call, or one from outside.
    apart: bool,
    replay: Option<ReplayView>,
    talk: Talk,
    keyboard: Option<Arc<dyn Keyboard>>,
    elapsed: Elapsed,
    /// There is a keyboard to turn pages with.
    pages: bool,
    held: Held,
    appearance: Appearance,
    pictures: Pictures,
    aftermath: Aftermath,
}

impl Display {
    /// A view on `screen`; `guard` is told when a program in a cell owns the terminal, `keyboard` answers questions.
    pub fn new(
        screen: Screen,
        appearance: Appearance,
        pictures: Pictures,
        guard: Option<Arc<TerminalGuard>>,
        keyboard: Option<Arc<dyn Keyboard>>,
    ) -> Self {
        Display {
            pages: keyboard.is_some() && guard.is_some(),
            cell: CellView::new(screen.clone(), appearance, pictures.clone(), guard),
            in_cell: false,
            answer: None,
            apart: false,
            replay: None,
            talk: Talk::new(screen.clone(), appearance, keyboard.clone()),
            elapsed: Elapsed::new(screen.clone(), keyboard.clone()),
            keyboard,
            held: Held::default(),
            appearance,
            pictures,
            screen,
            aftermath: Aftermath::default(),
        }
    }

    /// What is left when the run is over.
    pub fn into_aftermath(self) -> Aftermath {
        self.aftermath
    }

    fn show(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        self.elapsed.meet(&event, self.answer.is_some())?;
        match event {
            SessionEvent::Begin(event) => self.begin(event),
            SessionEvent::Cell(event) => self.of_cell(event),
            SessionEvent::End(event) => self.end(event),
            SessionEvent::Told(event) => {
                self.settle_views()?;
                self.tell(event)
            }
            SessionEvent::Answer(event) => self.of_answer(event),
            SessionEvent::Notice(notice) => {
                self.settle_views()?;
                say(&self.screen, &notice)
            }
            SessionEvent::After(AfterEvent::Refill(text) | AfterEvent::Replace(text)) => {
                self.aftermath.refill = text;
                Ok(())
            }
            SessionEvent::After(AfterEvent::Leave(status)) => {
                self.aftermath.leave = Some(status);
                Ok(())
            }
            SessionEvent::After(AfterEvent::Detach) => {
                self.aftermath.leave = Some(0);
                Ok(())
            }
            SessionEvent::RuntimeDied { death, restarting } => {
                self.settle_views()?;
                let hint = "`%ipycodex replay` runs the cells before it again";
                say(
                    &self.screen,
                    &died(&death.to_string(), restarting).hint(hint),
                )
            }
            SessionEvent::Question(QuestionEvent::Asked(question)) => {
                self.make_room()?;
                self.talk.ask(question)
            }
            SessionEvent::Question(QuestionEvent::Over(_)) => Ok(()),
        }
    }

    fn begin(&mut self, event: BeginEvent) -> Result<(), ScreenError> {
        match event {
            BeginEvent::AgentCell {
                line,
                title,
                source,
            } => {
                if let Some(answer) = &mut self.answer {
                    answer.make_room()?;
                }
                let width = usize::from(self.screen.size().columns);
                asking::print(&self.screen, &source::rows(line, &title, &source, width))?;
                self.in_cell = true;
                self.screen.flush()
            }
            BeginEvent::Asked { line, prompt } => {
                self.settle_views()?;
                let width = usize::from(self.screen.size().columns);
                asking::print(&self.screen, &source::asked(line, &prompt, width))?;
                let pictures = self.pictures.clone();
                let answer = AnswerView::new(self.screen.clone(), self.appearance, pictures);
                self.answer = Some(answer);
                self.apart = false;
                self.screen.flush()
            }
            BeginEvent::Step {
                step,
                of,
                line,
                kind,
                source,
                ..
            } => {
                self.settle_views()?;
                let fresh = || ReplayView::new(self.screen.clone());
                let replay = self.replay.get_or_insert_with(fresh);
                replay.begin((step, of), line, kind, &source)
            }
            BeginEvent::Input {
                kind: RunKind::Prompt,
                ..
            } => {
                let pictures = self.pictures.clone();
                let answer = AnswerView::new(self.screen.clone(), self.appearance, pictures);
                self.answer = Some(answer);
                self.apart = false;
                Ok(())
            }
            BeginEvent::Input {
                kind: RunKind::Shell,
                ..
            } => {
                self.cell.of_shell();
                Ok(())
            }
            BeginEvent::Input { .. } => Ok(()),
        }
    }

    fn of_answer(&mut self, event: AnswerEvent) -> Result<(), ScreenError> {
        if self.answer.is_none() {
            // The cell that calls may stand in the middle of a line.
            self.settle_views()?;
            self.apart = true;
        }
        let ran = matches!(event, AnswerEvent::ToolRan { .. });
        let answer = self.answer.get_or_insert_with(|| {
            AnswerView::new(self.screen.clone(), self.appearance, self.pictures.clone())
        });
        answer.on(event)?;
        let folded = answer.take_folded();
        self.aftermath.folded = folded.or(self.aftermath.folded.take());
        if ran && self.apart {
            // What comes now is the cell's own.
            self.answer = None;
            self.apart = false;
        }
        Ok(())
    }

    fn of_cell(&mut self, event: CellEvent) -> Result<(), ScreenError> {
        match event {
            CellEvent::Output { bytes, foreign, .. } => match &mut self.answer {
                Some(answer) if !self.in_cell => answer.output(&bytes),
                _ => {
                    if let Some(replay) = &mut self.replay {
                        replay.settle()?;
                    }
                    self.cell.output(&bytes, foreign)
                }
            },
            CellEvent::Display(display) => {
                self.settle_views()?;
                self.cell.display(&display)
            }
            CellEvent::Raised(error) => {
                if let Some(replay) = &mut self.replay {
                    replay.raised()?;
                }
                self.settle_views()?;
                self.cell.raised(&error)
            }
            CellEvent::Clear { .. } => self.cell.clear(),
            CellEvent::Late { event, .. } => self.of_cell(*event),
            CellEvent::Comm(_) => Ok(()),
            CellEvent::Ended { ending, .. } => {
                self.in_cell = false;
                if self.answer.is_none() {
                    self.aftermath.cell_ended(&ending);
                }
                if let Some(replay) = &mut self.replay {
                    replay.ended(&ending)?;
                }
                self.cell.end()?;
                match self.replay {
                    Some(_) => Ok(()),
                    None => self.elapsed.keep(),
                }
            }
            // A cell with a terminal of its own asks there; without one the front-end answers.
            CellEvent::InputRequested {
                call,
                prompt,
                password,
            } if self.answer.is_some() => {
                self.settle_views()?;
                self.talk.input(call, &prompt, password)
            }
            CellEvent::Started | CellEvent::Status(_) | CellEvent::InputRequested { .. } => Ok(()),
        }
    }

    fn end(&mut self, event: EndEvent) -> Result<(), ScreenError> {
        match event {
            EndEvent::Replay(replayed) => {
                self.settle_views()?;
                self.replay = None;
                self.aftermath.replay_ended(&replayed);
                say(&self.screen, &replayed.notice())
            }
            EndEvent::Turn {
                outcome,
                usage,
                took,
            } => {
                if std::mem::take(&mut self.in_cell) {
                    self.cell.end()?;
                }
                self.aftermath.turn_ended(&outcome);
                match self.answer.take() {
                    Some(mut answer) => answer.end(&outcome, usage, took),
                    None => Ok(()),
                }
            }
            EndEvent::Asked {
                outcome,
                usage,
                took,
            } => match self.answer.take() {
                Some(mut answer) => answer.end(&outcome, usage, took),
                None => Ok(()),
            },
            EndEvent::NotRun => {
                self.settle_views()?;
                say(
                    &self.screen,
                    &Notice::note("not run: an earlier input failed"),
                )
            }
            // Whoever called a tool by itself shows what came of it.
            EndEvent::Call { .. } => Ok(()),
        }
    }

    fn tell(&mut self, event: ToldEvent) -> Result<(), ScreenError> {
        match event {
            ToldEvent::Page(bundle) => self.page(&bundle),
            ToldEvent::Earlier(earlier) => show_earlier(&self.screen, &self.appearance, &earlier),
            ToldEvent::Text(text) => {
                let width = usize::from(self.screen.size().columns);
                let rows = crate::text::hanging(&visible_lines(&text), width, 0);
                self.screen.trusted(format!("{rows}\n").as_bytes())
            }
            ToldEvent::Verbatim(text) => {
                // A skill's code is among it: what hides or reorders is spelled.
                self.screen.trusted(visible_lines(&text).as_bytes())?;
                self.screen.trusted(b"\n")
            }
            ToldEvent::Help(page) => {
                let width = usize::from(self.screen.size().columns);
                self.long(page.ansi(width, self.screen.colour()))
            }
        }
    }

    fn page(&mut self, bundle: &MimeBundle) -> Result<(), ScreenError> {
        let size = self.screen.size();
        let (width, colour) = (usize::from(size.columns), self.screen.colour());
        match pager::text_of(bundle, width, &self.appearance, colour) {
            None => self.cell.page(bundle),
            Some(text) => self.long(text),
        }
    }

    /// Help: printed when it is short, and in a turn, where nobody turns pages; else left for the end of the run.
    fn long(&mut self, text: String) -> Result<(), ScreenError> {
        if self.pages && self.answer.is_none() && pager::is_long(&text, self.screen.size()) {
            self.aftermath.pages.push(text);
            return Ok(());
        }
        self.screen.trusted(text.as_bytes())
    }

    /// A fresh line, below a blank one when something stands above.
    fn make_room(&mut self) -> Result<(), ScreenError> {
        match &mut self.answer {
            Some(answer) if !self.in_cell => answer.make_room(),
            _ => self.settle_views(),
        }
    }

    fn settle_views(&mut self) -> Result<(), ScreenError> {
        match &mut self.answer {
            Some(answer) if !self.in_cell => answer.settle(),
            _ => {
                if let Some(replay) = &mut self.replay {
                    replay.settle()?;
                }
                self.cell.start_line()
            }
        }
    }

    /// Shows what was held back, until the next question.
    fn release(&mut self) -> Result<(), ScreenError> {
        while let Some(event) = self.held.next(&self.talk) {
            self.show(event)?;
        }
        Ok(())
    }
}
