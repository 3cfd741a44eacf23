//! The commands carried out: the effect of each on the settings and the session, and the text it prints.

use std::path::PathBuf;

use super::client_output::ClientOutput;
use super::context::AgentContext;
use super::mcp_servers::{ListedServer, ServerSource};
use super::syntax::{ClientCommand, help};
use super::turn::{TurnError, ensure_session, open_session, set_session};
use crate::agent::{AgentFailure, FailureKind, Login, Lookup, LookupReply};

pub(super) enum CommandError {
    Said(String),
    /// A turn or request of the agent that a command needs has failed.
    TurnError(TurnError),
}

impl From<TurnError> for CommandError {
    fn from(cut: TurnError) -> Self {
        CommandError::TurnError(cut)
    }
}

type Said = Result<String, CommandError>;

fn refused<T>(text: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::Said(text.into()))
}

/// Runs a command; returns the text to print.
///
/// # Errors
/// A command that failed, or was interrupted.
pub(super) async fn run_command(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    order: ClientCommand,
) -> Said {
    match order {
        ClientCommand::Help => Ok(help()),
        ClientCommand::Servers => Ok(listed(context)),
        ClientCommand::AddServer(server) => {
            let name = server.name.clone();
            let verb = if context.servers.add(server) {
                "Updated"
            } else {
                "Added"
            };
            let ending = applied(
                context,
                output,
                "It will be available when the session starts.",
            )
            .await?;
            Ok(format!("{verb} MCP server '{name}'. {ending}"))
        }
        ClientCommand::RemoveServer(name) => remove(context, output, &name).await,
        ClientCommand::DisableServer(name) => {
            if known(context, &name).is_none() {
                return refused(format!("No MCP server named '{name}' found"));
            }
            context.servers.disable(&name);
            let ending = applied(context, output, "It will not be started.").await?;
            Ok(format!("Disabled MCP server '{name}'. {ending}"))
        }
        ClientCommand::EnableServer(name) => {
            if !context.servers.enable(&name) {
                return refused(format!(
                    "MCP server '{name}' is not disabled (or does not exist)"
                ));
            }
            let ending = applied(
                context,
                output,
                "It will be available when the session starts.",
            )
            .await?;
            Ok(format!("Enabled MCP server '{name}'. {ending}"))
        }
        ClientCommand::ClearServers => {
            let count = context.servers.clear();
            let ending = match count {
                0 => String::new(),
                _ => applied(context, output, "").await?,
            };
            Ok(ended(format!("Removed {count} MCP server(s)"), &ending))
        }
        ClientCommand::IgnoreCodex(None) => {
            let now = if context.servers.ignores_codex {
                "on"
            } else {
                "off"
            };
            let usage = "Usage: %agent mcp ignore-codex-config on|off";
            Ok(format!("ignore-codex-config is {now}\n{usage}"))
        }
        ClientCommand::IgnoreCodex(Some(on)) => {
            context.servers.ignores_codex = on;
            let ending = applied(context, output, "").await?;
            let now = if on { "on" } else { "off" };
            Ok(ended(format!("ignore-codex-config set to {now}"), &ending))
        }
        ClientCommand::Commands => Ok(slash_commands(context)),
        ClientCommand::Session => Ok(about_session(context)),
        ClientCommand::NewSession(cwd) => new_session(context, output, cwd).await,
        ClientCommand::RestartSession => {
            context.connection.stop().await;
            open_session(context, output, None).await?;
            let id = context.connection.id().unwrap_or_default();
            Ok(format!("Session restarted. Session ID: {id}"))
        }
        ClientCommand::Sessions => sessions(context, output).await,
        ClientCommand::LoadSession(id) => {
            let was = context.connection.session.take();
            if let Err(cut) = open_session(context, output, Some(id.clone())).await {
                context.connection.session = was;
                return Err(cut.into());
            }
            Ok(format!("Going on with session: {id}"))
        }
        ClientCommand::Option(None) => {
            let features = &context.connection.features;
            let lines = features.selections().map(|one| one.line());
            Ok(match joined(lines) {
                none if none.is_empty() => "No options offered by the agent yet.".to_owned(),
                lines => lines,
            })
        }
        ClientCommand::Option(Some((option, value))) => {
            ensure_session(context, output).await?;
            let agent = context.connection.agent(&context.config);
            let done = agent.choose(&option, &value);
            wait(context, done).await?;
            Ok(format!("{option} set to: {value}"))
        }
        ClientCommand::LogIn(method) => log_in(context, method).await,
        ClientCommand::Permissions => {
            let mode = context.permissions.mode.name();
            let usage = "Use: %agent permissions [auto|manual|deny]";
            Ok(format!("Permission mode: {mode}\n\n{usage}"))
        }
        ClientCommand::Permit(mode) => {
            context.permissions.mode = mode;
            Ok(format!("Permission mode set to: {}", mode.name()))
        }
        ClientCommand::PermissionHistory => Ok(context.permissions.history()),
        ClientCommand::Config => Ok(configuration(context)),
        ClientCommand::Configure(words) => {
            context.connection.stop().await;
            context.config.set_command(words);
            let line = context.config.command_line();
            Ok(format!(
                "Agent command set to: {line}\nThe next prompt starts it."
            ))
        }
        ClientCommand::Variables => Ok(variables(context)),
        ClientCommand::SetVariable(name, value) => {
            context.config.set(&name, &value);
            let shown = if is_secret(&name) { "***" } else { &value };
            let ending = match context.connection.is_connected() {
                true => "\nRun %agent session restart to apply.",
                false => "",
            };
            Ok(format!("{name} set to: {shown}{ending}"))
        }
    }
}

