//! Filters the terminal's reply to the background query (OSC 11) out of the editor's key events.
//!
//! The query is written right before the editor asks for the cursor position. Terminals answer in order, so the
//! reply has been read when the position is known, and nothing waits for it. The reply is removed before the first
//! paint, because the editor treats many keys that arrive at once as a paste. crossterm does not know the reply: it
//! arrives as Alt-], its characters, and Ctrl-G or Alt-\. In: events. Out: the same events without the reply, in
//! order. Invariants: an event that is no reply is delayed by one key at most; once the reply has come, or none is
//! expected, events pass at once.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyModifiers};
use reedline::{EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

use crate::markdown::Background;
use crate::terminal::query;

const ESCAPE: u8 = 0x1b;

/// Bytes of the longest reply.
const LONGEST: usize = 40;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyStatus {
    #[default]
    No,
    Waiting,
    Heard,
}

/// The reply as far as it has come; shared by all readers of events.
#[derive(Clone)]
pub(super) struct BackgroundReply {
    state: Arc<Mutex<ReplyState>>,
    tell: Arc<dyn Fn(Background) + Send + Sync>,
}

#[derive(Default)]
struct ReplyState {
    asked: ReplyStatus,
    /// Events read together with the cursor reply have been examined.
    looked: bool,
    /// Events that may be the beginning of the reply, and their text.
    held: Vec<Event>,
    text: String,
}

impl BackgroundReply {
    /// Calls `tell` with the reported background.
    pub(super) fn new(tell: impl Fn(Background) + Send + Sync + 'static) -> Self {
        BackgroundReply {
            state: Arc::default(),
            tell: Arc::new(tell),
        }
    }

    /// Wraps `keys`: they get these events without the reply.
    pub(super) fn wrap(&self, keys: Box<dyn EditMode>) -> Box<dyn EditMode> {
        Box::new(FilteredKeys {
            keys,
            background_reply: self.clone(),
        })
    }

    /// Expects a reply, since the query has been sent.
    pub(super) fn wait(&self) {
        self.state().asked = ReplyStatus::Waiting;
    }

    /// Stops expecting the reply; returns the status until now.
    pub(super) fn stop(&self) -> ReplyStatus {
        std::mem::take(&mut self.state().asked)
    }

    /// Returns true before `look` when the reply is expected.
    pub(super) fn is_to_come(&self) -> bool {
        let state = self.state();
        state.asked == ReplyStatus::Waiting && !state.looked
    }

    /// Examines the events read so far, once; passes keys to `hold`.
    pub(super) fn look(&self, mut hold: impl FnMut(Event)) {
        {
            let mut state = self.state();
            if state.asked != ReplyStatus::Waiting || std::mem::replace(&mut state.looked, true) {
                return;
            }
        }
        while self.state().asked == ReplyStatus::Waiting
            && crossterm::event::poll(Duration::ZERO).is_ok_and(|read| read)
            && let Ok(event) = crossterm::event::read()
        {
            self.pass(event).into_iter().for_each(&mut hold);
        }
    }

    /// Removes a late reply from bytes read during a run; returns the typed bytes.
    pub(super) fn filter_bytes<'a>(&self, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if self.state().asked != ReplyStatus::Waiting || !bytes.contains(&ESCAPE) {
            return bytes;
        }
        let heard = query::extract_replies(&bytes);
        if let Some(background) = heard.background {
            self.state().asked = ReplyStatus::Heard;
            (self.tell)(background);
        }
        Cow::Owned(heard.typed)
    }

    /// Takes an event; returns the events that are no part of the reply.
    pub(super) fn pass(&self, event: Event) -> Vec<Event> {
        let mut state = self.state();
        if state.asked != ReplyStatus::Waiting && state.held.is_empty()
            || matches!(event, Event::Resize(..))
        {
            return vec![event];
        }
        let end = state.take(&event);
        state.held.push(event);
        match end {
            ReplyPart::More => Vec::new(),
            ReplyPart::Other => {
                state.text.clear();
                std::mem::take(&mut state.held)
            }
            ReplyPart::Over => {
                state.held.clear();
                let text = std::mem::take(&mut state.text);
                state.asked = ReplyStatus::Heard;
                drop(state);
                if let Some(background) = query::colour(&text).and_then(Background::of_colour) {
                    (self.tell)(background);
                }
                Vec::new()
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, ReplyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The role of an event in the reply.
enum ReplyPart {
    More,
    Over,
    /// Another event: the held events were no reply.
    Other,
}

impl ReplyState {
    fn take(&mut self, event: &Event) -> ReplyPart {
        let Event::Key(key) = event else {
            return ReplyPart::Other;
        };
        let KeyCode::Char(c) = key.code else {
            return ReplyPart::Other;
        };
        let begun = !self.held.is_empty();
        match key.modifiers {
            KeyModifiers::ALT if c == ']' && !begun => ReplyPart::More,
            KeyModifiers::NONE | KeyModifiers::SHIFT if begun && self.text.len() < LONGEST => {
                self.text.push(c);
                let shared = self.text.len().min(query::COLOUR_PREFIX.len());
                if query::COLOUR_PREFIX.starts_with(&self.text[..shared]) {
                    ReplyPart::More
                } else {
                    ReplyPart::Other
                }
            }
            KeyModifiers::CONTROL if c == 'g' && query::colour(&self.text).is_some() => {
                ReplyPart::Over
            }
            KeyModifiers::ALT if c == '\\' && query::colour(&self.text).is_some() => {
                ReplyPart::Over
            }
            _ => ReplyPart::Other,
        }
    }
}

struct FilteredKeys {
    keys: Box<dyn EditMode>,
    background_reply: BackgroundReply,
}

impl EditMode for FilteredKeys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let events = self.background_reply.pass(raw.into()).into_iter();
        let raw = events.filter_map(|event| ReedlineRawEvent::try_from(event).ok());
        let mut parsed: Vec<ReedlineEvent> = raw.map(|raw| self.keys.parse_event(raw)).collect();
        match parsed.len() {
            0 => ReedlineEvent::None,
            1 => parsed.remove(0),
            _ => ReedlineEvent::Multiple(parsed),
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    /// The events of `keys`: `]` after `~` has Alt, so has `\`; `^` stands for Ctrl-G.
    fn events(keys: &str) -> Vec<Event> {
        let mut alt = false;
        let mut events = Vec::new();
        for c in keys.chars() {
            let (c, modifiers) = match c {
                '~' => {
                    alt = true;
                    continue;
                }
                '^' => ('g', KeyModifiers::CONTROL),
                c if std::mem::take(&mut alt) => (c, KeyModifiers::ALT),
                c => (c, KeyModifiers::NONE),
            };
            events.push(Event::Key(KeyEvent::new(KeyCode::Char(c), modifiers)));
        }
        events
    }

    fn check(keys: &str, passed: &str, told: Option<Background>, after: ReplyStatus) {
        let heard = Arc::new(Mutex::new(None));
        let told_to = Arc::clone(&heard);
        let background_reply =
            BackgroundReply::new(move |background| *told_to.lock().unwrap() = Some(background));
        background_reply.wait();
        let given: Vec<Event> = events(keys)
            .into_iter()
            .flat_map(|event| background_reply.pass(event))
            .collect();
        assert_eq!(given, events(passed), "{keys}");
        assert_eq!(*heard.lock().unwrap(), told, "{keys}");
        assert_eq!(background_reply.stop(), after, "{keys}");
    }

    #[test]
    fn the_answer_is_taken_out_and_keys_keep_their_order() {
        let light = Some(Background::Light);
        let dark = Some(Background::Dark);
        check(
            "a~]11;rgb:ffff/ffff/ffff~\\b",
            "ab",
            light,
            ReplyStatus::Heard,
        );
        check("~]11;rgb:0000/0000/0000^", "", dark, ReplyStatus::Heard);
        check("~]11;nonsense^x", "x", None, ReplyStatus::Heard);
        check("abc^", "abc^", None, ReplyStatus::Waiting);
        check("~]a~]12x", "~]a~]12x", None, ReplyStatus::Waiting);
        check(
            "~]~]11;rgb:f/f/f^",
            "~]~]11;rgb:f/f/f^",
            None,
            ReplyStatus::Waiting,
        );
        check("~]11;x~]y", "~]11;x~]y", None, ReplyStatus::Waiting);
        let long = "y".repeat(2 * LONGEST);
        check(
            &format!("~]11;{long}"),
            &format!("~]11;{long}"),
            None,
            ReplyStatus::Waiting,
        );
        // The one reply has come: the same again was typed.
        check(
            "~]11;rgb:f/f/f^~]11;rgb:0/0/0^",
            "~]11;rgb:0/0/0^",
            light,
            ReplyStatus::Heard,
        );
    }

    #[test]
    fn a_late_answer_is_no_key_of_what_runs() {
        let heard = Arc::new(Mutex::new(None));
        let told_to = Arc::clone(&heard);
        let background_reply =
            BackgroundReply::new(move |background| *told_to.lock().unwrap() = Some(background));
        let late = b"a\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;4cb\x1b[A";
        assert_eq!(
            *background_reply.filter_bytes(Cow::Borrowed(late)),
            *late,
            "nobody has asked"
        );
        background_reply.wait();
        assert_eq!(
            *background_reply.filter_bytes(Cow::Borrowed(late)),
            *b"ab\x1b[A"
        );
        assert_eq!(*heard.lock().unwrap(), Some(Background::Light));
        assert_eq!(
            *background_reply.filter_bytes(Cow::Borrowed(late)),
            *late,
            "it comes once"
        );
    }

    #[test]
    fn a_resize_does_not_break_the_reply() {
        let background_reply = BackgroundReply::new(|_| {});
        background_reply.wait();
        let mut all = events("~]11;rgb:f/f/f^");
        all.insert(4, Event::Resize(80, 24));
        let given: Vec<Event> = all
            .into_iter()
            .flat_map(|it| background_reply.pass(it))
            .collect();
        assert_eq!(given, [Event::Resize(80, 24)]);
        assert_eq!(background_reply.stop(), ReplyStatus::Heard);
    }
}
