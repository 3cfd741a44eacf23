//! The line editor, assembled: keys, colours, validation, history; and the commands that keys send to us.
//!
//! In: a label and the initial text. Out: an [`Edited`]. Enter is decided here by the rules of `input`: a complete
//! text is submitted, an incomplete one gets a new, indented line, a cursor above the last line gets a plain one.
//! Nothing here runs or records anything.

use std::borrow::Cow;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};

use crossterm::cursor::SetCursorStyle;
use nu_ansi_term::Style;
use reedline::{CursorConfig, EditCommand, ExternalPrinter, Prompt, Reedline, Signal};

use crate::agent::LoginProgram;
use crate::config::{EditMode, Keymap};
use crate::display::copy_to_clipboard;
use crate::input::{Completeness, Mode};
use crate::keys::Decoder;
use crate::markdown::{self, Theme};
use crate::process::DeferredResizes;
use crate::record::Recall;
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
use crate::terminal::keys::held_text::SharedKeys;
use crate::terminal::keys::key_queue::{SharedKeyQueue, lock_queue};
use crate::terminal::keys::{InputValidator, KeyHandler, KeyOptions, SharedKillRing};
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::panel::unreadable;
use crate::terminal::prompt::Label;
use crate::terminal::reverse_search::{FoundInput, SearchHistory};
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::escape::editable;
use crate::text::report::Report;

/// Repaints the label and the input, from any thread.
pub(super) type Repaint = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edited {
    /// A text to run, and the In number of the prompt it replaces.
    Submitted(String, Option<u32>),
    /// Ctrl-C: the line was cleared.
    Cleared,
    /// Ctrl-D on an empty line.
    Left,
    /// An incoming call needs the screen; the text is kept, with the In number of the prompt it replaces.
    Interrupted(Option<u32>),
}

pub(super) struct Editor {
    line: Reedline,
    repaint: Repaint,
    snapshot: SharedSnapshot,
    look: Arc<InputRenderer>,
    screen: Screen,
    last: Box<dyn Fn() -> Option<LastExchange>>,
    background: BackgroundOutput,
    blocks: BlockCycle,
    folded: Option<String>,
    key_queue: SharedKeyQueue,
    keys: SharedKeys,
    ring: SharedKillRing,
    external: ExternalPrograms,
    on_prompt: Arc<dyn Fn() + Send + Sync>,
    on_plan_mode: Box<dyn Fn(bool)>,
    hints: Hints,
    reverse_search: SearchHistory,
    pending_calls: PendingCalls,
    background_reply: BackgroundReply,
    paint_capture: PaintCapture,
    editor_waker: EditorWaker,
}

pub(super) struct EditorOptions {
    pub recall: Recall,
    pub screen: Screen,
    pub theme: Theme,
    pub snapshot: SharedSnapshot,
    pub keymap: Arc<Keymap>,
    pub edit_mode: EditMode,
    pub key_queue: SharedKeyQueue,
    pub external: ExternalPrograms,
    pub printer: ExternalPrinter<String>,
    pub background: BackgroundOutput,
    pub editor_waker: EditorWaker,
    pub on_prompt: Arc<dyn Fn() + Send + Sync>,
    /// The user has switched plan mode.
    pub on_plan_mode: Box<dyn Fn(bool)>,
    /// Called with the background that the terminal reported.
    pub on_background: Box<dyn Fn(markdown::Background) + Send + Sync>,
    pub last: Box<dyn Fn() -> Option<LastExchange>>,
    pub reverse_search: SearchHistory,
    pub pending_calls: PendingCalls,
    /// Called when the first prompt is on the screen.
    pub ready: Box<dyn FnOnce() + Send>,
    pub sources: Sources,
}

