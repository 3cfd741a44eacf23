//! The session of a command without an editor: its options, its MCP socket, its end.

use std::time::Duration;

use crate::assemble::SessionOptions;
use crate::cli::args::Common;
use crate::config::{AgentChoice, Settings};
use crate::environment::Environment;
use crate::mcp::SocketServer;
use crate::runtime::Stdin;
use crate::session::SessionHandle;
use crate::text::report::Report;

/// Longest wait for the end of the session.
pub(super) const LEAVE: Duration = Duration::from_secs(10);

/// Returns the options of a new session in which nobody can be asked, and whose interpreter starts at once.
pub(super) fn options(common: &Common, prompt_mode: bool) -> Result<SessionOptions, Report> {
    Ok(SessionOptions {
        flags: common.flags(prompt_mode)?,
        resume: None,
        once: false,
        cells_own_a_terminal: false,
        stdin: Stdin::Refuse,
        asks: false,
        runtime_at_once: true,
        script: None,
        ipython: common.ipython(),
        at_home: false,
        takes_clients: true,
        kernel: None,
        prompt_first: false,
    })
}

/// Opens the MCP socket for an agent that reaches our tools only through a server; it closes when the value is dropped.
pub(super) fn open_socket(
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
