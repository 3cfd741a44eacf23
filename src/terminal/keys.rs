//! The keys: the meaning of each, from the keymap and, where it matters, from the text typed.
//!
//! In: the terminal's events. Out: reedline's events. Unbound keys go to reedline's own emacs or vi mode
//! (`edit_mode`). Chords, Esc before a key (emacs), Enter, Tab, Backspace, colons and cuts are decided here.
//! Invariant: a key that came in one read with a key that ends the read is not lost (`key_queue`).
//!
//! Absent on purpose: the table of actions (`config`), and executing host commands (`editor`).

pub(super) mod action_events;
mod edit_mode;
pub(super) mod edits;
pub(super) mod held_text;
pub(super) mod key_queue;
pub(super) mod kill_ring;
pub(super) mod typed_text;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use reedline::{
    EditCommand, EditMode, PromptEditMode, PromptViMode, ReedlineEvent, ReedlineRawEvent,
    ValidationResult, Validator,
};

use crate::config::{self, ChordPriority, KeyAction, KeyMatch, Keymap, Stroke};
use crate::input::{Completeness, Mode};
use crate::keys::{by_habit, in_place, is_beyond_latin};
use crate::screen::guard::TerminalGuard;
use crate::terminal::cell_language::CellLanguage;
use crate::terminal::complete;
use crate::terminal::host_command::HostCommand;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::escape::editable;
use edit_mode::InnerEditMode;
use edits::{Change, enter, indent_at, newline};
use key_queue::{SharedKeyQueue, lock_queue};
use kill_ring::KillRing;
use typed_text::TypedText;

/// A key within this time after Esc counts as pressed with Alt.
const PREFIX: Duration = Duration::from_secs(1);

/// Decides Enter when the text on the screen is not the whole text yet.
pub(super) struct InputValidator(pub(super) SharedSnapshot);

impl Validator for InputValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        let (mode, cell_language) = reading(&self.0);
        match cell_language.completeness(text, mode) {
            Completeness::Incomplete { .. } => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => {
                lock_snapshot(&self.0).submitted = true;
                ValidationResult::Complete
            }
        }
    }
}

/// Returns how a text will be read, by value, so that the snapshot is not locked while a kernel is asked.
fn reading(snapshot: &SharedSnapshot) -> (Mode, CellLanguage) {
    let snapshot = lock_snapshot(snapshot);
    (snapshot.mode, snapshot.cell_language.clone())
}

pub(super) type SharedKillRing = Arc<Mutex<KillRing>>;

pub(super) struct KeyOptions {
    pub(super) keymap: Arc<Keymap>,
    pub(super) edit_mode: config::EditMode,
    pub(super) snapshot: SharedSnapshot,
    pub(super) key_queue: SharedKeyQueue,
    pub(super) ring: SharedKillRing,
    pub(super) guard: Option<Arc<TerminalGuard>>,
}

pub(super) struct KeyHandler {
    setup: KeyOptions,
    /// The editor's own keys, for unbound ones.
    machine: InnerEditMode,
    begun: Vec<Stroke>,
    /// The time of the last Esc, which adds Alt to the next key.
    escaped: Option<Instant>,
    typed: Option<TypedText>,
    selecting: bool,
}

impl KeyHandler {
    pub(super) fn new(setup: KeyOptions) -> Self {
        let machine = InnerEditMode::new(setup.edit_mode);
        let keys = KeyHandler {
            setup,
            machine,
            begun: Vec::new(),
            escaped: None,
            typed: None,
            selecting: false,
        };
        keys.publish_mode();
        keys
    }

    fn publish_mode(&self) {
        lock_snapshot(&self.setup.snapshot).vi = self.machine.vi();
    }

    /// Returns true for events that leave vi's insert mode. The editor executes all keys of one read in the mode
    /// they end in, so the text typed before has to be in the buffer already.
    fn leaves_inserting(&self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        if self.machine.vi() != Some(PromptViMode::Insert) {
            return false;
        }
        let stroke = Stroke::new(key.code, key.modifiers);
        stroke.is_escape()
            || (key.modifiers.contains(KeyModifiers::ALT)
                && self.meaning(stroke) == KeyMatch::NoMatch)
    }

    /// Returns the character, where the event is Esc and a character in vi's modes.
    fn behind_escape(&self, event: &Event) -> Option<KeyEvent> {
        let guard = self.setup.guard.as_ref();
        let told = self.machine.vi().is_none() || guard.is_some_and(|guard| guard.disambiguates());
        edit_mode::behind_escape(event).filter(|_| !told)
    }

