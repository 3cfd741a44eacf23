//! What the agent asks of us: permissions, files, terminals.
//!
//! In: its requests, the user's answers, what terminals show, files that were read or written. Out: what is to be done.
//! Invariant: every request gets exactly one answer, except those of a process that is gone.

use serde_json::Value;
use tokio::sync::mpsc;

use super::asked::{invalid, refusal};
use super::current::{Answered, Current};
use super::program::Handing;
use super::terminals::{Shows, Terminals, Wanted};
use super::{elicited, files};
use crate::agent::plan::ProcessPlan;
use crate::agent::{AgentEvent, AgentQuestion, Aside};
use crate::rpc::{RpcError, RpcId};

/// What is to be done.
pub(super) enum Does {
    /// Answer the agent.
    Answer(RpcId, Result<Value, RpcError>),
    /// Ask the user.
    Ask(AgentQuestion),
    /// Tell by the way.
    Tell(Aside),
    /// A terminal shows more.
    Output { terminal: String, delta: String },
}

impl Does {
    /// What the session is told of it.
    pub(super) fn event(self, current: &mut Current) -> Option<AgentEvent> {
        let turn = current.turn;
        match self {
            Does::Answer(..) => None,
            Does::Ask(question) => Some(AgentEvent::Asked { turn, question }),
            Does::Tell(aside) => Some(AgentEvent::Aside { turn, aside }),
            Does::Output { terminal, delta } => current.output(&terminal, delta),
        }
    }
}

/// What was done with a file, for the request of this id, and what is told of it.
type FileDone = (RpcId, Result<Value, RpcError>, Option<Aside>);

/// See the module.
pub(super) struct Served {
    plan: ProcessPlan,
    handing: Handing,
    terminals: Terminals,
    shows: mpsc::UnboundedReceiver<Shows>,
    done: mpsc::UnboundedSender<FileDone>,
    files: mpsc::UnboundedReceiver<FileDone>,
}

impl Served {
    pub(super) fn new(plan: ProcessPlan, handing: Handing) -> Self {
        let (tell, shows) = mpsc::unbounded_channel();
        let (done, files) = mpsc::unbounded_channel();
        Served {
            plan,
            handing,
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
            Some((id, outcome, aside)) = self.files.recv() => {
                let told = aside.map(Does::Tell).into_iter();
                told.chain([Does::Answer(id, outcome)]).collect()
            }
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
    ) -> Vec<Does> {
        let nobody = || Err(invalid("no turn is running in this session"));
        let does = match (method, current) {
            ("session/request_permission", None) => Does::Answer(id, Ok(refusal())),
            ("session/request_permission", Some(current)) => {
                match current.permission(&id, &params) {
                    Ok(question) => Does::Ask(question),
                    Err(error) => Does::Answer(id, Err(error)),
                }
            }
            // Nobody can be asked.
            ("elicitation/create", None) => Does::Answer(id, Ok(elicited::declined())),
            ("elicitation/create", Some(current)) => match current.elicit(&id, &params) {
                Ok(question) => Does::Ask(question),
                Err(error) => Does::Answer(id, Err(error)),
            },
            ("fs/read_text_file", _) => {
                let handing = self.handing;
                self.on_file(id, move || files::read(&params, handing));
                return Vec::new();
            }
            ("fs/write_text_file", Some(current)) => {
                let allowed = current.writes();
                self.on_file(id, move || files::write(&params, &allowed));
                return Vec::new();
            }
            ("terminal/create", Some(current)) => {
                match Wanted::read(&params, &current.request.settings.cwd) {
                    Err(error) => Does::Answer(id, Err(error)),
                    Ok(wanted) => match current.command(&id, Box::new(wanted)) {
                        Ok(question) => Does::Ask(question),
                        Err(wanted) => return self.answered(Answered::Run(id, wanted)),
                    },
                }
            }
            ("fs/write_text_file" | "terminal/create", None) => Does::Answer(id, nobody()),
            (method, _) if method.starts_with("terminal/") => {
                let Some(outcome) = self.terminals.asked(&id, method, &params) else {
                    return Vec::new();
                };
                Does::Answer(id, outcome)
            }
            _ => Does::Answer(id, Err(RpcError::unknown_method(method))),
        };
        vec![does]
    }

    /// Does what the user's answer comes to.
    pub(super) fn answered(&mut self, answered: Answered) -> Vec<Does> {
        match answered {
            Answered::Answer(id, outcome) => vec![Does::Answer(id, outcome)],
            Answered::Again(question) => vec![Does::Ask(question)],
            Answered::Run(id, mut wanted) => {
                let command = wanted.line.clone();
                if self.handing == Handing::Cut {
                    wanted.limit = wanted.limit.min(files::CUT);
                }
                let outcome = self.terminals.create(*wanted, &self.plan);
                let told = outcome.is_ok().then(|| Does::Tell(Aside::Runs(command)));
                told.into_iter()
                    .chain([Does::Answer(id, outcome)])
                    .collect()
            }
        }
    }

    /// Does something with a file on another thread: a disk may not answer.
    fn on_file(
        &self,
        id: RpcId,
        work: impl FnOnce() -> Result<(Value, Option<Aside>), RpcError> + Send + 'static,
    ) {
        let done = self.done.clone();
        tokio::task::spawn_blocking(move || {
            let (outcome, aside) = match work() {
                Ok((answer, aside)) => (Ok(answer), aside),
                Err(error) => (Err(error), None),
            };
            // A driver that has ended does not want to know.
            let _ = done.send((id, outcome, aside));
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
