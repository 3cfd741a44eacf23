//! The line editor, assembled: keys, colours, validation, history.
//!
//! In go a label and text to begin with, out comes an [`Edited`]. Enter is decided here by the rules of `input`: a
//! complete text is submitted, an incomplete one gets a new, indented line, a cursor above the last line gets a plain
//! one. Nothing here runs or records anything.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use reedline::{
    EditCommand, EditMode, Emacs, ExternalPrinter, Highlighter, PromptEditMode, Reedline,
    ReedlineEvent, ReedlineRawEvent, Signal, StyledText, ValidationResult, Validator,
    default_emacs_keybindings,
};

use crate::display::paint;
use crate::history::Recall;
use crate::input::{Completeness, Mode, completeness};
use crate::report::Report;
use crate::session::LastExchange;
use crate::terminal::blocks::{Blocks, Got, Wish};
use crate::terminal::prompt::Label;
use crate::terminal::recall::EditorHistory;
use crate::terminal::typing::editable;

/// The command of the host that indents the line just begun.
const INDENT: &str = "indent";

/// The command of the host that stops the program until the shell resumes it.
const SUSPEND: &str = "suspend";

/// A key this soon after Esc is one with Alt.
const PREFIX: Duration = Duration::from_secs(1);

/// How often messages of other threads are looked for while the editor waits for a key.
const POLL: Duration = Duration::from_millis(50);

/// What came of editing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edited {
    /// A text to run, and the In number of the prompt it is to replace.
    Submitted(String, Option<u32>),
    /// Ctrl-C: the line was cleared.
    Cleared,
    /// Ctrl-D on an empty line.
    Left,
}

/// What is on the screen, as of the last paint: shared by painter and keys.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    text: String,
    cursor: usize,
    /// No key has come since the paint.
    fresh: bool,
}

/// A snapshot both sides hold.
pub(super) type Shared = Arc<Mutex<Snapshot>>;

impl Snapshot {
    /// True when a message may be printed above the input: the cursor stands in its last line.
    pub(super) fn cursor_in_last_line(&self) -> bool {
        !self
            .text
            .get(self.cursor..)
            .unwrap_or_default()
            .contains('\n')
    }
}

/// The editor.
pub(super) struct Editor {
    line: Reedline,
    snapshot: Shared,
    suspend: Box<dyn Fn()>,
    last: Box<dyn Fn() -> Option<LastExchange>>,
    say: Box<dyn Fn(&str)>,
    blocks: Blocks,
    folded: Option<String>,
    prompt_mode: bool,
}

/// What the editor is made of.
pub(super) struct Options {
    pub recall: Recall,
    pub colour: bool,
    pub prompt_mode: bool,
    pub printer: ExternalPrinter<String>,
    /// Called when the text being typed becomes a prompt.
    pub on_prompt: Box<dyn Fn() + Send>,
    /// Stops the program; returns when it is resumed.
    pub suspend: Box<dyn Fn()>,
    /// Looks the newest exchange up.
    pub last: Box<dyn Fn() -> Option<LastExchange>>,
}