    fn is_chord_of_ours(&self, event: &Event) -> bool {
        matches!(event, Event::Key(key) if edit_mode::is_chord(
            &self.meaning(Stroke::new(key.code, key.modifiers)), self.is_empty()))
    }

    fn ring(&self) -> std::sync::MutexGuard<'_, KillRing> {
        let ring = &self.setup.ring;
        ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mode(&self) -> Mode {
        lock_snapshot(&self.setup.snapshot).mode
    }

    /// Parses the held keys into one event, up to the key that ends the read or has to wait for a paint.
    fn catch_up(&mut self, event: Event) -> ReedlineEvent {
        let mut events = Vec::new();
        match event {
            Event::Resize(columns, rows) => events.push(ReedlineEvent::Resize(columns, rows)),
            event => lock_queue(&self.setup.key_queue).push(event),
        }
        let mut alone = true;
        loop {
            let next = lock_queue(&self.setup.key_queue).take();
            let Some(mut event) = next else { break };
            // Keys typed together with it mean that no chord was intended.
            if let Some(behind) = self.behind_escape(&event)
                && (lock_queue(&self.setup.key_queue).has_keys() || !self.is_chord_of_ours(&event))
            {
                lock_queue(&self.setup.key_queue).push_front(Event::Key(behind));
                event = Event::Key(KeyCode::Esc.into());
            }
            if !alone && self.leaves_inserting(&event) {
                lock_queue(&self.setup.key_queue).put_back(event);
                break;
            }
            alone = false;
            events.push(self.one(event));
        }
        ReedlineEvent::Multiple(events)
    }

    fn one(&mut self, event: Event) -> ReedlineEvent {
        let event = match event {
            event if event == key_queue::RESUMED => HostCommand::Resumed.event(),
            event if event == key_queue::CALL_PENDING => HostCommand::CallPending.event(),
            // Ignore focus events left over from the last run.
            Event::FocusGained | Event::FocusLost => ReedlineEvent::None,
            Event::Key(key) => self.key(key),
            Event::Paste(text) => {
                self.begun.clear();
                self.forget_cuts();
                let text = editable(&text).replace("\r\n", "\n").replace('\r', "\n");
                edit(vec![EditCommand::InsertString(text)])
            }
            event => self.machine.event(event),
        };
        self.follow(&event);
        event
    }

    /// Takes note of an event that the editor gets.
    fn follow(&mut self, event: &ReedlineEvent) {
        if action_events::ends_reading(event, self.is_empty()) {
            lock_queue(&self.setup.key_queue).close();
            lock_snapshot(&self.setup.snapshot).submitted |= action_events::submits(event);
            if action_events::submits(event) || *event == ReedlineEvent::CtrlC {
                self.machine.insert_mode();
            }
        }
        if self
            .typed
            .as_mut()
            .is_some_and(|typed| !typed.follow(event))
        {
            self.typed = None;
        }
    }

    fn key(&mut self, key: KeyEvent) -> ReedlineEvent {
        let mut stroke = Stroke::new(key.code, key.modifiers);
        if stroke.is_escape() {
            self.begun.clear();
            self.forget_cuts();
            if self.machine.vi().is_some() {
                return self.machine.event(Event::Key(key));
            }
            self.escaped = Some(Instant::now());
            return ReedlineEvent::Esc;
        }
        if self.escaped.take().is_some_and(|at| at.elapsed() < PREFIX)
            && self.meaning(stroke.with_alt()) != KeyMatch::NoMatch
        {
            stroke = stroke.with_alt();
        }
        let mut meaning = self.meaning(stroke);
        if meaning == KeyMatch::NoMatch && !self.begun.is_empty() {
            // Not a chord: its last key by itself.
            self.begun.clear();
            meaning = self.meaning(stroke);
        }
        match meaning {
            KeyMatch::Prefix => {
                self.begun.push(stroke);
                ReedlineEvent::None
            }
            KeyMatch::Actions(actions) => {
                self.begun.clear();
                self.act(&actions)
            }
            KeyMatch::NoMatch => {
                self.begun.clear();
                self.forget_cuts();
                self.unbound(key)
            }
        }
    }

    fn meaning(&self, stroke: Stroke) -> KeyMatch {
        let strokes = [self.begun.as_slice(), &[stroke]].concat();
        let meaning = self.setup.keymap.lookup(&strokes);
        if self.machine.inserts() {
            return meaning;
        }
        let of_vi = strokes[0].is_vi_command_key() || self.machine.selects_by_itself(strokes[0]);
        match meaning {
            _ if of_vi => KeyMatch::NoMatch,
            KeyMatch::Actions(mut actions) => {
                actions.retain(|action| !action_events::is_for_insert_mode(*action));
                if actions.is_empty() {
                    KeyMatch::NoMatch
                } else {
                    KeyMatch::Actions(actions)
                }
            }
            meaning => meaning,
        }
    }

