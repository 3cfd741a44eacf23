//! `account/…`: the login state and the rate limits.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GetAccountResponse {
    pub(crate) account: Option<Value>,
    /// False for model providers that the user configured.
    #[serde(deserialize_with = "or_default")]
    pub(crate) requires_openai_auth: bool,
}

impl GetAccountResponse {
    /// True when a turn could only fail.
    pub(crate) fn logged_out(&self) -> bool {
        self.account.is_none() && self.requires_openai_auth
    }

    /// True when there are limits to read.
    pub(crate) fn chatgpt(&self) -> bool {
        let account = self.account.as_ref();
        account.and_then(|it| it.get("type")) == Some(&Value::from("chatgpt"))
    }
}

/// `account/rateLimits/read`: all limits by their id, and one of them again for older clients.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GetAccountRateLimitsResponse {
    #[serde(deserialize_with = "or_default")]
    pub(crate) rate_limits: RateLimitSnapshot,
    #[serde(deserialize_with = "or_default")]
    pub(crate) rate_limits_by_limit_id: BTreeMap<String, RateLimitSnapshot>,
}

/// `account/rateLimits/updated`: fields that are null have not changed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AccountRateLimitsUpdatedNotification {
    #[serde(deserialize_with = "or_default")]
    pub(crate) rate_limits: RateLimitSnapshot,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RateLimitSnapshot {
    #[serde(deserialize_with = "or_default")]
    pub(crate) limit_id: String,
    pub(crate) limit_name: Option<String>,
    pub(crate) primary: Option<RateLimitWindow>,
    pub(crate) secondary: Option<RateLimitWindow>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RateLimitWindow {
    #[serde(deserialize_with = "or_default")]
    pub(crate) used_percent: f64,
    pub(crate) window_duration_mins: Option<u64>,
    /// Seconds since 1970 UTC.
    pub(crate) resets_at: Option<i64>,
}
