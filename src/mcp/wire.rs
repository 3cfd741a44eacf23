//! What is said, as JSON: the Model Context Protocol, revisions 2026-07-28 and 2025-11-25.
//!
//! In the current revision each request says in its `_meta` which revision it is of, and nothing is greeted; the one
//! before is known by `initialize`. What we say of tools reads the same in the revisions before that one, so those are
//! taken, too. Absent on purpose: resources, prompts, sampling, elicitation; who is asked is the user of the shell.

use serde_json::{Map, Value, json};

use crate::agent::{InputPart, ToolSpec};
use crate::rpc::RpcError;
use crate::session::Toolset;

/// The revision without a greeting.
pub(super) const CURRENT: &str = "2026-07-28";

/// Those with one, newest first.
const GREETED: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Our name as a server.
pub const SERVER_NAME: &str = "ipycodex";

/// Which way of speaking a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// Greeted once, for all that follows.
    Greeted,
    /// Each request for itself.
    Current,
}

/// What a request says of itself beside what it wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    pub(super) era: Era,
    /// Who asks, in their words.
    pub(super) client: Option<String>,
    /// What progress is told under.
    pub(super) progress: Option<Value>,
}

impl Envelope {
    /// Reads it; the refusal where it is of no revision of ours.
    pub(super) fn of(params: &Value) -> Result<Self, RpcError> {
        let meta = &params["_meta"];
        let progress = meta.get("progressToken").cloned();
        let progress = progress.filter(|token| token.is_string() || token.is_number());
        let Some(revision) = meta.get(REVISION) else {
            return Ok(Envelope {
                era: Era::Greeted,
                client: client(&params["clientInfo"]),
                progress,
            });
        };
        let Some(revision) = revision.as_str() else {
            return Err(invalid(format!("`{REVISION}` is not text")));
        };
        if revision != CURRENT {
            return Err(RpcError {
                code: -32022,
                message: format!("revision {revision} is not supported"),
                data: json!({"supported": revisions(), "requested": revision}),
            });
        }
        if meta.get(CAPABILITIES).is_none() {
            return Err(invalid(format!("`{CAPABILITIES}` is missing in `_meta`")));
        }
        Ok(Envelope {
            era: Era::Current,
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
    [CURRENT].into_iter().chain(GREETED).collect()
}

fn server() -> Value {
    json!({"name": SERVER_NAME, "title": "ipycodex", "version": env!("CARGO_PKG_VERSION")})
}

/// The revision that is spoken with whoever greets in `revision`.
pub(super) fn spoken(revision: &str) -> &'static str {
    let known = GREETED.into_iter().find(|known| *known == revision);
    known.unwrap_or(GREETED[0])
}

/// Requests may come in batches in this revision: later ones have none.
pub(super) fn has_batches(revision: &str) -> bool {
    ["2025-03-26", "2024-11-05"].contains(&revision)
}

/// The answer to `initialize`, for whoever wants `revision`.
pub(super) fn greeting(revision: &str, toolset: &Toolset) -> Value {
    json!({
        "protocolVersion": spoken(revision),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": server(),
        "instructions": instructions(toolset),
    })
}

/// The answer to `server/discover`.
pub(super) fn discovery(toolset: &Toolset) -> Value {
    json!({
        "supportedVersions": revisions(),
        "capabilities": {"tools": {"listChanged": true}},
        "instructions": instructions(toolset),
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// The answer to `tools/list`.
pub(super) fn listing(tools: &[ToolSpec], era: Era) -> Value {
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    match era {
        Era::Greeted => json!({"tools": tools}),
        Era::Current => json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"}),
    }
}

/// A result as the era wants it.
pub(super) fn result(mut value: Value, era: Era) -> Value {
    if let (Era::Current, Some(fields)) = (era, value.as_object_mut()) {
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
    let mut told =
        json!({"name": spec.name, "description": spec.description, "inputSchema": schema});
    if READS.contains(&spec.name.as_str()) {
        told["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
    }
    told
}

/// Tools of ours that change nothing.
const READS: [&str; 2] = ["pyrun", "read_output"];

/// What a call gave.
pub(super) fn called(content: Vec<InputPart>, success: bool) -> Value {
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

/// How far a call is.
pub(super) fn progress(token: &Value, so_far: u64, message: &str) -> Value {
    json!({"progressToken": token, "progress": so_far, "message": message})
}

/// What is said on a subscription: its id stands with it.
pub(super) fn subscribed(id: Value, mut params: Value) -> Value {
    params["_meta"] = json!({SUBSCRIPTION: id});
    params
}

/// A request that cannot be answered as it is.
pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    error(-32602, message)
}

/// A refusal.
pub(super) fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_which_revision_it_is_of() {
        let current = json!({"_meta": {REVISION: CURRENT, CAPABILITIES: {}, CLIENT: {"name": "ed"},
            "progressToken": 7}});
        let envelope = Envelope::of(&current).unwrap();
        assert_eq!(envelope.era, Era::Current);
        assert_eq!(envelope.client.as_deref(), Some("ed"));
        assert_eq!(envelope.progress, Some(json!(7)));
        let greeted = json!({"clientInfo": {"name": "old", "title": " Old Client "}});
        let envelope = Envelope::of(&greeted).unwrap();
        assert_eq!(envelope.era, Era::Greeted);
        assert_eq!(envelope.client.as_deref(), Some("Old Client"));
        let check = |meta: Value, code| {
            let refused = Envelope::of(&json!({"_meta": meta})).unwrap_err();
            assert_eq!(refused.code, code, "{refused:?}");
        };
        check(json!({REVISION: "2099-01-01", CAPABILITIES: {}}), -32022);
        check(json!({REVISION: 3, CAPABILITIES: {}}), -32602);
        check(json!({REVISION: CURRENT}), -32602);
        // Whatever else is there is no reason to refuse.
        for odd in [Value::Null, json!([1]), json!({"_meta": [1]}), json!("x")] {
            assert_eq!(Envelope::of(&odd).unwrap().era, Era::Greeted, "{odd}");
        }
    }

    #[test]
    fn whoever_greets_in_a_revision_we_know_is_answered_in_it() {
        let toolset = Toolset::default();
        for (asked, spoken) in [
            ("2025-11-25", "2025-11-25"),
            ("2025-06-18", "2025-06-18"),
            ("2099-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(greeting(asked, &toolset)["protocolVersion"], spoken);
        }
    }

    #[test]
    fn pictures_and_schemas_take_the_form_of_the_protocol() {
        let content = vec![
            InputPart::Text("x".into()),
            InputPart::Image("data:image/png;base64,AAAA".into()),
        ];
        let told = called(content, false);
        assert_eq!(told["isError"], true);
        assert_eq!(
            told["content"][1],
            json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})
        );
        let spec = |schema| ToolSpec {
            name: "f".into(),
            description: String::new(),
            schema,
        };
        for schema in [json!({}), json!(true), json!({"properties": {}})] {
            let listed = listing(&[spec(schema)], Era::Current);
            assert_eq!(listed["tools"][0]["inputSchema"]["type"], "object");
        }
    }
}