    fn is_empty(&self) -> bool {
        let typed = self.typed.as_ref();
        typed.is_some_and(|typed| typed.text.is_empty())
    }

    fn act(&mut self, actions: &[KeyAction]) -> ReedlineEvent {
        let mut actions = actions.to_vec();
        if actions.len() > 1 && !self.is_empty() {
            actions.retain(|action| action.shares() != ChordPriority::WhereNothingIsTyped);
        }
        let mut events: Vec<ReedlineEvent> =
            actions.iter().map(|action| self.action(*action)).collect();
        self.selecting = actions.iter().any(|action| action_events::selects(*action));
        let keeps = |action: &KeyAction| {
            matches!(action, KeyAction::Yank | KeyAction::YankPop) || edits::cuts(*action)
        };
        if !actions.iter().any(keeps) {
            self.ring().end();
        }
        match events.len() {
            1 => events.remove(0),
            _ => ReedlineEvent::UntilFound(events),
        }
    }

    fn action(&mut self, action: KeyAction) -> ReedlineEvent {
        match action {
            KeyAction::Enter => complete::or_take(self.enter()),
            KeyAction::Newline => match &self.typed {
                Some(typed) => newline(indent_at(typed, &reading(&self.setup.snapshot))),
                None => action_events::event(action),
            },
            KeyAction::Complete | KeyAction::Inspect if self.selecting => {
                HostCommand::Change(action).event()
            }
            KeyAction::Inspect if self.dedents() => HostCommand::Change(action).event(),
            KeyAction::Complete => self
                .change(edits::to_next_level)
                .unwrap_or_else(|| action_events::event(action)),
            KeyAction::Backspace => self
                .change(edits::back_a_level)
                .unwrap_or_else(|| action_events::event(action)),
            action if edits::cuts(action) => self
                .cut(action)
                .unwrap_or_else(|| action_events::event(action)),
            KeyAction::Yank | KeyAction::YankPop => self
                .yank(action)
                .unwrap_or_else(|| action_events::event(action)),
            action => action_events::event(action),
        }
    }

    /// Returns a change that depends on the text, when the text is known and nothing is selected.
    fn change(&self, of: impl Fn(&TypedText) -> Option<Change>) -> Option<ReedlineEvent> {
        let typed = self.typed.as_ref().filter(|_| !self.selecting)?;
        of(typed).map(|change| edit(change.commands()))
    }

    fn cut(&self, action: KeyAction) -> Option<ReedlineEvent> {
        let typed = self.typed.as_ref().filter(|_| !self.selecting)?;
        let range = edits::cut(action, typed)?;
        let text = &typed.text[range.clone()];
        self.ring().cut(text, edits::cuts_back(action));
        let with = String::new();
        Some(edit(Change { range, with }.commands()))
    }

    fn yank(&self, action: KeyAction) -> Option<ReedlineEvent> {
        let typed = self.typed.as_ref().filter(|_| !self.selecting)?;
        if action == KeyAction::Yank {
            let text = self.ring().yank(typed.cursor)?;
            return Some(edit(vec![EditCommand::InsertString(text)]));
        }
        match self.ring().rotate() {
            Some((range, with)) => Some(edit(Change { range, with }.commands())),
            None => Some(ReedlineEvent::None),
        }
    }

    fn forget_cuts(&mut self) {
        self.selecting = false;
        self.ring().end();
    }

    fn dedents(&self) -> bool {
        self.typed
            .as_ref()
            .is_some_and(|typed| !typed.line_before().is_empty() && edits::in_leading_blanks(typed))
    }

    fn enter(&mut self) -> ReedlineEvent {
        let Some(mut typed) = self.typed.clone() else {
            // Keys came faster than they were painted: the validator decides when Enter is executed.
            self.machine.insert_mode();
            let enter =
                ReedlineEvent::Multiple(vec![ReedlineEvent::Enter, HostCommand::Indent.event()]);
            // Only a single event ends a history search.
            return ReedlineEvent::UntilFound(vec![enter, ReedlineEvent::Enter]);
        };
        if self.machine.inserts() {
            return enter(&typed, &reading(&self.setup.snapshot));
        }
        // In vi's normal mode the cursor is on a character, and a new line goes behind it.
        typed.follow(&edit(vec![EditCommand::MoveRight { select: false }]));
        match enter(&typed, &reading(&self.setup.snapshot)) {
            ReedlineEvent::Submit => ReedlineEvent::Submit,
            newline => {
                self.machine.key(KeyCode::Esc);
                let append = self.machine.key(KeyCode::Char('a'));
                ReedlineEvent::Multiple(vec![append, newline])
            }
        }
    }

