//! Any agent that speaks the Agent Client Protocol (version 1) over its standard input and output.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread) --lines--> the agent's process
//!  AgentEvents <--bounded--    |      <--messages, bounded--  reader thread
//!                              +-- files, terminals: requests of the agent, on threads of their own
//! ```
//!
//! `process` is the connection, `initialize` the agent's features, `sessions` (with `options`) opens the session of
//! a prompt, `active_turn` is the current turn, `event_mapper` (with `tool_calls`) maps updates to events,
//! `client_services` (with `permission`, `elicitation`, `files`, `terminals`) serves requests of the agent,
//! `side_requests` sends requests outside of turns. Each owns its fields; the driver passes messages to them and
//! carries out the effects they return. Facts about peers: protocol version 1, codex-acp 2.6.0 and 0.16.0,
//! gemini-cli 0.61.0, opencode 1.18.33, claude-agent-acp 0.49.0.
//!
//! Absent on purpose: wire types. Messages are read field by field, so unknown updates and additional fields do no
//! harm.

mod active_turn;
mod client_services;
mod content;
mod driver;
mod elicitation;
mod event_mapper;
mod failure;
mod files;
mod initialize;
mod options;
mod permission;
mod process;
mod program;
mod sessions;
mod side_requests;
mod terminals;
mod tool_calls;
mod turn_end;

use tokio::sync::oneshot;

use crate::event::AgentEvents;
use crate::handle::{Command, Handle};
use crate::process_config::ProcessConfig;
use crate::{
    Agent, AgentCapabilities, AgentFailure, AgentReply, Lookup, LookupReply, SuggestReply,
    SuggestRequest, TurnId, TurnRequest,
};
use driver::Driver;
use program::SharedCapabilities;
pub use program::{Program, SizeLimit};

/// The handle. Dropping it ends the process.
pub(crate) struct Acp {
    handle: Handle,
    known: SharedCapabilities,
}

/// Creates the agent; starts nothing.
pub(crate) fn connect(program: Program, plan: ProcessConfig) -> (Acp, AgentEvents) {
    let known = SharedCapabilities::new(initialize::assumed_capabilities(&program.name));
    let (name, told) = (program.name.clone(), known.clone());
    let (handle, events) = Handle::new(&name, move |channels| {
        Driver::new(program, plan, channels, told).run();
    });
    (Acp { handle, known }, events)
}

impl Agent for Acp {
    fn capabilities(&self) -> AgentCapabilities {
        self.known.get()
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

    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let method = method.to_owned();
        self.handle.request(|sender| Command::LogIn(method, sender))
    }

    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (option, value) = (option.to_owned(), value.to_owned());
        self.handle
            .request(|sender| Command::Choose(option, value, sender))
    }

    fn warm_up(&mut self) {
        self.handle.send(Command::WarmUp);
    }
}
