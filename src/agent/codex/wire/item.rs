//! `item/…`: the parts of a turn. `item/started`, deltas, `item/completed` (which may never come).

use serde::Deserialize;
use serde_json::Value;

/// `item/started` and `item/completed`.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemNotification {
    pub(crate) item: ThreadItem,
}

lenient_variants! {
    /// The items we show.
    enum ThreadItem {
        AgentMessage {
            id: String,
            text: String,
        },
        // A plan that the model proposes in plan mode, as markdown.
        Plan {
            id: String,
            text: String,
        },
        Reasoning {
            id: String,
            summary: Vec<String>,
        },
        CommandExecution {
            id: String,
            command: String,
            cwd: String,
            status: String,
            /// The whole output, capped at about 1 MiB.
            aggregated_output: String,
            exit_code: Option<i32>,
        },
        FileChange {
            id: String,
            changes: Vec<FileUpdateChange>,
            status: String,
        },
        WebSearch {
            id: String,
            query: String,
            action: Value,
        },
        McpToolCall {
            id: String,
            server: String,
            tool: String,
            arguments: Value,
            status: String,
            result: McpToolCallResult,
            error: McpToolCallError,
        },
        ImageView {
            id: String,
            path: String,
        },
        ContextCompaction {
            id: String,
        },
    }
    #[serde(other)]
    Unknown,
}

lenient! {
    struct McpToolCallResult {
        /// Content blocks of MCP: `{"type": "text", "text": …}` and others.
        content: Vec<Value>,
    }

    struct McpToolCallError {
        message: String,
    }

    struct FileUpdateChange {
        path: String,
        kind: PatchChangeKind,
        /// Content for `add`, hunks for `update`.
        diff: String,
    }

    /// `add`, `delete`, `update`.
    struct PatchChangeKind {
        #[serde(rename = "type")]
        name: String,
        /// The new path of a file that is moved.
        #[serde(rename = "move_path")]
        move_path: Option<String>,
    }

    /// Every delta: of a message, a command's output or reasoning.
    struct DeltaNotification {
        item_id: String,
        delta: String,
        /// Part of a reasoning summary.
        summary_index: u64,
        /// Part of raw reasoning.
        content_index: u64,
    }
}
