//! Renders the events of a run on a terminal and returns a summary of the run.
//!
//! Shared by every front-end that writes to a terminal. `cell.rs` renders the output of cells, `answer.rs` streams
//! answers, `question_prompt.rs` asks the user. While a question is open, all other events are deferred and rendered
//! afterwards in their order. Absent on purpose: the source of keys, and output that is not a terminal.

mod answer;
mod cell;
mod colours;
mod deferred;
mod diff;
mod earlier;
mod elapsed;
mod follow;
mod last_line;
mod notice;
mod pager;
mod picture;
mod progress;
mod question;
mod question_prompt;
mod replay;
mod rows;
mod run_summary;
mod source;
mod themes;

use std::sync::Arc;
use std::time::Duration;

use crate::markdown::Appearance;
use crate::output::mime::MimeBundle;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};
use crate::session::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, Notice, QuestionEvent, RunKind,
    SessionEvent, TextEvent,
};
use crate::text::escape::visible_lines;
use answer::AnswerView;
use cell::CellView;
use deferred::DeferredEvents;
use elapsed::Elapsed;
use question_prompt::QuestionPrompt;
use replay::ReplayView;

pub use earlier::show_earlier;
pub use follow::{RunRenderer, follow};
pub use notice::{copy_to_clipboard, death_notice, notice_text, print_notice};
pub use pager::show as page;
pub use picture::Pictures;
pub use progress::plan_line;
pub use question::LineQuestion;
pub use question_prompt::{Keyboard, Typeahead};
pub use run_summary::{RunOutcome, RunSummary};
pub use themes::theme_rows;

/// A user whose last key is more recent is still typing, and typeahead is shown at once.
const TYPING_WINDOW: Duration = Duration::from_secs(1);

pub struct Display {
    screen: Screen,
    cell: CellView,
    /// A cell of the agent is running, and output belongs to that cell.
    in_cell: bool,
    answer: Option<AnswerView>,
    /// `answer` shows a tool called outside of any turn: by a cell, or by an external call.
    called_outside_turn: bool,
    replay: Option<ReplayView>,
    prompt: QuestionPrompt,
    keyboard: Option<Arc<dyn Keyboard>>,
    elapsed: Elapsed,
    /// A keyboard and a terminal for the pager are available.
    pages: bool,
    deferred: DeferredEvents,
    appearance: Appearance,
    pictures: Pictures,
    summary: RunSummary,
}

