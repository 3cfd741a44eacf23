//! Requests to the agent outside of turns: its sessions, a login, an option.

use std::path::Path;

use serde_json::{Value, json};

use super::failure;
use super::options::Options;
use super::process::{AgentProcess, Knowledge};
use super::program::Purpose;
use crate::agent_process::Purpose as _;
use crate::beside::Beside;
use crate::failure::one_line;
use crate::handle::Command;
use crate::rpc::RpcError;
use crate::{AgentFailure, AgentUpdate, ListedSession, Lookup, LookupReply};

/// Commands that are such requests.
#[derive(Debug, Default)]
pub(super) struct SideRequests(Beside<Command>);

impl SideRequests {
    /// Takes a command; false when it was answered at once. `options` are those of the process, if one runs.
    pub(super) fn take(&mut self, name: &str, command: Command, options: Option<&Options>) -> bool {
        match command {
            Command::LookUp(Lookup::Sessions, _) | Command::LogIn(..) | Command::Choose(..) => {
                self.0.add(command);
                return true;
            }
            Command::LookUp(lookup, tell) => {
                let facts = match lookup {
                    Lookup::Models => {
                        LookupReply::Models(options.map(Options::list_models).unwrap_or_default())
                    }
                    Lookup::Limits | Lookup::Sessions => LookupReply::Limits(Vec::new()),
                };
                // Fails only when the receiver was dropped.
                let _ = tell.send(Ok(facts));
            }
            Command::Suggest(..) => {
                let message = format!("the agent `{name}` makes no suggestions");
                command.fail(AgentFailure::refused(message));
            }
            command => command.refuse(),
        }
        false
    }

    pub(super) fn send(&mut self, process: &mut AgentProcess, cwd: &Path) {
        for key in self.0.unsent() {
            let Some(command) = self.0.open.get(&key) else {
                continue;
            };
            let Knowledge {
                initialized,
                sessions,
            } = &process.known;
            let request = match command {
                Command::LogIn(method, _) => {
                    let params = json!({"methodId": method});
                    Ok((Purpose::Authenticate(key), "authenticate", params))
                }
                Command::Choose(option, value, _) => sessions
                    .conversation()
                    .and_then(|session| sessions.options.setter(session, option, value))
                    .map(|(method, params)| (Purpose::Choose(key), method, params))
                    .ok_or_else(|| {
                        format!("`{option}` can be set after the first prompt has been answered")
                    }),
                _ if initialized.list => {
                    let params = json!({"cwd": cwd.display().to_string()});
                    Ok((Purpose::Sessions(key), "session/list", params))
                }
                _ => Err("the agent lists no conversations".to_owned()),
            };
            match request {
                Ok((purpose, method, params)) => process.send_as(purpose, method, &params),
                Err(why) => self.fail_one(key, AgentFailure::refused(why)),
            }
        }
    }

    fn fail_one(&mut self, key: u64, failure: AgentFailure) {
        if let Some(command) = self.0.open.remove(&key) {
            command.fail(failure);
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
        let (Purpose::Sessions(key) | Purpose::Choose(key) | Purpose::Authenticate(key)) = purpose
        else {
            return Vec::new();
        };
        let Some(command) = self.0.open.remove(&key) else {
            return Vec::new();
        };
        match (command, outcome) {
            (command, Err(error)) => {
                command.fail(failure::refused(name, purpose.method(), &error).of_request());
            }
            (Command::LookUp(_, tell), Ok(answer)) => {
                drop(tell.send(Ok(LookupReply::Sessions(kept(&answer)))));
            }
            (Command::LogIn(_, tell), Ok(_)) => drop(tell.send(Ok(()))),
            (Command::Choose(option, value, tell), Ok(answer)) => {
                let news = options.set(&option, &value, &answer);
                let _ = tell.send(Ok(()));
                return news;
            }
            _ => {}
        }
        Vec::new()
    }

    /// Fails a request that got no response in time; false for a request of another kind.
    pub(super) fn expired(&mut self, purpose: Purpose, failure: AgentFailure) -> bool {
        let (Purpose::Sessions(key) | Purpose::Choose(key)) = purpose else {
            return false;
        };
        self.fail_one(key, failure);
        true
    }

    /// Fails all requests, when the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        let all = self.0.take_all();
        all.for_each(|command| command.fail(failure.clone()));
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
