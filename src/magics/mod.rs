//! `%ipycodex` commands: the table, and what a command may ask of the session.
//!
//! A command is a pure function of its arguments and a [`View`]; it returns [`Order`]s and never reaches into the
//! session, which stands above. A new command is a file and a row in `TABLE`; a setting has a command by its row.

mod entries;
mod files;
mod help;
mod resume;
mod setting;
mod values;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::agent::Capabilities;
use crate::config::{AgentChoice, Choices, Keymap};
use crate::text::similar::did_you_mean;

pub use setting::{for_now, kept, without_effect};
pub use values::{Values, values};

/// What a command may know.
#[derive(Debug)]
pub struct View<'a> {
    /// The choices in force.
    pub choices: &'a Choices,
    /// Files worth naming: label and path.
    pub places: &'a [(String, PathBuf)],
    /// What the editor's keys do.
    pub keys: &'a Keymap,
    /// What the agent can.
    pub able: &'a Capabilities,
}

/// What a command asks for; carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Print this.
    Say(String),
    /// Worth knowing.
    Note(String),
    /// Show this page of help, in markdown.
    Help(String),
    /// Show the themes for code, this one being in force.
    Themes(String),
    /// Answer with this agent from now on.
    UseAgent(AgentChoice),
    /// Tell what the agent has told of itself.
    DescribeAgent,
    /// These choices from now on.
    Choose(Box<Choices>),
    /// Write a setting into the settings file, and put it into force; without a value, tell what stands there.
    Keep {
        /// Which.
        name: &'static str,
        /// As the file has it.
        value: Option<serde_json::Value>,
    },
    /// Delete the session's exchanges; the context begins here.
    Reset,
    /// List the sessions of this directory.
    ListSessions,
    /// Tell what the next prompt would send.
    Show(Shown),
    /// List the models; this one is chosen (empty: none).
    ListModels(String),
    /// Warn when the agent does not list this model.
    CheckModel(String),
    /// Take entries out of the conversation, or back in.
    Hide {
        /// Their In numbers.
        lines: Vec<RangeInclusive<u32>>,
        /// Out.
        hidden: bool,
    },
    /// Take the last exchange out of the conversation.
    Undo,
    /// The same, and send its prompt again.
    Retry,
    /// Print the conversation so far.
    ShowHistory,
    /// Save the session as a notebook.
    Save {
        /// As typed, with its suffix; `None`: the startup notebook.
        file: Option<String>,
        /// Whatever is there is replaced.
        force: bool,
    },
    /// Run a notebook or script.
    Load(String),
    /// Write the session in the form the suffix names.
    Export {
        /// As typed.
        file: String,
        /// Whatever is there is replaced.
        force: bool,
    },
    /// List the skills.
    ListSkills,
    /// Print tokens and limits.
    ShowUsage,
    /// Log in this way; without one, print how.
    Login(Option<String>),
    /// Name the session.
    Rename(String),
    /// Prompts instead of cells in the editor, and back.
    TogglePrompts,
    /// Let the user pick the session to go on with.
    PickSession,
    /// End the session here and go on with the one of this number or name.
    Resume(String),
    /// Run cells of the record again.
    Replay(Again),
    /// Interrupt what runs.
    Interrupt,
    /// End the interpreter and start a new one.
    RestartRuntime,
}

/// What is to be run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// In numbers; none: all that ran in an interpreter that is gone.
    pub lines: Vec<RangeInclusive<u32>>,
    /// Only tell what would run.
    pub show: bool,
}

/// What of the next prompt is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it, with sizes.
    Context,
    /// The tools it would offer, and where each is named.
    Tools,
}

/// A command as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// What stands after `%ipycodex`.
    pub name: String,
    /// What may follow.
    pub arguments: String,
    /// One line.
    pub help: String,
}

