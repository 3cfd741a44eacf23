//! The commands, a row each: how one is written, what it does, and what a line of one wants.
//!
//! Pure. In: a line. Out: an [`Order`], or why it is none. Help, completion and inspection are made of the same rows.
//! `%mcp …` and `%session …` are short for `%agent mcp …` and `%agent session …`.

use super::cell::NAMES;
use super::permissions::Mode;
use crate::agent::McpServer;

/// What a command wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    Help,
    Servers,
    AddServer(McpServer),
    RemoveServer(String),
    DisableServer(String),
    EnableServer(String),
    ClearServers,
    /// `None`: it is only asked for.
    IgnoreCodex(Option<bool>),
    Commands,
    Session,
    /// In this directory, or that of the kernel.
    NewSession(Option<String>),
    RestartSession,
    Sessions,
    LoadSession(String),
    /// All options; or one, to be set to a value.
    Option(Option<(String, String)>),
    /// The ways; or one of them.
    LogIn(Option<String>),
    Permissions,
    Permit(Mode),
    PermissionHistory,
    Config,
    Configure(Vec<String>),
    Variables,
    SetVariable(String, String),
}

/// One command: its words behind `%agent`, what follows them, what it does, and the heading it stands under.
pub(super) struct Row {
    words: &'static str,
    takes: &'static str,
    does: &'static str,
    under: &'static str,
}

const MCP: &str = "MCP Server Configuration";
const SLASH: &str = "Slash Commands (advertised by the agent)";
const SESSION: &str = "Session Management";
const PERMISSION: &str = "Permission Configuration";
const CONFIGURATION: &str = "Configuration";

#[rustfmt::skip]
const ROWS: [Row; 22] = [
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

/// The words behind `%agent`, in the order they are offered in.
const TOP: [&str; 6] = ["mcp", "session", "permissions", "config", "env", "commands"];

const fn row(
    words: &'static str,
    takes: &'static str,
    does: &'static str,
    under: &'static str,
) -> Row {
    Row {
        words,
        takes,
        does,
        under,
    }
}

impl Row {
    fn usage(&self) -> String {
        format!("%agent {} {}", self.words, self.takes)
            .trim_end()
            .to_owned()
    }
}

/// Reads a line, without its `%`.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub(super) fn read(line: &str) -> Result<Order, String> {
    let (name, rest) = first(line);
    match name {
        "agent" => of_agent(rest),
        "mcp" => mcp(rest),
        "session" => session(rest),
        other => Err(format!("Unknown magic command: %{other}")),
    }
}

