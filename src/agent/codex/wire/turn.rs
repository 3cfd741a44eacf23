//! `turn/…`: one prompt and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::TurnError;
use super::or_default;

/// `turn/start`. The settings stay in force for later turns of the thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnStartParams<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) input: Vec<UserInput<'a>>,
    pub(crate) effort: &'static str,
    /// Without it no reasoning is shown.
    pub(crate) summary: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval_policy: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox_policy: Option<Value>,
    /// For this turn alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub(crate) enum UserInput<'a> {
    Text {
        /// At most 1,048,576 characters.
        text: &'a str,
        /// Spans of the user interface; none here.
        #[serde(rename = "text_elements")]
        elements: [(); 0],
    },
    Image {
        /// A `data:` URL.
        url: &'a str,
    },
}

/// `turn/steer`: more input for the running turn.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnSteerParams<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) expected_turn_id: &'a str,
    pub(crate) input: Vec<UserInput<'a>>,
}

/// `turn/interrupt`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnInterruptParams<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) turn_id: &'a str,
}

/// The response to `turn/start`, and the content of `turn/started` and `turn/completed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TurnResponse {
    #[serde(deserialize_with = "or_default")]
    pub(crate) turn: Turn,
}

/// A turn; an empty id means none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Turn {
    #[serde(deserialize_with = "or_default")]
    pub(crate) id: String,
    /// `inProgress`, `completed`, `interrupted`, `failed`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: String,
    pub(crate) error: Option<TurnError>,
}

/// `turn/plan/updated`: the whole plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TurnPlanUpdatedNotification {
    #[serde(deserialize_with = "or_default")]
    pub(crate) plan: Vec<TurnPlanStep>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TurnPlanStep {
    #[serde(deserialize_with = "or_default")]
    pub(crate) step: String,
    /// `pending`, `inProgress`, `completed`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: String,
}
