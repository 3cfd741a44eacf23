//! `turn/…`: one prompt and its answer.

use serde::Serialize;
use serde_json::{Value, from_value};

use super::error::TurnError;

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
    /// Stays in force until another one is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collaboration_mode: Option<Value>,
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

lenient! {
    /// The response to `turn/start`, and the content of `turn/started` and `turn/completed`.
    struct TurnResponse {
        turn: Turn,
    }

    /// A turn; an empty id means none.
    struct Turn {
        id: String,
        /// `inProgress`, `completed`, `interrupted`, `failed`.
        status: String,
        error: Option<TurnError>,
    }

    /// `turn/plan/updated`: the whole plan.
    struct TurnPlanUpdatedNotification {
        plan: Vec<TurnPlanStep>,
    }

    struct TurnPlanStep {
        step: String,
        /// `pending`, `inProgress`, `completed`.
        status: String,
    }
}

pub(in crate::codex) fn turn_id(value: Value) -> Option<String> {
    let id = from_value::<TurnResponse>(value).ok()?.turn.id;
    (!id.is_empty()).then_some(id)
}
