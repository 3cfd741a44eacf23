//! The known rate limits of the account.
//!
//! Pure. In: answers and notifications of the app-server. Out: one entry for each time window.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, from_value};

use super::wire::account::{
    AccountRateLimitsUpdatedNotification, GetAccountRateLimitsResponse, RateLimitSnapshot,
};
use crate::Limit;

#[derive(Debug, Default)]
pub(super) struct Limits {
    snapshots: BTreeMap<String, RateLimitSnapshot>,
}

impl Limits {
    /// Takes the answer to a read, which is complete.
    pub(super) fn replace(&mut self, response: GetAccountRateLimitsResponse) {
        self.snapshots = response.rate_limits_by_limit_id;
        if self.snapshots.is_empty() {
            let limit = response.rate_limits;
            self.snapshots.insert(limit.limit_id.clone(), limit);
        }
    }

    /// Takes `account/rateLimits/updated`, in which null means unchanged.
    pub(super) fn update(&mut self, params: Value) {
        let Ok(notice) = from_value::<AccountRateLimitsUpdatedNotification>(params) else {
            return;
        };
        let new = notice.rate_limits;
        match self.snapshots.entry(new.limit_id.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(new);
            }
            Entry::Occupied(mut entry) => {
                let old = entry.get_mut();
                old.limit_name = new.limit_name.or(old.limit_name.take());
                old.primary = new.primary.or(old.primary.take());
                old.secondary = new.secondary.or(old.secondary.take());
            }
        }
    }

    pub(super) fn list(&self) -> Vec<Limit> {
        let mut limits = Vec::new();
        for snapshot in self.snapshots.values() {
            for window in [&snapshot.primary, &snapshot.secondary]
                .into_iter()
                .flatten()
            {
                let length = window.window_duration_mins.map(duration);
                let words: Vec<String> = snapshot
                    .limit_name
                    .clone()
                    .into_iter()
                    .chain(length)
                    .collect();
                limits.push(Limit {
                    window: if words.is_empty() {
                        snapshot.limit_id.clone()
                    } else {
                        words.join(" ")
                    },
                    used_percent: window.used_percent,
                    resets_at: window.resets_at,
                });
            }
        }
        limits
    }
}

fn duration(minutes: u64) -> String {
    match minutes {
        _ if minutes > 0 && minutes.is_multiple_of(1440) => format!("{} d", minutes / 1440),
        _ if minutes > 0 && minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, duration};
    use crate::Limit;
    use serde_json::{Value, from_value, json};

    fn limits(read: Value, updates: &[Value]) -> Vec<(String, f64, Option<i64>)> {
        let mut limits = Limits::default();
        if !read.is_null() {
            limits.replace(from_value(read).expect("a response"));
        }
        for update in updates {
            limits.update(update.clone());
        }
        let told = |limit: Limit| (limit.window, limit.used_percent, limit.resets_at);
        limits.list().into_iter().map(told).collect()
    }

    #[test]
    fn windows_have_names() {
        for (minutes, expected) in [(300, "5 h"), (10080, "7 d"), (90, "90 min"), (0, "0 min")] {
            assert_eq!(duration(minutes), expected);
        }
    }

    #[test]
    fn updates_change_what_they_name() {
        let window = |used: u64, length: u64| json!({"usedPercent": used, "windowDurationMins": length, "resetsAt": 7});
        let read = json!({"rateLimits": {"limitId": "codex", "primary": window(1, 300)}, "rateLimitsByLimitId": {
            "codex": {"limitId": "codex", "limitName": null, "primary": window(1, 300), "secondary": window(2, 10080)},
            "other": {"limitId": "other", "limitName": "Other", "primary": {"usedPercent": 3.5}, "secondary": null},
        }});
        let update = json!({"rateLimits": {"limitId": "codex", "primary": window(9, 300),
            "secondary": null, "planType": null}});
        assert_eq!(
            limits(read, &[update.clone(), json!({"rateLimits": 7})]),
            [
                ("5 h".to_owned(), 9.0, Some(7)),
                ("7 d".to_owned(), 2.0, Some(7)),
                ("Other".to_owned(), 3.5, None)
            ]
        );
        assert_eq!(
            limits(json!(null), &[update]),
            [("5 h".to_owned(), 9.0, Some(7))]
        );
        let bare = json!({"rateLimits": {"limitId": "x", "primary": {"usedPercent": 4}}, "rateLimitsByLimitId": null});
        assert_eq!(limits(bare, &[]), [("x".to_owned(), 4.0, None)]);
        let none = json!({"rateLimits": {"limitId": "codex", "primary": null, "secondary": null}});
        assert_eq!(limits(none, &[]), []);
    }
}
