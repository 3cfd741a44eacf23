//! What is asked beside cells: completion, help, whether a text is whole, earlier inputs.
//!
//! In: contents of requests, positions in code points. Out: contents of replies. Invariant: every request is answered,
//! one that cannot be read like one to which nothing is known.

use serde_json::{Map, Value, json};

use super::forms;
use crate::history::{History, InputsWanted};
use crate::input::{self, Mode};
use crate::jupyter::Incoming;
use crate::magics;
use crate::runtime::{Completeness, RuntimeAnswer, RuntimeRequest};
use crate::session::SessionHandle;
use crate::text::offset::CodePoints;

/// Inputs told at most, where the client names no number.
const MOST: usize = 1000;

/// The code of a request and the position in it.
fn place(message: &Incoming) -> (String, CodePoints) {
    let code = message.text("code").to_owned();
    let end = code.chars().count();
    let position = message.content.get("cursor_pos").and_then(Value::as_u64);
    let position = position.map_or(end, |at| usize::try_from(at).unwrap_or(end).min(end));
    (code, CodePoints(position))
}

/// Content of `complete_reply`.
pub(super) async fn complete(session: &SessionHandle, message: &Incoming) -> Value {
    let (code, position) = place(message);
    if let Some(told) = command(&code, position) {
        return told;
    }
    let wanted = RuntimeRequest::Complete {
        code,
        position,
        deep: true,
    };
    let found = match session.ask(wanted).await {
        Ok(RuntimeAnswer::Completions(found)) => found,
        _ => Vec::new(),
    };
    let (start, end) = found
        .first()
        .map_or((position, position), |one| (one.start, one.end));
    // One reply has one place: what would replace something else is left out.
    let here = found
        .iter()
        .filter(|one| (one.start, one.end) == (start, end));
    let (mut matches, mut types) = (Vec::new(), Vec::new());
    for one in here {
        matches.push(json!(one.text));
        types.push(json!({
            "start": start.0,
            "end": end.0,
            "text": one.text,
            "type": one.kind,
            "signature": one.signature,
        }));
    }
    completed(
        matches,
        (start, end),
        json!({"_jupyter_types_experimental": types}),
    )
}

fn completed(
    matches: Vec<Value>,
    (start, end): (CodePoints, CodePoints),
    metadata: Value,
) -> Value {
    json!({
        "status": "ok",
        "matches": matches,
        "cursor_start": start.0,
        "cursor_end": end.0,
        "metadata": metadata,
    })
}

/// The names of our commands, where one is typed.
fn command(code: &str, position: CodePoints) -> Option<Value> {
    let typed = code[..position.to_bytes(code)].strip_prefix("%ipycodex ")?;
    if typed.contains(char::is_whitespace) {
        return None;
    }
    let names = magics::commands().map(|command| command.name);
    let matches = names
        .filter(|name| name.starts_with(typed))
        .map(Value::from);
    let start = CodePoints(position.0 - typed.chars().count());
    Some(completed(matches.collect(), (start, position), json!({})))
}

/// Content of `inspect_reply`.
pub(super) async fn inspect(session: &SessionHandle, message: &Incoming) -> Value {
    let (code, position) = place(message);
    let level = message.content.get("detail_level").and_then(Value::as_u64);
    let wanted = RuntimeRequest::Inspect {
        code,
        position,
        detailed: level.is_some_and(|level| level > 0),
    };
    let data = match session.ask(wanted).await {
        Ok(RuntimeAnswer::Inspection(Some(bundle))) => forms::data(&bundle),
        _ => Map::new(),
    };
    json!({"status": "ok", "found": !data.is_empty(), "data": data, "metadata": {}})
}

/// Content of `is_complete_reply`.
pub(super) async fn is_complete(session: &SessionHandle, message: &Incoming) -> Value {
    let code = message.text("code").to_owned();
    // Prompts and commands are ours; Python is asked what it makes of the rest.
    let told = match input::is_ours(&code) {
        true => match input::completeness(&code, Mode::Cells) {
            input::Completeness::Complete => Completeness::Complete,
            input::Completeness::Incomplete { indent } => {
                Completeness::Incomplete(" ".repeat(indent))
            }
            input::Completeness::Invalid => Completeness::Invalid,
        },
        false => match session.ask(RuntimeRequest::IsComplete { code }).await {
            Ok(RuntimeAnswer::Completeness(told)) => told,
            _ => Completeness::Unknown,
        },
    };
    match told {
        Completeness::Complete => json!({"status": "complete"}),
        Completeness::Incomplete(indent) => json!({"status": "incomplete", "indent": indent}),
        Completeness::Invalid => json!({"status": "invalid"}),
        Completeness::Unknown => json!({"status": "unknown"}),
    }
}

/// Content of `history_reply`.
pub(super) async fn history(history: &History, message: &Incoming) -> Value {
    let number = |name: &str| message.content.get(name).and_then(Value::as_i64);
    let flag = |name: &str| message.content.get(name).and_then(Value::as_bool) == Some(true);
    let most = number("n").map_or(MOST, |n| usize::try_from(n).unwrap_or(0));
    let wanted = match message.text("hist_access_type") {
        "range" => InputsWanted::Range {
            session: number("session").unwrap_or(0),
            start: number("start").unwrap_or(1),
            stop: number("stop"),
        },
        "search" => InputsWanted::Like {
            pattern: match message.text("pattern") {
                "" => "*".to_owned(),
                pattern => pattern.to_owned(),
            },
            most,
            unique: flag("unique"),
        },
        _ => InputsWanted::Last(most),
    };
    let output = flag("output");
    let inputs = history.inputs(wanted).await;
    let told = inputs.into_iter().map(|input| match output {
        true => json!([input.session, input.line, [input.text, input.output]]),
        false => json!([input.session, input.line, input.text]),
    });
    json!({"status": "ok", "history": told.collect::<Vec<_>>()})
}
