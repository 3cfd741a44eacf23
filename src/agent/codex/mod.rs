//! The Codex app-server as an agent.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread: process, setup, turn) --lines--> codex app-server
//!  AgentEvents <--bounded--            <--messages, bounded--  reader thread
//! ```
//!
//! The handle here only queues commands, so it never blocks. The driver owns everything else; it starts the process
//! when first needed, and again after a death. Wire types stay in `wire/`. Facts about the peer: Codex 0.169.0. The
//! built-in offline agent speaks the same protocol and uses the same client.

mod active_turn;
mod activity;
mod answer;
mod completion;
mod driver;
mod failure;
mod images;
mod limits;
mod lookups;
mod open_requests;
mod process;
mod program;
mod questions;
mod seed;
mod server_requests;
mod settings;
mod thread_setup;
mod tool_names;
mod turn;
mod turn_end;
pub(crate) mod wire;

use tokio::sync::oneshot;

use crate::event::AgentEvents;
use crate::handle::{Command, Handle};
use crate::process_config::ProcessConfig;
use crate::{
    Agent, AgentCapabilities, AgentFailure, AgentReply, ConsultReply, ConsultRequest, Login,
    Lookup, LookupReply, SuggestReply, SuggestRequest, TurnId, TurnRequest,
};
use driver::Driver;
pub(crate) use program::Program;

/// The handle: queues commands. Dropping it ends the process.
pub(crate) struct Codex {
    name: &'static str,
    login: Login,
    handle: Handle,
}

/// Creates the agent; starts nothing.
pub(crate) fn connect(program: Program, plan: ProcessConfig) -> (Codex, AgentEvents) {
    let (name, login) = (program.name, program.login.clone());
    let (handle, events) = Handle::new(name, move |channels| {
        Driver::new(program, plan, channels).run();
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
        // The offline agent speaks the same protocol but has fewer features.
        let real = self.name == "codex";
        AgentCapabilities {
            images: real,
            resumes_threads: real,
            tool_instructions: images::TOOL_INSTRUCTIONS,
            login: self.login.clone(),
            ..AgentCapabilities::full(self.name)
        }
    }

    fn start(&mut self, request: TurnRequest) -> TurnId {
        self.handle.start(request)
    }

    fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        self.handle.send(Command::Reply(turn, reply));
    }

    fn cancel(&mut self, turn: TurnId) {
        self.handle.send(Command::Cancel(turn));
    }

    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>> {
        self.handle
            .request(|sender| Command::LookUp(lookup, sender))
    }

    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<SuggestReply> {
        self.handle
            .request(|sender| Command::Suggest(Box::new(request), sender))
    }

    fn consult(&mut self, request: ConsultRequest) -> oneshot::Receiver<ConsultReply> {
        self.handle
            .request(|sender| Command::Consult(Box::new(request), sender))
    }

    fn warm_up(&mut self) {
        self.handle.send(Command::WarmUp);
    }
}
