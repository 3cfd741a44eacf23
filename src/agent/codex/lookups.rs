//! Look-ups outside of turns: models, limits of the account.
//!
//! In: look-ups of the session, answers of the app-server. Out: facts, or a failure. Invariants: a look-up is
//! answered once, also when the process ends; a timeout fails that look-up alone, and a running turn goes on.
//! Limits exist only for a ChatGPT login (known from `account/read`, not from the text of an error).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, from_value, json};
use tokio::sync::oneshot;

use super::failure;
use super::process::{AgentProcess, Purpose};
use super::wire::model::{ModelListParams, ModelListResponse};
use crate::process_failure::one_line;
use crate::rpc::RpcError;
use crate::{AgentFailure, Lookup, LookupReply, Model};

pub(super) type FactsSender = oneshot::Sender<Result<LookupReply, AgentFailure>>;

/// The most pages of models that are read, so that a cursor that never ends is given up.
const PAGES: usize = 50;

/// Look-ups without an answer.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    open: BTreeMap<u64, OpenLookup>,
    asked: u64,
    /// Key of the last one sent.
    sent: u64,
}

#[derive(Debug)]
struct OpenLookup {
    lookup: Lookup,
    tell: FactsSender,
    models: Vec<Model>,
    pages: usize,
}

impl OpenLookup {
    fn end(self, outcome: Result<LookupReply, AgentFailure>) {
        // Fails only when the receiver was dropped.
        let _ = self.tell.send(outcome);
    }
}

impl Lookups {
    pub(super) fn add(&mut self, lookup: Lookup, tell: FactsSender) {
        self.asked += 1;
        let waiting = OpenLookup {
            lookup,
            tell,
            models: Vec::new(),
            pages: 0,
        };
        self.open.insert(self.asked, waiting);
    }

    /// Sends the look-ups that waited for the process to be ready.
    pub(super) fn send_all(&mut self, process: &mut AgentProcess) {
        let first = std::mem::replace(&mut self.sent, self.asked) + 1;
        for key in first..=self.asked {
            self.send(key, process);
        }
    }

    fn send(&mut self, key: u64, process: &mut AgentProcess) {
        let Entry::Occupied(entry) = self.open.entry(key) else {
            return;
        };
        match entry.get().lookup {
            Lookup::Models => {
                let params = ModelListParams { cursor: None };
                process.send_request(Purpose::Models(key), "model/list", &params);
            }
            Lookup::Limits if process.chatgpt => {
                let params = json!({"excludeResetCreditDetails": true});
                process.send_request(Purpose::Limits(key), "account/rateLimits/read", &params);
            }
            // Codex keeps conversations, but the list of them is that of our record.
            Lookup::Sessions => entry.remove().end(Ok(LookupReply::Sessions(Vec::new()))),
            Lookup::Limits => entry
                .remove()
                .end(Ok(LookupReply::Limits(process.limits.list()))),
        }
    }

    pub(super) fn on_response(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        process: &mut AgentProcess,
    ) {
        let (Purpose::Models(key) | Purpose::Limits(key)) = purpose else {
            return;
        };
        let Entry::Occupied(mut entry) = self.open.entry(key) else {
            return;
        };
        let method = purpose.method();
        let value = match outcome {
            Ok(value) => value,
            Err(error) => {
                let known = process.limits.list();
                let facts = match purpose {
                    Purpose::Limits(_) if !known.is_empty() => Ok(LookupReply::Limits(known)),
                    _ => Err(failure::refused(name, method, &error)),
                };
                return entry.remove().end(facts);
            }
        };
        let unread = || Err(failure::not_understood(name, method));
        match purpose {
            Purpose::Limits(_) => match from_value(value) {
                Ok(response) => {
                    process.limits.replace(response);
                    entry
                        .remove()
                        .end(Ok(LookupReply::Limits(process.limits.list())));
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
                        description: one_line(&model.description),
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
                        process.send_request(Purpose::Models(key), "model/list", &params);
                    }
                    _ => {
                        let mut waiting = entry.remove();
                        let models = std::mem::take(&mut waiting.models);
                        waiting.end(Ok(LookupReply::Models(models)));
                    }
                }
            }
        }
    }

    pub(super) fn expired(&mut self, purpose: Purpose, failure: AgentFailure) {
        if let Purpose::Models(key) | Purpose::Limits(key) = purpose
            && let Some(waiting) = self.open.remove(&key)
        {
            waiting.end(Err(failure));
        }
    }

    /// Fails all look-ups, when the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        for (_, waiting) in std::mem::take(&mut self.open) {
            waiting.end(Err(failure.clone()));
        }
    }
}
