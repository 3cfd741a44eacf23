//! The grey hint behind the cursor: the model's suggestion, requested by a key, else the rest of an earlier input.
//!
//! In: keys as they are parsed, the text at each paint, the session's answer on another thread. Out: the hint
//! behind the text and, when accepted, its text. Invariants: the editor never waits and is never left (text typed
//! right behind the key stays typed); a suggestion appears only where it was requested, or after its own first
//! characters were typed; any other edit drops it and cancels the request; the accepted text is the text that was
//! shown.
//!
//! reedline draws and accepts hints at the end of the text only. In the middle of a text a suggestion is shown
//! below it and inserted by the same key pressed again (which accepts one at the end, too). Without a suggestion,
//! the line of an earlier input that continues the text is the hint; each paint looks it up in memory, never a key.
//!
//! Absent on purpose: the key bindings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use nu_ansi_term::{Color, Style};
use reedline::{
    EditCommand, EditMode, Hinter, History, PromptEditMode, ReedlineEvent, ReedlineRawEvent,
};

use crate::agent::{AgentFailure, FailureKind, SuggestReply};
use crate::input::Mode;
use crate::record::Recall;
use crate::session::{Draft, OnSuggestion, PendingSuggestion};
use crate::terminal::host_command::HostCommand;
use crate::terminal::snapshot::{self, SharedSnapshot};
use crate::text::counted;

/// Rows of a suggestion that are shown.
const SHOWN: usize = 12;

pub(super) type Ask = Box<dyn Fn(Draft, OnSuggestion) -> PendingSuggestion + Send + Sync>;

type Say = Box<dyn Fn(&str) + Send + Sync>;

/// The suggestions of an editor; clones share them.
#[derive(Clone)]
pub(super) struct Hints(Arc<HintsShared>);

struct HintsShared {
    state: Mutex<HintState>,
    snapshot: SharedSnapshot,
    ask: OnceLock<Ask>,
    wake: OnceLock<Arc<dyn Fn() + Send + Sync>>,
    say: OnceLock<Say>,
    /// A missing agent was reported.
    missing_reported: AtomicBool,
    recall: Recall,
    recalls: AtomicBool,
}

#[derive(Debug, Default)]
struct HintState {
    /// The text and the cursor (bytes) that the suggestion is for.
    text: String,
    cursor: usize,
    stage: Stage,
    /// The rest of an earlier input, while no suggestion was requested.
    recalled: String,
    /// The key was pressed: the next paint sends the request.
    wanted: bool,
    /// Counts requests, so that answers to older ones are dropped.
    asked: u64,
    /// Columns of the label.
    indent: usize,
    keys: KeysSincePaint,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Nothing,
    /// Requested; dropping the handle cancels the request.
    Awaited(Option<PendingSuggestion>),
    Offered(String),
}

/// Keys since the last paint. All keys of one read are parsed before any is executed, so a key may accept the hint
/// only when no other key came before it: the user has not seen the text as it is by then.
#[derive(Debug, Default)]
struct KeysSincePaint {
    /// Keys that accept the hint, up to the first other key.
    taking: usize,
    other: bool,
    /// The number of those that have been executed.
    done: usize,
    /// Bytes of the hint that those accepted.
    taken: usize,
}

impl HintState {
    /// Moves the suggestion along with the text.
    fn follow(&mut self, text: &str, cursor: usize) {
        if matches!(self.stage, Stage::Nothing) || (self.text == text && self.cursor == cursor) {
            return;
        }
        let typed = self.typed(text, cursor).map(str::len);
        match (&mut self.stage, typed) {
            (Stage::Offered(rest), Some(typed)) if typed < rest.len() => {
                rest.drain(..typed);
                text.clone_into(&mut self.text);
                self.cursor = cursor;
            }
            _ => self.stage = Stage::Nothing,
        }
    }

