//! `thread/…`: the conversations of the agent.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, from_value};

use super::or_default;

/// `thread/start`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadStartParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    pub(crate) cwd: String,
    /// `never` or `untrusted`.
    pub(crate) approval_policy: &'static str,
    /// `read-only`, `workspace-write`, `danger-full-access`.
    pub(crate) sandbox: &'a str,
    pub(crate) ephemeral: bool,
    /// Replaces the agent's own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) developer_instructions: Option<&'a str>,
    pub(crate) dynamic_tools: Vec<DynamicToolSpec<'a>>,
    pub(crate) config: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DynamicToolSpec<'a> {
    /// Always `function`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) description: Cow<'a, str>,
    pub(crate) input_schema: &'a Value,
}

/// `thread/resume`. Tools and instructions come back from disk; the sandbox does not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadResumeParams<'a> {
    pub(crate) thread_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    pub(crate) cwd: String,
    pub(crate) approval_policy: &'static str,
    pub(crate) sandbox: &'a str,
    pub(crate) config: Value,
    pub(crate) exclude_turns: bool,
}

/// The response to both, as far as it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadResponse {
    #[serde(deserialize_with = "or_default")]
    pub(crate) thread: Thread,
}

/// A thread; an empty id means none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Thread {
    #[serde(deserialize_with = "or_default")]
    pub(crate) id: String,
}

/// `thread/inject_items`: raw items of the model's history.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadInjectItemsParams<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) items: Vec<Value>,
}

/// `thread/unsubscribe` and `thread/backgroundTerminals/clean`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadParams<'a> {
    pub(crate) thread_id: &'a str,
}

/// `thread/tokenUsage/updated`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ThreadTokenUsageUpdatedNotification {
    #[serde(deserialize_with = "or_default")]
    pub(crate) token_usage: ThreadTokenUsage,
}

/// Counts of the whole thread and of its last model call.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ThreadTokenUsage {
    #[serde(deserialize_with = "or_default")]
    pub(crate) total: TokenUsageBreakdown,
    #[serde(deserialize_with = "or_default")]
    pub(crate) last: TokenUsageBreakdown,
    pub(crate) model_context_window: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TokenUsageBreakdown {
    #[serde(deserialize_with = "or_default")]
    pub(crate) input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub(crate) cached_input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub(crate) output_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub(crate) reasoning_output_tokens: u64,
}

pub(in crate::codex) fn thread_id(value: Value) -> Option<String> {
    let id = from_value::<ThreadResponse>(value).ok()?.thread.id;
    (!id.is_empty()).then_some(id)
}