impl Editor {
    pub(super) fn new(options: Options) -> Self {
        let snapshot = Shared::default();
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::ALT,
            KeyCode::Up,
            ReedlineEvent::Multiple(vec![ReedlineEvent::ToStart, ReedlineEvent::PreviousHistory]),
        );
        keys.add_binding(KeyModifiers::ALT, KeyCode::Down, ReedlineEvent::NextHistory);
        keys.add_binding(
            KeyModifiers::CONTROL,
            KeyCode::Char('z'),
            ReedlineEvent::ExecuteHostCommand(SUSPEND.to_owned()),
        );
        let mode = if options.prompt_mode {
            Mode::Prompts
        } else {
            Mode::Cells
        };
        let line = Reedline::create()
            .with_history(Box::new(EditorHistory::new(options.recall)))
            .with_validator(Box::new(Rules { mode }))
            .with_highlighter(Box::new(Colours {
                snapshot: Arc::clone(&snapshot),
                colour: options.colour,
                prompt_mode: options.prompt_mode,
                on_prompt: options.on_prompt,
            }))
            .with_edit_mode(Box::new(Keys {
                emacs: Emacs::new(keys),
                snapshot: Arc::clone(&snapshot),
                mode,
                escaped: None,
            }))
            .with_ansi_colors(options.colour)
            .with_external_printer(options.printer)
            .with_poll_interval(POLL)
            .use_bracketed_paste(true);
        Editor {
            line,
            snapshot,
            suspend: options.suspend,
            last: options.last,
            say: Box::new(|_| {}),
            blocks: Blocks::default(),
            folded: None,
            prompt_mode: options.prompt_mode,
        }
    }

    /// How a line is said above what is being typed.
    pub(super) fn say_with(&mut self, say: Box<dyn Fn(&str)>) {
        self.say = say;
    }

    /// What Ctrl-O is to show.
    pub(super) fn set_folded(&mut self, folded: String) {
        self.folded = Some(folded);
    }

    /// What is being typed, for whoever prints beside it.
    pub(super) fn snapshot(&self) -> Shared {
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
        mut replaces: Option<u32>,
    ) -> Result<Edited, Report> {
        if !begin_with.is_empty() {
            self.insert(begin_with);
        }
        loop {
            let signal = match replaces {
                None => self.line.read_line(label),
                Some(line) => self.line.read_line(&label.replacing(line)),
            };
            match signal
                .map_err(|error| Report::failure("could not read the terminal").because(error))?
            {
                Signal::Success(text) => return Ok(Edited::Submitted(text, replaces)),
                Signal::CtrlC => return Ok(Edited::Cleared),
                Signal::CtrlD => return Ok(Edited::Left),
                Signal::HostCommand(command) if command == INDENT => self.indent(),
                Signal::HostCommand(command) if command == SUSPEND => (self.suspend)(),
                Signal::HostCommand(command) => {
                    if let Some(wish) = Wish::named(&command) {
                        replaces = self.grant(wish).or(replaces);
                    }
                }
                _ => {}
            }
        }
    }

    /// Does what a key wants; returns the In number of a prompt that was recalled.
    fn grant(&mut self, wish: Wish) -> Option<u32> {
        if wish == Wish::Unfold {
            match &self.folded {
                Some(folded) => (self.say)(folded),
                None => (self.say)("nothing was shortened"),
            }
            return None;
        }
        match self.blocks.grant(wish, (self.last)()) {
            Got::Insert(code) => {
                let first = self.line.current_buffer_contents().is_empty();
                let code = self.as_code(code, first);
                self.insert(&code);
            }
            Got::Replace(code) => {
                let code = self.as_code(code, true);
                self.replace(&code);
            }
            Got::Prompt(line, prompt) => {
                self.replace(&prompt);
                return Some(line);
            }
            Got::Nothing(why) => (self.say)(why),
        }
        None
    }

    /// Code as it has to begin where a text is a prompt unless it says otherwise.
    fn as_code(&self, code: String, first: bool) -> String {
        if self.prompt_mode && first {
            format!(";{code}")
        } else {
            code
        }
    }

    fn insert(&mut self, text: &str) {
        self.line
            .run_edit_commands(&[EditCommand::InsertString(editable(text).into_owned())]);
    }

    fn replace(&mut self, text: &str) {
        self.line.run_edit_commands(&[
            EditCommand::Clear,
            EditCommand::InsertString(editable(text).into_owned()),
        ]);
    }

    /// Indents the line that was just begun at the cursor.
    fn indent(&mut self) {
        let before = &self.line.current_buffer_contents()[..self.line.current_insertion_point()];
        let typed = before.strip_suffix('\n').unwrap_or(before);
        if let Completeness::Incomplete { indent } = completeness(typed, Mode::Cells)
            && indent > 0
        {
            self.line
                .run_edit_commands(&[EditCommand::InsertString(" ".repeat(indent))]);
        }
    }
}

/// Decides Enter when the text on the screen is not the whole text yet.
struct Rules {
    mode: Mode,
}

impl Validator for Rules {
    fn validate(&self, text: &str) -> ValidationResult {
        match completeness(text, self.mode) {
            Completeness::Incomplete { .. } => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => ValidationResult::Complete,
        }
    }
}

/// Paints the text and keeps the snapshot.
struct Colours {
    snapshot: Shared,
    colour: bool,
    prompt_mode: bool,
    on_prompt: Box<dyn Fn() + Send>,
}

impl Highlighter for Colours {
    fn highlight(&self, text: &str, cursor: usize) -> StyledText {
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if text.starts_with('.') && !snapshot.text.starts_with('.') {
            (self.on_prompt)();
        }
        *snapshot = Snapshot {
            text: text.to_owned(),
            cursor,
            fresh: true,
        };
        drop(snapshot);
        let mut styled = StyledText::new();
        if self.colour {
            for (range, style) in paint(text, self.prompt_mode) {
                styled.push((style, text[range].to_owned()));
            }
        } else {
            styled.push((nu_ansi_term::Style::default(), text.to_owned()));
        }
        styled
    }
}

