//! The syntax of a cell: commands, each on a line of its own, and prompts between them; and the table of commands.
//!
//! Pure. A line that begins with `%agent`, `%mcp` or `%session` is a command anywhere outside of fences; any other
//! `%name` is one only above the first prompt, where it can be no part of a text. All else is a prompt, unchanged
//! but for the blank lines around it. `%mcp …` and `%session …` are short for `%agent mcp …` and
//! `%agent session …`. Help, completion and inspection are made from the rows of the table.

use super::permissions::PermissionMode;
use crate::agent::McpServer;

/// The first words of commands.
pub(super) const NAMES: [&str; 3] = ["agent", "mcp", "session"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellPart {
    /// The line of a command, without the `%`.
    Command(String),
    Prompt(String),
}

pub(super) fn split_cell(cell: &str) -> Vec<CellPart> {
    let (mut steps, mut prompt, mut fenced) = (Vec::new(), String::new(), false);
    for line in cell.split_inclusive('\n') {
        let above = prompt.trim().is_empty() && !has_prompt(&steps);
        if let Some(command) = command_of_line(line.trim(), above).filter(|_| !fenced) {
            steps.extend(take_prompt(&mut prompt));
            steps.push(CellPart::Command(command.to_owned()));
            continue;
        }
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        prompt.push_str(line);
    }
    steps.extend(take_prompt(&mut prompt));
    steps
}

fn has_prompt(steps: &[CellPart]) -> bool {
    steps.iter().any(|step| matches!(step, CellPart::Prompt(_)))
}

fn take_prompt(prompt: &mut String) -> Option<CellPart> {
    let text = std::mem::take(prompt);
    let text = text.trim_matches('\n').trim_end();
    (!text.trim().is_empty()).then(|| CellPart::Prompt(text.to_owned()))
}

/// The command of a line; `above`: no prompt has begun.
fn command_of_line(line: &str, above: bool) -> Option<&str> {
    let command = line.strip_prefix('%')?;
    let name = command.split_whitespace().next()?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_one = NAMES.contains(&name) || (above && begins && command.starts_with(name));
    is_one.then_some(command)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientCommand {
    Help,
    Servers,
    AddServer(McpServer),
    RemoveServer(String),
    DisableServer(String),
    EnableServer(String),
    ClearServers,
    /// `None`: the current state is shown.
    IgnoreCodex(Option<bool>),
    Commands,
    Session,
    /// The directory of the session; `None`: that of the kernel.
    NewSession(Option<String>),
    RestartSession,
    Sessions,
    LoadSession(String),
    /// Name and value to set; `None`: all options are listed.
    Option(Option<(String, String)>),
    /// The login method; `None`: the methods are listed.
    LogIn(Option<String>),
    Permissions,
    Permit(PermissionMode),
    PermissionHistory,
    Config,
    Configure(Vec<String>),
    Variables,
    SetVariable(String, String),
}

/// The help for a command: its words behind `%agent`, its arguments, its effect, its heading.
pub(super) struct CommandHelp {
    words: &'static str,
    arguments: &'static str,
    description: &'static str,
    heading: &'static str,
}

const MCP: &str = "MCP Server Configuration";
const SLASH: &str = "Slash Commands (advertised by the agent)";
const SESSION: &str = "Session Management";
const PERMISSION: &str = "Permission Configuration";
const CONFIGURATION: &str = "Configuration";

#[rustfmt::skip]
const ROWS: [CommandHelp; 22] = [
    row("mcp add", "NAME [-e K=V]... [--] COMMAND [ARGS...]", "Add an MCP server", MCP),
    row("mcp list", "", "List configured MCP servers", MCP),
    row("mcp remove", "NAME", "Remove a user-added MCP server", MCP),
    row("mcp disable", "NAME", "Disable a server for this session", MCP),
    row("mcp enable", "NAME", "Re-enable a disabled server", MCP),
    row("mcp clear", "", "Remove all user-added servers", MCP),
    row("mcp ignore-codex-config", "on|off", "Skip the servers of Codex's config.toml", MCP),
    row("commands", "", "List slash commands the agent supports", SLASH),
    row("session info", "", "Show session information", SESSION),
    row("session new", "[CWD]", "Create new session", SESSION),
    row("session restart", "", "Restart session", SESSION),
    row("session list", "", "List the sessions the agent keeps for this directory", SESSION),
    row("session load", "ID", "Load one of these sessions", SESSION),
    row("session option", "[NAME VALUE]", "Show or set the agent's modes and other options", SESSION),
    row("session login", "[METHOD]", "Show or use the ways to log in to the agent", SESSION),
    row("permissions", "", "Show permission mode", PERMISSION),
    row("permissions", "auto|manual|deny", "Set permission mode: manual asks you", PERMISSION),
    row("permissions history", "", "View permission history", PERMISSION),
    row("config", "", "Show current configuration", CONFIGURATION),
    row("config", "COMMAND [ARGS...]", "Set the agent's command", CONFIGURATION),
    row("env", "", "Show environment variables", CONFIGURATION),
    row("env", "KEY=VALUE", "Set one for the agent; ACP_OUTPUT=markdown renders answers", CONFIGURATION),
];

/// The words behind `%agent`, in the order of completion.
const SUBCOMMANDS: [&str; 6] = ["mcp", "session", "permissions", "config", "env", "commands"];

const fn row(
    words: &'static str,
    arguments: &'static str,
    description: &'static str,
    heading: &'static str,
) -> CommandHelp {
    CommandHelp {
        words,
        arguments,
        description,
        heading,
    }
}

impl CommandHelp {
    fn usage(&self) -> String {
        format!("%agent {} {}", self.words, self.arguments)
            .trim_end()
            .to_owned()
    }
}

/// Parses a line, without its `%`.
///
/// # Errors
/// A message with the fault and the usage.
pub(super) fn parse_command(line: &str) -> Result<ClientCommand, String> {
    let (name, rest) = split_word(line);
    match name {
        "agent" => parse_agent(rest),
        "mcp" => parse_mcp(rest),
        "session" => parse_session(rest),
        other => Err(format!("Unknown magic command: %{other}")),
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn parse_agent(text: &str) -> Result<ClientCommand, String> {
    let (word, rest) = split_word(text);
    Ok(match (word, rest) {
        ("", _) => ClientCommand::Help,
        ("mcp", rest) => return parse_mcp(rest),
        ("session", rest) => return parse_session(rest),
        ("commands", _) => ClientCommand::Commands,
        ("permissions", "") => ClientCommand::Permissions,
        ("permissions", "history") => ClientCommand::PermissionHistory,
        ("permissions", mode) => {
            ClientCommand::Permit(PermissionMode::named(mode).ok_or_else(|| {
                format!("Unknown permission mode: {mode}\n\nUse: auto, manual, or deny")
            })?)
        }
        ("config", "") => ClientCommand::Config,
        ("config", command) => ClientCommand::Configure(split_words(command)?),
        ("env", "") => ClientCommand::Variables,
        ("env", variable) => {
            let (name, value) = parse_assignment(variable).ok_or_else(|| usage("env"))?;
            ClientCommand::SetVariable(name, value)
        }
        (other, _) => {
            let what = format!("Unknown subcommand: {other}");
            return Err(format!("{what}\n\nUse %agent for help."));
        }
    })
}

fn parse_mcp(text: &str) -> Result<ClientCommand, String> {
    let (word, rest) = split_word(text);
    let name = |order: fn(String) -> ClientCommand| match rest {
        "" => Err(usage(&format!("mcp {word}"))),
        name => Ok(order(name.to_owned())),
    };
    match word {
        "" | "list" => Ok(ClientCommand::Servers),
        "add" => parse_server(rest).map(ClientCommand::AddServer),
        "remove" => name(ClientCommand::RemoveServer),
        "disable" => name(ClientCommand::DisableServer),
        "enable" => name(ClientCommand::EnableServer),
        "clear" => Ok(ClientCommand::ClearServers),
        "ignore-codex-config" => Ok(ClientCommand::IgnoreCodex(
            match rest.to_lowercase().as_str() {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            },
        )),
        other => Err(format!(
            "Unknown mcp action: {other}\n\nUse %agent for help."
        )),
    }
}

fn parse_session(text: &str) -> Result<ClientCommand, String> {
    let (word, rest) = split_word(text);
    let given = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    Ok(match word {
        "" | "info" => ClientCommand::Session,
        "new" => ClientCommand::NewSession(given),
        "restart" => ClientCommand::RestartSession,
        "list" => ClientCommand::Sessions,
        "load" => ClientCommand::LoadSession(given.ok_or_else(|| usage("session load"))?),
        "option" => ClientCommand::Option(match given.as_deref().map(split_word) {
            None => None,
            Some((_, "")) => return Err(usage("session option")),
            Some((name, value)) => Some((name.to_owned(), value.to_owned())),
        }),
        "login" => ClientCommand::LogIn(given),
        other => {
            let what = format!("Unknown session action: {other}");
            return Err(format!("{what}\n\nUse %agent for help."));
        }
    })
}

fn usage(words: &str) -> String {
    let mut rows = ROWS.iter().filter(|row| row.words == words);
    let row = rows.next_back();
    format!("Usage: {}", row.map(CommandHelp::usage).unwrap_or_default())
}

fn split_words(text: &str) -> Result<Vec<String>, String> {
    shlex::split(text).ok_or_else(|| format!("a quote is not closed: {text}"))
}

/// Parses `K=V`.
fn parse_assignment(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let good = !name.is_empty() && !name.contains(char::is_whitespace);
    good.then(|| (name.to_owned(), value.to_owned()))
}

/// Parses `NAME [-e K=V]… [--] COMMAND ARGS…`.
fn parse_server(text: &str) -> Result<McpServer, String> {
    let usage_line = || usage("mcp add");
    let mut all = split_words(text)?.into_iter();
    let name = all.next().ok_or_else(usage_line)?;
    let (mut variables, mut command) = (Vec::new(), None);
    while let Some(word) = all.next() {
        match word.as_str() {
            "-e" | "--env" => {
                let assignment = all.next().as_deref().and_then(parse_assignment);
                variables
                    .push(assignment.ok_or_else(|| {
                        format!("-e expects a variable as K=V\n{}", usage_line())
                    })?);
            }
            "--" => {
                command = all.next();
                break;
            }
            _ => {
                command = Some(word);
                break;
            }
        }
    }
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.chars().all(good) || name.starts_with('-') {
        let why = "use letters, digits, '-' and '_', not beginning with '-'";
        return Err(format!(
            "'{name}' cannot be the name of an MCP server: {why}\n{}",
            usage_line()
        ));
    }
    Ok(McpServer {
        name,
        command: command.ok_or_else(usage_line)?,
        arguments: all.collect(),
        variables,
    })
}

/// The help text: all commands, under their headings.
pub(super) fn help() -> String {
    let mut text = "Agent Client Protocol Kernel Commands\n".to_owned();
    let line = |usage: &str, description: &str| format!("  {usage:<40} - {description}\n");
    let mut heading = "";
    for row in &ROWS {
        if row.heading != heading {
            heading = row.heading;
            text.push_str(&format!("\n{heading}:\n"));
        }
        text.push_str(&line(&row.usage(), row.description));
        if heading == SLASH {
            text.push_str(&line("/name [args]", "Invoke a slash command directly"));
        }
    }
    text.push_str("\n%mcp and %session are short for %agent mcp and %agent session.");
    text
}

/// The completions at the end of a text, and the part of it that they replace.
pub(super) fn completions(text: &str) -> Option<(&str, Vec<String>)> {
    let line = text.rsplit('\n').next()?;
    let command = line.trim_start().strip_prefix('%')?;
    let Some((name, rest)) = command.split_once(char::is_whitespace) else {
        let names = NAMES.iter().filter(|name| name.starts_with(command));
        return Some((command, names.map(|name| (*name).to_owned()).collect()));
    };
    if !NAMES.contains(&name) {
        return None;
    }
    let rest = rest.trim_start();
    let before = |typed: &str| rest[..rest.len() - typed.len()].trim().to_owned();
    let typed = rest.rsplit(char::is_whitespace).next().unwrap_or(rest);
    let path = match name {
        "agent" => before(typed),
        short => format!("{short} {}", before(typed)).trim().to_owned(),
    };
    let known: Vec<&str> = match path.as_str() {
        "" => SUBCOMMANDS.to_vec(),
        "permissions" => vec!["auto", "manual", "deny", "history"],
        "mcp ignore-codex-config" => vec!["on", "off"],
        path => {
            let below = ROWS
                .iter()
                .filter_map(|row| row.words.strip_prefix(path)?.strip_prefix(' '));
            below.collect()
        }
    };
    let fitting = known.into_iter().filter(|word| word.starts_with(typed));
    Some((typed, fitting.map(str::to_owned).collect()))
}

/// The help for the command at the start of a line.
pub(super) fn describe(line: &str) -> Option<String> {
    let (name, rest) = split_word(line.trim_start().strip_prefix('%')?);
    let path = match name {
        "agent" => rest.to_owned(),
        short if NAMES.contains(&short) => format!("{short} {rest}"),
        _ => return None,
    };
    let path = path.trim();
    let fits = |words: &str| {
        let begins = |long: &str, short: &str| {
            long.strip_prefix(short)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        !path.is_empty() && (begins(path, words) || begins(words, path))
    };
    let rows = ROWS.iter().filter(|row| fits(row.words));
    let lines: Vec<String> = rows
        .map(|row| format!("{}\n    {}", row.usage(), row.description))
        .collect();
    match lines.is_empty() {
        true => Some(help()),
        false => Some(lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        parse_command(line).expect_err(line)
    }

    #[test]
    fn each_line_is_a_command_or_a_message() {
        assert_eq!(parse_command("agent"), Ok(ClientCommand::Help));
        assert_eq!(parse_command("agent mcp"), Ok(ClientCommand::Servers));
        assert_eq!(parse_command("mcp list"), parse_command("agent mcp list"));
        assert_eq!(parse_command("session"), Ok(ClientCommand::Session));
        assert_eq!(
            parse_command("session new /a b"),
            Ok(ClientCommand::NewSession(Some("/a b".into())))
        );
        assert_eq!(
            parse_command("agent permissions deny"),
            Ok(ClientCommand::Permit(PermissionMode::Deny))
        );
        assert_eq!(
            parse_command("agent mcp ignore-codex-config ON"),
            Ok(ClientCommand::IgnoreCodex(Some(true)))
        );
        assert_eq!(error("foo"), "Unknown magic command: %foo");
        assert_eq!(
            error("agent foo"),
            "Unknown subcommand: foo\n\nUse %agent for help."
        );
        assert!(error("agent permissions x").starts_with("Unknown permission mode: x"));
        for (line, usage) in [
            ("mcp add", "Usage: %agent mcp add NAME"),
            ("mcp add x", "Usage: %agent mcp add NAME"),
            ("mcp add x --", "Usage: %agent mcp add NAME"),
            ("mcp remove", "Usage: %agent mcp remove NAME"),
            ("session load", "Usage: %agent session load ID"),
            ("agent env X", "Usage: %agent env KEY=VALUE"),
        ] {
            assert!(error(line).starts_with(usage), "{line}: {}", error(line));
        }
        assert!(error("mcp add x -e K -- c").contains("as K=V"));
        assert!(error("mcp add 'a b' -- c").contains("'a b' cannot be the name"));
        assert!(error("mcp add a 'b").contains("a quote is not closed"));
    }

    #[test]
    fn a_server_is_written_in_both_ways() {
        let server = |line: &str| match parse_command(line) {
            Ok(ClientCommand::AddServer(server)) => server,
            other => panic!("{line}: {other:?}"),
        };
        let plain = server("agent mcp add web uvx 'web server' --port 1");
        assert_eq!(
            (plain.name.as_str(), plain.command.as_str()),
            ("web", "uvx")
        );
        assert_eq!(plain.arguments, ["web server", "--port", "1"]);
        let assignment = server("mcp add web -e A=1 -e B=x=y -- uvx -e C");
        assert_eq!(
            assignment.variables,
            [("A".into(), "1".into()), ("B".into(), "x=y".into())]
        );
        assert_eq!(
            (assignment.command.as_str(), assignment.arguments),
            ("uvx", vec!["-e".into(), "C".into()])
        );
    }

    #[test]
    fn completions_and_help_follow_the_typed_words() {
        let check = |text: &str, typed: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(completions(text), Some((typed, expected)), "{text}");
        };
        check("%agent ", "", &SUBCOMMANDS);
        check("%agent p", "p", &["permissions"]);
        check("%ag", "ag", &["agent"]);
        check(
            "hello\n%agent mcp ",
            "",
            &[
                "add",
                "list",
                "remove",
                "disable",
                "enable",
                "clear",
                "ignore-codex-config",
            ],
        );
        check("%mcp re", "re", &["remove"]);
        check("%session l", "l", &["list", "load", "login"]);
        check(
            "%agent permissions ",
            "",
            &["auto", "manual", "deny", "history"],
        );
        assert_eq!(completions("%foo "), None);
        assert_eq!(completions("hello"), None);
        assert!(
            describe("%mcp add x")
                .unwrap()
                .starts_with("%agent mcp add NAME")
        );
        assert_eq!(describe("%agent").unwrap(), help());
        assert_eq!(describe("hello"), None);
    }

    #[test]
    fn commands_stand_on_lines_of_their_own() {
        let check = |cell: &str, expected: &[&str]| {
            let parts = split_cell(cell).into_iter().map(|part| match part {
                CellPart::Command(line) => format!("%{line}"),
                CellPart::Prompt(text) => text,
            });
            assert_eq!(parts.collect::<Vec<_>>(), expected, "{cell:?}");
        };
        check("", &[]);
        check(" \n\t\n", &[]);
        check("/review  the change\n", &["/review  the change"]);
        check("\n  keep\n\n  this ", &["  keep\n\n  this"]);
        check(" %agent\n%foo x\n\nhello", &["%agent", "%foo x", "hello"]);
        check(
            "one\n%session new /x\ntwo",
            &["one", "%session new /x", "two"],
        );
        check(
            "what is this?\n%timeit f()",
            &["what is this?\n%timeit f()"],
        );
        check("see\n```\n%agent\n```", &["see\n```\n%agent\n```"]);
        check("% of what?\n%2 x", &["% of what?\n%2 x"]);
    }
}
