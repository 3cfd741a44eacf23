//! `%ipycodex` commands: the table, and what a command may ask of the session.
//!
//! A command is a pure function of its arguments and a [`View`]; it returns [`MagicOrder`]s and never reaches into the
//! session, which stands above. A new command is a file and a row in `TABLE`; a setting has a command by its row.

mod entries;
mod files;
mod help;
mod mcp;
mod order;
mod resume;
mod setting;
mod steps;
mod values;

use crate::text::similar::did_you_mean;

pub use order::{Again, CommandUsage, ContextShown, Copied, MagicOrder, Steps, View};
pub use setting::{for_now, kept, without_effect};
pub use values::{CommandValues, values};

use order::{Magic, alone, plain, unquoted};

/// Every command that is no setting's.
const TABLE: &[Magic] = &[
    setting::SET,
    plain(
        "context",
        "show exactly what the next prompt would send, with its size",
        |magic, rest, _| alone(magic, rest, MagicOrder::Show(ContextShown::Context)),
    ),
    plain(
        "history",
        "show the conversation so far",
        |magic, rest, _| alone(magic, rest, MagicOrder::ShowHistory),
    ),
    entries::row(
        "hide",
        "N…",
        "take cells or exchanges out of the conversation: `hide 3-5 8`",
    ),
    entries::row("show", "N…", "take them back in"),
    plain(
        "undo",
        "take the last exchange out of the conversation, and its cells back if you agree",
        |magic, rest, _| alone(magic, rest, MagicOrder::Undo),
    ),
    plain(
        "retry",
        "the same, and send its prompt again",
        |magic, rest, _| alone(magic, rest, MagicOrder::Retry),
    ),
    steps::BACK,
    steps::FORWARD,
    plain(
        "reset",
        "forget the exchanges of this session; the context begins here",
        |magic, rest, _| alone(magic, rest, MagicOrder::Reset),
    ),
    plain(
        "tools",
        "list the tools the next prompt offers, and where each is named",
        |magic, rest, _| alone(magic, rest, MagicOrder::Show(ContextShown::Tools)),
    ),
    entries::COPY,
    Magic {
        name: "output",
        arguments: "[ID]",
        help: "show the whole of an output that was shortened for the agent, or list those there are",
        run: |_, id, _| Ok(vec![MagicOrder::ShowOutput(unquoted(id).trim().to_owned())]),
    },
    plain(
        "skills",
        "list the skills: name, state and path",
        |magic, rest, _| alone(magic, rest, MagicOrder::ListSkills),
    ),
    plain(
        "usage",
        "tokens of each turn and of the session; limits of the account",
        |magic, rest, _| alone(magic, rest, MagicOrder::ShowUsage),
    ),
    Magic {
        name: "option",
        arguments: "[NAME [VALUE]]",
        help: "show or set a mode or another option of the agent's own",
        run: |_, rest, _| {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Ok(vec![MagicOrder::ChooseOption {
                name: unquoted(name).to_owned(),
                value: unquoted(value.trim()).to_owned(),
            }])
        },
    },
    mcp::MCP,
    Magic {
        name: "login",
        arguments: "[METHOD]",
        help: "how to log the agent in, or do it",
        run: |_, method, _| {
            let method = unquoted(method).trim();
            Ok(vec![MagicOrder::Login(
                (!method.is_empty()).then(|| method.to_owned()),
            )])
        },
    },
    files::SAVE,
    files::LOAD,
    files::OPEN,
    files::CELL,
    plain(
        "close",
        "work on the open notebook no more",
        |magic, rest, _| alone(magic, rest, MagicOrder::Close),
    ),
    files::EXPORT,
    plain(
        "sessions",
        "list the sessions of this directory",
        |magic, rest, _| alone(magic, rest, MagicOrder::ListSessions),
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
        |magic, rest, _| alone(magic, rest, MagicOrder::TogglePrompts),
    ),
    plain(
        "shell",
        "shell mode: everything but `!` and `%ipycodex` is a command of your shell; again: back",
        |magic, rest, _| alone(magic, rest, MagicOrder::ToggleShell),
    ),
    plain("interrupt", "interrupt what runs", |magic, rest, _| {
        alone(magic, rest, MagicOrder::Interrupt)
    }),
    plain(
        "restart",
        "end the interpreter and start a new one; its variables are lost",
        |magic, rest, _| alone(magic, rest, MagicOrder::RestartRuntime),
    ),
    Magic {
        name: "help",
        arguments: "[COMMAND|keys]",
        help: "list the commands, explain one, or list the keys",
        run: |_, name, view| match help::page(name, commands(), view.keys) {
            Some(page) => Ok(vec![MagicOrder::Help(page)]),
            None => Err(unknown(name)),
        },
    },
];

fn rename(_: &Magic, name: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let name = unquoted(name).trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("Usage: %ipycodex rename NAME".to_owned());
    }
    if name.parse::<i64>().is_ok() {
        return Err(format!(
            "a name must not be a number: `-r {name}` means the session with that ID"
        ));
    }
    Ok(vec![MagicOrder::Rename(name.to_owned())])
}

/// Works a command line off: what stands after `%ipycodex`.
///
/// # Errors
/// The one line to show for an unknown command or a bad value.
pub fn run(line: &str, view: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let line = line.trim();
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Ok(vec![MagicOrder::Say(setting::listing(view))]);
    }
    if line == "--json" {
        return Ok(vec![MagicOrder::Say(setting::listing_as_json(view))]);
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
pub fn commands() -> impl Iterator<Item = CommandUsage> {
    let others = TABLE.iter().map(|magic| CommandUsage {
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
