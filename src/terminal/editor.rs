//! The line editor, assembled: keys, colours, validation, history; and what the keys hand over to us.
//!
//! In go a label and text to begin with, out comes an [`Edited`]. Enter is decided here by the rules of `input`: a
//! complete text is submitted, an incomplete one gets a new, indented line, a cursor above the last line gets a plain
//! one. Nothing here runs or records anything.

use std::borrow::Cow;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};

use crossterm::cursor::SetCursorStyle;
use nu_ansi_term::Style;
use reedline::{CursorConfig, EditCommand, ExternalPrinter, Prompt, Reedline, Signal};

use crate::agent::LoginProgram;
use crate::config::{EditMode, Keymap};
use crate::display::copied;
use crate::history::Recall;
use crate::input::{Completeness, Mode};
use crate::markdown::{self, Theme};
use crate::process::KeptResizes;
use crate::report::Report;
use crate::screen::Screen;
use crate::session::LastExchange;
use crate::terminal::background_color::BackgroundReply;
use crate::terminal::background_output::BackgroundOutput;
use crate::terminal::blocks::{BlockCommand, BlockCycle, BlockOutcome};
use crate::terminal::buffer_edits::{change, leave_line};
use crate::terminal::complete::{self, Sources};
use crate::terminal::editor_history::EditorHistory;
use crate::terminal::editor_wait::{self, EditorWait};
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::external_programs::ExternalPrograms;
use crate::terminal::highlight::{InputHighlighter, InputRenderer};
use crate::terminal::hint::{Ask, Hints};
use crate::terminal::host_command::HostCommand;
use crate::terminal::incoming_calls::PendingCalls;
use crate::terminal::keys::edits::Change;
use crate::terminal::keys::key_queue::{SharedKeyQueue, pass};
use crate::terminal::keys::{InputValidator, KeyHandler, KeyOptions, SharedKillRing};
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::panel::unreadable;
use crate::terminal::prompt::Label;
use crate::terminal::reverse_search::{FoundInput, SearchHistory};
use crate::terminal::snapshot::{SharedSnapshot, look};
use crate::text::escape::editable;
use crate::text::keys::Decoder;

/// Paints the label and the input again, from any thread.
pub(super) type Repaint = Arc<dyn Fn() + Send + Sync>;

/// What came of editing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edited {
    /// A text to run, and the In number of the prompt it is to replace.
    Submitted(String, Option<u32>),
    /// Ctrl-C: the line was cleared.
    Cleared,
    /// Ctrl-D on an empty line.
    Left,
    /// A guest is to be let in; what is typed stays, and is to replace the prompt of this In number.
    Interrupted(Option<u32>),
}

/// The editor.
pub(super) struct Editor {
    line: Reedline,
    repaint: Repaint,
    snapshot: SharedSnapshot,
    look: Arc<InputRenderer>,
    screen: Screen,
    last: Box<dyn Fn() -> Option<LastExchange>>,
    /// Where lines are said, above what is being typed.
    background: BackgroundOutput,
    blocks: BlockCycle,
    folded: Option<String>,
    gate: SharedKeyQueue,
    ring: SharedKillRing,
    external: ExternalPrograms,
    /// Called when a prompt is coming.
    on_prompt: Arc<dyn Fn() + Send + Sync>,
    hints: Hints,
    look_back: SearchHistory,
    guests: PendingCalls,
    ground: BackgroundReply,
    paints: PaintCapture,
    /// What it wakes for.
    bell: EditorWaker,
}

/// What the editor is made of.
pub(super) struct EditorOptions {
    pub recall: Recall,
    /// The writer.
    pub screen: Screen,
    /// Colours of code.
    pub theme: Theme,
    /// What is being typed, nothing yet.
    pub snapshot: SharedSnapshot,
    pub keymap: Arc<Keymap>,
    pub edit_mode: EditMode,
    /// Keys that wait for the editor.
    pub gate: SharedKeyQueue,
    pub external: ExternalPrograms,
    pub printer: ExternalPrinter<String>,
    /// What is printed there.
    pub background: BackgroundOutput,
    /// Wakes the editor.
    pub bell: EditorWaker,
    /// Called when the text being typed becomes a prompt.
    pub on_prompt: Arc<dyn Fn() + Send + Sync>,
    /// The terminal told its background.
    pub on_background: Box<dyn Fn(markdown::Background) + Send + Sync>,
    /// Looks the newest exchange up.
    pub last: Box<dyn Fn() -> Option<LastExchange>>,
    /// Lets the user search the history.
    pub look_back: SearchHistory,
    /// Who may come meanwhile.
    pub guests: PendingCalls,
    /// Called when the first prompt stands.
    pub ready: Box<dyn FnOnce() + Send>,
    /// Who knows what could be typed.
    pub sources: Sources,
}

