//! The requests beside cells: completion, inspection, completeness, earlier inputs.
//!
//! In: contents of requests, positions in code points. Out: contents of replies. Invariant: every request is
//! answered; one that cannot be parsed gets a reply without a result.

use serde_json::{Map, Value, json};

use super::channels::flag;
use super::messages;
use crate::input::{self, Mode};
use crate::jupyter::IncomingMessage;
use crate::magics;
use crate::record::{InputsQuery, NumberedInput, RecordHandle};
use crate::runtime::{Completeness, RuntimeReply, RuntimeRequest};
use crate::session::SessionHandle;
use crate::text::offset::CodePoints;

/// The most inputs in a reply, where the client names no number.
const DEFAULT_LIMIT: usize = 1000;

/// The position of the cursor in the code of a request; the end where none is named.
pub(super) fn cursor(message: &IncomingMessage) -> CodePoints {
    let end = message.text("code").chars().count();
    let position = message.content.get("cursor_pos").and_then(Value::as_u64);
    CodePoints(position.map_or(end, |at| usize::try_from(at).unwrap_or(end).min(end)))
}

/// Content of `complete_reply`.
pub(super) async fn complete(session: &SessionHandle, message: &IncomingMessage) -> Value {
    let (code, position) = (message.text("code").to_owned(), cursor(message));
    if let Some(reply) = complete_command(&code, position) {
        return reply;
    }
    let request = RuntimeRequest::Complete {
        code,
        position,
        deep: true,
    };
    let completions = match session.ask(request).await {
        Ok(RuntimeReply::Completions(completions)) => completions,
        _ => Vec::new(),
    };
    let (start, end) = completions
        .first()
        .map_or((position, position), |one| (one.start, one.end));
    // A reply has one range: completions of another one are left out.
    let same_range = completions
        .iter()
        .filter(|one| (one.start, one.end) == (start, end));
    let (mut matches, mut types) = (Vec::new(), Vec::new());
    for one in same_range {
        matches.push(json!(one.text));
        types.push(json!({
            "start": start.0,
            "end": end.0,
            "text": one.text,
            "type": one.kind,
            "signature": one.signature,
        }));
    }
    complete_reply(
        matches,
        (start, end),
        json!({"_jupyter_types_experimental": types}),
    )
}

fn complete_reply(
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

/// Completes the names of our commands; `None` where no command is typed.
fn complete_command(code: &str, position: CodePoints) -> Option<Value> {
    let typed = code[..position.to_bytes(code)].strip_prefix("%ipycodex ")?;
    if typed.contains(char::is_whitespace) {
        return None;
    }
    let names = magics::commands().map(|command| command.name);
    let matches = names
        .filter(|name| name.starts_with(typed))
        .map(Value::from);
    let start = CodePoints(position.0 - typed.chars().count());
    Some(complete_reply(
        matches.collect(),
        (start, position),
        json!({}),
    ))
}

/// Content of `inspect_reply`.
pub(super) async fn inspect(session: &SessionHandle, message: &IncomingMessage) -> Value {
    let (code, position) = (message.text("code").to_owned(), cursor(message));
    let level = message.content.get("detail_level").and_then(Value::as_u64);
    let request = RuntimeRequest::Inspect {
        code,
        position,
        detailed: level.is_some_and(|level| level > 0),
    };
    let data = match session.ask(request).await {
        Ok(RuntimeReply::Inspection(Some(bundle))) => messages::mime_data(&bundle),
        _ => Map::new(),
    };
    json!({"status": "ok", "found": !data.is_empty(), "data": data, "metadata": {}})
}

/// Content of `is_complete_reply`.
pub(super) async fn is_complete(session: &SessionHandle, message: &IncomingMessage) -> Value {
    let code = message.text("code").to_owned();
    // Prompts and commands are ours; the interpreter judges the rest.
    let reply = match input::is_ipycodex_input(&code) {
        true => match input::completeness(&code, Mode::Cells) {
            input::Completeness::Complete => Completeness::Complete,
            input::Completeness::Incomplete { indent } => {
                Completeness::Incomplete(" ".repeat(indent))
            }
            input::Completeness::Invalid => Completeness::Invalid,
        },
        false => match session.ask(RuntimeRequest::IsComplete { code }).await {
            Ok(RuntimeReply::Completeness(reply)) => reply,
            _ => Completeness::Unknown,
        },
    };
    match reply {
        Completeness::Complete => json!({"status": "complete"}),
        Completeness::Incomplete(indent) => json!({"status": "incomplete", "indent": indent}),
        Completeness::Invalid => json!({"status": "invalid"}),
        Completeness::Unknown => json!({"status": "unknown"}),
    }
}

/// Content of `history_reply`.
pub(super) async fn history(record: &RecordHandle, message: &IncomingMessage) -> Value {
    let inputs = record.inputs(inputs_query(message, DEFAULT_LIMIT)).await;
    history_reply(message, inputs)
}

/// The inputs that a `history_request` asks for; `most`, where it names no number.
pub(super) fn inputs_query(message: &IncomingMessage, most: usize) -> InputsQuery {
    let number = |name: &str| message.content.get(name).and_then(Value::as_i64);
    let most = number("n").map_or(most, |n| usize::try_from(n).unwrap_or(0));
    match message.text("hist_access_type") {
        "range" => InputsQuery::Range {
            session: number("session").unwrap_or(0),
            start: number("start").unwrap_or(1),
            stop: number("stop"),
        },
        "search" => InputsQuery::Like {
            pattern: match message.text("pattern") {
                "" => "*".to_owned(),
                pattern => pattern.to_owned(),
            },
            most,
            unique: flag(message, "unique", false),
        },
        _ => InputsQuery::Last(most),
    }
}

/// Content of `history_reply` with these inputs.
pub(super) fn history_reply(message: &IncomingMessage, inputs: Vec<NumberedInput>) -> Value {
    let with_output = flag(message, "output", false);
    let row = |input: NumberedInput| match with_output {
        true => json!([input.session, input.line, [input.text, input.output]]),
        false => json!([input.session, input.line, input.text]),
    };
    let rows: Vec<Value> = inputs.into_iter().map(row).collect();
    json!({"status": "ok", "history": rows})
}
