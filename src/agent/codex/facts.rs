//! Look-ups beside any turn: models, limits of the account.
//!
//! In: look-ups of the session, answers of the app-server. Out: facts, or why there are none. Invariants: a look-up is
//! answered once, also when the process ends; one that gets no answer fails alone and leaves a turn that runs be.
//! Limits exist only for a ChatGPT login (known from `account/read`, not from the text of an error).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, from_value, json};
use tokio::sync::oneshot;

use super::driver::Driver;
use super::failure;
use super::link::Purpose;
use super::wire::account::{
    AccountRateLimitsUpdatedNotification, GetAccountRateLimitsResponse, RateLimitSnapshot,
};
use super::wire::model::{ModelListParams, ModelListResponse};
use crate::agent::{AgentFailure, Facts, Limit, Lookup, Model};
use crate::rpc::RpcError;

/// Where the facts go.
pub(super) type Tell = oneshot::Sender<Result<Facts, AgentFailure>>;

/// The most pages of models that are read: a cursor that leads nowhere ends.
const PAGES: usize = 50;

/// Look-ups that wait.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    open: BTreeMap<u64, Waiting>,
    asked: u64,
}

#[derive(Debug)]
struct Waiting {
    lookup: Lookup,
    tell: Tell,
    models: Vec<Model>,
    pages: usize,
}

impl Waiting {
    fn end(self, outcome: Result<Facts, AgentFailure>) {
        // Whoever asked may have gone.
        let _ = self.tell.send(outcome);
    }
}

/// The limits the account is known to have, by their id.
#[derive(Debug, Default)]
pub(super) struct Limits {
    snapshots: BTreeMap<String, RateLimitSnapshot>,
}

impl Limits {
    /// Takes the answer to a read: it is everything.
    fn replace(&mut self, response: GetAccountRateLimitsResponse) {
        self.snapshots = response.rate_limits_by_limit_id;
        if self.snapshots.is_empty() {
            let limit = response.rate_limits;
            self.snapshots.insert(limit.limit_id.clone(), limit);
        }
    }

    /// Takes `account/rateLimits/updated`.
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

    /// As the session is told.
    fn list(&self) -> Vec<Limit> {
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

impl Driver {
    /// Takes a look-up; starts the process when it does not run.
    pub(super) async fn look_up(&mut self, lookup: Lookup, tell: Tell) {
        self.lookups.asked += 1;
        let key = self.lookups.asked;
        let waiting = Waiting {
            lookup,
            tell,
            models: Vec::new(),
            pages: 0,
        };
        self.lookups.open.insert(key, waiting);
        match self.linked() {
            Ok(true) => self.send_lookup(key),
            Ok(false) => {}
            Err(failure) => self.fail(failure).await,
        }
    }

    /// Sends those that waited for the process to be ready.
    pub(super) fn send_lookups(&mut self) {
        let keys: Vec<u64> = self.lookups.open.keys().copied().collect();
        for key in keys {
            self.send_lookup(key);
        }
    }

    fn send_lookup(&mut self, key: u64) {
        let (Some(link), Entry::Occupied(entry)) = (&mut self.link, self.lookups.open.entry(key))
        else {
            return;
        };
        match entry.get().lookup {
            Lookup::Models => {
                let params = ModelListParams { cursor: None };
                link.ask(Purpose::Models(key), "model/list", &params);
            }
            Lookup::Limits if link.chatgpt => {
                let params = json!({"excludeResetCreditDetails": true});
                link.ask(Purpose::Limits(key), "account/rateLimits/read", &params);
            }
            // It keeps some and is not asked: the record is ours.
            Lookup::Sessions => entry.remove().end(Ok(Facts::Sessions(Vec::new()))),
            Lookup::Limits => entry.remove().end(Ok(Facts::Limits(link.limits.list()))),
        }
    }

    /// Takes the answer to a look-up.
    pub(super) fn looked_up(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        let (Purpose::Models(key) | Purpose::Limits(key)) = purpose else {
            return;
        };
        let (Some(link), Entry::Occupied(mut entry)) =
            (&mut self.link, self.lookups.open.entry(key))
        else {
            return;
        };
        let method = purpose.method();
        let value = match outcome {
            Ok(value) => value,
            Err(error) => {
                let known = link.limits.list();
                let facts = match purpose {
                    Purpose::Limits(_) if !known.is_empty() => Ok(Facts::Limits(known)),
                    _ => Err(failure::refused(name, method, &error)),
                };
                return entry.remove().end(facts);
            }
        };
        let unread = || Err(failure::not_understood(name, method));
        match purpose {
            Purpose::Limits(_) => match from_value(value) {
                Ok(response) => {
                    link.limits.replace(response);
                    entry.remove().end(Ok(Facts::Limits(link.limits.list())));
                }
                Err(_) => entry.remove().end(unread()),
            },
            _ => {
                let Ok(page) = from_value::<ModelListResponse>(value) else {
                    return entry.remove().end(unread());
                };
                let waiting = entry.get_mut();
                waiting.pages += 1;
                let shown = page.data.into_iter().filter(|it| !it.hidden);
                waiting.models.extend(shown.map(|model| {
                    Model {
                        name: model.model,
                        description: failure::joined_and_cut(&model.description),
                        efforts: model
                            .supported_reasoning_efforts
                            .into_iter()
                            .map(|effort| effort.reasoning_effort)
                            .collect(),
                        default_effort: model.default_reasoning_effort,
                        is_default: model.is_default,
                    }
                }));
                match page.next_cursor {
                    Some(cursor) if waiting.pages < PAGES => {
                        let params = ModelListParams {
                            cursor: Some(cursor),
                        };
                        link.ask(Purpose::Models(key), "model/list", &params);
                    }
                    _ => {
                        let mut waiting = entry.remove();
                        let models = std::mem::take(&mut waiting.models);
                        waiting.end(Ok(Facts::Models(models)));
                    }
                }
            }
        }
    }

    /// Fails one that got no answer in time.
    pub(super) fn lookup_expired(&mut self, purpose: Purpose) {
        if let Purpose::Models(key) | Purpose::Limits(key) = purpose
            && let Some(waiting) = self.lookups.open.remove(&key)
        {
            let patience = self.plan.patience.request;
            let failure = failure::unanswered(self.program.name, purpose.method(), patience);
            waiting.end(Err(failure));
        }
    }

    /// Fails all: the process is gone.
    pub(super) fn fail_lookups(&mut self, failure: &AgentFailure) {
        for (_, waiting) in std::mem::take(&mut self.lookups.open) {
            waiting.end(Err(failure.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, duration};
    use crate::agent::Limit;
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
        let window = |used: u64, minutes: u64| {
            let resets = 7;
            json!({"usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets})
        };
        let read = json!({"rateLimits": {"limitId": "codex", "primary": window(1, 300)}, "rateLimitsByLimitId": {
            "codex": {"limitId": "codex", "limitName": null, "primary": window(1, 300), "secondary": window(2, 10080)},
            "other": {"limitId": "other", "limitName": "Other", "primary": {"usedPercent": 3.5}, "secondary": null},
        }});
        let update = json!({"rateLimits": {"limitId": "codex", "primary": window(9, 300), "secondary": null,
            "planType": null}});
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
