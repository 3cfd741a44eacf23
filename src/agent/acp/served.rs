//! What the agent asks of us: permissions, files, terminals.
//!
//! In: its requests, the user's answers, what terminals show, files that were read or written. Out: what is to be done.
//! Invariant: every request gets exactly one answer, except those of a process that is gone.

use serde_json::Value;
use tokio::sync::mpsc;

use super::asked::{invalid, refusal};
use super::current::{Answered, Current};
use super::files;
use super::terminals::{Shows, Terminals, Wanted};
use crate::agent::AgentQuestion;
use crate::agent::plan::ProcessPlan;
use crate::rpc::{RpcError, RpcId};

/// What is to be done.
pub(super) enum Does {
    /// Answer the agent.
    Answer(RpcId, Result<Value, RpcError>),
    /// Ask the user.
    Ask(AgentQuestion),
    /// A terminal shows more.
    Output { terminal: String, delta: String },
}

/// What was done with a file, for the request of this id.
type FileDone = (RpcId, Result<Value, RpcError>);

/// See the module.
pub(super) struct Served {
    plan: ProcessPlan,
    terminals: Terminals,
    shows: mpsc::UnboundedReceiver<Shows>,
    done: mpsc::UnboundedSender<FileDone>,
    files: mpsc::UnboundedReceiver<FileDone>,
}

impl Served {
    pub(super) fn new(plan: ProcessPlan) -> Self {
        let (tell, shows) = mpsc::unbounded_channel();
        let (done, files) = mpsc::unbounded_channel();
        Served {
            plan,
            terminals: Terminals::new(tell),
            shows,
            done,
            files,
        }
    }

    /// Waits for what terminals and files come to.
    pub(super) async fn next(&mut self) -> Vec<Does> {
        tokio::select! {
            Some(shows) = self.shows.recv() => match shows {
                Shows::Text { terminal, delta } => vec![Does::Output { terminal, delta }],
                Shows::End { terminal } => {
                    let waited = self.terminals.ended(&terminal).into_iter();
                    waited.map(|(id, status)| Does::Answer(id, Ok(status))).collect()
                }
            },
            Some((id, outcome)) = self.files.recv() => vec![Does::Answer(id, outcome)],
            else => std::future::pending().await,
        }
    }

    /// Takes a request; `current` is the turn it belongs to, if that still runs.
    pub(super) fn asked(
        &mut self,
        id: RpcId,
        method: &str,
        params: Value,
        current: Option<&mut Current>,
    ) -> Option<Does> {
        let nobody = || Err(invalid("no turn is running in this session"));
        let does = match (method, current) {
            ("session/request_permission", None) => Does::Answer(id, Ok(refusal())),
            ("session/request_permission", Some(current)) => {
                match current.permission(&id, &params) {
                    Ok(question) => Does::Ask(question),
                    Err(error) => Does::Answer(id, Err(error)),
                }
            }
            ("fs/read_text_file", _) => {
                self.on_file(id, move || files::read(&params));
                return None;
            }
            ("fs/write_text_file", Some(current)) => {
                let allowed = current.writes();
                self.on_file(id, move || files::write(&params, &allowed));
                return None;
            }
            ("terminal/create", Some(current)) => {
                match Wanted::read(&params, &current.request.settings.cwd) {
                    Err(error) => Does::Answer(id, Err(error)),
                    Ok(wanted) => match current.command(&id, Box::new(wanted)) {
                        Ok(question) => Does::Ask(question),
                        Err(wanted) => self.answered(Answered::Run(id, wanted)),
                    },
                }
            }
            ("fs/write_text_file" | "terminal/create", None) => Does::Answer(id, nobody()),
            (method, _) if method.starts_with("terminal/") => {
                let outcome = self.terminals.asked(&id, method, &params)?;
                Does::Answer(id, outcome)
            }
            _ => Does::Answer(id, Err(RpcError::unknown_method(method))),
        };
        Some(does)
    }

    /// Does what the user's answer comes to.
    pub(super) fn answered(&mut self, answered: Answered) -> Does {
        match answered {
            Answered::Answer(id, outcome) => Does::Answer(id, outcome),
            Answered::Run(id, wanted) => {
                Does::Answer(id, self.terminals.create(*wanted, &self.plan))
            }
        }
    }

    /// Does something with a file on another thread: a disk may not answer.
    fn on_file(&self, id: RpcId, work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static) {
        let done = self.done.clone();
        tokio::task::spawn_blocking(move || {
            // A driver that has ended does not want to know.
            let _ = done.send((id, work()));
        });
    }

    /// The terminals, to look at.
    pub(super) fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// Ends every command: the turn is over, or the agent is gone.
    pub(super) fn end_all(&mut self) {
        self.terminals.end_all();
    }
}
