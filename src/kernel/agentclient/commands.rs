//! The commands carried out: what each does to the settings and to the session, and what it says.

use std::path::PathBuf;

use super::desk::Desk;
use super::orders::{Order, help};
use super::page::Page;
use super::servers::{Known, Source};
use super::turn::{Cut, enter, open, ready};
use crate::agent::{AgentFailure, Facts, FailureKind, Login, Lookup};

/// Why a command did nothing.
pub(super) enum Refused {
    /// In these words.
    Said(String),
    /// The agent was needed, and did not come to it.
    Cut(Cut),
}

impl From<Cut> for Refused {
    fn from(cut: Cut) -> Self {
        Refused::Cut(cut)
    }
}

type Said = Result<String, Refused>;

fn refused<T>(text: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Said(text.into()))
}

/// Carries a command out; what it says.
///
/// # Errors
/// It could not be done.
pub(super) async fn carry_out(desk: &mut Desk, page: &mut Page<'_>, order: Order) -> Said {
    match order {
        Order::Help => Ok(help()),
        Order::Servers => Ok(listed(desk)),
        Order::AddServer(server) => {
            let name = server.name.clone();
            let verb = if desk.servers.add(server) {
                "Updated"
            } else {
                "Added"
            };
            let ending =
                applied(desk, page, "It will be available when the session starts.").await?;
            Ok(format!("{verb} MCP server '{name}'. {ending}"))
        }
        Order::RemoveServer(name) => remove(desk, page, &name).await,
        Order::DisableServer(name) => {
            if known(desk, &name).is_none() {
                return refused(format!("No MCP server named '{name}' found"));
            }
            desk.servers.disable(&name);
            let ending = applied(desk, page, "It will not be started.").await?;
            Ok(format!("Disabled MCP server '{name}'. {ending}"))
        }
        Order::EnableServer(name) => {
            if !desk.servers.enable(&name) {
                return refused(format!(
                    "MCP server '{name}' is not disabled (or does not exist)"
                ));
            }
            let ending =
                applied(desk, page, "It will be available when the session starts.").await?;
            Ok(format!("Enabled MCP server '{name}'. {ending}"))
        }
        Order::ClearServers => {
            let count = desk.servers.clear();
            let ending = match count {
                0 => String::new(),
                _ => applied(desk, page, "").await?,
            };
            Ok(ended(format!("Removed {count} MCP server(s)"), &ending))
        }
        Order::IgnoreCodex(None) => {
            let now = if desk.servers.ignores_codex {
                "on"
            } else {
                "off"
            };
            let usage = "Usage: %agent mcp ignore-codex-config on|off";
            Ok(format!("ignore-codex-config is {now}\n{usage}"))
        }
        Order::IgnoreCodex(Some(on)) => {
            desk.servers.ignores_codex = on;
            let ending = applied(desk, page, "").await?;
            let now = if on { "on" } else { "off" };
            Ok(ended(format!("ignore-codex-config set to {now}"), &ending))
        }
        Order::Commands => Ok(slash_commands(desk)),
        Order::Session => Ok(about_session(desk)),
        Order::NewSession(cwd) => new_session(desk, page, cwd).await,
        Order::RestartSession => {
            desk.conversation.stop().await;
            open(desk, page, None).await?;
            let id = desk.conversation.id().unwrap_or_default();
            Ok(format!("Session restarted. Session ID: {id}"))
        }
        Order::Sessions => sessions(desk, page).await,
        Order::LoadSession(id) => {
            let was = desk.conversation.session.take();
            if let Err(cut) = open(desk, page, Some(id.clone())).await {
                desk.conversation.session = was;
                return Err(cut.into());
            }
            Ok(format!("Going on with session: {id}"))
        }
        Order::Option(None) => {
            let lines = desk.conversation.offered.selections().map(|one| one.line());
            let lines: Vec<String> = lines.collect();
            Ok(match lines.is_empty() {
                true => "No options offered by the agent yet.".to_owned(),
                false => lines.join("\n"),
            })
        }
        Order::Option(Some((option, value))) => {
            ready(desk, page).await?;
            let agent = desk.conversation.agent(&desk.configured);
            let done = agent.choose(&option, &value);
            wait(desk, done).await?;
            Ok(format!("{option} set to: {value}"))
        }
        Order::LogIn(method) => log_in(desk, method).await,
        Order::Permissions => {
            let mode = desk.permissions.mode.name();
            let usage = "Use: %agent permissions [auto|manual|deny]";
            Ok(format!("Permission mode: {mode}\n\n{usage}"))
        }
        Order::Permit(mode) => {
            desk.permissions.mode = mode;
            Ok(format!("Permission mode set to: {}", mode.name()))
        }
        Order::PermissionHistory => Ok(desk.permissions.history()),
        Order::Config => Ok(configuration(desk)),
        Order::Configure(words) => {
            desk.conversation.stop().await;
            desk.configured.run(words);
            let line = desk.configured.line();
            Ok(format!(
                "Agent command set to: {line}\nThe next prompt starts it."
            ))
        }
        Order::Variables => Ok(variables(desk)),
        Order::SetVariable(name, value) => {
            desk.configured.set(&name, &value);
            let shown = if is_secret(&name) { "***" } else { &value };
            let ending = match desk.conversation.connected() {
                true => "\nRun %agent session restart to apply.",
                false => "",
            };
            Ok(format!("{name} set to: {shown}{ending}"))
        }
    }
}

