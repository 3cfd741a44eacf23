//! The kernel whose cells are prompts to an agent of the Agent Client Protocol.
//!
//! In: the requests of clients (`requests`). A `cell` is prompts and commands; a command is an order (`orders`),
//! carried out by `commands`; a prompt is a `turn` of the `conversation`. What the agent tells becomes pieces (`marks`)
//! of a `page`. `configured` is what it is started with, `servers` the MCP servers it is told of, `permissions` who
//! answers it, `past` the earlier inputs. The agent itself is the one of the whole house ([`crate::agent`]). Absent on
//! purpose: the record, Python, context: the agent is told what stands in the cell and in the files it names with `@`,
//! and nothing else; forms (`elicitation/create`), which are refused as every unknown request is.

mod about;
mod cell;
mod commands;
mod configured;
mod conversation;
mod desk;
mod logs;
mod marks;
mod orders;
mod page;
mod past;
mod permissions;
mod requests;
mod servers;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::front::Interrupter;
use super::serving::serve;
use crate::environment::Environment;
use crate::report::Report;
use about::About;
pub use configured::AgentCommand;
use configured::Configured;
pub use conversation::Connect;
use conversation::Conversation;
use desk::{Desk, stopping};
use past::Past;
use permissions::Permissions;
use requests::Client;
use servers::Servers;

/// Serves whoever connects where the file says, until that is to end. `python` runs agents that are files for it,
/// `connect` makes them.
///
/// # Errors
/// The file is none, or its addresses cannot be had.
pub fn run(
    environment: &Environment,
    python: Option<PathBuf>,
    connect: Connect,
    file: &Path,
) -> Result<(), Report> {
    let configured = Configured::new(environment, python);
    logs::begin(
        configured.variable("ACP_LOG_LEVEL"),
        configured.variable("ACP_DEBUG_UPDATES"),
    );
    let parent = environment.variable("JPY_PARENT_PID");
    let parent = parent.and_then(|id| id.parse().ok());
    let (stopper, stop) = stopping();
    let interrupt: Interrupter = Arc::new(move || stopper.stop());
    serve(file, parent, interrupt, |voice, stdin| {
        let desk = Desk {
            voice,
            stdin,
            stop,
            cwd: configured.cwd(),
            configured,
            conversation: Conversation::new(connect),
            servers: Servers::default(),
            permissions: Permissions::default(),
            past: Past::default(),
            line: 0,
        };
        (Client(desk), About)
    })
}