/// Passes the current servers to the open session; a session that was not used yet is replaced. Returns the
/// sentence that reports this, `unopened` where no session is open.
async fn applied(context: &mut AgentContext, output: &mut ClientOutput, unopened: &str) -> Said {
    let Some(session) = context.connection.session.clone().filter(|it| it.open) else {
        return Ok(unopened.to_owned());
    };
    let servers = context.servers.active(&context.codex_servers());
    let same = Some(session.id).filter(|_| session.used);
    match set_session(context, output, same, servers).await {
        Ok(()) => Ok("Session updated.".to_owned()),
        Err(TurnError::Failed(failure)) if failure.kind == FailureKind::Refused => {
            Ok("Run %agent session restart to apply.".to_owned())
        }
        Err(cut) => Err(cut.into()),
    }
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// A sentence, followed by a second one unless that is empty.
fn ended(what: String, ending: &str) -> String {
    match ending {
        "" => what,
        ending => format!("{what}. {ending}"),
    }
}

fn known(context: &AgentContext, name: &str) -> Option<ListedServer> {
    let all = context.servers.known(&context.codex_servers());
    all.into_iter().find(|known| known.server.name == name)
}

async fn remove(context: &mut AgentContext, output: &mut ClientOutput, name: &str) -> Said {
    if context.servers.remove(name) {
        let ending = applied(context, output, "").await?;
        return Ok(ended(format!("Removed MCP server '{name}'"), &ending));
    }
    match known(context, name) {
        Some(known) => {
            let source = known.source.name();
            let what = format!("'{name}' is preconfigured ({source})");
            let instead = format!("use '%agent mcp disable {name}' to skip it for this session.");
            refused(format!("{what}; {instead}"))
        }
        None => refused(format!("No MCP server named '{name}' found")),
    }
}

fn listed(context: &AgentContext) -> String {
    let codex = context.codex_servers();
    let known = context.servers.known(&codex);
    let mut lines = match known.is_empty() {
        true => vec!["No MCP servers configured".to_owned()],
        false => vec!["Configured MCP servers:".to_owned()],
    };
    lines.extend(known.iter().map(|known| {
        let state = if known.enabled { "" } else { " (disabled)" };
        let server = &known.server;
        let words = std::iter::once(&server.command).chain(&server.arguments);
        let words = words.map(String::as_str).collect::<Vec<_>>().join(" ");
        format!(
            "  - {} [{}{state}]: {words}",
            server.name,
            known.source.name()
        )
    }));
    if context.servers.ignores_codex {
        lines.push("\n(ignore-codex-config is ON; codex-* entries are not loaded)".to_owned());
    }
    lines.extend(codex.warnings.iter().map(|warning| format!("⚠️ {warning}")));
    lines.join("\n")
}

fn slash_commands(context: &AgentContext) -> String {
    let commands = &context.connection.features.commands;
    if commands.is_empty() {
        return "No slash commands advertised by the agent yet.\n\
                (Some agents advertise them only after the first prompt.)"
            .to_owned();
    }
    let mut lines = vec!["Available slash commands:".to_owned()];
    for command in commands {
        lines.push(
            format!("  /{} {}", command.id, command.name)
                .trim_end()
                .to_owned(),
        );
        if !command.description.is_empty() {
            lines.push(format!("      {}", command.description));
        }
    }
    lines.join("\n")
}

fn about_session(context: &AgentContext) -> String {
    let known = context.servers.known(&context.codex_servers());
    let active = known.iter().filter(|known| known.enabled).count();
    let connected = if context.connection.is_connected() {
        "True"
    } else {
        "False"
    };
    let mut lines = vec![
        "Session Information:".to_owned(),
        format!(
            "  Session ID: {}",
            context.connection.id().unwrap_or("(not started)")
        ),
        format!("  Working Directory: {}", context.cwd.display()),
        format!("  Agent: {}", context.config.command),
        format!("  Connected: {connected}"),
        format!("  Permission Mode: {}", context.permissions.mode.name()),
        format!("  MCP Servers: {active} active / {} total", known.len()),
    ];
    if context.servers.ignores_codex {
        lines.push("  (ignore-codex-config: on)".to_owned());
    }
    let commands = &context.connection.features.commands;
    if !commands.is_empty() {
        lines.push("\n  Slash Commands:".to_owned());
        let commands = commands.iter();
        lines.extend(commands.map(|it| format!("    /{}: {}", it.id, it.description)));
    }
    lines.join("\n")
}

async fn new_session(
    context: &mut AgentContext,
    output: &mut ClientOutput,
    cwd: Option<String>,
) -> Said {
    let own = context.config.cwd();
    let wanted = cwd.map_or_else(|| own.clone(), |cwd| own.join(cwd));
    if !wanted.is_dir() {
        return refused(format!("Directory does not exist: {}", wanted.display()));
    }
    let was: PathBuf = std::mem::replace(&mut context.cwd, wanted);
    let session = context.connection.session.take();
    if let Err(cut) = open_session(context, output, None).await {
        context.cwd = was;
        context.connection.session = session;
        return Err(cut.into());
    }
    let cwd = context.cwd.display();
    Ok(format!("Created new session with working directory: {cwd}"))
}

async fn sessions(context: &mut AgentContext, output: &mut ClientOutput) -> Said {
    ensure_session(context, output).await?;
    let agent = context.connection.agent(&context.config);
    let told = agent.look_up(Lookup::Sessions);
    let LookupReply::Sessions(sessions) = wait(context, told).await? else {
        return Ok("No sessions kept by the agent".to_owned());
    };
    if sessions.is_empty() {
        return Ok("No sessions kept by the agent".to_owned());
    }
    let current = context.connection.id();
    let lines = sessions.iter().map(|kept| {
        let mark = if current == Some(kept.id.as_str()) {
            "*"
        } else {
            "-"
        };
        format!("  {mark} {}  {}  {}", kept.id, kept.updated, kept.title)
    });
    Ok(format!(
        "Sessions:\n{}\nUse: %agent session load ID",
        joined(lines)
    ))
}

async fn log_in(context: &mut AgentContext, method: Option<String>) -> Said {
    let agent = context.connection.agent(&context.config);
    let Login::Methods(methods) = agent.capabilities().login else {
        return Ok("The agent offers no way to log in.".to_owned());
    };
    let Some(wanted) = method else {
        let lines = methods.iter().map(|it| {
            let (id, about) = (&it.descriptor.id, it.descriptor.description_line());
            match &it.program {
                Some(program) => format!("  {id}  {about} (in a terminal: {})", program.line()),
                None => format!("  {id}  {about}"),
            }
        });
        return Ok(format!(
            "Ways to log in:\n{}\nUse: %agent session login METHOD",
            joined(lines)
        ));
    };
    let Some(known) = methods.iter().find(|it| it.descriptor.id == wanted) else {
        return refused(format!(
            "Unknown way to log in: {wanted}\n\nUse: %agent session login"
        ));
    };
    if let Some(program) = &known.program {
        let line = program.line();
        return refused(format!(
            "'{wanted}' needs a terminal. Run this in one: {line}"
        ));
    }
    let done = agent.log_in(&wanted);
    wait(context, done).await?;
    Ok(format!("Logged in with {wanted}: the next prompt uses it."))
}

/// Waits for the agent's response or an interrupt; meanwhile keeps the agent's updates.
async fn wait<T>(
    context: &mut AgentContext,
    told: tokio::sync::oneshot::Receiver<Result<T, AgentFailure>>,
) -> Result<T, CommandError> {
    tokio::pin!(told);
    let outcome = loop {
        tokio::select! {
            biased;
            _ = context.stop.changed() => return Err(TurnError::Interrupted.into()),
            event = context.connection.next() => context.connection.on_idle_event(event),
            outcome = &mut told => break outcome,
        }
    };
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(TurnError::Failed(failure).into()),
        Err(_) => refused("The agent is gone."),
    }
}

