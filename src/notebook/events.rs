//! `startup.json`, the snapshot format of versions before notebooks:
//! `{version, events: [{kind, line, source}, {kind, line, prompt, response, history_line}]}`. Read, never written.

use serde_json::{Map, Value};

use super::document::NotebookError;
use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::text::parse_json;

/// Reads the session.
///
/// # Errors
/// Not JSON, or no list of events. An event of an unknown kind is left out.
pub fn read_events(text: &str) -> Result<SavedSession, NotebookError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = parse_json(text.as_bytes())?;
    let Some(events) = root.get("events").and_then(Value::as_array) else {
        return Err(NotebookError::Shape("has no list of events"));
    };
    Ok(SavedSession::from_entries(
        events.iter().filter_map(event).collect(),
    ))
}

fn event(event: &Value) -> Option<SavedEntry> {
    let text = |key: &str| Some(event.get(key)?.as_str()?.to_owned());
    match event.get("kind")?.as_str()? {
        "code" => Some(SavedEntry::Code(SavedCell {
            line: number(event, "line").unwrap_or(0),
            source: text("source")?,
            ..SavedCell::default()
        })),
        "prompt" => Some(SavedEntry::Prompt(prompt(
            event,
            text("prompt")?,
            text("response").unwrap_or_default(),
        ))),
        _ => None,
    }
}

/// The number under `key`, if it is one.
pub(super) fn number(value: &Value, key: &str) -> Option<u32> {
    u32::try_from(value.get(key)?.as_u64()?).ok()
}

/// A prompt with the line numbers of `value`.
pub(super) fn prompt(value: &Value, prompt: String, response: String) -> SavedPrompt {
    let line = number(value, "line");
    let history_line =
        number(value, "history_line").unwrap_or_else(|| line.unwrap_or(1).saturating_sub(1));
    SavedPrompt {
        metadata: Map::new(),
        line: line.unwrap_or_else(|| history_line.saturating_add(1)),
        history_line,
        prompt,
        response,
    }
}