    fn unbound(&mut self, key: KeyEvent) -> ReedlineEvent {
        let typing = (key.modifiers - KeyModifiers::SHIFT).is_empty() && self.machine.inserts();
        match key.code {
            // C1 control characters come as characters; they would be painted unchanged.
            KeyCode::Char(c) if c.is_control() => ReedlineEvent::None,
            KeyCode::Char(':') if typing => {
                let mode = self.mode();
                self.change(|typed| edits::colon(typed, mode))
                    .unwrap_or_else(|| self.machine.event(Event::Key(key)))
            }
            // The editor's own event for it cannot leave the mode from here.
            KeyCode::Delete if self.machine.vi() == Some(PromptViMode::Visual) => {
                self.machine.key(KeyCode::Char('d'))
            }
            _ => self.machine.event(Event::Key(key)),
        }
    }
}

impl EditMode for KeyHandler {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let mut event = by_habit(raw.into());
        if is_unknown_control(&event) {
            if let Some(guard) = &self.setup.guard {
                guard.allow_disambiguation(false);
            }
            event = by_habit(in_place(event));
        }
        let mut key_queue = lock_queue(&self.setup.key_queue);
        let fresh = {
            let mut snapshot = lock_snapshot(&self.setup.snapshot);
            snapshot.submitted &= !key_queue.is_open();
            let fresh = std::mem::take(&mut snapshot.fresh);
            if fresh {
                // Painted since the last key: the read goes on.
                key_queue.open();
                self.typed = Some(TypedText::new(snapshot.text.clone(), snapshot.cursor));
            }
            fresh
        };
        let resized = matches!(event, Event::Resize(..));
        if key_queue.is_open() && !fresh && !key_queue.has_keys() && self.leaves_inserting(&event) {
            key_queue.put_back(event);
            return ReedlineEvent::None;
        }
        if !key_queue.is_open() && !resized {
            key_queue.push(event);
            return ReedlineEvent::None;
        }
        let with_escape = self.behind_escape(&event).is_some();
        if with_escape && key_queue.is_open() && !key_queue.has_keys() {
            if !fresh {
                key_queue.put_back(event);
                return ReedlineEvent::None;
            }
            if self.is_chord_of_ours(&event) {
                // The read may hold more keys; wait for the next event.
                key_queue.push(event);
                return ReedlineEvent::None;
            }
        }
        let behind = key_queue.is_open()
            && (key_queue.has_keys() || key_queue.may_begin_line() || with_escape);
        drop(key_queue);
        let event = if behind {
            self.catch_up(event)
        } else {
            self.one(event)
        };
        self.publish_mode();
        event
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.machine.edit_mode()
    }
}

/// Returns true for Ctrl with a letter of another alphabet. The terminal library drops the key's position, which
/// would give the letter of a Latin keyboard; a terminal without a key-reporting mode sends that letter itself. The
/// position of this one is guessed.
fn is_unknown_control(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.modifiers.contains(KeyModifiers::CONTROL)
        && matches!(key.code, KeyCode::Char(c) if is_beyond_latin(c)))
}

fn edit(commands: Vec<EditCommand>) -> ReedlineEvent {
    ReedlineEvent::Edit(commands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Mode;
    use crate::terminal::snapshot::Snapshot;

    #[test]
    fn esc_adds_alt_to_a_key_that_means_something_with_it() {
        let mut keys = KeyHandler::new(KeyOptions {
            keymap: Arc::default(),
            edit_mode: config::EditMode::Emacs,
            snapshot: Snapshot::new(Mode::Cells),
            key_queue: SharedKeyQueue::default(),
            ring: SharedKillRing::default(),
            guard: None,
        });
        let mut after_escape = |key: char| {
            assert_eq!(keys.key(KeyCode::Esc.into()), ReedlineEvent::Esc);
            keys.key(KeyCode::Char(key).into())
        };
        let q = edit(vec![EditCommand::InsertChar('q')]);
        assert_eq!(after_escape('q'), q);
        let b = edit(vec![EditCommand::InsertChar('b')]);
        assert_ne!(after_escape('b'), b);
    }
}
