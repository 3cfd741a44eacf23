//! What is asked of the agent beside its turns: its conversations, a login, an option.
//!
//! Each waits until the process is ready, is sent once, and ends once.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::agreed::Agreed;
use super::failure;
use super::link::{Link, Purpose};
use super::options::Options;
use crate::agent::handle::{Command, Done};
use crate::agent::trouble::joined_and_cut;
use crate::agent::{AgentFailure, Facts, Kept, Lookup, News};
use crate::rpc::RpcError;

/// Who waits.
#[derive(Debug)]
enum Aside {
    Sessions(oneshot::Sender<Result<Facts, AgentFailure>>),
    LogIn(String, Done),
    Choose(String, String, Done),
}

impl Aside {
    fn fail(self, failure: AgentFailure) {
        // Whoever asked may have gone.
        match self {
            Aside::Sessions(tell) => drop(tell.send(Err(failure))),
            Aside::LogIn(_, tell) | Aside::Choose(_, _, tell) => drop(tell.send(Err(failure))),
        }
    }
}

/// What sending them needs.
pub(super) struct Ready<'a> {
    pub(super) link: &'a mut Link,
    pub(super) agreed: &'a Agreed,
    pub(super) options: &'a Options,
    /// The session of the conversation, if there is one.
    pub(super) session: Option<&'a str>,
    pub(super) cwd: &'a Path,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Asides {
    last: u64,
    unsent: Vec<Aside>,
    sent: BTreeMap<u64, Aside>,
}

impl Asides {
    /// Takes what is asked; false when it could be told at once.
    pub(super) fn take(&mut self, name: &str, command: Command, options: &Options) -> bool {
        let aside = match command {
            Command::LookUp(Lookup::Sessions, tell) => Aside::Sessions(tell),
            Command::LookUp(lookup, tell) => {
                let facts = match lookup {
                    Lookup::Models => Facts::Models(options.list_models()),
                    Lookup::Limits | Lookup::Sessions => Facts::Limits(Vec::new()),
                };
                // Whoever asked may have gone.
                let _ = tell.send(Ok(facts));
                return false;
            }
            Command::LogIn(method, done) => Aside::LogIn(method, done),
            Command::Choose(option, value, done) => Aside::Choose(option, value, done),
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

    /// Sends those that wait.
    pub(super) fn send(&mut self, ready: Ready<'_>) {
        for aside in std::mem::take(&mut self.unsent) {
            self.last += 1;
            let number = self.last;
            let request = match &aside {
                Aside::Sessions(_) if ready.agreed.list => {
                    let params = json!({"cwd": ready.cwd.display().to_string()});
                    Ok((Purpose::Sessions(number), "session/list", params))
                }
                Aside::Sessions(_) => Err("the agent lists no conversations".to_owned()),
                Aside::LogIn(method, _) => {
                    let params = json!({"methodId": method});
                    Ok((Purpose::Authenticate(number), "authenticate", params))
                }
                Aside::Choose(option, value, _) => ready
                    .session
                    .and_then(|session| ready.options.setter(session, option, value))
                    .map(|(method, params)| (Purpose::Choose(number), method, params))
                    .ok_or_else(|| {
                        format!("`{option}` can be set after the first prompt has been answered")
                    }),
            };
            match request {
                Ok((purpose, method, params)) => {
                    ready.link.ask_as(purpose, method, params);
                    self.sent.insert(number, aside);
                }
                Err(why) => aside.fail(failure::unable(why)),
            }
        }
    }

    /// Takes the answer to one; news that come of it.
    pub(super) fn answered(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        options: &mut Options,
    ) -> Vec<News> {
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
            Aside::Sessions(tell) => drop(tell.send(Ok(Facts::Sessions(kept(&answer))))),
            Aside::LogIn(_, tell) => drop(tell.send(Ok(()))),
            Aside::Choose(option, value, tell) => {
                let news = options.set(&option, &value, &answer);
                let _ = tell.send(Ok(()));
                return news;
            }
        }
        Vec::new()
    }

    /// One got no answer in time; false when it is none of these.
    pub(super) fn expired(&mut self, purpose: Purpose, failure: AgentFailure) -> bool {
        let (Purpose::Sessions(number) | Purpose::Choose(number)) = purpose else {
            return false;
        };
        if let Some(aside) = self.sent.remove(&number) {
            aside.fail(failure);
        }
        true
    }

    /// The process is gone: all fail.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        let sent = std::mem::take(&mut self.sent).into_values();
        let all = std::mem::take(&mut self.unsent).into_iter().chain(sent);
        all.for_each(|aside| aside.fail(failure.clone()));
    }
}

fn kept(answer: &Value) -> Vec<Kept> {
    let text = |value: &Value| joined_and_cut(value.as_str().unwrap_or_default());
    let sessions = answer["sessions"].as_array().into_iter().flatten();
    let kept = sessions.filter_map(|it| {
        Some(Kept {
            id: it["sessionId"].as_str()?.to_owned(),
            title: text(&it["title"]),
            updated: text(&it["updatedAt"]),
        })
    });
    kept.collect()
}