    /// Returns the beginning of the suggestion that has been typed since.
    fn typed<'a>(&self, text: &'a str, cursor: usize) -> Option<&'a str> {
        let Stage::Offered(rest) = &self.stage else {
            return None;
        };
        let (before, after) = self.text.split_at_checked(self.cursor)?;
        let typed = text.get(..cursor)?.strip_prefix(before)?;
        (text.get(cursor..)? == after && rest.starts_with(typed)).then_some(typed)
    }

    fn at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Returns the hint that a key may accept now, less the part that earlier keys accepted.
    fn takable(&self) -> &str {
        let rest = match &self.stage {
            Stage::Offered(rest) if self.at_end() => rest,
            Stage::Nothing => &self.recalled,
            _ => return "",
        };
        if self.keys.done < self.keys.taking {
            rest.get(self.keys.taken..).unwrap_or_default()
        } else {
            ""
        }
    }

    fn take(&mut self, length: usize) {
        self.keys.done += 1;
        self.keys.taken += length;
    }

    fn shown(&self) -> String {
        match &self.stage {
            Stage::Nothing => self.recalled.clone(),
            Stage::Awaited(_) => " …".to_owned(),
            Stage::Offered(rest) => {
                let indent = " ".repeat(self.indent);
                let count = rest.split('\n').count();
                let mut lines: Vec<&str> = rest.split('\n').take(SHOWN).collect();
                let more = format!("… {}", counted(count.saturating_sub(SHOWN), "more line"));
                if count > SHOWN {
                    lines.push(&more);
                }
                let lines = lines.join(&format!("\n{indent}"));
                if self.at_end() {
                    lines
                } else {
                    let lead = " ".repeat(self.indent.saturating_sub(2));
                    format!("\n{lead}↳ {lines}")
                }
            }
        }
    }
}

impl Hints {
    /// Starts without hints and without a source; `snapshot` holds the input mode.
    pub(super) fn new(snapshot: SharedSnapshot, recall: Recall) -> Self {
        Hints(Arc::new(HintsShared {
            state: Mutex::default(),
            snapshot,
            ask: OnceLock::new(),
            wake: OnceLock::new(),
            say: OnceLock::new(),
            missing_reported: AtomicBool::new(false),
            recall,
            recalls: AtomicBool::new(false),
        }))
    }

    pub(super) fn suggest_history(&self, on: bool) {
        self.0.recalls.store(on, Ordering::Relaxed);
    }

    /// Returns the rest of the line at the end of `text` in an earlier input.
    fn recalled(&self, text: &str) -> Option<String> {
        if text.trim().is_empty() || !self.0.recalls.load(Ordering::Relaxed) {
            return None;
        }
        let prompts = snapshot::lock_snapshot(&self.0.snapshot).mode == Mode::Prompts;
        // As it is recorded.
        let source = match text.strip_prefix(';') {
            Some(code) if prompts => code.to_owned(),
            None if prompts && !text.starts_with(['!', '%', '.']) => format!(".{text}"),
            _ => text.to_owned(),
        };
        let earlier = self.0.recall.find_by_prefix(&source)?;
        let rest = earlier[source.len()..].split('\n').next()?;
        (!rest.contains(char::is_control)).then(|| rest.to_owned())
    }

    /// Sets, once, the callback that makes the editor paint again.
    pub(super) fn wake_with(&self, wake: Arc<dyn Fn() + Send + Sync>) {
        let _ = self.0.wake.set(wake);
    }

    /// Sets, once, the source of suggestions and the printer for a missing agent.
    pub(super) fn connect(&self, ask: Ask, say: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.0.ask.set(ask);
        let _ = self.0.say.set(Box::new(say));
    }

    /// Wraps `keys` to watch them; handles the key for suggestions.
    pub(super) fn wrap(&self, keys: impl EditMode + 'static) -> Box<dyn EditMode> {
        Box::new(HintKeys {
            keys: Box::new(keys),
            hints: self.clone(),
        })
    }

    /// Begins a new text, behind a label of this many columns.
    pub(super) fn begin(&self, label: usize) {
        self.end();
        self.state().indent = label;
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.stage = Stage::Nothing;
        state.recalled.clear();
        state.wanted = false;
    }

    fn state(&self) -> MutexGuard<'_, HintState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the key: accepts the hint, or makes the next paint send a request.
    fn pressed(&self) -> ReedlineEvent {
        let mut state = self.state();
        if !state.at_end()
            && !state.keys.other
            && let Stage::Offered(rest) = &mut state.stage
        {
            let rest = std::mem::take(rest);
            state.stage = Stage::Nothing;
            state.keys.other = true;
            return ReedlineEvent::Edit(vec![EditCommand::InsertString(rest)]);
        }
        if matches!(state.stage, Stage::Offered(_)) && !state.keys.other {
            state.keys.taking += 1;
            return ReedlineEvent::HistoryHintComplete;
        }
        state.wanted = true;
        ReedlineEvent::Repaint
    }

    /// Requests a suggestion for the current text, unless one is shown or pending.
    fn ask(&self, mut state: MutexGuard<'_, HintState>) {
        let Some(ask) = self.0.ask.get() else { return };
        if !matches!(state.stage, Stage::Nothing) || state.text.trim().is_empty() {
            return;
        }
        state.stage = Stage::Awaited(None);
        state.asked += 1;
        let asked = state.asked;
        let (before, after) = state.text.split_at(state.cursor.min(state.text.len()));
        let draft = Draft {
            before: before.to_owned(),
            after: after.to_owned(),
            mode: snapshot::lock_snapshot(&self.0.snapshot).mode,
        };
        drop(state);
        let hints = self.clone();
        let suggesting = ask(
            draft,
            Box::new(move |suggested| hints.answered(asked, suggested)),
        );
        // The answer may have come meanwhile.
        if let Stage::Awaited(handle) = &mut self.state().stage {
            *handle = Some(suggesting);
        }
    }