fn configuration(context: &AgentContext) -> String {
    let config = &context.config;
    let arguments = match config.arguments.join(" ") {
        none if none.is_empty() => "(none)".to_owned(),
        arguments => arguments,
    };
    let user = context.servers.known(&Default::default());
    let user = user
        .iter()
        .filter(|known| known.source == ServerSource::User)
        .count();
    [
        "Configuration:".to_owned(),
        format!("  Agent Command: {}", config.command),
        format!("  Agent Args: {arguments}"),
        format!("  Working Directory: {}", context.cwd.display()),
        format!("  Permission Mode: {}", context.permissions.mode.name()),
        format!("  MCP Servers: {user}"),
    ]
    .join("\n")
}

/// True for names whose value is not printed.
fn is_secret(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD"]
        .iter()
        .any(|word| name.to_uppercase().contains(word))
}

fn variables(context: &AgentContext) -> String {
    let names = [
        "ACP_AGENT_COMMAND",
        "ACP_AGENT_ARGS",
        "ACP_LOG_LEVEL",
        "OPENAI_API_KEY",
    ];
    let lines = names.iter().map(|name| {
        let value = match context.config.variable(name) {
            None => "(not set)",
            Some(_) if is_secret(name) => "***",
            Some(value) => value,
        };
        format!("  {name}: {value}")
    });
    format!("Environment Variables:\n{}", joined(lines))
}
