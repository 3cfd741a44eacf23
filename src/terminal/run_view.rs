//! A run on the screen: its events go to the display, the keyboard to what runs, and the rest comes back.
//!
//! In: a [`Run`]. Out: what is left to do, and what was typed meanwhile and read by nobody.

use std::sync::{Arc, MutexGuard, PoisonError};

use crate::display::{Aftermath, Display, Pictures, follow, page, say};
use crate::environment::Environment;
use crate::markdown::{Appearance, Background, Theme};
use crate::report::Report;
use crate::runtime::CellTerminal;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::session::{
    BeginEvent, CellEvent, Notice, QuestionEvent, Run, RunKind, SessionEvent, SessionHandle,
};
use crate::terminal::background_color::{BackgroundReply, ReplyStatus};
use crate::terminal::focus::{Focus, RunNotifier};
use crate::terminal::input_router::InputRouter;
use crate::terminal::keyboard_reader::{KeyTarget, KeyboardEvent, KeyboardReader, KillTarget};
use crate::terminal::keys::key_queue::{SharedKeyQueue, pass};
use crate::terminal::query;
use crate::terminal::reader_waker::ReaderWaker;
use crate::terminal::signals::CellTerminalSlot;

/// The screen and the keyboard while something runs.
pub(super) struct RunView {
    pub(super) session: SessionHandle,
    pub(super) screen: Screen,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    pub(super) appearance: Appearance,
    pub(super) pictures: Pictures,
    /// The cells' terminal, once it is known.
    pub(super) cells: CellTerminalSlot,
    /// The terminal of what runs, or ran last: it hears of the window's size.
    pub(super) in_front: CellTerminalSlot,
    pub(super) told: ReaderWaker,
    /// Keys that wait for the editor.
    pub(super) gate: SharedKeyQueue,
    pub(super) ground: BackgroundReply,
    /// Whether the user looks.
    pub(super) focus: Focus,
    /// The terminal may still be asked for its background.
    pub(super) asks_background: bool,
    /// Typed during what came before, and read by nobody.
    pub(super) early: Vec<u8>,
    pub(super) environment: Environment,
}

impl RunView {
    /// Shows a run to its end; gives what is left to do, and what was typed meanwhile and read by nobody.
    pub(super) fn show(&mut self, run: &Run) -> Result<(Aftermath, Vec<u8>), Report> {
        self.show_from(run, None)
    }

    /// The same, for a run that has begun; `target` has the keyboard at once.
    pub(super) fn show_from(
        &mut self,
        run: &Run,
        target: Option<KeyTarget>,
    ) -> Result<(Aftermath, Vec<u8>), Report> {
        let hands = InputRouter::new(self.session.clone(), Arc::clone(&self.gate));
        if pass(&self.gate).take_interrupt() {
            hands.interrupt_first();
        }
        hands.add_ahead(&std::mem::take(&mut self.early));
        hands.add_ahead(&self.await_background()?);
        let appearance = self.appearance();
        let keyboard = Arc::clone(&hands);
        let mut display = Display::new(
            self.screen.clone(),
            appearance,
            self.pictures(),
            self.guard.clone(),
            Some(keyboard),
        );
        let mut typing = target.and_then(|target| self.type_at(target, &hands));
        let mut shell = false;
        let mut unseen = self.unseen();
        let shown = follow(run, &self.screen, &mut display, |event| {
            unseen.meet(event)?;
            match event {
                SessionEvent::Begin(BeginEvent::Input { kind, .. }) => {
                    shell = *kind == RunKind::Shell;
                    if typing.is_none() {
                        typing = self.begin_typing(*kind, &hands);
                    }
                }
                SessionEvent::Begin(BeginEvent::Step { .. }) if typing.is_none() => {
                    typing = self.type_at(KeyTarget::Replay(self.cells()), &hands);
                }
                // A command that asks.
                SessionEvent::Question(QuestionEvent::Asked(_)) if typing.is_none() => {
                    typing = self.type_at(KeyTarget::Turn, &hands);
                }
                SessionEvent::Cell(CellEvent::Started) => {
                    // In a turn nobody knew that a cell comes.
                    if !shell {
                        hands.set_cell(self.cells());
                    }
                    hands.open();
                }
                SessionEvent::Cell(CellEvent::Ended { typeahead, .. }) => hands.close(typeahead),
                SessionEvent::Begin(
                    BeginEvent::AgentCell { .. }
                    | BeginEvent::Step { .. }
                    | BeginEvent::Asked { .. },
                )
                | SessionEvent::Cell(
                    CellEvent::Output { .. }
                    | CellEvent::Display(_)
                    | CellEvent::Clear { .. }
                    | CellEvent::Comm(_)
                    | CellEvent::Status(_)
                    | CellEvent::Late { .. }
                    | CellEvent::InputRequested { .. }
                    | CellEvent::Raised(_),
                )
                | SessionEvent::Answer(_)
                | SessionEvent::Question(_)
                | SessionEvent::End(_)
                | SessionEvent::Told(_)
                | SessionEvent::Notice(_)
                | SessionEvent::After(_)
                | SessionEvent::RuntimeDied { .. } => {}
            }
            Ok::<(), Report>(())
        });
        if let Some(typing) = typing {
            typing.stop();
            self.screen.pastes(false)?;
        }
        shown?;
        self.screen.flush()?;
        let mut aftermath = display.into_aftermath();
        aftermath.ended = hands.ended(aftermath.ended);
        unseen.end(aftermath.ended)?;
        std::mem::take(&mut aftermath.pages)
            .iter()
            .try_for_each(|text| {
                page(text, &self.screen, self.guard.as_deref(), &self.environment)
            })?;
        Ok((aftermath, hands.take_rest()))
    }

