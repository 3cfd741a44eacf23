//! `account/…`: the login state and the rate limits.

use std::collections::BTreeMap;

use serde_json::Value;

lenient! {
    struct GetAccountResponse {
        account: Option<Value>,
        /// False for model providers that the user configured.
        requires_openai_auth: bool,
    }
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

lenient! {
    /// `account/rateLimits/read`: all limits by their id, and one of them again for older clients.
    struct GetAccountRateLimitsResponse {
        rate_limits: RateLimitSnapshot,
        rate_limits_by_limit_id: BTreeMap<String, RateLimitSnapshot>,
    }

    /// `account/rateLimits/updated`: fields that are null have not changed.
    struct AccountRateLimitsUpdatedNotification {
        rate_limits: RateLimitSnapshot,
    }

    #[derive(Clone, PartialEq)]
    struct RateLimitSnapshot {
        limit_id: String,
        limit_name: Option<String>,
        primary: Option<RateLimitWindow>,
        secondary: Option<RateLimitWindow>,
    }

    #[derive(Clone, PartialEq)]
    struct RateLimitWindow {
        used_percent: f64,
        window_duration_mins: Option<u64>,
        /// Seconds since 1970 UTC.
        resets_at: Option<i64>,
    }
}
