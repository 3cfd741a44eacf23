//! The keys, on top of the editor's own: Enter and Tab as Python wants them, Esc as a prefix, our commands.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use reedline::{
    EditCommand, EditMode, Emacs, PromptEditMode, ReedlineEvent, ReedlineRawEvent,
    ValidationResult, Validator, default_emacs_keybindings,
};

use crate::input::{Completeness, completeness};
use crate::terminal::action::Action;
use crate::terminal::blocks::Wish;
use crate::terminal::complete;
use crate::terminal::snapshot::{Shared, look};
use crate::terminal::typing::editable;

/// A key this soon after Esc is one with Alt.
const PREFIX: Duration = Duration::from_secs(1);

/// Decides Enter when the text on the screen is not the whole text yet.
pub(super) struct Rules(pub(super) Shared);

impl Validator for Rules {
    fn validate(&self, text: &str) -> ValidationResult {
        let mut snapshot = look(&self.0);
        match completeness(text, snapshot.mode) {
            Completeness::Incomplete { .. } => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => {
                snapshot.submitted = true;
                ValidationResult::Complete
            }
        }
    }
}

/// Emacs keys, with Enter and Tab as Python wants them.
pub(super) struct Keys {
    emacs: Emacs,
    snapshot: Shared,
    /// When Esc was pressed last: it makes the next key one with Alt.
    escaped: Option<Instant>,
}

impl Keys {
    /// The keys of an editor whose text is in `snapshot`.
    pub(super) fn new(snapshot: Shared) -> Self {
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
            Action::Suspend.event(),
        );
        keys.add_binding(
            KeyModifiers::SHIFT,
            KeyCode::BackTab,
            Action::Inspect.event(),
        );
        keys.add_binding(
            KeyModifiers::ALT,
            KeyCode::Char('.'),
            Action::Suggest.event(),
        );
        Keys {
            emacs: Emacs::new(keys),
            snapshot,
            escaped: None,
        }
    }

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
            let enter = ReedlineEvent::Multiple(vec![ReedlineEvent::Enter, Action::Indent.event()]);
            // Only a single event ends a history search.
            return ReedlineEvent::UntilFound(vec![enter, ReedlineEvent::Enter]);
        };
        let mode = look(&self.snapshot).mode;
        let (before, after) = text.split_at(cursor.min(text.len()));
        let spaces = |count: usize| {
            let mut edits = vec![EditCommand::InsertNewline];
            if count > 0 {
                edits.push(EditCommand::InsertString(" ".repeat(count)));
            }
            ReedlineEvent::Edit(edits)
        };
        let indent_here = match completeness(before, mode) {
            Completeness::Incomplete { indent } => indent,
            Completeness::Complete | Completeness::Invalid => 0,
        };
        if !after.trim().is_empty() && after.contains('\n') {
            return spaces(indent_here);
        }
        match completeness(&text, mode) {
            Completeness::Incomplete { indent } => spaces(indent),
            Completeness::Complete | Completeness::Invalid => {
                look(&self.snapshot).submitted = true;
                ReedlineEvent::Submit
            }
        }
    }
}

impl EditMode for Keys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let seen = {
            let mut snapshot = look(&self.snapshot);
            snapshot.submitted = false;
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
            return Action::Wish(wish).event();
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
                KeyCode::Enter => return complete::or_take(self.enter(seen)),
                KeyCode::Tab => return Action::Complete.event(),
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