/// Tells the session of the servers there are now (one that was not used yet is replaced); how that is said, where
/// none is open: as `unopened`.
async fn applied(desk: &mut Desk, page: &mut Page<'_>, unopened: &str) -> Said {
    let Some(session) = desk.conversation.session.clone().filter(|it| it.open) else {
        return Ok(unopened.to_owned());
    };
    let servers = desk.servers.active(&desk.of_codex());
    let same = Some(session.id).filter(|_| session.used);
    match enter(desk, page, same, servers).await {
        Ok(()) => Ok("Session updated.".to_owned()),
        Err(Cut::Failed(failure)) if failure.kind == FailureKind::Refused => {
            Ok("Run %agent session restart to apply.".to_owned())
        }
        Err(cut) => Err(cut.into()),
    }
}

/// A sentence, and how it goes on.
fn ended(what: String, ending: &str) -> String {
    match ending {
        "" => what,
        ending => format!("{what}. {ending}"),
    }
}

fn known(desk: &Desk, name: &str) -> Option<Known> {
    let all = desk.servers.known(&desk.of_codex());
    all.into_iter().find(|known| known.server.name == name)
}

async fn remove(desk: &mut Desk, page: &mut Page<'_>, name: &str) -> Said {
    if desk.servers.remove(name) {
        let ending = applied(desk, page, "").await?;
        return Ok(ended(format!("Removed MCP server '{name}'"), &ending));
    }
    match known(desk, name) {
        Some(known) => {
            let source = known.source.name();
            let what = format!("'{name}' is preconfigured ({source})");
            let instead = format!("use '%agent mcp disable {name}' to skip it for this session.");
            refused(format!("{what}; {instead}"))
        }
        None => refused(format!("No MCP server named '{name}' found")),
    }
}

fn listed(desk: &Desk) -> String {
    let codex = desk.of_codex();
    let known = desk.servers.known(&codex);
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
    if desk.servers.ignores_codex {
        lines.push("\n(ignore-codex-config is ON; codex-* entries are not loaded)".to_owned());
    }
    lines.extend(codex.troubles.iter().map(|trouble| format!("⚠️ {trouble}")));
    lines.join("\n")
}