/// A command.
#[derive(Debug)]
struct Magic {
    /// The word after `%ipycodex`.
    name: &'static str,
    /// What may follow, for the help.
    arguments: &'static str,
    /// One line.
    help: &'static str,
    run: fn(&Magic, &str, &View<'_>) -> Result<Vec<Order>, String>,
}

/// Every command that is no setting's.
const TABLE: &[Magic] = &[
    setting::SET,
    plain(
        "context",
        "show exactly what the next prompt would send, with its size",
        |magic, rest, _| alone(magic, rest, Order::Show(Shown::Context)),
    ),
    plain(
        "history",
        "show the conversation so far",
        |magic, rest, _| alone(magic, rest, Order::ShowHistory),
    ),
    entries::row(
        "hide",
        "N…",
        "take cells or exchanges out of the conversation: `hide 3-5 8`",
    ),
    entries::row("show", "N…", "take them back in"),
    plain(
        "undo",
        "take the last exchange out of the conversation",
        |magic, rest, _| alone(magic, rest, Order::Undo),
    ),
    plain(
        "retry",
        "the same, and send its prompt again",
        |magic, rest, _| alone(magic, rest, Order::Retry),
    ),
    plain(
        "reset",
        "forget the exchanges of this session; the context begins here",
        |magic, rest, _| alone(magic, rest, Order::Reset),
    ),
    plain(
        "tools",
        "list the tools the next prompt offers, and where each is named",
        |magic, rest, _| alone(magic, rest, Order::Show(Shown::Tools)),
    ),
    plain(
        "skills",
        "list the skills: name, state and path",
        |magic, rest, _| alone(magic, rest, Order::ListSkills),
    ),
    plain(
        "usage",
        "tokens of each turn and of the session; limits of the account",
        |magic, rest, _| alone(magic, rest, Order::ShowUsage),
    ),
    Magic {
        name: "login",
        arguments: "[METHOD]",
        help: "how to log the agent in, or do it",
        run: |_, method, _| {
            let method = unquoted(method).trim();
            Ok(vec![Order::Login(
                (!method.is_empty()).then(|| method.to_owned()),
            )])
        },
    },
    files::SAVE,
    files::LOAD,
    files::EXPORT,
    plain(
        "sessions",
        "list the sessions of this directory",
        |magic, rest, _| alone(magic, rest, Order::ListSessions),
    ),
    resume::RESUME,
    resume::REPLAY,
    Magic {
        name: "rename",
        arguments: "NAME",
        help: "name the session",
        run: rename,
    },
    plain(
        "prompt",
        "prompt mode: everything but `;code`, `!` and `%` is a prompt; again: back",
        |magic, rest, _| alone(magic, rest, Order::TogglePrompts),
    ),
    plain("interrupt", "interrupt what runs", |magic, rest, _| {
        alone(magic, rest, Order::Interrupt)
    }),
    plain(
        "restart",
        "end the interpreter and start a new one; its variables are lost",
        |magic, rest, _| alone(magic, rest, Order::RestartRuntime),
    ),
    help::ROW,
];

/// A row for a command that takes no arguments.
const fn plain(
    name: &'static str,
    help: &'static str,
    run: fn(&Magic, &str, &View<'_>) -> Result<Vec<Order>, String>,
) -> Magic {
    Magic {
        name,
        arguments: "",
        help,
        run,
    }
}

/// `order`, when nothing follows the command.
fn alone(magic: &Magic, rest: &str, order: Order) -> Result<Vec<Order>, String> {
    if rest.is_empty() {
        Ok(vec![order])
    } else {
        Err(format!("{} takes no arguments, got '{rest}'", magic.name))
    }
}

fn rename(_: &Magic, name: &str, _: &View<'_>) -> Result<Vec<Order>, String> {
    let name = unquoted(name).trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("Usage: %ipycodex rename NAME".to_owned());
    }
    if name.parse::<i64>().is_ok() {
        return Err(format!(
            "a name must not be a number: `-r {name}` means the session with that ID"
        ));
    }
    Ok(vec![Order::Rename(name.to_owned())])
}

/// `''` and `""` stand for the empty value; quotes around a value are not part of it.
fn unquoted(value: &str) -> &str {
    for quote in ['\'', '"'] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    value
}

/// Works a command line off: what stands after `%ipycodex`.
///
/// # Errors
/// The one line to show for an unknown command or a bad value.
pub fn run(line: &str, view: &View<'_>) -> Result<Vec<Order>, String> {
    let line = line.trim();
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Ok(vec![Order::Say(setting::listing(view))]);
    }
    if let Some(row) = setting::commands().find(|row| row.name == name) {
        return setting::show_or_set(row, arguments.trim(), view);
    }
    match TABLE.iter().find(|magic| magic.name == name) {
        Some(magic) => (magic.run)(magic, arguments.trim(), view),
        None => Err(unknown(name)),
    }
}

/// Every command, the settings first.
pub fn commands() -> impl Iterator<Item = Usage> {
    let others = TABLE.iter().map(|magic| Usage {
        name: magic.name.to_owned(),
        arguments: magic.arguments.to_owned(),
        help: magic.help.to_owned(),
    });
    setting::commands().map(setting::usage).chain(others)
}

fn unknown(name: &str) -> String {
    let names = setting::commands().map(|row| row.name);
    let names = names.chain(TABLE.iter().map(|magic| magic.name));
    let meant = did_you_mean(name, names);
    format!("Unknown command: '{name}'. Run %ipycodex help for available commands.{meant}")
}

#[cfg(test)]
mod tests;
