//! Requests of the app-server to us: calls of our tools, approvals, questions of the model.
//!
//! The parts an approval shows are parsed strictly (a command that is not text is an error, never an empty
//! question); the rest leniently.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::or_default;

/// `item/tool/call`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DynamicToolCallParams {
    pub(crate) call_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) arguments: Value,
}

/// The response to `item/tool/call`; both fields are required.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DynamicToolCallResponse {
    pub(crate) success: bool,
    pub(crate) content_items: Vec<DynamicToolCallOutputContentItem>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub(crate) enum DynamicToolCallOutputContentItem {
    InputText {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    InputImage {
        /// A `data:` URL.
        image_url: String,
    },
}

/// `item/commandExecution/requestApproval`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandExecutionRequestApprovalParams {
    /// `command`, `humanCommand`, `writeStdin`; absent means `command`.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) kind: String,
    /// The item of the turn; for `writeStdin` the command that started the program.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) item_id: String,
    pub(crate) command: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) cwd: String,
    pub(crate) reason: Option<String>,
    pub(crate) network_approval_context: Option<NetworkApprovalContext>,
    pub(crate) additional_permissions: Option<RequestPermissionProfile>,
    /// Names, or objects of one name and its details.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) available_decisions: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NetworkApprovalContext {
    pub(crate) host: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) protocol: String,
}

/// `item/fileChange/requestApproval`; the changes are in the `item/started` before it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileChangeRequestApprovalParams {
    pub(crate) item_id: String,
    pub(crate) reason: Option<String>,
    pub(crate) grant_root: Option<String>,
}

/// `item/permissions/requestApproval`.
#[derive(Debug, Deserialize)]
pub(crate) struct PermissionsRequestApprovalParams {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) cwd: String,
    pub(crate) reason: Option<String>,
    /// A [`RequestPermissionProfile`], sent back unchanged.
    pub(crate) permissions: Value,
}

lenient! {
    /// Permissions requested beyond the sandbox.
    struct RequestPermissionProfile {
        network: Option<AdditionalNetworkPermissions>,
        file_system: Option<AdditionalFileSystemPermissions>,
    }

    struct AdditionalNetworkPermissions {
        enabled: Option<bool>,
    }

    /// Access to files: `read` and `write`, and `entries`, which repeats both and may add more.
    struct AdditionalFileSystemPermissions {
        read: Vec<String>,
        write: Vec<String>,
        entries: Vec<FileSystemSandboxEntry>,
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileSystemSandboxEntry {
    /// An object of any kind, shown as received.
    pub(crate) path: Value,
    /// `read`, `write`, `deny`.
    pub(crate) access: String,
}

/// `item/tool/requestUserInput`.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolRequestUserInputParams {
    pub(crate) questions: Vec<ToolRequestUserInputQuestion>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRequestUserInputQuestion {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) header: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) question: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) is_other: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) is_secret: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) options: Vec<ToolRequestUserInputOption>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolRequestUserInputOption {
    pub(crate) label: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) description: String,
}

/// The answers, by the id of the question; empty: the user does not answer.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ToolRequestUserInputResponse {
    pub(crate) answers: BTreeMap<String, ToolRequestUserInputAnswer>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ToolRequestUserInputAnswer {
    pub(crate) answers: Vec<String>,
}

/// `mcpServer/elicitation/request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpServerElicitationRequestParams {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) server_name: String,
    /// `form`, `url`, and others that are not answered.
    pub(crate) mode: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) requested_schema: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) url: String,
    #[serde(default, rename = "_meta", deserialize_with = "or_default")]
    pub(crate) meta: ElicitationMeta,
}

/// Added by Codex to its own approval of a call of the server's tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ElicitationMeta {
    /// `mcp_tool_call`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) codex_approval_kind: String,
    /// Durations offered for a yes: `session`, `always`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) persist: Value,
    #[serde(deserialize_with = "or_default")]
    pub(crate) tool_name: String,
    pub(crate) tool_params: Value,
}