    /// Asks for the background and does not wait: the editor takes the answer out of its keys.
    pub(super) fn ask_background_by_the_way(&mut self) -> Result<(), Report> {
        if self.asks_background && self.screen.colour() && self.screen.rich() {
            self.screen.trusted(query::BACKGROUND)?;
            self.screen.flush()?;
            self.ground.wait();
        }
        Ok(())
    }

    /// Once, where nobody else reads the terminal: waits for what it says of its background. What was typed meanwhile
    /// is given back.
    pub(super) fn await_background(&mut self) -> Result<Vec<u8>, Report> {
        let asks = std::mem::take(&mut self.asks_background);
        if !asks || !self.screen.colour() || !self.screen.rich() {
            return Ok(Vec::new());
        }
        match self.ground.stop() {
            ReplyStatus::Heard => return Ok(Vec::new()),
            ReplyStatus::No => self.screen.trusted(query::BACKGROUND)?,
            // An answer that is late comes before the next one, or never.
            ReplyStatus::Waiting => {}
        }
        self.screen.trusted(query::TERMINAL)?;
        self.screen.flush()?;
        let heard = query::listen();
        if let Some(background) = heard.background {
            self.session.on_background(background);
        } else if !heard.complete {
            // It may come yet, among the keys.
            self.ground.wait();
        }
        Ok(heard.typed)
    }

    /// Gives the keyboard to what runs.
    fn begin_typing(&self, kind: RunKind, hands: &Arc<InputRouter>) -> Option<KeyboardReader> {
        let target = match kind {
            RunKind::Command => return None,
            RunKind::Prompt => KeyTarget::Turn,
            RunKind::Cell => self.cells().map_or(KeyTarget::Kernel, KeyTarget::Cell),
            RunKind::Shell => self.shell().map_or(KeyTarget::Turn, KeyTarget::Cell),
        };
        self.type_at(target, hands)
    }

    fn type_at(&self, target: KeyTarget, hands: &Arc<InputRouter>) -> Option<KeyboardReader> {
        let (screen, guard) = (self.screen.clone(), self.guard.clone());
        let heard = (self.focus.clone(), self.ground.clone());
        let on_signal = move |signal| {
            let said = match signal {
                KeyboardEvent::InterruptedTwice(ends) => {
                    let what = match ends {
                        KillTarget::Interpreter => "kill the interpreter (its variables are lost)",
                        KillTarget::Shell => "end the shell (its variables and jobs are lost)",
                        KillTarget::Job => "kill the program in front",
                    };
                    let text =
                        format!("press Ctrl-C once more to {what}, any other key to keep it");
                    say(&screen, &Notice::warning(text))
                }
                KeyboardEvent::Kill(ends) => {
                    let text = match ends {
                        KillTarget::Interpreter => "killing the interpreter",
                        KillTarget::Shell => "ending the shell",
                        KillTarget::Job => "killing the program in front",
                    };
                    say(&screen, &Notice::warning(text))
                }
                KeyboardEvent::Suspend => {
                    let gone = screen.passing(None);
                    if let Some(guard) = &guard {
                        guard.suspend();
                    }
                    gone.and_then(|()| screen.pastes(true))
                }
                KeyboardEvent::Returned => match &guard {
                    Some(guard) => {
                        guard.take_again();
                        screen.pastes(!guard.is_lent())
                    }
                    None => Ok(()),
                },
            };
            // A screen that is gone is noticed by the display.
            drop(said);
        };
        let typing = KeyboardReader::start(
            target,
            hands,
            &self.told,
            self.guard.clone(),
            heard,
            on_signal,
        )
        .ok()?;
        // A terminal that is gone is noticed by the display.
        let _ = self.screen.pastes(true);
        Some(typing)
    }

    /// The terminal of the cells; the first time the interpreter is waited for long enough to know it.
    pub(super) fn cells(&self) -> Option<Arc<dyn CellTerminal>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if cells.is_none() {
            *cells = self.session.warm_runtime();
        }
        let cells = cells.clone()?;
        cells.resize(self.screen.size());
        *self.in_front() = Some(Arc::clone(&cells));
        Some(cells)
    }

    /// The terminal of the shell's commands; the window's changes of size go there while one runs.
    fn shell(&self) -> Option<Arc<dyn CellTerminal>> {
        let shell = self.session.shell_terminal()?;
        shell.resize(self.screen.size());
        *self.in_front() = Some(Arc::clone(&shell));
        Some(shell)
    }

    fn in_front(&self) -> MutexGuard<'_, Option<Arc<dyn CellTerminal>>> {
        self.in_front.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How answers look, with the code theme in force.
    pub(super) fn appearance(&self) -> Appearance {
        let chosen = self
            .session
            .choices()
            .and_then(|choices| Theme::named(&choices.code_theme).ok());
        Appearance {
            theme: chosen.unwrap_or(self.appearance.theme),
            ..self.appearance
        }
    }

    /// A run that begins.
    fn unseen(&self) -> RunNotifier {
        let choices = self.session.choices();
        let after = choices.map_or(0, |choices| choices.notify_after);
        RunNotifier::new(self.focus.clone(), self.screen.clone(), after)
    }

    /// How pictures are drawn, as chosen last.
    fn pictures(&self) -> Pictures {
        match self.session.choices() {
            Some(choices) => {
                let background = Background::of_theme(&choices.code_theme);
                self.pictures.drawn_as(choices.images, background)
            }
            None => self.pictures.clone(),
        }
    }
}
