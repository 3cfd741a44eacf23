//! `item/…`: the parts of a turn. `item/started`, deltas, `item/completed` (which may never come).

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

/// `item/started` and `item/completed`.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemNotification {
    pub(crate) item: ThreadItem,
}

/// The items we show.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub(crate) enum ThreadItem {
    #[serde(rename_all = "camelCase")]
    AgentMessage {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Reasoning {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        summary: Vec<String>,
    },
    #[serde(rename_all = "camelCase")]
    CommandExecution {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        command: String,
        #[serde(default, deserialize_with = "or_default")]
        cwd: String,
        #[serde(default, deserialize_with = "or_default")]
        status: String,
        /// The whole output, capped at about 1 MiB.
        #[serde(default, deserialize_with = "or_default")]
        aggregated_output: String,
        #[serde(default)]
        exit_code: Option<i32>,
    },
    #[serde(rename_all = "camelCase")]
    FileChange {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        changes: Vec<FileUpdateChange>,
        #[serde(default, deserialize_with = "or_default")]
        status: String,
    },
    #[serde(rename_all = "camelCase")]
    WebSearch {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        query: String,
        #[serde(default)]
        action: Value,
    },
    #[serde(rename_all = "camelCase")]
    McpToolCall {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        server: String,
        #[serde(default, deserialize_with = "or_default")]
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default, deserialize_with = "or_default")]
        status: String,
        #[serde(default, deserialize_with = "or_default")]
        result: McpToolCallResult,
        #[serde(default, deserialize_with = "or_default")]
        error: McpToolCallError,
    },
    ImageView {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        #[serde(default, deserialize_with = "or_default")]
        path: String,
    },
    ContextCompaction,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct McpToolCallResult {
    /// Content blocks of MCP: `{"type": "text", "text": …}` and others.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) content: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct McpToolCallError {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileUpdateChange {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) path: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) kind: PatchChangeKind,
    /// Content for `add`, hunks for `update`.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) diff: String,
}

/// `add`, `delete`, `update`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PatchChangeKind {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub(crate) name: String,
}

/// Every delta: of a message, a command's output or reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeltaNotification {
    #[serde(deserialize_with = "or_default")]
    pub(crate) item_id: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) delta: String,
    /// Part of a reasoning summary.
    #[serde(deserialize_with = "or_default")]
    pub(crate) summary_index: u64,
    /// Part of raw reasoning.
    #[serde(deserialize_with = "or_default")]
    pub(crate) content_index: u64,
}
