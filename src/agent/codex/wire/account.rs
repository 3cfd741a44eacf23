//! `account/read`: whether anybody is logged in.

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

/// The answer.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GetAccountResponse {
    pub(crate) account: Option<Value>,
    /// False for providers of the user's own.
    #[serde(deserialize_with = "or_default")]
    pub(crate) requires_openai_auth: bool,
}

impl GetAccountResponse {
    /// True when a turn could only fail.
    pub(crate) fn logged_out(&self) -> bool {
        self.account.is_none() && self.requires_openai_auth
    }
}
