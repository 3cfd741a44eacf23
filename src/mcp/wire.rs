//! The messages of the Model Context Protocol as JSON, revisions 2026-07-28 and 2025-11-25.
//!
//! In the current revision each request names its revision in `_meta`, and there is no handshake; the one before
//! begins with `initialize`. Messages about tools are the same in the older revisions, so those are accepted, too.
//! Absent on purpose: resources, prompts, sampling, elicitation; questions go to the user of the shell.

use serde_json::{Map, Value, json};

use crate::agent::{InputPart, ToolSpec};
use crate::rpc::RpcError;
use crate::session::Toolset;

/// The revision without a handshake.
pub(super) const CURRENT: &str = "2026-07-28";

/// The revisions with `initialize`, newest first.
const WITH_INITIALIZE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub const SERVER_NAME: &str = "ipycodex";

/// How a client negotiates its revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// Once per connection, by `initialize`.
    Session,
    /// In the `_meta` of each request.
    Stateless,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    pub(super) lifecycle: Lifecycle,
    /// The name that the client reports.
    pub(super) client: Option<String>,
    pub(super) progress: Option<Value>,
}

impl Envelope {
    /// # Errors
    /// The refusal of a revision that is not supported.
    pub(super) fn parse(params: &Value) -> Result<Self, RpcError> {
        let meta = &params["_meta"];
        let progress = meta.get("progressToken").cloned();
        let progress = progress.filter(|token| token.is_string() || token.is_number());
        let Some(revision) = meta.get(REVISION) else {
            return Ok(Envelope {
                lifecycle: Lifecycle::Session,
                client: client(&params["clientInfo"]),
                progress,
            });
        };
        let Some(revision) = revision.as_str() else {
            return Err(RpcError::invalid_params(format!(
                "`{REVISION}` is not text"
            )));
        };
        if revision != CURRENT {
            return Err(RpcError {
                code: -32022,
                message: format!("revision {revision} is not supported"),
                data: json!({"supported": revisions(), "requested": revision}),
            });
        }
        if meta.get(CAPABILITIES).is_none() {
            return Err(RpcError::invalid_params(format!(
                "`{CAPABILITIES}` is missing in `_meta`"
            )));
        }
        Ok(Envelope {
            lifecycle: Lifecycle::Stateless,
            client: client(&meta[CLIENT]),
            progress,
        })
    }
}

fn client(info: &Value) -> Option<String> {
    let name = info["title"].as_str().or(info["name"].as_str())?;
    (!name.trim().is_empty()).then(|| name.trim().to_owned())
}

fn revisions() -> Vec<&'static str> {
    [CURRENT].into_iter().chain(WITH_INITIALIZE).collect()
}

fn server() -> Value {
    json!({"name": SERVER_NAME, "title": "ipycodex", "version": env!("CARGO_PKG_VERSION")})
}

/// The revision to use with a client that requests `revision`.
pub(super) fn negotiate(revision: &str) -> &'static str {
    let known = WITH_INITIALIZE.into_iter().find(|known| *known == revision);
    known.unwrap_or(WITH_INITIALIZE[0])
}

/// True for revisions with batches, which later ones removed.
pub(super) fn supports_batches(revision: &str) -> bool {
    ["2025-03-26", "2024-11-05"].contains(&revision)
}

/// The answer to `initialize` with `revision`.
pub(super) fn initialize_result(revision: &str, toolset: &Toolset) -> Value {
    json!({
        "protocolVersion": negotiate(revision),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": server(),
        "instructions": instructions(toolset),
    })
}

