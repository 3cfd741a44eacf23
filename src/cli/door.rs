//! The door of commands without a prompt: for an agent that reaches our tools through a server only.

use crate::config::{AgentChoice, Settings};
use crate::environment::Environment;
use crate::mcp::SocketServer;
use crate::session::SessionHandle;

/// Opens a door for an agent that reaches our tools through a server only; it stands open while this is kept.
pub(super) fn door(
    session: &SessionHandle,
    settings: &Settings,
    environment: &Environment,
) -> Option<SocketServer> {
    let wanted = matches!(
        settings.choices.agent,
        AgentChoice::Acp(_) | AgentChoice::Named(_)
    );
    let started_in = environment.cwd.clone().unwrap_or_default();
    // An agent that cannot attach says so itself.
    let open = || SocketServer::open(&settings.paths.run_dir, session.clone(), started_in, drop);
    wanted.then(open)
}
