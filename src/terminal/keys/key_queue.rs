//! Keys that the editor has still to read: those that came together with one that ends its read, and those typed
//! during a run.
//!
//! reedline parses all keys of one read before it executes any, and drops the keys behind one that ends the read.
//! So such keys are queued ([`KeyQueue::push`]) and come first at the next read: plain text without reedline
//! (`held_text.rs`), the others when `editor_wait.rs` makes it take them. Where a cell was submitted and they are plain
//! text, they go to the cell first, like all keys typed while the cell runs (`keyboard_reader.rs`); those that the cell
//! has not read come back.
//!
//! Invariant: a key is in the editor or here, once, in the order typed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use rustix::process::{Signal, getpid, kill_process};

use crate::keys::by_habit;
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::typeahead::{TypedLines, is_ctrl_c, is_enter};

/// A synthetic key that marks the end of a stop of the program; no terminal has this key.
pub(in crate::terminal) const RESUMED: Event = unused_key(u8::MAX);

/// Held keys, shared by the key parser and the editor.
#[derive(Debug, Default)]
pub(in crate::terminal) struct KeyQueue {
    state: QueueState,
    held: VecDeque<Event>,
    /// The text in the editor was ended by an Enter that did not run it: later text begins a line.
    line_ended: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum QueueState {
    #[default]
    Open,
    /// The next key is held until the keys before it have been painted.
    Paused,
    /// The next key is held until the editor reads again.
    Closed,
}

pub(in crate::terminal) type SharedKeyQueue = Arc<Mutex<KeyQueue>>;

pub(in crate::terminal) fn lock_queue(key_queue: &SharedKeyQueue) -> MutexGuard<'_, KeyQueue> {
    key_queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeyQueue {
    /// Ends the read: later keys are held.
    pub(in crate::terminal) fn close(&mut self) {
        self.state = QueueState::Closed;
    }

    /// Holds later keys until the next paint.
    pub(in crate::terminal) fn pause(&mut self) {
        self.state = QueueState::Paused;
    }

    /// Begins the read, or continues it after a paint.
    pub(in crate::terminal) fn open(&mut self) {
        self.state = QueueState::Open;
    }

    pub(in crate::terminal) fn is_open(&self) -> bool {
        self.state == QueueState::Open
    }

    pub(in crate::terminal) fn has_keys(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns true while the editor reads and has not taken the held keys.
    pub(in crate::terminal) fn has_keys_for_editor(&self) -> bool {
        self.has_keys() && self.state != QueueState::Closed
    }

    pub(in crate::terminal) fn push(&mut self, event: Event) {
        let event = by_habit(event);
        if self.line_ended && !is_synthetic(&event) {
            self.line_ended = false;
            if inserts_text(&event) {
                self.held.push_back(Event::Paste("\n".to_owned()));
            }
        }
        self.held.push_back(event);
    }

    pub(in crate::terminal) fn may_begin_line(&self) -> bool {
        self.line_ended
    }

    /// Takes the oldest held key; `None` while keys are not parsed.
    pub(in crate::terminal) fn take(&mut self) -> Option<Event> {
        self.is_open().then(|| self.held.pop_front()).flatten()
    }

    /// Takes the oldest held key, where it is one of these.
    pub(in crate::terminal) fn take_if(
        &mut self,
        wanted: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        self.held.pop_front_if(|event| wanted(event))
    }

    /// Takes the oldest held key, for a reader of the keyboard other than the editor.
    pub(in crate::terminal) fn pop_early(&mut self) -> Option<Event> {
        self.held.pop_front()
    }

    pub(in crate::terminal) fn push_front(&mut self, event: Event) {
        self.held.push_front(event);
    }

    /// Puts back the key taken last, for after the next paint.
    pub(in crate::terminal) fn put_back(&mut self, event: Event) {
        self.push_front(event);
        self.pause();
    }

    /// Takes Ctrl-C and the line it was typed in, as a terminal does; returns whether lines before it had been ended,
    /// `None` when there is no Ctrl-C.
    pub(in crate::terminal) fn take_interrupt(&mut self) -> Option<bool> {
        let at = self.held.iter().rposition(is_ctrl_c)?;
        let before = self.held.iter().take(at).rposition(is_enter);
        self.held.drain(before.map_or(0, |at| at + 1)..=at);
        self.held.retain(|event| !is_ctrl_c(event));
        Some(before.is_some())
    }

    /// Takes the first key, when it is the letter with Ctrl that has this byte; returns false when it is not.
    pub(in crate::terminal) fn take_control(&mut self, byte: u8) -> bool {
        let is_it = |event: &Event| match event {
            Event::Key(key) if key.modifiers == KeyModifiers::CONTROL => {
                matches!(key.code, KeyCode::Char(c @ 'a'..='z') if c as u8 & 0x1f == byte)
            }
            _ => false,
        };
        let is_first = self.held.iter().next().is_some_and(is_it);
        if is_first {
            self.held.drain(..1);
        }
        is_first
    }

    pub(in crate::terminal) fn lines(&self) -> TypedLines {
        TypedLines::from_events(&self.held)
    }

    /// Takes all keys as the bytes a terminal gives a program, when each key is a character, Enter or Backspace.
    pub(in crate::terminal) fn take_text(&mut self) -> Option<Vec<u8>> {
        let character = |event: &Event| match event {
            Event::Key(key) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => match key.code {
                KeyCode::Char(c) => Some(c),
                KeyCode::Enter => Some('\r'),
                KeyCode::Backspace => Some('\x7f'),
                _ => None,
            },
            _ => None,
        };
        let text: Option<String> = self.held.iter().map(character).collect();
        let text = text.filter(|text| !text.is_empty())?;
        self.held.clear();
        Some(text.into_bytes())
    }

    /// Takes all keys as one text for the editor that does not run. The Enter it ends with applies to the next key:
    /// text begins a new line, another Enter runs all.
    pub(in crate::terminal) fn take_as_text(&mut self) -> String {
        let lines = self.lines();
        self.held.clear();
        let ended = lines.typed.is_empty();
        let text = lines.into_text();
        self.line_ended = ended && !text.is_empty();
        text
    }

    /// The first line that Enter ended, when it was typed as plain text.
    pub(in crate::terminal) fn first_line(&self) -> Option<String> {
        let end = self.held.iter().position(is_enter)?;
        let plain = self.held.iter().take(end).all(|event| match event {
            Event::Paste(_) => true,
            Event::Key(key) => match key.code {
                KeyCode::Char('u' | 'w') if key.modifiers == KeyModifiers::CONTROL => true,
                KeyCode::Char(_) | KeyCode::Backspace => {
                    (key.modifiers - KeyModifiers::SHIFT).is_empty()
                }
                _ => false,
            },
            _ => false,
        });
        let line = || TypedLines::from_events(self.held.iter().take(end)).typed;
        plain.then(line)
    }

    /// Takes the keys of the first line, with its Enter.
    pub(in crate::terminal) fn take_first_line(&mut self) -> Vec<Event> {
        let end = self.held.iter().position(is_enter);
        self.held.drain(..end.map_or(0, |end| end + 1)).collect()
    }

    /// Puts a line back in front of all others.
    pub(in crate::terminal) fn put_back_line(&mut self, line: Vec<Event>) {
        line.into_iter()
            .rev()
            .for_each(|event| self.held.push_front(event));
    }

    /// Reopens the last line that Enter ended; returns false when more was typed since, or there is none.
    pub(in crate::terminal) fn reopen_line(&mut self) -> bool {
        let last = self.held.iter().rposition(is_enter);
        let last = last.filter(|_| self.lines().typed.is_empty());
        self.held.truncate(last.unwrap_or(self.held.len()));
        last.is_some()
    }

    /// Takes what was typed since the last Enter.
    pub(in crate::terminal) fn take_typed(&mut self) {
        let before = self.held.iter().rposition(is_enter);
        self.held.truncate(before.map_or(0, |at| at + 1));
    }

    /// Takes the last line that Enter ended, when nothing was typed since.
    pub(in crate::terminal) fn take_line(&mut self) -> Option<String> {
        self.reopen_line().then(|| {
            let typed = self.lines().typed;
            self.take_typed();
            typed
        })
    }
}

/// A synthetic key that marks an incoming call which needs the screen; no terminal has this key.
pub(in crate::terminal) const CALL_PENDING: Event = unused_key(u8::MAX - 1);

/// Returns true for events that were not typed.
fn is_synthetic(event: &Event) -> bool {
    *event == RESUMED || *event == CALL_PENDING || !matches!(event, Event::Key(_) | Event::Paste(_))
}

fn inserts_text(event: &Event) -> bool {
    match event {
        Event::Paste(_) => true,
        Event::Key(key) => {
            let typed = (key.modifiers - KeyModifiers::SHIFT).is_empty();
            typed && matches!(key.code, KeyCode::Char(_) | KeyCode::Tab)
        }
        _ => false,
    }
}

const fn unused_key(number: u8) -> Event {
    Event::Key(KeyEvent::new(KeyCode::F(number), KeyModifiers::NONE))
}

#[derive(Clone)]
pub(in crate::terminal) struct InputWaker {
    pub(in crate::terminal) key_queue: SharedKeyQueue,
    pub(in crate::terminal) editor_waker: EditorWaker,
}

impl InputWaker {
    /// Makes editor and panel draw everything again after a stop.
    pub(in crate::terminal) fn resumed(&self) {
        let mut key_queue = lock_queue(&self.key_queue);
        if key_queue.state != QueueState::Closed {
            key_queue.push(RESUMED);
        }
        drop(key_queue);
        self.wake();
    }

    /// Interrupts the editor for an incoming call that needs the screen. An editor that does not read checks when
    /// it begins.
    pub(in crate::terminal) fn notify_call(&self) {
        let mut key_queue = lock_queue(&self.key_queue);
        if key_queue.state == QueueState::Closed {
            return;
        }
        key_queue.push(CALL_PENDING);
        drop(key_queue);
        self.editor_waker.wake();
    }

    pub(in crate::terminal) fn wake(&self) {
        if lock_queue(&self.key_queue).state == QueueState::Closed {
            raise_resize();
        } else {
            self.editor_waker.wake();
        }
    }
}

/// Raises SIGWINCH in our own process: crossterm reports an event, and the editor takes the held keys.
pub(in crate::terminal) fn raise_resize() {
    // A process may always signal itself.
    let _ = kill_process(getpid(), Signal::WINCH);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;
    use crossterm::event::KeyEventState;

    fn key_queue(typed: &str) -> KeyQueue {
        let mut key_queue = KeyQueue::default();
        Decoder::all(typed.as_bytes())
            .into_iter()
            .for_each(|event| key_queue.push(event));
        key_queue
    }

    fn check(key_queue: &KeyQueue, ended: &[&str], typed: &str) {
        let lines = key_queue.lines();
        assert_eq!(
            (lines.ended, lines.typed),
            (
                ended.iter().map(ToString::to_string).collect(),
                typed.to_owned()
            )
        );
    }

    #[test]
    fn lines_are_taken_back_from_the_last_on() {
        let mut one = key_queue("a\rb\r");
        assert!(one.reopen_line());
        check(&one, &["a"], "b");
        assert!(!one.reopen_line());
        check(&one, &["a"], "b");
        let mut two = key_queue("a\rb\rx\x7f");
        assert_eq!(two.take_line().as_deref(), Some("b"));
        check(&two, &["a"], "");
        assert_eq!(two.take_line().as_deref(), Some("a"));
        assert_eq!(two.take_line(), None);
    }

    #[test]
    fn disambiguated_keys_are_held_as_legacy_keys() {
        let mut one = KeyQueue::default();
        let mut enter = KeyEvent::from(KeyCode::Enter);
        enter.state = KeyEventState::KEYPAD;
        let escape = KeyEvent::new(KeyCode::Char('['), KeyModifiers::CONTROL);
        for key in [KeyCode::Char('a').into(), enter, escape] {
            one.push(Event::Key(key));
        }
        check(&one, &["a"], "");
        one.take();
        one.take();
        assert_eq!(one.take(), Some(Event::Key(KeyCode::Esc.into())));
    }

    #[test]
    fn an_enter_that_ran_nothing_is_not_lost() {
        let lines = |typed: &str| TypedLines::from_events(&Decoder::all(typed.as_bytes()));
        let whole = "\ra = 1\r  b = 2\rc";
        for at in 0..=whole.len() {
            let mut one = key_queue(&whole[..at]);
            let stands = one.take_as_text();
            Decoder::all(&whole.as_bytes()[at..])
                .into_iter()
                .for_each(|event| one.push(event));
            let rest = one.lines();
            // An Enter in the later text ends a line; in the existing text it begins one.
            let read = [&rest.ended[..], &[rest.typed]].concat().join("\n");
            let read = format!("{stands}{read}");
            let expected = lines(whole).into_text();
            assert_eq!(read.trim_start_matches('\n'), expected, "{at}");
        }
        for (next, begins) in [("x", true), ("\x1b[200~x\x1b[201~", true), ("\x01x", false)] {
            let mut one = key_queue("a\r");
            one.take_as_text();
            one.push(RESUMED);
            Decoder::all(next.as_bytes())
                .into_iter()
                .for_each(|event| one.push(event));
            assert_eq!(one.lines().typed.starts_with('\n'), begins, "{next:?}");
        }
    }

    #[test]
    fn ctrl_c_takes_the_line_it_was_typed_in() {
        let mut one = key_queue("a\rb\rlost\x03kept");
        assert_eq!(one.take_interrupt(), Some(true));
        check(&one, &["a", "b"], "kept");
        assert_eq!(one.take_interrupt(), None);
        assert_eq!(key_queue("lost\x03kept\r").take_interrupt(), Some(false));
    }
}
