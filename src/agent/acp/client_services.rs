//! The client's side of the protocol: permissions, files, terminals.
//!
//! In: requests of the agent, answers of the user, output of terminals, results of file operations. Out: effects
//! for the driver. Invariant: every request gets exactly one response, except those of a process that is gone.

use serde_json::Value;
use tokio::sync::mpsc;

use super::active_turn::{ActiveTurn, AnswerEffect};
use super::permission::refusal;
use super::program::SizeLimit;
use super::terminals::{TerminalCommand, TerminalEvent, Terminals};
use super::{elicitation, files};
use crate::agent_process::ProcessConfig;
use crate::rpc::{RpcError, RpcId};
use crate::{AgentEvent, AgentNotice, AgentQuestion};

pub(crate) enum ServiceEffect {
    Respond(RpcId, Result<Value, RpcError>),
    Ask(AgentQuestion),
    Notice(AgentNotice),
    Output { terminal: String, delta: String },
}

impl ServiceEffect {
    /// The effect as an event of the turn; `None` where no event follows.
    pub(super) fn into_event(self, current: &mut ActiveTurn) -> Option<AgentEvent> {
        let turn = current.turn;
        match self {
            ServiceEffect::Respond(..) => None,
            ServiceEffect::Ask(question) => Some(AgentEvent::QuestionAsked { turn, question }),
            ServiceEffect::Notice(aside) => Some(AgentEvent::Notice {
                turn,
                notice: aside,
            }),
            ServiceEffect::Output { terminal, delta } => current.output(&terminal, delta),
        }
    }
}

/// The request's id, its response, and a notice for the session.
type FileDone = (RpcId, Result<Value, RpcError>, Option<AgentNotice>);

pub(super) struct ClientServices {
    plan: ProcessConfig,
    handing: SizeLimit,
    terminals: Terminals,
    events: mpsc::UnboundedReceiver<TerminalEvent>,
    done: mpsc::UnboundedSender<FileDone>,
    files: mpsc::UnboundedReceiver<FileDone>,
}

impl ClientServices {
    pub(super) fn new(plan: ProcessConfig, handing: SizeLimit) -> Self {
        let (tell, events) = mpsc::unbounded_channel();
        let (done, files) = mpsc::unbounded_channel();
        ClientServices {
            plan,
            handing,
            terminals: Terminals::new(tell),
            events,
            done,
            files,
        }
    }

    /// Waits for terminals and file operations; never returns when there are none.
    pub(super) async fn next(&mut self) -> Vec<ServiceEffect> {
        tokio::select! {
            Some(events) = self.events.recv() => match events {
                TerminalEvent::Text { terminal, delta } => vec![ServiceEffect::Output { terminal, delta }],
                TerminalEvent::End { terminal } => {
                    let waited = self.terminals.ended(&terminal).into_iter();
                    waited.map(|(id, status)| ServiceEffect::Respond(id, Ok(status))).collect()
                }
            },
            Some((id, outcome, aside)) = self.files.recv() => {
                let told = aside.map(ServiceEffect::Notice).into_iter();
                told.chain([ServiceEffect::Respond(id, outcome)]).collect()
            }
            else => std::future::pending().await,
        }
    }

    /// Handles a request; `current` is the turn it belongs to, while that runs.
    pub(super) fn on_request(
        &mut self,
        id: RpcId,
        method: &str,
        params: Value,
        current: Option<&mut ActiveTurn>,
    ) -> Vec<ServiceEffect> {
        let nobody = || {
            Err(RpcError::invalid_params(
                "no turn is running in this session",
            ))
        };
        let effect = match (method, current) {
            ("session/request_permission", None) => ServiceEffect::Respond(id, Ok(refusal())),
            ("session/request_permission", Some(current)) => {
                match current.permission(&id, &params) {
                    Ok(question) => ServiceEffect::Ask(question),
                    Err(error) => ServiceEffect::Respond(id, Err(error)),
                }
            }
            // Without a turn the user cannot be asked.
            ("elicitation/create", None) => ServiceEffect::Respond(id, Ok(elicitation::declined())),
            ("elicitation/create", Some(current)) => match current.elicit(&id, &params) {
                Ok(question) => ServiceEffect::Ask(question),
                Err(error) => ServiceEffect::Respond(id, Err(error)),
            },
            ("fs/read_text_file", _) => {
                let handing = self.handing;
                self.on_file(id, move || files::read(&params, handing));
                return Vec::new();
            }
            ("fs/write_text_file", Some(current)) => {
                let allowed = current.write_policy();
                self.on_file(id, move || files::write(&params, &allowed));
                return Vec::new();
            }
            ("terminal/create", Some(current)) => {
                match TerminalCommand::parse(&params, &current.request.settings.cwd) {
                    Err(error) => ServiceEffect::Respond(id, Err(error)),
                    Ok(command_request) => match current.command(&id, Box::new(command_request)) {
                        Ok(question) => ServiceEffect::Ask(question),
                        Err(command_request) => {
                            return self.on_answer(AnswerEffect::RunCommand(id, command_request));
                        }
                    },
                }
            }
            ("fs/write_text_file" | "terminal/create", None) => {
                ServiceEffect::Respond(id, nobody())
            }
            (method, _) if method.starts_with("terminal/") => {
                let Some(outcome) = self.terminals.on_request(&id, method, &params) else {
                    return Vec::new();
                };
                ServiceEffect::Respond(id, outcome)
            }
            _ => ServiceEffect::Respond(id, Err(RpcError::unknown_method(method))),
        };
        vec![effect]
    }

    pub(super) fn on_answer(&mut self, answered: AnswerEffect) -> Vec<ServiceEffect> {
        match answered {
            AnswerEffect::Respond(id, outcome) => vec![ServiceEffect::Respond(id, outcome)],
            AnswerEffect::AskAgain(question) => vec![ServiceEffect::Ask(question)],
            AnswerEffect::RunCommand(id, mut command_request) => {
                let command = command_request.line.clone();
                if self.handing == SizeLimit::Capped {
                    command_request.limit = command_request.limit.min(files::READ_CHUNK_BYTES);
                }
                let outcome = self.terminals.create(*command_request, &self.plan);
                let told = outcome
                    .is_ok()
                    .then(|| ServiceEffect::Notice(AgentNotice::TerminalStarted(command)));
                told.into_iter()
                    .chain([ServiceEffect::Respond(id, outcome)])
                    .collect()
            }
        }
    }

    /// Runs a file operation on another thread, since a disk may not answer.
    fn on_file(
        &self,
        id: RpcId,
        work: impl FnOnce() -> Result<(Value, Option<AgentNotice>), RpcError> + Send + 'static,
    ) {
        let done = self.done.clone();
        tokio::task::spawn_blocking(move || {
            let (outcome, aside) = match work() {
                Ok((answer, aside)) => (Ok(answer), aside),
                Err(error) => (Err(error), None),
            };
            // Fails only when the driver has ended.
            let _ = done.send((id, outcome, aside));
        });
    }

    pub(super) fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// Ends every command, when the turn is over or the agent is gone.
    pub(super) fn end_all(&mut self) {
        self.terminals.end_all();
    }
}
