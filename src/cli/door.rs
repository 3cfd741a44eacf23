//! The MCP socket of commands without an editor, for an agent that reaches our tools only through a server.
//!
//! In: a session. Out: the open socket, if the agent needs one.

use crate::config::{AgentChoice, Settings};
use crate::environment::Environment;
use crate::mcp::SocketServer;
use crate::session::SessionHandle;

/// Opens the socket for an agent that needs it; the socket closes when the value is dropped.
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
    // Without the socket the agent reports itself that it cannot attach.
    let open = || SocketServer::open(&settings.paths.run_dir, session.clone(), started_in, drop);
    wanted.then(open)
}