impl Editor {
    pub(super) fn new(options: EditorOptions) -> Self {
        let (snapshot, key_queue) = (options.snapshot, options.key_queue);
        let ring = SharedKillRing::default();
        let setup = KeyOptions {
            keymap: options.keymap,
            edit_mode: options.edit_mode,
            snapshot: Arc::clone(&snapshot),
            key_queue: Arc::clone(&key_queue),
            ring: Arc::clone(&ring),
            guard: options.external.guard.clone(),
        };
        let keys = SharedKeys::new(KeyHandler::new(setup));
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
        let background_reply = BackgroundReply::new(move |background| {
            painter.set_background(background);
            on_background(background);
        });
        let paint_capture = PaintCapture::new(options.screen.clone());
        let on_prompt = Arc::clone(&options.on_prompt);
        let history = EditorHistory::new(options.recall, Arc::clone(&snapshot));
        let mut line = Reedline::create()
            .with_history(Box::new(history))
            .with_validator(Box::new(InputValidator(Arc::clone(&snapshot))))
            .with_highlighter(Box::new(InputHighlighter {
                look: Arc::clone(&look),
                on_prompt: Box::new(move || on_prompt()),
                before: Box::new(editor_wait::before_paint(
                    &background_reply,
                    &key_queue,
                    &paint_capture,
                )),
            }))
            .with_edit_mode(paint_capture.wrap(background_reply.wrap(hints.wrap(keys.clone()))))
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
        let (editor_waker, sources) = (options.editor_waker, options.sources);
        let waiting = EditorWait {
            editor_waker: editor_waker.clone(),
            key_queue: Arc::clone(&key_queue),
            guard: options.external.guard.clone(),
            background: options.background.clone(),
            paint_capture: paint_capture.clone(),
            ready: Cell::new(Some(options.ready)),
        };
        let mut line = complete::install(line, sources, Arc::clone(&snapshot), colour, waiting);
        let signal = line.repaint_signal();
        let rung = editor_waker.clone();
        let repaint: Repaint = Arc::new(move || {
            signal.request_repaint();
            rung.wake();
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
            key_queue,
            keys,
            ring,
            external: options.external,
            on_prompt: options.on_prompt,
            on_plan_mode: options.on_plan_mode,
            hints,
            reverse_search: options.reverse_search,
            pending_calls: options.pending_calls,
            background_reply,
            paint_capture,
            editor_waker,
        }
    }

    /// Sets the source of suggestions; `say` is called on another thread when the agent is missing.
    pub(super) fn suggest_with(&mut self, ask: Ask, say: impl Fn(&str) + Send + Sync + 'static) {
        self.hints.connect(ask, say);
    }

    pub(super) fn suggest_history(&self, on: bool) {
        self.hints.suggest_history(on);
    }

    pub(super) fn set_folded(&mut self, folded: String) {
        self.folded = Some(folded);
    }

    pub(super) fn repainter(&self) -> Repaint {
        Arc::clone(&self.repaint)
    }

    /// Returns the filter for the terminal's reply about its background.
    pub(super) fn background_reply(&self) -> &BackgroundReply {
        &self.background_reply
    }

    pub(super) fn set_theme(&self, theme: Theme) {
        self.look.set_theme(theme);
    }

    pub(super) fn snapshot(&self) -> SharedSnapshot {
        Arc::clone(&self.snapshot)
    }

    /// Reads one input. `begin_with` is the initial text, which replaces the prompt of In number `replaces`.
    ///
    /// # Errors
    /// Fails when the terminal cannot be read or written.
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
            lock_queue(&self.key_queue).open();
            // Later calls interrupt through the key queue.
            if self.pending_calls.needs_screen() {
                return Ok(Edited::Interrupted(replaces));
            }
            lock_snapshot(&self.snapshot).submitted = false;
            let label = match replaces {
                None => Cow::Borrowed(label),
                Some(line) => Cow::Owned(label.replacing(line)),
            };
            if let Some(text) = self.take_held_text(&label)? {
                return Ok(Edited::Submitted(text, replaces));
            }
            let resizes = DeferredResizes::begin(self.editor_waker.as_fd());
            // Read a pending resize before the first cursor query.
            editor_wait::has_event().map_err(unreadable)?;
            self.paint_capture.forget();
            self.external.line_mode();
            self.paint_capture.show_label(&label.render_prompt_left());
            let signal = self
                .line
                .read_line(&self.look.windowed_prompt(&label, &self.paint_capture));
            self.paint_capture.forget();
            drop(resizes);
            // The line editor restores the mode it found, which after a stop may have been the shell's.
            self.external.host_mode();
            match signal.map_err(unreadable)? {
                Signal::Success(text) => {
                    editor_wait::queue_typeahead(&self.background_reply, &self.key_queue)
                        .map_err(unreadable)?;
                    if let Some(whole) = self.look.whole(&text, &label) {
                        self.screen.write_trusted(whole.as_bytes())?;
                        self.screen.flush()?;
                    }
                    return Ok(Edited::Submitted(text, replaces));
                }
                Signal::CtrlC => return Ok(Edited::Cleared),
                Signal::CtrlD => return Ok(Edited::Left),
                Signal::HostCommand(command) => match HostCommand::from_name(&command) {
                    Some(HostCommand::Indent) => self.indent(),
                    Some(HostCommand::Suspend) => {
                        leave_line(&self.line, &label, &self.screen, "")?;
                        self.external.suspend();
                    }
                    Some(HostCommand::SearchHistory) => self.search_history()?,
                    Some(HostCommand::Block(command)) => {
                        replaces = self.run_block_command(command).or(replaces)
                    }
                    Some(HostCommand::PromptMode) => self.toggle(Mode::Prompts),
                    Some(HostCommand::ShellMode) => self.toggle(Mode::Shell),
                    Some(HostCommand::PlanMode) => {
                        let on = !lock_snapshot(&self.snapshot).plan;
                        lock_snapshot(&self.snapshot).plan = on;
                        (self.on_plan_mode)(on);
                    }
                    Some(HostCommand::OpenEditor) => self.open_editor(),
                    Some(HostCommand::Change(action)) => {
                        let ring = self.ring.lock();
                        let mut ring = ring.unwrap_or_else(PoisonError::into_inner);
                        change(&mut self.line, &mut ring, action);
                    }
                    Some(HostCommand::Answer | HostCommand::CallPending)
                        if self.pending_calls.is_waiting() =>
                    {
                        leave_line(&self.line, &label, &self.screen, "\r\n")?;
                        return Ok(Edited::Interrupted(replaces));
                    }
                    Some(HostCommand::Answer) => {
                        self.background.print("no MCP client is asking anything")
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

    /// Takes the text that was typed ahead, where it would be the only one; returns it when it was submitted, after
    /// it was shown as the editor would have left it.
    fn take_held_text(&mut self, label: &Label) -> Result<Option<String>, Report> {
        if !self.line.current_buffer_contents().is_empty() || !self.screen.is_at_line_start() {
            return Ok(None);
        }
        if self.background_reply.is_to_come() {
            // The keys from before the first prompt, which the first paint would hold.
            editor_wait::queue_typeahead(&self.background_reply, &self.key_queue)
                .map_err(unreadable)?;
        }
        if !lock_queue(&self.key_queue).has_keys() {
            return Ok(None);
        }
        let held = self.keys.take_held_text();
        if !held.submitted {
            if !held.text.is_empty() {
                self.insert(&held.text);
            }
            return Ok(None);
        }
        let shown = self.look.submitted(&held.text, label);
        self.screen.write_trusted(shown.as_bytes())?;
        self.screen.flush()?;
        Ok(Some(held.text))
    }

    /// Runs the reverse search; its result replaces the buffer.
    fn search_history(&mut self) -> Result<(), Report> {
        let mut ahead = || lock_queue(&self.key_queue).pop_early();
        if let Some(FoundInput { text, cursor }) = (self.reverse_search)(&mut ahead)? {
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

    pub(super) fn mode(&self) -> Mode {
        lock_snapshot(&self.snapshot).mode
    }

    /// Switches from cells to this mode, or back.
    pub(super) fn toggle(&mut self, wanted: Mode) {
        let mode = match self.mode() {
            mode if mode == wanted => Mode::Cells,
            _ => wanted,
        };
        if mode == Mode::Prompts {
            (self.on_prompt)();
        }
        lock_snapshot(&self.snapshot).mode = mode;
    }

    /// Shows plan mode in the label.
    pub(super) fn set_plan_mode(&self, on: bool) {
        lock_snapshot(&self.snapshot).plan = on;
    }

    fn open_editor(&mut self) {
        let text = self.line.current_buffer_contents().to_owned();
        match self.external.edit(&text, self.mode()) {
            Ok(Some(edited)) => self.replace(&edited),
            Ok(None) => {}
            Err(why) => self.background.print(&why),
        }
    }

    /// Runs the agent's login program; returns the outcome as a line.
    pub(super) fn log_in(&self, program: &LoginProgram) -> String {
        self.external.log_in(program)
    }

    pub(super) fn key_queue(&self) -> SharedKeyQueue {
        Arc::clone(&self.key_queue)
    }

    /// Queues these bytes of the keyboard for the next read, behind the keys queued already.
    pub(super) fn type_ahead(&self, bytes: &[u8]) {
        let mut key_queue = lock_queue(&self.key_queue);
        for event in Decoder::all(bytes) {
            key_queue.push(event);
        }
    }

    /// Takes the typeahead as text, when some of it would run.
    pub(super) fn take_queue(&self) -> Option<String> {
        let mut key_queue = lock_queue(&self.key_queue);
        (!key_queue.lines().ended.is_empty()).then(|| key_queue.take_as_text())
    }

    /// Runs a block command; returns the In number of a recalled prompt.
    fn run_block_command(&mut self, command: BlockCommand) -> Option<u32> {
        if command == BlockCommand::Unfold {
            let folded = self.folded.as_deref();
            self.background
                .print(folded.unwrap_or("there is no shortened output to show"));
            return None;
        }
        match self.blocks.run(command, (self.last)()) {
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
                self.background
                    .print(&copy_to_clipboard(&self.screen, &what, &answer));
            }
            BlockOutcome::Nothing(why) => self.background.print(why),
        }
        None
    }

    /// Adds the `;` that marks code in prompt mode, where `first` is set.
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

    fn indent(&mut self) {
        let before = &self.line.current_buffer_contents()[..self.line.current_insertion_point()];
        let typed = before.strip_suffix('\n').unwrap_or(before);
        let mode = match self.mode() {
            Mode::Shell => Mode::Shell,
            Mode::Cells | Mode::Prompts => Mode::Cells,
        };
        let cell_language = lock_snapshot(&self.snapshot).cell_language.clone();
        if let Completeness::Incomplete { indent } = cell_language.completeness(typed, mode)
            && indent > 0
        {
            self.line
                .run_edit_commands(&[EditCommand::InsertString(" ".repeat(indent))]);
        }
    }
}
