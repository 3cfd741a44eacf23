//! `thread/…`: the conversations of the agent.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, from_value};

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

/// `thread/fork`: a new thread with the history and the tools of another one. As with `thread/resume`, the sandbox does
/// not come along.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadForkParams<'a> {
    /// The turn to fork after; without one, all is taken along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_turn_id: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) setup: ThreadResumeParams<'a>,
}

lenient! {
    /// The response to each, as far as it is read.
    struct ThreadResponse {
        thread: Thread,
        model: Option<String>,
    }

    /// A thread; an empty id means none.
    struct Thread {
        id: String,
    }
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

lenient! {
    /// `thread/tokenUsage/updated`.
    struct ThreadTokenUsageUpdatedNotification {
        token_usage: ThreadTokenUsage,
    }

    /// Counts of the whole thread and of its last model call.
    struct ThreadTokenUsage {
        total: TokenUsageBreakdown,
        last: TokenUsageBreakdown,
        model_context_window: Option<u64>,
    }

    #[derive(Clone, Copy)]
    struct TokenUsageBreakdown {
        input_tokens: u64,
        cached_input_tokens: u64,
        output_tokens: u64,
        reasoning_output_tokens: u64,
    }
}

/// The id of the thread, and the model in use.
pub(in crate::codex) fn opened_thread(value: Value) -> Option<(String, Option<String>)> {
    let answer = from_value::<ThreadResponse>(value).ok()?;
    (!answer.thread.id.is_empty()).then_some((answer.thread.id, answer.model))
}