impl Editor {
    pub(super) fn new(options: EditorOptions) -> Self {
        let (snapshot, gate) = (options.snapshot, options.gate);
        let ring = SharedKillRing::default();
        let setup = KeyOptions {
            keymap: options.keymap,
            edit_mode: options.edit_mode,
            snapshot: Arc::clone(&snapshot),
            gate: Arc::clone(&gate),
            ring: Arc::clone(&ring),
            guard: options.external.guard.clone(),
        };
        let hints = Hints::new(Arc::clone(&snapshot), options.recall.clone());
        let colour = options.screen.colour();
        let screen = options.screen.clone();
        let look = InputRenderer::new(
            Arc::clone(&snapshot),
            colour.then_some(options.theme),
            Box::new(move || {
                let size = screen.size();
                (size.columns, size.rows)
            }),
        );
        let (on_background, painter) = (options.on_background, Arc::clone(&look));
        let ground = BackgroundReply::new(move |background| {
            painter.set_background(background);
            on_background(background);
        });
        let paints = PaintCapture::new(options.screen.clone());
        let on_prompt = Arc::clone(&options.on_prompt);
        let history = EditorHistory::new(options.recall, Arc::clone(&snapshot));
        let mut line = Reedline::create()
            .with_history(Box::new(history))
            .with_validator(Box::new(InputValidator(Arc::clone(&snapshot))))
            .with_highlighter(Box::new(InputHighlighter {
                look: Arc::clone(&look),
                on_prompt: Box::new(move || on_prompt()),
                before: Box::new(editor_wait::before_paint(&ground, &gate, &paints)),
            }))
            .with_edit_mode(
                paints.watching(ground.watching(hints.watching(KeyHandler::new(setup)))),
            )
            .with_hinter(Box::new(hints.clone()))
            .with_ansi_colors(colour)
            // Readable whatever the terminal's colours are.
            .with_visual_selection_style(Style::new().reverse())
            .with_external_printer(options.printer)
            .with_poll_interval(editor_wait::ONCE_MORE)
            .use_bracketed_paste(true);
        if options.edit_mode == EditMode::Vi {
            line = line.with_cursor_config(CursorConfig {
                vi_insert: Some(SetCursorStyle::SteadyBar),
                vi_normal: Some(SetCursorStyle::SteadyBlock),
                ..CursorConfig::default()
            });
        }
        let (bell, sources) = (options.bell, options.sources);
        let waiting = EditorWait {
            bell: bell.clone(),
            gate: Arc::clone(&gate),
            guard: options.external.guard.clone(),
            background: options.background.clone(),
            paints: paints.clone(),
            ready: Cell::new(Some(options.ready)),
        };
        let mut line = complete::install(line, sources, Arc::clone(&snapshot), colour, waiting);
        let signal = line.repaint_signal();
        let rung = bell.clone();
        let repaint: Repaint = Arc::new(move || {
            signal.request_repaint();
            rung.ring();
        });
        look.repaint_with(Arc::clone(&repaint));
        hints.wake_with(Arc::clone(&repaint));
        Editor {
            line,
            repaint,
            snapshot,
            look,
            screen: options.screen,
            last: options.last,
            background: options.background,
            blocks: BlockCycle::default(),
            folded: None,
            gate,
            ring,
            external: options.external,
            on_prompt: options.on_prompt,
            hints,
            look_back: options.look_back,
            guests: options.guests,
            ground,
            paints,
            bell,
        }
    }

    /// Who is asked how a text goes on; `say` tells, on another thread, of an agent that is missing.
    pub(super) fn suggest_with(&mut self, ask: Ask, say: impl Fn(&str) + Send + Sync + 'static) {
        self.hints.connect(ask, say);
    }

    /// Whether earlier inputs are suggested while typing.
    pub(super) fn suggest_history(&self, on: bool) {
        self.hints.suggest_history(on);
    }

    /// What Ctrl-O is to show.
    pub(super) fn set_folded(&mut self, folded: String) {
        self.folded = Some(folded);
    }