fn slash_commands(desk: &Desk) -> String {
    let commands = &desk.conversation.offered.commands;
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

fn about_session(desk: &Desk) -> String {
    let known = desk.servers.known(&desk.of_codex());
    let active = known.iter().filter(|known| known.enabled).count();
    let connected = if desk.conversation.connected() {
        "True"
    } else {
        "False"
    };
    let mut lines = vec![
        "Session Information:".to_owned(),
        format!(
            "  Session ID: {}",
            desk.conversation.id().unwrap_or("(not started)")
        ),
        format!("  Working Directory: {}", desk.cwd.display()),
        format!("  Agent: {}", desk.configured.command),
        format!("  Connected: {connected}"),
        format!("  Permission Mode: {}", desk.permissions.mode.name()),
        format!("  MCP Servers: {active} active / {} total", known.len()),
    ];
    if desk.servers.ignores_codex {
        lines.push("  (ignore-codex-config: on)".to_owned());
    }
    let commands = &desk.conversation.offered.commands;
    if !commands.is_empty() {
        lines.push("\n  Slash Commands:".to_owned());
        let commands = commands.iter();
        lines.extend(commands.map(|it| format!("    /{}: {}", it.id, it.description)));
    }
    lines.join("\n")
}

async fn new_session(desk: &mut Desk, page: &mut Page<'_>, cwd: Option<String>) -> Said {
    let own = desk.configured.cwd();
    let wanted = cwd.map_or_else(|| own.clone(), |cwd| own.join(cwd));
    if !wanted.is_dir() {
        return refused(format!("Directory does not exist: {}", wanted.display()));
    }
    let was: PathBuf = std::mem::replace(&mut desk.cwd, wanted);
    let session = desk.conversation.session.take();
    if let Err(cut) = open(desk, page, None).await {
        desk.cwd = was;
        desk.conversation.session = session;
        return Err(cut.into());
    }
    let cwd = desk.cwd.display();
    Ok(format!("Created new session with working directory: {cwd}"))
}

async fn sessions(desk: &mut Desk, page: &mut Page<'_>) -> Said {
    ready(desk, page).await?;
    let agent = desk.conversation.agent(&desk.configured);
    let told = agent.look_up(Lookup::Sessions);
    let Facts::Sessions(sessions) = wait(desk, told).await? else {
        return Ok("No sessions kept by the agent".to_owned());
    };
    if sessions.is_empty() {
        return Ok("No sessions kept by the agent".to_owned());
    }
    let current = desk.conversation.id();
    let lines = sessions.iter().map(|kept| {
        let mark = if current == Some(kept.id.as_str()) {
            "*"
        } else {
            "-"
        };
        format!("  {mark} {}  {}  {}", kept.id, kept.updated, kept.title)
    });
    let lines: Vec<String> = lines.collect();
    Ok(format!(
        "Sessions:\n{}\nUse: %agent session load ID",
        lines.join("\n")
    ))
}

async fn log_in(desk: &mut Desk, method: Option<String>) -> Said {
    let agent = desk.conversation.agent(&desk.configured);
    let Login::Methods(methods) = agent.capabilities().login else {
        return Ok("The agent offers no way to log in.".to_owned());
    };
    let Some(wanted) = method else {
        let lines = methods.iter().map(|it| match &it.program {
            Some(program) => format!(
                "  {}  {} (in a terminal: {})",
                it.of.id,
                it.of.about(),
                program.line()
            ),
            None => format!("  {}  {}", it.of.id, it.of.about()),
        });
        let lines: Vec<String> = lines.collect();
        return Ok(format!(
            "Ways to log in:\n{}\nUse: %agent session login METHOD",
            lines.join("\n")
        ));
    };
    let Some(known) = methods.iter().find(|it| it.of.id == wanted) else {
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
    wait(desk, done).await?;
    Ok(format!("Logged in with {wanted}: the next prompt uses it."))
}

/// Waits for what the agent was asked, as long as the user does; news that come with it are kept.
async fn wait<T>(
    desk: &mut Desk,
    told: tokio::sync::oneshot::Receiver<Result<T, AgentFailure>>,
) -> Result<T, Refused> {
    tokio::pin!(told);
    let outcome = loop {
        tokio::select! {
            biased;
            () = desk.stop.wanted() => return Err(Cut::Stopped.into()),
            event = desk.conversation.next() => desk.conversation.hear(event),
            outcome = &mut told => break outcome,
        }
    };
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(Cut::Failed(failure).into()),
        Err(_) => refused("The agent is gone."),
    }
}

fn configuration(desk: &Desk) -> String {
    let configured = &desk.configured;
    let arguments = match configured.arguments.join(" ") {
        none if none.is_empty() => "(none)".to_owned(),
        arguments => arguments,
    };
    let user = desk.servers.known(&Default::default());
    let user = user
        .iter()
        .filter(|known| known.source == Source::User)
        .count();
    [
        "Configuration:".to_owned(),
        format!("  Agent Command: {}", configured.command),
        format!("  Agent Args: {arguments}"),
        format!("  Working Directory: {}", desk.cwd.display()),
        format!("  Permission Mode: {}", desk.permissions.mode.name()),
        format!("  MCP Servers: {user}"),
    ]
    .join("\n")
}

/// A name whose value is nobody's business.
fn is_secret(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD"]
        .iter()
        .any(|word| name.to_uppercase().contains(word))
}

fn variables(desk: &Desk) -> String {
    let names = [
        "ACP_AGENT_COMMAND",
        "ACP_AGENT_ARGS",
        "ACP_LOG_LEVEL",
        "OPENAI_API_KEY",
    ];
    let lines = names.iter().map(|name| {
        let value = match desk.configured.variable(name) {
            None => "(not set)",
            Some(_) if is_secret(name) => "***",
            Some(value) => value,
        };
        format!("  {name}: {value}")
    });
    let lines: Vec<String> = lines.collect();
    format!("Environment Variables:\n{}", lines.join("\n"))
}