impl Display {
    /// `guard` switches the terminal's mode for programs that own the terminal, `keyboard` answers questions.
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
            called_outside_turn: false,
            replay: None,
            prompt: QuestionPrompt::new(screen.clone(), appearance, keyboard.clone()),
            elapsed: Elapsed::new(screen.clone(), keyboard.clone()),
            keyboard,
            deferred: DeferredEvents::default(),
            appearance,
            pictures,
            screen,
            summary: RunSummary::default(),
        }
    }

    /// Returns the summary, when the run is over.
    pub fn into_summary(self) -> RunSummary {
        self.summary
    }

    fn show(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        self.elapsed.on_event(&event, self.answer.is_some())?;
        match event {
            SessionEvent::Begin(event) => self.on_begin(event),
            SessionEvent::Cell(event) => self.on_cell_event(event),
            SessionEvent::End(event) => self.on_end(event),
            SessionEvent::Text(event) => {
                self.settle_views()?;
                self.on_output(event)
            }
            SessionEvent::Answer(event) => self.on_answer_event(event),
            SessionEvent::Notice(notice) => {
                self.settle_views()?;
                print_notice(&self.screen, &notice)
            }
            SessionEvent::After(AfterEvent::Refill(text) | AfterEvent::Replace(text)) => {
                self.summary.refill = text;
                Ok(())
            }
            SessionEvent::After(AfterEvent::Leave(status)) => {
                self.summary.exit_status = Some(status);
                Ok(())
            }
            SessionEvent::After(AfterEvent::Detach) => {
                self.summary.exit_status = Some(0);
                Ok(())
            }
            SessionEvent::RuntimeDied { death, restarting } => {
                self.settle_views()?;
                let hint = "`%ipycodex replay` runs the cells before it again";
                print_notice(
                    &self.screen,
                    &death_notice(&death.to_string(), restarting).hint(hint),
                )
            }
            SessionEvent::Question(QuestionEvent::Asked(question)) => {
                self.start_block()?;
                self.prompt.ask(question)
            }
            SessionEvent::Question(QuestionEvent::Over(_)) => Ok(()),
        }
    }

    fn on_begin(&mut self, event: BeginEvent) -> Result<(), ScreenError> {
        match event {
            BeginEvent::AgentCell {
                line,
                title,
                source,
            } => {
                if let Some(answer) = &mut self.answer {
                    answer.start_block()?;
                }
                let width = usize::from(self.screen.size().columns);
                rows::print(&self.screen, &source::rows(line, &title, &source, width))?;
                self.in_cell = true;
                self.screen.flush()
            }
            BeginEvent::Asked { line, prompt } => {
                self.settle_views()?;
                let width = usize::from(self.screen.size().columns);
                rows::print(&self.screen, &source::asked_rows(line, &prompt, width))?;
                let pictures = self.pictures.clone();
                let answer = AnswerView::new(self.screen.clone(), self.appearance, pictures);
                self.answer = Some(answer);
                self.called_outside_turn = false;
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
                replay.on_step((step, of), line, kind, &source)
            }
            BeginEvent::Input {
                kind: RunKind::Prompt,
                ..
            } => {
                let pictures = self.pictures.clone();
                let answer = AnswerView::new(self.screen.clone(), self.appearance, pictures);
                self.answer = Some(answer);
                self.called_outside_turn = false;
                Ok(())
            }
            BeginEvent::Input {
                kind: RunKind::Shell,
                ..
            } => {
                self.cell.set_shell_policy();
                Ok(())
            }
            BeginEvent::Wait | BeginEvent::Input { .. } => Ok(()),
        }
    }

    fn on_answer_event(&mut self, event: AnswerEvent) -> Result<(), ScreenError> {
        if self.answer.is_none() {
            // The calling cell may have left the cursor in the middle of a line.
            self.settle_views()?;
            self.called_outside_turn = true;
        }
        let ran = matches!(event, AnswerEvent::ToolRan { .. });
        let answer = self.answer.get_or_insert_with(|| {
            AnswerView::new(self.screen.clone(), self.appearance, self.pictures.clone())
        });
        answer.on_event(event)?;
        let folded = answer.take_folded();
        self.summary.folded = folded.or(self.summary.folded.take());
        if ran && self.called_outside_turn {
            // The output from here on is the cell's own.
            self.answer = None;
            self.called_outside_turn = false;
        }
        Ok(())
    }

    fn on_cell_event(&mut self, event: CellEvent) -> Result<(), ScreenError> {
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
                    replay.on_error()?;
                }
                self.settle_views()?;
                self.cell.on_error(&error)
            }
            CellEvent::Clear { .. } => self.cell.clear(),
            CellEvent::Late { event, .. } => self.on_cell_event(*event),
            CellEvent::Comm(_) => Ok(()),
            CellEvent::Ended { ending, .. } => {
                self.in_cell = false;
                if self.answer.is_none() {
                    self.summary.cell_ended(&ending);
                }
                if let Some(replay) = &mut self.replay {
                    replay.on_cell_end(&ending)?;
                }
                self.cell.end()?;
                match self.replay {
                    Some(_) => Ok(()),
                    None => self.elapsed.print_duration(),
                }
            }
            // A cell with a terminal of its own asks there; for others the front-end answers.
            CellEvent::InputRequested {
                call,
                prompt,
                password,
            } if self.answer.is_some() => {
                self.settle_views()?;
                self.prompt.input(call, &prompt, password)
            }
            CellEvent::Started | CellEvent::Status(_) | CellEvent::InputRequested { .. } => Ok(()),
        }
    }

    fn on_end(&mut self, event: EndEvent) -> Result<(), ScreenError> {
        match event {
            EndEvent::Replay(replayed) => {
                self.settle_views()?;
                self.replay = None;
                self.summary.replay_ended(&replayed);
                print_notice(&self.screen, &replayed.notice())
            }
            EndEvent::Turn {
                outcome,
                usage,
                took,
            } => {
                if std::mem::take(&mut self.in_cell) {
                    self.cell.end()?;
                }
                self.summary.turn_ended(&outcome);
                match self.answer.take() {
                    Some(mut answer) => answer.on_end(&outcome, usage, took),
                    None => Ok(()),
                }
            }
            EndEvent::Asked {
                outcome,
                usage,
                took,
            } => match self.answer.take() {
                Some(mut answer) => answer.on_end(&outcome, usage, took),
                None => Ok(()),
            },
            EndEvent::NotRun => {
                self.settle_views()?;
                print_notice(
                    &self.screen,
                    &Notice::note("not run: an earlier input failed"),
                )
            }
            // The caller of a single tool shows its result.
            EndEvent::Call { .. } => Ok(()),
        }
    }

    fn on_output(&mut self, event: TextEvent) -> Result<(), ScreenError> {
        match event {
            TextEvent::Page(bundle) => self.page(&bundle),
            TextEvent::Earlier(earlier) => show_earlier(&self.screen, &self.appearance, &earlier),
            TextEvent::Text(text) => {
                let width = usize::from(self.screen.size().columns);
                let rows = crate::text::hanging(&visible_lines(&text), width, 0);
                self.screen.write_trusted(format!("{rows}\n").as_bytes())
            }
            TextEvent::Verbatim(text) => {
                // The text may contain a skill's code: hidden and reordering characters are spelled.
                self.screen.write_trusted(visible_lines(&text).as_bytes())?;
                self.screen.write_trusted(b"\n")
            }
            TextEvent::Help(page) => {
                let width = usize::from(self.screen.size().columns);
                self.print_or_page(page.ansi(width, self.screen.colour()))
            }
        }
    }

    fn page(&mut self, bundle: &MimeBundle) -> Result<(), ScreenError> {
        let size = self.screen.size();
        let (width, colour) = (usize::from(size.columns), self.screen.colour());
        match pager::page_text(bundle, width, &self.appearance, colour) {
            None => self.cell.page(bundle),
            Some(text) => self.print_or_page(text),
        }
    }

    /// Prints help that is short or arrives in a turn; longer help is kept for the pager at the end of the run.
    fn print_or_page(&mut self, text: String) -> Result<(), ScreenError> {
        if self.pages && self.answer.is_none() && pager::is_long(&text, self.screen.size()) {
            self.summary.pages.push(text);
            return Ok(());
        }
        self.screen.write_trusted(text.as_bytes())
    }

    fn start_block(&mut self) -> Result<(), ScreenError> {
        match &mut self.answer {
            Some(answer) if !self.in_cell => answer.start_block(),
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

    fn release_deferred(&mut self) -> Result<(), ScreenError> {
        while let Some(event) = self.deferred.next(&self.prompt) {
            self.show(event)?;
        }
        Ok(())
    }
}

impl RunRenderer for Display {
    fn is_live(&self) -> bool {
        let replays = self.replay.as_ref().is_some_and(ReplayView::is_live);
        self.answer.is_some() || replays || self.prompt.is_open() || self.cell.is_live()
    }

    fn until_redraw(&self) -> Option<Duration> {
        self.elapsed.until_tick()
    }

    fn awaits_user(&self) -> bool {
        let types = |keyboard: &Arc<dyn Keyboard>| {
            keyboard.since_last_key() < TYPING_WINDOW
                && keyboard.typeahead() != Typeahead::default()
        };
        self.prompt.is_open()
            || (self.answer.is_some() && self.keyboard.as_ref().is_some_and(types))
    }

    fn typed_within(&self, time: Duration) -> bool {
        let typed = |keyboard: &Arc<dyn Keyboard>| keyboard.since_last_key() <= time;
        self.answer.is_some() && self.keyboard.as_ref().is_some_and(typed)
    }

    fn is_full(&self) -> bool {
        self.deferred.is_full()
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        if self.prompt.take_resumed()? {
            if let Some(answer) = &mut self.answer {
                answer.on_resume();
            }
            if let Some(replay) = &mut self.replay {
                replay.on_resume();
            }
        }
        if self.prompt.is_open() {
            self.prompt.tick()?;
            self.release_deferred()?;
        }
        let drawn = self.prompt.is_open()
            || self.replay.is_some()
            || (self.answer.is_some() && !self.in_cell);
        let free = !drawn && self.cell.is_at_empty_row();
        let ahead = self.keyboard.as_ref().map(|keyboard| keyboard.typeahead());
        let ahead = ahead.unwrap_or_default();
        self.elapsed
            .tick(free, self.cell.lends_terminal(), &ahead)?;
        match &mut self.answer {
            Some(answer) if !self.in_cell && !self.prompt.is_open() => answer.tick(ahead),
            _ => {
                if !self.prompt.is_open() {
                    self.cell.tick()?;
                }
                self.replay.as_mut().map_or(Ok(()), ReplayView::tick)
            }
        }
    }

    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        if self.prompt.is_open() {
            self.deferred.defer(event, &mut self.prompt)?;
            self.release_deferred()
        } else {
            self.show(event)
        }
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        self.deferred.drop_questions(&mut self.prompt)?;
        self.release_deferred()?;
        self.elapsed.end()?;
        self.settle_views()
    }
}
