//! Look-ups outside of turns: models, limits of the account.
//!
//! In: look-ups of the session, answers of the app-server. Out: facts, or a failure. Invariants: a look-up is
//! answered once, also when the process ends; a timeout fails that look-up alone, and a running turn goes on.
//! Limits exist only for a ChatGPT login (known from `account/read`, not from the text of an error).

use std::collections::btree_map::Entry;

use serde_json::{Value, from_value, json};
use tokio::sync::oneshot;

use super::failure;
use super::process::{AgentProcess, Purpose};
use super::wire::model::{ModelListParams, ModelListResponse};
use crate::agent_process::Purpose as _;
use crate::beside::Beside;
use crate::failure::one_line;
use crate::rpc::RpcError;
use crate::{AgentFailure, Lookup, LookupReply, Model};

type FactsSender = oneshot::Sender<Result<LookupReply, AgentFailure>>;

/// The most pages of models that are read, so that a cursor that never ends is given up.
const PAGES: usize = 50;

/// Look-ups without an answer.
#[derive(Debug, Default)]
pub(super) struct Lookups(Beside<OpenLookup>);

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
        self.0.add(OpenLookup {
            lookup,
            tell,
            models: Vec::new(),
            pages: 0,
        });
    }

    /// Sends the look-ups that waited for the process to be ready.
    pub(super) fn send_all(&mut self, process: &mut AgentProcess) {
        for key in self.0.unsent() {
            self.send(key, process);
        }
    }

    fn send(&mut self, key: u64, process: &mut AgentProcess) {
        let Entry::Occupied(entry) = self.0.open.entry(key) else {
            return;
        };
        match entry.get().lookup {
            Lookup::Models => {
                let params = ModelListParams { cursor: None };
                process.send(Purpose::Models(key), &params);
            }
            Lookup::Limits if process.known.chatgpt => {
                let params = json!({"excludeResetCreditDetails": true});
                process.send(Purpose::Limits(key), &params);
            }
            // Codex keeps conversations, but the list of them is that of our record.
            Lookup::Sessions => entry.remove().end(Ok(LookupReply::Sessions(Vec::new()))),
            Lookup::Limits => entry
                .remove()
                .end(Ok(LookupReply::Limits(process.known.limits.list()))),
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
        let Entry::Occupied(mut entry) = self.0.open.entry(key) else {
            return;
        };
        let method = purpose.method();
        let value = match outcome {
            Ok(value) => value,
            Err(error) => {
                let known = process.known.limits.list();
                let facts = match purpose {
                    Purpose::Limits(_) if !known.is_empty() => Ok(LookupReply::Limits(known)),
                    _ => Err(failure::refused(name, method, &error).of_request()),
                };
                return entry.remove().end(facts);
            }
        };
        let unread = || Err(failure::not_understood(name, method));
        match purpose {
            Purpose::Limits(_) => match from_value(value) {
                Ok(response) => {
                    process.known.limits.replace(response);
                    entry
                        .remove()
                        .end(Ok(LookupReply::Limits(process.known.limits.list())));
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
                        process.send(Purpose::Models(key), &params);
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

    pub(super) fn fail_one(&mut self, key: u64, failure: AgentFailure) {
        if let Some(waiting) = self.0.open.remove(&key) {
            waiting.end(Err(failure));
        }
    }

    /// Fails all look-ups, when the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        let all = self.0.take_all();
        all.for_each(|waiting| waiting.end(Err(failure.clone())));
    }
}
