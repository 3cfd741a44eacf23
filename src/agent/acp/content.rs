//! Content blocks of the protocol, both ways.
//!
//! Pure. Out: the blocks of a prompt. Parts that the agent does not accept are sent as text, or left out and
//! reported. In: a block of the agent as text or picture.

use serde_json::{Value, json};

use super::initialize::InitializeResult;
use crate::dialog::conversation_history;
use crate::{InputPart, TurnRequest};

/// A prompt as blocks, and a notice for parts that are left out. In a new session the blocks begin with the
/// instructions and the earlier conversation, except that a command of the agent's own stays first.
pub(super) fn blocks(
    request: &TurnRequest,
    is_new_session: bool,
    initialized: &InitializeResult,
) -> (Vec<Value>, Option<String>) {
    let mut parts = request.input.clone();
    if is_new_session {
        let commanded =
            matches!(parts.first(), Some(InputPart::Text(text)) if text.starts_with('/'));
        let at = usize::from(commanded);
        parts.splice(at..at, preamble(request));
    }
    let (mut blocks, mut left_out) = (Vec::new(), 0);
    for part in parts {
        match part {
            InputPart::File { path, text } if initialized.embedded => blocks.push(json!({
                "type": "resource",
                "resource": {
                    "uri": uri(&path, request),
                    "mimeType": "text/plain",
                    "text": text,
                },
            })),
            InputPart::Image(url) => match picture(&url).filter(|_| initialized.images) {
                Some((mime, data)) => {
                    blocks.push(json!({"type": "image", "mimeType": mime, "data": data}));
                }
                None => left_out += 1,
            },
            part => {
                let part = part.without_file();
                blocks.push(json!({"type": "text", "text": part.as_text().unwrap_or_default()}));
            }
        }
    }
    let notice = match left_out {
        0 => None,
        1 => Some("1 picture was left out: the agent does not take it".to_owned()),
        count => Some(format!(
            "{count} pictures were left out: the agent does not take them"
        )),
    };
    (blocks, notice)
}

/// The instructions and the earlier conversation as text, followed by its pictures.
fn preamble(request: &TurnRequest) -> Vec<InputPart> {
    let mut text = String::new();
    if !request.instructions.is_empty() {
        text = format!("{}\n\n", request.instructions);
    }
    let turns = request.history.iter();
    let turns = turns.map(|turn| (turn.user.clone(), turn.assistant.clone()));
    text.push_str(&conversation_history(&turns.collect::<Vec<_>>()));
    let mut parts: Vec<InputPart> = Some(text)
        .filter(|text| !text.is_empty())
        .map(InputPart::Text)
        .into_iter()
        .collect();
    for (turn, exchange) in (1..).zip(&request.history) {
        if !exchange.images.is_empty() {
            let lead = format!("[images of turn {turn} of the conversation:]");
            parts.push(InputPart::Text(lead));
            let images = exchange.images.iter().map(|url| url.to_string());
            parts.extend(images.map(InputPart::Image));
        }
    }
    parts
}

/// MIME type and base64 data of a `data:` URL.
fn picture(url: &str) -> Option<(&str, &str)> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    mime.starts_with("image/").then_some((mime, data))
}

fn uri(path: &str, request: &TurnRequest) -> String {
    format!("file://{}", request.settings.cwd.join(path).display())
}

/// A block of the agent as text or picture; `None` for any other kind.
pub(super) fn parse_block(block: &Value) -> Option<InputPart> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match block["type"].as_str()? {
        "text" => text(&block["text"]).map(InputPart::Text),
        "image" => {
            let (mime, data) = (block["mimeType"].as_str()?, block["data"].as_str()?);
            Some(InputPart::Image(format!("data:{mime};base64,{data}")))
        }
        "resource_link" => {
            let uri = block["uri"].as_str()?;
            let name = block["name"].as_str().unwrap_or(uri);
            Some(InputPart::Text(format!("[{name}]({uri})")))
        }
        "resource" => {
            let resource = &block["resource"];
            let named = || Some(format!("[{}]", resource["uri"].as_str()?));
            text(&resource["text"]).or_else(named).map(InputPart::Text)
        }
        other => Some(InputPart::Text(format!("[{other}]"))),
    }
}

pub(super) fn as_text(block: &Value) -> Option<String> {
    match parse_block(block)? {
        InputPart::Text(text) => Some(text),
        InputPart::Image(_) => Some("[image]".to_owned()),
        InputPart::File { text, .. } => Some(text),
    }
}