    /// Paints the label and the input again, from any thread.
    pub(super) fn repainter(&self) -> Repaint {
        Arc::clone(&self.repaint)
    }

    /// Where the terminal's answer about its background is waited for.
    pub(super) fn ground(&self) -> &BackgroundReply {
        &self.ground
    }

    /// Code is painted in this theme from now on.
    pub(super) fn set_theme(&self, theme: Theme) {
        self.look.set_theme(theme);
    }

    /// What is being typed.
    pub(super) fn snapshot(&self) -> SharedSnapshot {
        Arc::clone(&self.snapshot)
    }

    /// Reads one input; `begin_with` stands in the editor already, to replace the prompt of In number `replaces`.
    ///
    /// # Errors
    /// When the terminal cannot be read or written.
    pub(super) fn read(
        &mut self,
        label: &Label,
        begin_with: &str,
        replaces: Option<u32>,
    ) -> Result<Edited, Report> {
        if !begin_with.is_empty() {
            self.insert(begin_with);
        }
        let continuation = label.render_prompt_multiline_indicator();
        self.hints.begin(continuation.chars().count());
        let edited = self.edit(label, replaces);
        self.hints.end();
        edited
    }

    fn edit(&mut self, label: &Label, mut replaces: Option<u32>) -> Result<Edited, Report> {
        loop {
            pass(&self.gate).open();
            // Who came later calls us away.
            if self.guests.need_the_screen() {
                return Ok(Edited::Interrupted(replaces));
            }
            look(&self.snapshot).submitted = false;
            let label = match replaces {
                None => Cow::Borrowed(label),
                Some(line) => Cow::Owned(label.replacing(line)),
            };
            let resizes = KeptResizes::begin(self.bell.as_fd());
            // One that has come is heard before the first question.
            editor_wait::heard().map_err(unreadable)?;
            self.paints.forget();
            self.external.line_mode();
            let signal = self
                .line
                .read_line(&self.look.fronted(&label, &self.paints));
            self.paints.forget();
            drop(resizes);
            // The line editor gives back the mode it found, which after a stop may have been the shell's.
            self.external.host_mode();
            match signal.map_err(unreadable)? {
                Signal::Success(text) => {
                    editor_wait::take_ahead(&self.ground, &self.gate).map_err(unreadable)?;
                    if let Some(whole) = self.look.whole(&text, &label) {
                        self.screen.trusted(whole.as_bytes())?;
                        self.screen.flush()?;
                    }
                    return Ok(Edited::Submitted(text, replaces));
                }
                Signal::CtrlC => return Ok(Edited::Cleared),
                Signal::CtrlD => return Ok(Edited::Left),
                Signal::HostCommand(command) => match HostCommand::named(&command) {
                    Some(HostCommand::Indent) => self.indent(),
                    Some(HostCommand::Suspend) => {
                        leave_line(&self.line, &label, &self.screen, "")?;
                        self.external.suspend();
                    }
                    Some(HostCommand::SearchHistory) => self.search_history()?,
                    Some(HostCommand::Block(wish)) => replaces = self.grant(wish).or(replaces),
                    Some(HostCommand::PromptMode) => self.toggle(Mode::Prompts),
                    Some(HostCommand::ShellMode) => self.toggle(Mode::Shell),
                    Some(HostCommand::OpenEditor) => self.open_editor(),
                    Some(HostCommand::Change(action)) => {
                        let ring = self.ring.lock();
                        let mut ring = ring.unwrap_or_else(PoisonError::into_inner);
                        change(&mut self.line, &mut ring, action);
                    }
                    Some(HostCommand::Answer | HostCommand::CallPending) if self.guests.wait() => {
                        leave_line(&self.line, &label, &self.screen, "\r\n")?;
                        return Ok(Edited::Interrupted(replaces));
                    }
                    Some(HostCommand::Answer) => {
                        self.background.say("no MCP client is asking anything")
                    }
                    Some(
                        HostCommand::Complete
                        | HostCommand::Inspect
                        | HostCommand::Suggest
                        | HostCommand::Resumed
                        | HostCommand::CallPending,
                    )
                    | None => {}
                },
                _ => {}
            }
        }
    }

