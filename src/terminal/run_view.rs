//! Shows a run: its events go to the display, the keyboard to the running job.
//!
//! In: a [`Run`]. Out: its summary, and the typed bytes that no program read.

use std::sync::{Arc, MutexGuard, PoisonError};

use crate::display::{Display, Pictures, RunSummary, follow, page, print_notice};
use crate::environment::Environment;
use crate::markdown::{Appearance, Background, Theme};
use crate::runtime::CellTerminal;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::session::{
    AnswerEvent, BeginEvent, CellEvent, Notice, QuestionEvent, Run, RunKind, SessionEvent,
    SessionHandle,
};
use crate::terminal::background_color::{BackgroundReply, ReplyStatus};
use crate::terminal::focus::{Focus, RunNotifier};
use crate::terminal::input_router::InputRouter;
use crate::terminal::keyboard_reader::{
    KeyTarget, KeyboardEvent, KeyboardReader, KillTarget, ReaderWaker,
};
use crate::terminal::keys::key_queue::{SharedKeyQueue, lock_queue};
use crate::terminal::query;
use crate::terminal::signals::CellTerminalSlot;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::report::Report;

pub(super) struct RunView {
    pub(super) session: SessionHandle,
    pub(super) screen: Screen,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    pub(super) appearance: Appearance,
    pub(super) pictures: Pictures,
    /// The cells' terminal, once it is known.
    pub(super) cells: CellTerminalSlot,
    /// The terminal of the current or last run; it gets resizes.
    pub(super) in_front: CellTerminalSlot,
    pub(super) reader_waker: ReaderWaker,
    pub(super) key_queue: SharedKeyQueue,
    pub(super) background_reply: BackgroundReply,
    /// Knows the editor's mode.
    pub(super) snapshot: SharedSnapshot,
    /// The byte that moves the running cell to the background.
    pub(super) background_key: Option<u8>,
    pub(super) focus: Focus,
    /// The terminal may still be queried for its background.
    pub(super) asks_background: bool,
    /// Typed during earlier runs and not read by any program.
    pub(super) early: Vec<u8>,
    pub(super) environment: Environment,
}

impl RunView {
    /// Shows a run to its end; returns its summary, and the typed bytes that no program read.
    pub(super) fn show(&mut self, run: &Run) -> Result<(RunSummary, Vec<u8>), Report> {
        self.show_from(run, None)
    }

