//! `TurnError`: the content of the `error` notification and of a failed turn.

use serde_json::Value;

lenient! {
    #[derive(Clone)]
    struct TurnError {
        message: String,
        /// A name, or an object of one name and its details.
        codex_error_info: Value,
        additional_details: Option<String>,
    }
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

lenient! {
    /// `error`: progress when `will_retry`, else the reason of the failure that follows.
    struct ErrorNotification {
        error: TurnError,
        will_retry: bool,
    }
}