/// Emacs keys, with Enter and Tab as Python wants them.
struct Keys {
    emacs: Emacs,
    snapshot: Shared,
    mode: Mode,
    /// When Esc was pressed last: it makes the next key one with Alt.
    escaped: Option<Instant>,
}

impl Keys {
    /// What a key wants of the last answer; Esc and then a key is that key with Alt.
    fn wish(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Option<Wish> {
        let escaped = self
            .escaped
            .take()
            .is_some_and(|pressed| pressed.elapsed() < PREFIX);
        if code == KeyCode::Esc && modifiers.is_empty() {
            self.escaped = Some(Instant::now());
        }
        let modifiers = match code {
            KeyCode::Char(_) if escaped => modifiers | KeyModifiers::ALT,
            _ => modifiers,
        };
        Wish::of(code, modifiers)
    }

    fn enter(&self, seen: Option<(String, usize)>) -> ReedlineEvent {
        let Some((text, cursor)) = seen else {
            // Keys came faster than they were painted: the validator decides on what is there when it is Enter's turn.
            let indent = ReedlineEvent::ExecuteHostCommand(INDENT.to_owned());
            let enter = ReedlineEvent::Multiple(vec![ReedlineEvent::Enter, indent]);
            // Only a single event ends a history search.
            return ReedlineEvent::UntilFound(vec![enter, ReedlineEvent::Enter]);
        };
        let (before, after) = text.split_at(cursor.min(text.len()));
        let spaces = |count: usize| {
            let mut edits = vec![EditCommand::InsertNewline];
            if count > 0 {
                edits.push(EditCommand::InsertString(" ".repeat(count)));
            }
            ReedlineEvent::Edit(edits)
        };
        let indent_here = match completeness(before, self.mode) {
            Completeness::Incomplete { indent } => indent,
            Completeness::Complete | Completeness::Invalid => 0,
        };
        if !after.trim().is_empty() && after.contains('\n') {
            return spaces(indent_here);
        }
        match completeness(&text, self.mode) {
            Completeness::Incomplete { indent } => spaces(indent),
            Completeness::Complete | Completeness::Invalid => ReedlineEvent::Submit,
        }
    }

    /// Tab makes spaces to the next multiple of four, in white space at the start of a line and elsewhere.
    fn tab(seen: Option<(String, usize)>) -> ReedlineEvent {
        let column = seen.map_or(0, |(text, cursor)| {
            let before = &text[..cursor.min(text.len())];
            before.chars().count()
                - before
                    .rfind('\n')
                    .map_or(0, |at| before[..=at].chars().count())
        });
        ReedlineEvent::Edit(vec![EditCommand::InsertString(" ".repeat(4 - column % 4))])
    }
}

impl EditMode for Keys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let seen = {
            let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut snapshot.fresh).then(|| (snapshot.text.clone(), snapshot.cursor))
        };
        let event: Event = match raw.into() {
            Event::Paste(text) => Event::Paste(editable(&text).into_owned()),
            event => event,
        };
        if let Event::Key(key) = &event
            && key.kind != KeyEventKind::Release
            && let Some(wish) = self.wish(key.code, key.modifiers)
        {
            return ReedlineEvent::ExecuteHostCommand(wish.name());
        }
        if let Event::Key(KeyEvent {
            code,
            modifiers: KeyModifiers::NONE,
            kind,
            ..
        }) = &event
            && *kind != KeyEventKind::Release
        {
            match code {
                KeyCode::Enter => return self.enter(seen),
                KeyCode::Tab => return Self::tab(seen),
                // C1 control characters come as characters; they would be painted as they are.
                KeyCode::Char(c) if c.is_control() => return ReedlineEvent::None,
                _ => {}
            }
        }
        match ReedlineRawEvent::try_from(event) {
            Ok(raw) => self.emacs.parse_event(raw),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        PromptEditMode::Emacs
    }
}

/// Text typed while something ran, as the editor can take it: control characters are left out.
pub(super) fn typed_text(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    Cow::Owned(
        text.chars()
            .filter(|c| *c == '\n' || *c == '\t' || !c.is_control())
            .collect(),
    )
}