    /// Takes the answer to a request, on the session's thread.
    fn answered(&self, asked: u64, suggested: SuggestReply) {
        {
            let mut state = self.state();
            if state.asked != asked || !matches!(state.stage, Stage::Awaited(_)) {
                return;
            }
            state.stage = match &suggested {
                Ok(text) if !text.is_empty() => Stage::Offered(text.clone()),
                _ => Stage::Nothing,
            };
        }
        if let (Err(failure), Some(say)) = (&suggested, self.0.say.get())
            && is_missing(failure)
            && !self.0.missing_reported.swap(true, Ordering::Relaxed)
        {
            say(&missing(failure));
        }
        if let Some(wake) = self.0.wake.get() {
            wake();
        }
    }
}

fn is_missing(failure: &AgentFailure) -> bool {
    matches!(failure.kind, FailureKind::Missing | FailureKind::LoggedOut)
}

fn missing(failure: &AgentFailure) -> String {
    match failure.hints.first() {
        Some(hint) => format!("no suggestion: {}: {hint}", failure.message),
        None => format!("no suggestion: {}", failure.message),
    }
}

impl Hinter for Hints {
    fn handle(
        &mut self,
        text: &str,
        cursor: usize,
        _: &dyn History,
        colour: bool,
        _: &str,
    ) -> String {
        let mut state = self.state();
        state.keys = KeysSincePaint::default();
        state.follow(text, cursor);
        if std::mem::take(&mut state.wanted) {
            if matches!(state.stage, Stage::Nothing) {
                text.clone_into(&mut state.text);
                state.cursor = cursor;
            }
            self.ask(state);
            state = self.state();
        }
        // Without a colour the hint would look like the text.
        let looks = colour && cursor == text.len() && matches!(state.stage, Stage::Nothing);
        state.recalled = match looks {
            true => self.recalled(text).unwrap_or_default(),
            false => String::new(),
        };
        let shown = state.shown();
        match (&state.stage, colour) {
            (Stage::Nothing, _) if shown.is_empty() => shown,
            (_, true) => Style::new().fg(Color::DarkGray).paint(shown).to_string(),
            // Distinguishable from the text without a colour, too.
            (Stage::Offered(_), false) if state.at_end() => format!("‹{shown}›"),
            (_, false) => shown,
        }
    }

    fn complete_hint(&self) -> String {
        let mut state = self.state();
        let rest = state.takable().to_owned();
        state.take(rest.len());
        rest
    }

    fn next_hint_token(&self) -> String {
        let mut state = self.state();
        let word = first_word(state.takable()).to_owned();
        state.take(word.len());
        word
    }
}

/// Returns the text up to the end of the first word, as Alt-f moves.
fn first_word(text: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = text.find(is_word).unwrap_or(text.len());
    let length = text[start..].find(|c| !is_word(c));
    &text[..length.map_or(text.len(), |length| start + length)]
}

struct HintKeys {
    keys: Box<dyn EditMode>,
    hints: Hints,
}

impl HintKeys {
    /// Takes an event for reedline, which may combine several.
    fn seen(&self, event: ReedlineEvent) -> ReedlineEvent {
        match event {
            ReedlineEvent::Multiple(events) => {
                ReedlineEvent::Multiple(events.into_iter().map(|event| self.seen(event)).collect())
            }
            ReedlineEvent::ExecuteHostCommand(name)
                if HostCommand::from_name(&name) == Some(HostCommand::Suggest) =>
            {
                self.hints.pressed()
            }
            event => {
                let mut state = self.hints.state();
                if !takes(&event) {
                    state.keys.other = true;
                } else if !state.keys.other {
                    state.keys.taking += 1;
                }
                drop(state);
                event
            }
        }
    }
}

impl EditMode for HintKeys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.keys.parse_event(raw);
        self.seen(event)
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// Returns true for an event that accepts the hint, where there is one.
fn takes(event: &ReedlineEvent) -> bool {
    match event {
        ReedlineEvent::HistoryHintComplete | ReedlineEvent::HistoryHintWordComplete => true,
        ReedlineEvent::UntilFound(events) | ReedlineEvent::Multiple(events) => {
            events.iter().any(takes)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
