//! `%ipycodex` commands: the table, and what a command may ask of the session.
//!
//! A command is a pure function of its arguments and a [`View`]; it returns [`MagicOrder`]s and never reaches into the
//! session, which stands above. A new command is a row in `GROUPS`, a longer one with a file of its own; a setting
//! has a command by its row.

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

use help::SETTINGS;
use order::{Magic, alone, plain, unquoted};

/// Every command that is no setting's, by what it is about. The settings join the last group.
const GROUPS: &[(&str, &[Magic])] = &[
    (
        "Conversation",
        &[
            plain(
                "context",
                "show exactly what the next prompt would send",
                |magic, rest, _| alone(magic, rest, MagicOrder::Show(ContextShown::Context)),
            )
            .more("It also shows the size of each part. Nothing is sent."),
            plain(
                "history",
                "show the conversation so far",
                |magic, rest, _| alone(magic, rest, MagicOrder::ShowHistory),
            ),
            entries::row(
                "hide",
                "N…",
                "leave cells or exchanges out of the conversation",
            )
            .more(
                "`hide 3-5 8` leaves In [3] to In [5] and In [8] out of what the next prompts send. They stay in the \
                 record; `show 3-5 8` puts them back.",
            ),
            entries::row("show", "N…", "put back what `hide` left out"),
            plain(
                "undo",
                "take the last exchange back",
                |magic, rest, _| alone(magic, rest, MagicOrder::Undo),
            )
            .more(
                "It leaves the conversation and stays in the record. Where it has run cells, you are asked whether the \
                 interpreter steps back, too.",
            ),
            plain(
                "retry",
                "take back the last exchange and send it again",
                |magic, rest, _| alone(magic, rest, MagicOrder::Retry),
            ),
            plain(
                "reset",
                "start a new conversation in this session",
                |magic, rest, _| alone(magic, rest, MagicOrder::Reset),
            )
            .more("Deletes the exchanges of this session. What ran before is no longer sent; variables stay."),
            entries::COPY,
            Magic {
                name: "output",
                arguments: "[ID]",
                help: "show in full an output shortened for the agent",
                more: "Without ID, the shortened outputs of this session are listed.",
                run: |_, id, _| {
                    let id = unquoted(id).trim().to_owned();
                    Ok(vec![MagicOrder::ShowOutput(id)])
                },
            },
            plain(
                "tools",
                "list the tools the next prompt offers the agent",
                |magic, rest, _| alone(magic, rest, MagicOrder::Show(ContextShown::Tools)),
            ),
            plain(
                "skills",
                "list the skills the agent can load",
                |magic, rest, _| alone(magic, rest, MagicOrder::ListSkills),
            ),
            plain(
                "usage",
                "show tokens per turn and what your account allows",
                |magic, rest, _| alone(magic, rest, MagicOrder::ShowUsage),
            ),
            plain(
                "prompt",
                "turn prompt mode on or off (Alt-p)",
                |magic, rest, _| alone(magic, rest, MagicOrder::TogglePrompts),
            )
            .more("In prompt mode a line is a prompt, unless it begins with `;` (Python), `!` or `%`."),
        ],
    ),
    (
        "Cells",
        &[
            steps::BACK,
            steps::FORWARD,
            resume::REPLAY,
            plain("interrupt", "interrupt the running cell or turn", |magic, rest, _| {
                alone(magic, rest, MagicOrder::Interrupt)
            }),
            plain(
                "restart",
                "start a fresh interpreter; its variables are lost",
                |magic, rest, _| alone(magic, rest, MagicOrder::RestartRuntime),
            ),
            plain(
                "shell",
                "turn shell mode on or off (Alt-s)",
                |magic, rest, _| alone(magic, rest, MagicOrder::ToggleShell),
            )
            .more(
                "In shell mode a line is a command of your own bash or zsh, unless it begins with `!` or `%ipycodex`. \
                 `exit` leaves it.",
            ),
        ],
    ),
    (
        "Files and sessions",
        &[
            files::SAVE,
            files::LOAD,
            files::OPEN,
            files::CELL,
            plain(
                "close",
                "stop working on the open notebook",
                |magic, rest, _| alone(magic, rest, MagicOrder::Close),
            ),
            files::EXPORT,
            plain(
                "sessions",
                "list the sessions of this directory",
                |magic, rest, _| alone(magic, rest, MagicOrder::ListSessions),
            ),
            resume::RESUME,
            resume::NEW,
            Magic {
                name: "rename",
                arguments: "NAME",
                help: "name this session",
                more: "`ipycodex -r NAME` then goes on with it.",
                run: rename,
            },
        ],
    ),
    (
        SETTINGS,
        &[
            setting::SET,
            mcp::MCP,
            Magic {
                name: "option",
                arguments: "[NAME [VALUE]]",
                help: "show or set an option of the agent's own",
                more: "Without NAME, the agent's modes and options are listed.",
                run: |_, rest, _| {
                    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                    Ok(vec![MagicOrder::ChooseOption {
                        name: unquoted(name).to_owned(),
                        value: unquoted(value.trim()).to_owned(),
                    }])
                },
            },
            Magic {
                name: "login",
                arguments: "[METHOD]",
                help: "log the agent in",
                more: "Without METHOD, the ways to log in are listed.",
                run: |_, method, _| {
                    let method = unquoted(method).trim();
                    Ok(vec![MagicOrder::Login(
                        (!method.is_empty()).then(|| method.to_owned()),
                    )])
                },
            },
        ],
    ),
    (
        help::ABOUT_KEYS,
        &[
            Magic {
                name: "help",
                arguments: "[COMMAND|keys]",
                help: "list the commands, explain one, or list all keys",
                more: "",
                run: |_, name, view| match help::page(name, GROUPS, view.keys) {
                    Some(page) => Ok(vec![MagicOrder::Help(page)]),
                    None => Err(unknown(name)),
                },
            },
        ],
    ),
];

fn magics() -> impl Iterator<Item = &'static Magic> {
    GROUPS.iter().flat_map(|(_, magics)| magics.iter())
}

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
        return Ok(vec![MagicOrder::Help(setting::listing(view))]);
    }
    if line == "--json" {
        return Ok(vec![MagicOrder::Say(setting::listing_as_json(view))]);
    }
    if let Some(row) = setting::commands().find(|row| row.name == name) {
        return setting::show_or_set(row, arguments.trim(), view);
    }
    match magics().find(|magic| magic.name == name) {
        Some(magic) => (magic.run)(magic, arguments.trim(), view),
        None => Err(unknown(name)),
    }
}

/// Every command, the settings first.
pub fn commands() -> impl Iterator<Item = CommandUsage> {
    let others = magics().map(|magic| CommandUsage {
        name: magic.name.to_owned(),
        arguments: magic.arguments.to_owned(),
        help: magic.help.to_owned(),
    });
    setting::commands().map(setting::usage).chain(others)
}

fn unknown(name: &str) -> String {
    let names = setting::commands().map(|row| row.name);
    let names = names.chain(magics().map(|magic| magic.name));
    let meant = did_you_mean(name, names);
    format!("Unknown command: '{name}'. Run %ipycodex help for available commands.{meant}")
}

#[cfg(test)]
mod tests;
