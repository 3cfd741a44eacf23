//! `TurnError`: the content of the `error` notification and of a failed turn.

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TurnError {
    #[serde(deserialize_with = "or_default")]
    pub(crate) message: String,
    /// A name, or an object of one name and its details.
    pub(crate) codex_error_info: Value,
    pub(crate) additional_details: Option<String>,
}

impl TurnError {
    /// The name in `codexErrorInfo`; empty when there is none.
    pub(crate) fn name(&self) -> &str {
        match &self.codex_error_info {
            Value::String(name) => name,
            Value::Object(fields) => fields.keys().next().map_or("", String::as_str),
            _ => "",
        }
    }

    /// The HTTP status of the model's service; `None` if there was no response.
    pub(crate) fn http_status(&self) -> Option<u64> {
        self.codex_error_info
            .as_object()?
            .values()
            .next()?
            .get("httpStatusCode")?
            .as_u64()
    }
}

/// `error`: progress when `will_retry`, else the reason of the failure that follows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ErrorNotification {
    #[serde(deserialize_with = "or_default")]
    pub(crate) error: TurnError,
    #[serde(deserialize_with = "or_default")]
    pub(crate) will_retry: bool,
}