    /// What the user looked up takes the place of what is being typed.
    fn search_history(&mut self) -> Result<(), Report> {
        let mut ahead = || pass(&self.gate).take_early();
        if let Some(FoundInput { text, cursor }) = (self.look_back)(&mut ahead)? {
            self.replace(&text);
            let position = cursor.min(self.line.current_buffer_contents().len());
            let move_there = EditCommand::MoveToPosition {
                position,
                select: false,
            };
            self.line.run_edit_commands(&[move_there]);
        }
        Ok(())
    }

    /// What a text without a leading mark is.
    pub(super) fn mode(&self) -> Mode {
        look(&self.snapshot).mode
    }

    /// This mode instead of cells, or back.
    pub(super) fn toggle(&mut self, wanted: Mode) {
        let mode = match self.mode() {
            mode if mode == wanted => Mode::Cells,
            _ => wanted,
        };
        if mode == Mode::Prompts {
            (self.on_prompt)();
        }
        look(&self.snapshot).mode = mode;
    }

    /// The text in the user's own editor.
    fn open_editor(&mut self) {
        let text = self.line.current_buffer_contents().to_owned();
        match self.external.edit(&text, self.mode()) {
            Ok(Some(edited)) => self.replace(&edited),
            Ok(None) => {}
            Err(why) => self.background.say(&why),
        }
    }

    /// Lets a program log the user in; how that went.
    pub(super) fn log_in(&self, program: &LoginProgram) -> String {
        self.external.log_in(program)
    }

    /// Where keys wait for the editor.
    pub(super) fn gate(&self) -> SharedKeyQueue {
        Arc::clone(&self.gate)
    }

    /// The next reading begins with these bytes of the keyboard, behind what waits for it already.
    pub(super) fn type_ahead(&self, bytes: &[u8]) {
        let mut gate = pass(&self.gate);
        for event in Decoder::all(bytes) {
            gate.hold(event);
        }
    }

    /// What was typed ahead, as text, when some of it would run; nothing of it waits any more then.
    pub(super) fn take_queue(&self) -> Option<String> {
        let mut gate = pass(&self.gate);
        (!gate.lines().ended.is_empty()).then(|| gate.take_unrun())
    }

    /// Does what a key wants; returns the In number of a prompt that was recalled.
    fn grant(&mut self, wish: BlockCommand) -> Option<u32> {
        if wish == BlockCommand::Unfold {
            let folded = self.folded.as_deref();
            self.background
                .say(folded.unwrap_or("there is no shortened output to show"));
            return None;
        }
        match self.blocks.grant(wish, (self.last)()) {
            BlockOutcome::Insert(code) => {
                let first = self.line.current_buffer_contents().is_empty();
                let code = self.as_code(code, first);
                self.insert(&code);
            }
            BlockOutcome::Replace(code) => {
                let code = self.as_code(code, true);
                self.replace(&code);
            }
            BlockOutcome::Prompt(line, prompt) => {
                self.replace(&prompt);
                return Some(line);
            }
            BlockOutcome::Clip(line, answer) => {
                let what = format!("the answer of [{line}]");
                self.background.say(&copied(&self.screen, &what, &answer));
            }
            BlockOutcome::Nothing(why) => self.background.say(why),
        }
        None
    }

    /// Code as it has to begin where a text is a prompt unless it says otherwise.
    fn as_code(&self, code: String, first: bool) -> String {
        match first && self.mode() == Mode::Prompts {
            true => format!(";{code}"),
            false => code,
        }
    }

    fn insert(&mut self, text: &str) {
        self.line
            .run_edit_commands(&[EditCommand::InsertString(editable(text).into_owned())]);
    }

    fn replace(&mut self, text: &str) {
        let change = Change {
            range: 0..self.line.current_buffer_contents().len(),
            with: editable(text).into_owned(),
        };
        self.line.run_edit_commands(&change.commands());
    }

    /// Indents the line that was just begun at the cursor.
    fn indent(&mut self) {
        let before = &self.line.current_buffer_contents()[..self.line.current_insertion_point()];
        let typed = before.strip_suffix('\n').unwrap_or(before);
        let mode = match self.mode() {
            Mode::Shell => Mode::Shell,
            Mode::Cells | Mode::Prompts => Mode::Cells,
        };
        let spoken = look(&self.snapshot).spoken.clone();
        if let Completeness::Incomplete { indent } = spoken.completeness(typed, mode)
            && indent > 0
        {
            self.line
                .run_edit_commands(&[EditCommand::InsertString(" ".repeat(indent))]);
        }
    }
}
