//! The Codex app-server as an agent.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread: link, opening, turn) --lines--> codex app-server
//!  AgentEvents <--bounded--            <--messages, bounded--  reader thread
//! ```
//!
//! The handle here only queues commands, so it never blocks. The driver owns everything else and starts the process
//! when first needed, and again after a death. Wire types live in `wire/` and stay there. Facts about the peer: Codex
//! 0.169.0. The built-in offline agent speaks the same protocol and comes through the same client.

mod activity;
mod answer;
mod asked;
mod completion;
mod current;
mod driver;
mod ending;
mod facts;
mod failure;
mod images;
mod limits;
mod link;
mod names;
mod opening;
mod program;
mod questions;
mod request;
mod seed;
mod settings;
mod turn;
pub(crate) mod wire;

use tokio::sync::oneshot;

use crate::agent::event::AgentEvents;
use crate::agent::handle::{Command, Handle};
use crate::agent::plan::ProcessPlan;
use crate::agent::{
    Agent, AgentCapabilities, AgentFailure, AgentReply, ConsultRequest, Consulted, Facts, Login,
    Lookup, SuggestRequest, Suggested, TurnId, TurnRequest,
};
use driver::Driver;
pub(crate) use program::Program;

/// The handle: queues commands. Dropping it ends the process.
pub(crate) struct Codex {
    name: &'static str,
    login: Login,
    handle: Handle,
}

/// Makes the agent; starts nothing.
pub(crate) fn connect(program: Program, plan: ProcessPlan) -> (Codex, AgentEvents) {
    let (name, login) = (program.name, program.login.clone());
    let (handle, events) = Handle::new(name, move |orders| {
        Driver::new(program, plan, orders).run();
    });
    let codex = Codex {
        name,
        login,
        handle,
    };
    (codex, events)
}

impl Agent for Codex {
    fn capabilities(&self) -> AgentCapabilities {
        // The offline agent speaks the same protocol, and there is less behind it.
        let real = self.name == "codex";
        AgentCapabilities {
            images: real,
            resumes: real,
            beside_tools: images::TOLD,
            login: self.login.clone(),
            ..AgentCapabilities::full(self.name)
        }
    }

    fn start(&mut self, request: TurnRequest) -> TurnId {
        self.handle.start(request)
    }

    fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        self.handle.tell(Command::Reply(turn, reply));
    }

    fn cancel(&mut self, turn: TurnId) {
        self.handle.tell(Command::Cancel(turn));
    }

    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<Facts, AgentFailure>> {
        self.handle.look_up(lookup)
    }

    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<Suggested> {
        self.handle.suggest(request)
    }

    fn consult(&mut self, request: ConsultRequest) -> oneshot::Receiver<Consulted> {
        self.handle.consult(request)
    }

    fn warm_up(&mut self) {
        self.handle.tell(Command::WarmUp);
    }
}
