//! Requests to the agent outside of turns: its sessions, a login, an option.
//!
//! Each waits until the process is ready, is sent once, and ends once.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::failure;
use super::initialize::InitializeResult;
use super::options::Options;
use super::process::{AgentProcess, Purpose};
use crate::handle::{Command, DoneSender};
use crate::process_failure::one_line;
use crate::rpc::RpcError;
use crate::{AgentFailure, AgentUpdate, ListedSession, Lookup, LookupReply};

#[derive(Debug)]
enum SideRequest {
    Sessions(oneshot::Sender<Result<LookupReply, AgentFailure>>),
    LogIn(String, DoneSender),
    Choose(String, String, DoneSender),
}

impl SideRequest {
    fn fail(self, failure: AgentFailure) {
        // Fails only when the receiver was dropped.
        match self {
            SideRequest::Sessions(tell) => drop(tell.send(Err(failure))),
            SideRequest::LogIn(_, tell) | SideRequest::Choose(_, _, tell) => {
                drop(tell.send(Err(failure)))
            }
        }
    }
}

/// The parts of the driver that sending needs.
pub(super) struct Ready<'a> {
    pub(super) process: &'a mut AgentProcess,
    pub(super) initialized: &'a InitializeResult,
    pub(super) options: &'a Options,
    /// The session of the conversation, if one is open.
    pub(super) session: Option<&'a str>,
    pub(super) cwd: &'a Path,
}

#[derive(Debug, Default)]
pub(super) struct SideRequests {
    last: u64,
    unsent: Vec<SideRequest>,
    sent: BTreeMap<u64, SideRequest>,
}

impl SideRequests {
    /// Takes a command; false when it was answered at once.
    pub(super) fn take(&mut self, name: &str, command: Command, options: &Options) -> bool {
        let aside = match command {
            Command::LookUp(Lookup::Sessions, tell) => SideRequest::Sessions(tell),
            Command::LookUp(lookup, tell) => {
                let facts = match lookup {
                    Lookup::Models => LookupReply::Models(options.list_models()),
                    Lookup::Limits | Lookup::Sessions => LookupReply::Limits(Vec::new()),
                };
                // Fails only when the receiver was dropped.
                let _ = tell.send(Ok(facts));
                return false;
            }
            Command::LogIn(method, done) => SideRequest::LogIn(method, done),
            Command::Choose(option, value, done) => SideRequest::Choose(option, value, done),
            Command::Suggest(_, tell) => {
                let message = format!("the agent `{name}` makes no suggestions");
                let _ = tell.send(Err(failure::unable(message)));
                return false;
            }
            Command::WarmUp
            | Command::Consult(..)
            | Command::Start(..)
            | Command::Reply(..)
            | Command::Cancel(_) => {
                return false;
            }
        };
        self.unsent.push(aside);
        true
    }

    pub(super) fn send(&mut self, ready: Ready<'_>) {
        for aside in std::mem::take(&mut self.unsent) {
            self.last += 1;
            let number = self.last;
            let request = match &aside {
                SideRequest::Sessions(_) if ready.initialized.list => {
                    let params = json!({"cwd": ready.cwd.display().to_string()});
                    Ok((Purpose::Sessions(number), "session/list", params))
                }
                SideRequest::Sessions(_) => Err("the agent lists no conversations".to_owned()),
                SideRequest::LogIn(method, _) => {
                    let params = json!({"methodId": method});
                    Ok((Purpose::Authenticate(number), "authenticate", params))
                }
                SideRequest::Choose(option, value, _) => ready
                    .session
                    .and_then(|session| ready.options.setter(session, option, value))
                    .map(|(method, params)| (Purpose::Choose(number), method, params))
                    .ok_or_else(|| {
                        format!("`{option}` can be set after the first prompt has been answered")
                    }),
            };
            match request {
                Ok((purpose, method, params)) => {
                    ready.process.send_request_as(purpose, method, params);
                    self.sent.insert(number, aside);
                }
                Err(why) => aside.fail(failure::unable(why)),
            }
        }
    }

    /// Takes the response to a request; returns the updates that follow from it.
    pub(super) fn answered(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        options: &mut Options,
    ) -> Vec<AgentUpdate> {
        let (Purpose::Sessions(number) | Purpose::Choose(number) | Purpose::Authenticate(number)) =
            purpose
        else {
            return Vec::new();
        };
        let Some(aside) = self.sent.remove(&number) else {
            return Vec::new();
        };
        let answer = match outcome {
            Ok(answer) => answer,
            Err(error) => {
                aside.fail(failure::refused(name, purpose.method(), &error));
                return Vec::new();
            }
        };
        match aside {
            SideRequest::Sessions(tell) => {
                drop(tell.send(Ok(LookupReply::Sessions(kept(&answer)))))
            }
            SideRequest::LogIn(_, tell) => drop(tell.send(Ok(()))),
            SideRequest::Choose(option, value, tell) => {
                let news = options.set(&option, &value, &answer);
                let _ = tell.send(Ok(()));
                return news;
            }
        }
        Vec::new()
    }

    /// Fails a request that got no response in time; false for a request of another kind.
    pub(super) fn expired(&mut self, purpose: Purpose, failure: AgentFailure) -> bool {
        let (Purpose::Sessions(number) | Purpose::Choose(number)) = purpose else {
            return false;
        };
        if let Some(aside) = self.sent.remove(&number) {
            aside.fail(failure);
        }
        true
    }

    /// Fails all requests, when the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        let sent = std::mem::take(&mut self.sent).into_values();
        let all = std::mem::take(&mut self.unsent).into_iter().chain(sent);
        all.for_each(|aside| aside.fail(failure.clone()));
    }
}

fn kept(answer: &Value) -> Vec<ListedSession> {
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default());
    let sessions = answer["sessions"].as_array().into_iter().flatten();
    let kept = sessions.filter_map(|it| {
        Some(ListedSession {
            id: it["sessionId"].as_str()?.to_owned(),
            title: text(&it["title"]),
            updated: text(&it["updatedAt"]),
        })
    });
    kept.collect()
}