/// The answer to `server/discover`.
pub(super) fn discover_result(toolset: &Toolset) -> Value {
    json!({
        "supportedVersions": revisions(),
        "capabilities": {"tools": {"listChanged": true}},
        "instructions": instructions(toolset),
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// The answer to `tools/list`.
pub(super) fn tools_list_result(tools: &[ToolSpec], lifecycle: Lifecycle) -> Value {
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    match lifecycle {
        Lifecycle::Session => json!({"tools": tools}),
        Lifecycle::Stateless => json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"}),
    }
}

/// Adds the fields that the lifecycle requires of a result.
pub(super) fn result(mut value: Value, lifecycle: Lifecycle) -> Value {
    if let (Lifecycle::Stateless, Some(fields)) = (lifecycle, value.as_object_mut()) {
        fields.insert("resultType".into(), "complete".into());
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        meta[SERVER] = server();
    }
    value
}

fn instructions(toolset: &Toolset) -> String {
    const ABOUT: &str = "\
These tools work in the live interactive session of the user, who sees what you do there and may be asked first.";
    format!("{ABOUT}\n{}", toolset.instructions)
        .trim_end()
        .to_owned()
}

fn tool(spec: &ToolSpec) -> Value {
    let mut schema = match &spec.schema {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    schema
        .entry("type")
        .or_insert_with(|| Value::from("object"));
    let mut tool =
        json!({"name": spec.name, "description": spec.description, "inputSchema": schema});
    if READ_ONLY.contains(&spec.name.as_str()) {
        tool["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
    }
    tool
}

/// Those of our tools that change nothing.
const READ_ONLY: [&str; 2] = ["pyrun", "read_output"];

/// The answer to `tools/call`.
pub(super) fn call_result(content: Vec<InputPart>, success: bool) -> Value {
    let content: Vec<Value> = content.into_iter().map(part).collect();
    json!({"content": content, "isError": !success})
}

fn part(part: InputPart) -> Value {
    match part {
        InputPart::Text(text) | InputPart::File { text, .. } => {
            json!({"type": "text", "text": text})
        }
        InputPart::Image(url) => {
            let data = url.strip_prefix("data:").unwrap_or(&url);
            match data.split_once(";base64,") {
                Some((mime, data)) => json!({"type": "image", "mimeType": mime, "data": data}),
                None => json!({"type": "text", "text": url}),
            }
        }
    }
}

/// Params of `notifications/progress`.
pub(super) fn progress(token: &Value, so_far: u64, message: &str) -> Value {
    json!({"progressToken": token, "progress": so_far, "message": message})
}

/// Params of a notification that belongs to a subscription.
pub(super) fn with_subscription_id(id: Value, mut params: Value) -> Value {
    params["_meta"] = json!({SUBSCRIPTION: id});
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_is_read_from_the_request() {
        let current = json!({"_meta": {REVISION: CURRENT, CAPABILITIES: {}, CLIENT: {"name": "ed"},
            "progressToken": 7}});
        let envelope = Envelope::parse(&current).unwrap();
        assert_eq!(envelope.lifecycle, Lifecycle::Stateless);
        assert_eq!(envelope.client.as_deref(), Some("ed"));
        assert_eq!(envelope.progress, Some(json!(7)));
        let greeted = json!({"clientInfo": {"name": "old", "title": " Old Client "}});
        let envelope = Envelope::parse(&greeted).unwrap();
        assert_eq!(envelope.lifecycle, Lifecycle::Session);
        assert_eq!(envelope.client.as_deref(), Some("Old Client"));
        let check = |meta: Value, code| {
            let refused = Envelope::parse(&json!({"_meta": meta})).unwrap_err();
            assert_eq!(refused.code, code, "{refused:?}");
        };
        check(json!({REVISION: "2099-01-01", CAPABILITIES: {}}), -32022);
        check(json!({REVISION: 3, CAPABILITIES: {}}), -32602);
        check(json!({REVISION: CURRENT}), -32602);
        // Metadata of another shape is ignored, not refused.
        for odd in [Value::Null, json!([1]), json!({"_meta": [1]}), json!("x")] {
            assert_eq!(
                Envelope::parse(&odd).unwrap().lifecycle,
                Lifecycle::Session,
                "{odd}"
            );
        }
    }

    #[test]
    fn initialize_answers_in_a_known_revision() {
        let toolset = Toolset::default();
        for (asked, spoken) in [
            ("2025-11-25", "2025-11-25"),
            ("2025-06-18", "2025-06-18"),
            ("2099-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(
                initialize_result(asked, &toolset)["protocolVersion"],
                spoken
            );
        }
    }

    #[test]
    fn images_and_schemas_have_the_form_of_the_protocol() {
        let content = vec![
            InputPart::Text("x".into()),
            InputPart::Image("data:image/png;base64,AAAA".into()),
        ];
        let result = call_result(content, false);
        assert_eq!(result["isError"], true);
        assert_eq!(
            result["content"][1],
            json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})
        );
        let spec = |schema| ToolSpec {
            name: "f".into(),
            description: String::new(),
            schema,
        };
        for schema in [json!({}), json!(true), json!({"properties": {}})] {
            let listed = tools_list_result(&[spec(schema)], Lifecycle::Stateless);
            assert_eq!(listed["tools"][0]["inputSchema"]["type"], "object");
        }
    }
}
