//! The kernel whose cells are prompts to an agent of the Agent Client Protocol.
//!
//! In: the requests of clients (`handler`). `syntax` splits a cell into commands and prompts; `commands` runs a
//! command, `turn` a prompt over the `connection` to the agent. `event_formatter` makes the agent's events the text
//! of a `client_output`. `config` holds the agent's command, `mcp_servers` the MCP servers for it, `permissions`
//! answers its requests, `input_history` keeps the inputs. The agent is an [`Agent`](crate::agent::Agent) as in all
//! front-ends. Absent on purpose: the record, Python, context: the agent gets the text of the cell and of the files
//! it names with `@`, and nothing else; forms (`elicitation/create`), which are refused as every unknown request
//! is.

mod client_output;
mod commands;
mod config;
mod connection;
mod context;
mod event_formatter;
mod handler;
mod input_history;
mod logger;
mod mcp_servers;
mod permissions;
mod syntax;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use super::server::serve;
use super::shutdown::InterruptFn;
use crate::environment::Environment;
use crate::text::report::Report;
pub use config::AgentCommand;
use config::AgentConfig;
use connection::AgentConnection;
pub use connection::ConnectAgent;
use context::AgentContext;
use handler::{AgentHandler, AgentKernelInfo};
use input_history::InputHistory;
use mcp_servers::McpServers;
use permissions::Permissions;

/// Serves all clients on the addresses of the connection file until the shutdown. `python` runs agents that are
/// Python files; `connect` creates the agent.
///
/// # Errors
/// When the file is not a connection file, or its addresses are not available.
pub fn run(
    environment: &Environment,
    python: Option<PathBuf>,
    connect: ConnectAgent,
    file: &Path,
) -> Result<(), Report> {
    let config = AgentConfig::new(environment, python);
    logger::init(
        config.variable("ACP_LOG_LEVEL"),
        config.variable("ACP_DEBUG_UPDATES"),
    );
    let parent = environment.variable("JPY_PARENT_PID");
    let parent = parent.and_then(|id| id.parse().ok());
    let (sender, stop) = watch::channel(());
    let interrupt: InterruptFn = Arc::new(move || sender.send_replace(()));
    serve(file, parent, interrupt, |server, inputs| {
        let context = AgentContext {
            server,
            inputs,
            stop,
            cwd: config.cwd(),
            config,
            connection: AgentConnection::new(connect),
            servers: McpServers::default(),
            permissions: Permissions::default(),
            history: InputHistory::default(),
            line: 0,
        };
        (AgentHandler(context), AgentKernelInfo)
    })
}