    /// As `show`, for a run that has begun; `target` has the keyboard at once.
    pub(super) fn show_from(
        &mut self,
        run: &Run,
        target: Option<KeyTarget>,
    ) -> Result<(RunSummary, Vec<u8>), Report> {
        let router = InputRouter::new(
            self.session.clone(),
            run.waker(),
            Arc::clone(&self.key_queue),
            self.background_key,
            lock_snapshot(&self.snapshot).mode,
        );
        if let Some(queued) = lock_queue(&self.key_queue).take_interrupt() {
            router.interrupt_first(queued);
        }
        router.add_ahead(&std::mem::take(&mut self.early));
        router.add_ahead(&self.await_background()?);
        let appearance = self.appearance();
        let keyboard = Arc::clone(&router);
        let mut display = Display::new(
            self.screen.clone(),
            appearance,
            self.pictures(),
            self.guard.clone(),
            Some(keyboard),
        );
        let mut typing = target.and_then(|target| self.type_at(target, &router));
        let mut shell = false;
        let mut notifier = self.run_notifier();
        let shown = follow(run, &self.screen, &mut display, |event| {
            notifier.on_event(event)?;
            match event {
                SessionEvent::Begin(BeginEvent::Input { kind, .. }) => {
                    shell = *kind == RunKind::Shell;
                    if *kind == RunKind::Prompt {
                        router.begin_steering();
                    }
                    if typing.is_none() {
                        typing = self.begin_typing(*kind, &router);
                    }
                }
                SessionEvent::Begin(BeginEvent::Step { .. }) if typing.is_none() => {
                    typing = self.type_at(KeyTarget::Replay(self.cells()), &router);
                }
                // A command may ask, too, or be stopped.
                SessionEvent::Begin(BeginEvent::Wait)
                | SessionEvent::Question(QuestionEvent::Asked(_))
                    if typing.is_none() =>
                {
                    typing = self.type_at(KeyTarget::Turn, &router);
                }
                SessionEvent::Cell(CellEvent::Started) => {
                    // In a turn the user did not expect a cell.
                    if !shell {
                        router.set_cell(self.cells());
                    }
                    router.open();
                }
                SessionEvent::Cell(CellEvent::Ended { typeahead, .. }) => router.close(typeahead),
                SessionEvent::Answer(AnswerEvent::Steered { taken, .. }) => {
                    router.on_steered(*taken);
                }
                SessionEvent::Begin(
                    BeginEvent::AgentCell { .. }
                    | BeginEvent::Wait
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
                | SessionEvent::Text(_)
                | SessionEvent::Notice(_)
                | SessionEvent::After(_)
                | SessionEvent::RuntimeDied { .. } => {}
            }
            Ok::<(), Report>(())
        });
        if let Some(typing) = typing {
            typing.stop();
            self.screen.set_input_reports(false)?;
        }
        shown?;
        self.screen.flush()?;
        let mut summary = display.into_summary();
        summary.outcome = router.ended(summary.outcome);
        notifier.end(summary.outcome)?;
        std::mem::take(&mut summary.pages)
            .iter()
            .try_for_each(|text| {
                page(text, &self.screen, self.guard.as_deref(), &self.environment)
            })?;
        Ok((summary, router.take_rest()))
    }

    /// Sends the background query without waiting: the editor filters the reply out of its keys.
    pub(super) fn ask_background_by_the_way(&mut self) -> Result<(), Report> {
        if self.asks_background && self.screen.colour() && self.screen.is_rich() {
            self.screen.write_sequence(query::BACKGROUND_QUERY)?;
            self.screen.flush()?;
            self.background_reply.wait();
        }
        Ok(())
    }

    /// Queries the background once and waits for the reply, where no other program reads the terminal; returns the
    /// bytes typed meanwhile.
    pub(super) fn await_background(&mut self) -> Result<Vec<u8>, Report> {
        let asks = std::mem::take(&mut self.asks_background);
        if !asks || !self.screen.colour() || !self.screen.is_rich() {
            return Ok(Vec::new());
        }
        match self.background_reply.stop() {
            ReplyStatus::Heard => return Ok(Vec::new()),
            ReplyStatus::No => self.screen.write_sequence(query::BACKGROUND_QUERY)?,
            // A late reply comes before the next one, or never.
            ReplyStatus::Waiting => {}
        }
        self.screen.write_sequence(query::DEVICE_QUERY)?;
        self.screen.flush()?;
        let heard = query::read_replies();
        if let Some(background) = heard.background {
            self.session.on_background(background);
        } else if !heard.complete {
            // The reply may still come, among the keys.
            self.background_reply.wait();
        }
        Ok(heard.typed)
    }

    fn begin_typing(&self, kind: RunKind, router: &Arc<InputRouter>) -> Option<KeyboardReader> {
        let target = match kind {
            RunKind::Command => return None,
            RunKind::Prompt => KeyTarget::Turn,
            RunKind::Cell => self.cells().map_or(KeyTarget::Kernel, KeyTarget::Cell),
            RunKind::Shell => self.shell().map_or(KeyTarget::Turn, KeyTarget::Cell),
        };
        self.type_at(target, router)
    }

    fn type_at(&self, target: KeyTarget, router: &Arc<InputRouter>) -> Option<KeyboardReader> {
        let (screen, guard) = (self.screen.clone(), self.guard.clone());
        let heard = (self.focus.clone(), self.background_reply.clone());
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
                    print_notice(&screen, &Notice::warning(text))
                }
                KeyboardEvent::Kill(ends) => {
                    let text = match ends {
                        KillTarget::Interpreter => "killing the interpreter",
                        KillTarget::Shell => "ending the shell",
                        KillTarget::Job => "killing the program in front",
                    };
                    print_notice(&screen, &Notice::warning(text))
                }
                KeyboardEvent::Suspend => {
                    let gone = screen.show_transient(None);
                    if let Some(guard) = &guard {
                        guard.suspend();
                    }
                    gone.and_then(|()| screen.set_input_reports(true))
                }
                KeyboardEvent::Returned => match &guard {
                    Some(guard) => {
                        guard.reclaim();
                        screen.set_input_reports(!guard.has_raw_output())
                    }
                    None => Ok(()),
                },
            };
            // The display notices a screen that is gone.
            drop(said);
        };
        let typing = KeyboardReader::start(
            target,
            router,
            &self.reader_waker,
            self.guard.clone(),
            heard,
            on_signal,
        )
        .ok()?;
        // The display notices a terminal that is gone.
        let _ = self.screen.set_input_reports(true);
        Some(typing)
    }

    /// Returns the terminal of the cells; the first call waits until the interpreter has reported it.
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

    /// Returns the terminal of the shell's commands; resizes go there while one runs.
    fn shell(&self) -> Option<Arc<dyn CellTerminal>> {
        let shell = self.session.shell_terminal()?;
        shell.resize(self.screen.size());
        *self.in_front() = Some(Arc::clone(&shell));
        Some(shell)
    }

    fn in_front(&self) -> MutexGuard<'_, Option<Arc<dyn CellTerminal>>> {
        self.in_front.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

    fn run_notifier(&self) -> RunNotifier {
        let choices = self.session.choices();
        let after = choices.map_or(0, |choices| choices.notify_after);
        RunNotifier::new(self.focus.clone(), self.screen.clone(), after)
    }

    /// Returns how pictures are drawn, as chosen last.
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