fn first(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn of_agent(text: &str) -> Result<Order, String> {
    let (word, rest) = first(text);
    Ok(match (word, rest) {
        ("", _) => Order::Help,
        ("mcp", rest) => return mcp(rest),
        ("session", rest) => return session(rest),
        ("commands", _) => Order::Commands,
        ("permissions", "") => Order::Permissions,
        ("permissions", "history") => Order::PermissionHistory,
        ("permissions", mode) => Order::Permit(Mode::named(mode).ok_or_else(|| {
            format!("Unknown permission mode: {mode}\n\nUse: auto, manual, or deny")
        })?),
        ("config", "") => Order::Config,
        ("config", command) => Order::Configure(words(command)?),
        ("env", "") => Order::Variables,
        ("env", variable) => {
            let (name, value) = assigned(variable).ok_or_else(|| usage("env"))?;
            Order::SetVariable(name, value)
        }
        (other, _) => {
            let what = format!("Unknown subcommand: {other}");
            return Err(format!("{what}\n\nUse %agent for help."));
        }
    })
}

fn mcp(text: &str) -> Result<Order, String> {
    let (word, rest) = first(text);
    let name = |order: fn(String) -> Order| match rest {
        "" => Err(usage(&format!("mcp {word}"))),
        name => Ok(order(name.to_owned())),
    };
    match word {
        "" | "list" => Ok(Order::Servers),
        "add" => server(rest).map(Order::AddServer),
        "remove" => name(Order::RemoveServer),
        "disable" => name(Order::DisableServer),
        "enable" => name(Order::EnableServer),
        "clear" => Ok(Order::ClearServers),
        "ignore-codex-config" => Ok(Order::IgnoreCodex(match rest.to_lowercase().as_str() {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        })),
        other => Err(format!(
            "Unknown mcp action: {other}\n\nUse %agent for help."
        )),
    }
}

fn session(text: &str) -> Result<Order, String> {
    let (word, rest) = first(text);
    let given = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    Ok(match word {
        "" | "info" => Order::Session,
        "new" => Order::NewSession(given),
        "restart" => Order::RestartSession,
        "list" => Order::Sessions,
        "load" => Order::LoadSession(given.ok_or_else(|| usage("session load"))?),
        "option" => Order::Option(match given.as_deref().map(first) {
            None => None,
            Some((_, "")) => return Err(usage("session option")),
            Some((name, value)) => Some((name.to_owned(), value.to_owned())),
        }),
        "login" => Order::LogIn(given),
        other => {
            let what = format!("Unknown session action: {other}");
            return Err(format!("{what}\n\nUse %agent for help."));
        }
    })
}

/// How a command is written.
fn usage(words: &str) -> String {
    let mut rows = ROWS.iter().filter(|row| row.words == words);
    let row = rows.next_back();
    format!("Usage: {}", row.map(Row::usage).unwrap_or_default())
}

fn words(text: &str) -> Result<Vec<String>, String> {
    shlex::split(text).ok_or_else(|| format!("a quote is not closed: {text}"))
}

/// `K=V`.
fn assigned(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let good = !name.is_empty() && !name.contains(char::is_whitespace);
    good.then(|| (name.to_owned(), value.to_owned()))
}

/// `NAME [-e K=V]… [--] COMMAND ARGS…`.
fn server(text: &str) -> Result<McpServer, String> {
    let wrong = || usage("mcp add");
    let mut all = words(text)?.into_iter();
    let name = all.next().ok_or_else(wrong)?;
    let (mut variables, mut command) = (Vec::new(), None);
    while let Some(word) = all.next() {
        match word.as_str() {
            "-e" | "--env" => {
                let told = all.next().as_deref().and_then(assigned);
                variables.push(
                    told.ok_or_else(|| format!("-e expects a variable as K=V\n{}", wrong()))?,
                );
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
            wrong()
        ));
    }
    Ok(McpServer {
        name,
        command: command.ok_or_else(wrong)?,
        arguments: all.collect(),
        variables,
    })
}

/// All commands, under their headings.
pub(super) fn help() -> String {
    let mut text = "Agent Client Protocol Kernel Commands\n".to_owned();
    let line = |usage: &str, does: &str| format!("  {usage:<40} - {does}\n");
    let mut under = "";
    for row in &ROWS {
        if row.under != under {
            under = row.under;
            text.push_str(&format!("\n{under}:\n"));
        }
        text.push_str(&line(&row.usage(), row.does));
        if under == SLASH {
            text.push_str(&line("/name [args]", "Invoke a slash command directly"));
        }
    }
    text.push_str("\n%mcp and %session are short for %agent mcp and %agent session.");
    text
}

/// What can stand where a text ends, and the part of it that is replaced.
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
        "" => TOP.to_vec(),
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

/// What the command at the start of a line is for.
pub(super) fn about(line: &str) -> Option<String> {
    let (name, rest) = first(line.trim_start().strip_prefix('%')?);
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
        .map(|row| format!("{}\n    {}", row.usage(), row.does))
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
        read(line).expect_err(line)
    }

    #[test]
    fn each_line_is_an_order_or_says_what_is_wrong() {
        assert_eq!(read("agent"), Ok(Order::Help));
        assert_eq!(read("agent mcp"), Ok(Order::Servers));
        assert_eq!(read("mcp list"), read("agent mcp list"));
        assert_eq!(read("session"), Ok(Order::Session));
        assert_eq!(
            read("session new /a b"),
            Ok(Order::NewSession(Some("/a b".into())))
        );
        assert_eq!(
            read("agent permissions deny"),
            Ok(Order::Permit(Mode::Deny))
        );
        assert_eq!(
            read("agent mcp ignore-codex-config ON"),
            Ok(Order::IgnoreCodex(Some(true)))
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
        let server = |line: &str| match read(line) {
            Ok(Order::AddServer(server)) => server,
            other => panic!("{line}: {other:?}"),
        };
        let plain = server("agent mcp add web uvx 'web server' --port 1");
        assert_eq!(
            (plain.name.as_str(), plain.command.as_str()),
            ("web", "uvx")
        );
        assert_eq!(plain.arguments, ["web server", "--port", "1"]);
        let told = server("mcp add web -e A=1 -e B=x=y -- uvx -e C");
        assert_eq!(
            told.variables,
            [("A".into(), "1".into()), ("B".into(), "x=y".into())]
        );
        assert_eq!(
            (told.command.as_str(), told.arguments),
            ("uvx", vec!["-e".into(), "C".into()])
        );
    }

    #[test]
    fn words_are_offered_where_they_can_stand() {
        let check = |text: &str, typed: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(completions(text), Some((typed, expected)), "{text}");
        };
        check("%agent ", "", &TOP);
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
            about("%mcp add x")
                .unwrap()
                .starts_with("%agent mcp add NAME")
        );
        assert_eq!(about("%agent").unwrap(), help());
        assert_eq!(about("hello"), None);
    }
}
