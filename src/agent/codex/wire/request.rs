//! What the app-server asks of us: calls of our tools, approvals, questions.

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

/// Its answer; both fields are required.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DynamicToolCallResponse {
    pub(crate) success: bool,
    pub(crate) content_items: Vec<DynamicToolCallOutputContentItem>,
}

/// A piece of a result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub(crate) enum DynamicToolCallOutputContentItem {
    /// Text.
    InputText {
        /// For the model.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    InputImage {
        /// A `data:` URL.
        image_url: String,
    },
}

/// `item/commandExecution/requestApproval`, as far as a refusal needs it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommandExecutionRequestApprovalParams {
    #[serde(deserialize_with = "or_default")]
    pub(crate) command: String,
}
