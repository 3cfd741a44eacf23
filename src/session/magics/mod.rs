//! The table of `%ipycodex` commands.
//!
//! A command is a pure function of its arguments and a [`MagicContext`]; it returns [`MagicEffect`]s, which the
//! session, one layer above, carries out. A new command is a row in `GROUPS`, with a file of its own if it is long;
//! a setting gets a command through its row in the table of settings.

mod allowed;
mod cells;
mod entries;
mod files;
mod help;
mod magic;
mod mcp;
mod page;
mod plan;
mod sessions;
mod setting;

use crate::config::{Setting, SettingValues};
use crate::text::similar::did_you_mean;

pub use magic::{
    CommandUsage, CopyTarget, LookBackWish, MagicContext, MagicEffect, PlanCommand, PreviewKind,
    ReplayRequest, StepRequest,
};
pub use page::{Page, Section};
pub use setting::{format_no_effect, format_saved_value, format_session_value};

use help::SETTINGS;
use magic::{Magic, Run, plain, unquoted};

/// The commands by topic, without those of settings, which `help` adds to the group "Settings".
const GROUPS: &[(&str, &[Magic])] = &[
    (
        "Conversation",
        &[
            plain(
                "context",
                "show exactly what the next prompt would send",
                || MagicEffect::Preview(PreviewKind::Context),
            )
            .more(
                "It also shows the size of each part and its share of the model's window, and what to hide to save \
                 most. Nothing is sent.",
            ),
            plain("history", "show the conversation so far", || MagicEffect::ShowHistory),
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
            Magic {
                name: "compact",
                arguments: "[WHAT TO KEEP]",
                help: "shorten the conversation to make room",
                more: "Codex shortens its own thread, and an ACP agent that has `/compact` gets that. Else, or when \
                       you say what to keep and the agent is Codex, the agent writes a summary that takes the place \
                       of what came before it: it is a prompt with its answer in the record, the rest is hidden, and \
                       `show` puts it back. Variables stay.",
                run: Run::With(|_, keep, _| Ok(vec![MagicEffect::Compact(keep.trim().to_owned())])),
            },
            plan::PLAN,
            entries::EDIT,
            plain("undo", "take the last exchange back", || MagicEffect::Undo)
            .more(
                "It leaves the conversation and stays in the record. Where it has run cells, you are asked whether the \
                 interpreter steps back, too.",
            ),
            plain("retry", "take back the last exchange and send it again", || MagicEffect::Retry),
            plain("reset", "start a new conversation in this session", || MagicEffect::Reset)
            .more("Deletes the exchanges of this session. What ran before is no longer sent; variables stay."),
            entries::COPY,
            Magic {
                name: "output",
                arguments: "[ID]",
                help: "show in full an output shortened for the agent",
                more: "Without ID, the shortened outputs of this session are listed.",
                run: Run::With(|_, id, _| {
                    let id = unquoted(id).trim().to_owned();
                    Ok(vec![MagicEffect::ShowOutput(id)])
                }),
            },
            plain(
                "tools",
                "list the tools the next prompt offers the agent",
                || MagicEffect::Preview(PreviewKind::Tools),
            ),
            plain("skills", "list the skills the agent can load", || MagicEffect::ListSkills),
            plain(
                "usage",
                "show tokens per turn and what your account allows",
                || MagicEffect::ShowUsage,
            ),
            plain("prompt", "turn prompt mode on or off (Alt-p)", || MagicEffect::TogglePrompts)
            .more("In prompt mode a line is a prompt, unless it begins with `;` (Python), `!` or `%`."),
        ],
    ),
    (
        "Cells",
        &[
            cells::BACK,
            cells::FORWARD,
            cells::CHANGES,
            cells::WHEN,
            cells::REPLAY,
            cells::ASIDE,
            plain("jobs", "list what works beside the prompt", || MagicEffect::ListJobs)
            .more(
                "A running cell goes there with Ctrl-B, and a cell that begins with `%%background` at once; here all \
                 is as it was before the cell. If nothing runs here meanwhile, its state has the prompt again when \
                 it ends; else `merge` brings its names over. `show N` shows its output.",
            ),
            cells::WAIT,
            cells::ANSWER,
            cells::KILL,
            cells::MERGE,
            plain("interrupt", "interrupt the running cell or turn", || MagicEffect::Interrupt),
            plain(
                "restart",
                "start a fresh interpreter; its variables are lost",
                || MagicEffect::RestartRuntime,
            ),
            plain("shell", "turn shell mode on or off (Alt-s)", || MagicEffect::ToggleShell)
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
            plain("close", "stop working on the open notebook", || MagicEffect::CloseNotebook),
            files::EXPORT,
            plain("sessions", "list the sessions of this directory", || MagicEffect::ListSessions),
            sessions::RESUME,
            sessions::NEW,
            entries::FORK,
            sessions::RENAME,
        ],
    ),
    (
        SETTINGS,
        &[
            setting::SET,
            mcp::MCP,
            allowed::ALLOWED,
            Magic {
                name: "option",
                arguments: "[NAME [VALUE]]",
                help: "show or set an option of the agent's own",
                more: "Without NAME, the agent's modes and options are listed.",
                run: Run::With(|_, rest, _| {
                    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                    Ok(vec![MagicEffect::ChooseOption {
                        name: unquoted(name).to_owned(),
                        value: unquoted(value.trim()).to_owned(),
                    }])
                }),
            },
            Magic {
                name: "login",
                arguments: "[METHOD]",
                help: "log the agent in",
                more: "Without METHOD, the ways to log in are listed.",
                run: Run::With(|_, method, _| {
                    let method = unquoted(method).trim();
                    Ok(vec![MagicEffect::Login(
                        (!method.is_empty()).then(|| method.to_owned()),
                    )])
                }),
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
                run: Run::With(|_, name, view| match help::page(name, GROUPS, view.keys) {
                    Some(page) => Ok(vec![MagicEffect::ShowPage(page)]),
                    None => Err(unknown(name)),
                }),
            },
        ],
    ),
];

fn magics() -> impl Iterator<Item = &'static Magic> {
    GROUPS.iter().flat_map(|(_, magics)| magics.iter())
}

/// Runs a command line: the text after `%ipycodex`.
///
/// # Errors
/// Returns the one line to show for an unknown command or a bad value.
pub fn run(line: &str, view: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let line = line.trim();
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Ok(vec![MagicEffect::ShowPage(setting::listing(view))]);
    }
    if line == "--json" {
        return Ok(vec![MagicEffect::Print(setting::listing_as_json(view))]);
    }
    if let Some(row) = setting::commands().find(|row| row.name == name) {
        return setting::show_or_set(row, arguments.trim(), view);
    }
    match magics().find(|magic| magic.name == name) {
        Some(magic) => match (magic.run, arguments.trim()) {
            (Run::With(run), arguments) => run(magic, arguments, view),
            (Run::Alone(effect), "") => Ok(vec![effect()]),
            (Run::Alone(_), arguments) => {
                Err(format!("{name} takes no arguments, got '{arguments}'"))
            }
        },
        None => Err(unknown(name)),
    }
}

/// Returns every command, the settings first.
pub fn commands() -> impl Iterator<Item = CommandUsage> {
    let others = magics().map(|magic| CommandUsage {
        name: magic.name.to_owned(),
        arguments: magic.arguments.to_owned(),
        help: magic.help.to_owned(),
    });
    setting::commands().map(setting::usage).chain(others)
}

/// The possible arguments of a command, for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandValues {
    /// One of these words.
    Words(Vec<&'static str>),
    Commands,
    Models,
    /// The number of a session.
    Sessions,
    /// A mode or another option of the agent's own.
    Options,
    /// Free text, or no argument.
    Unknown,
}

pub fn argument_values(name: &str) -> CommandValues {
    match name {
        "set" => CommandValues::Words(setting::settable().map(|row| row.name).collect()),
        "help" => CommandValues::Commands,
        "allowed" => CommandValues::Words(vec!["revoke"]),
        "plan" => CommandValues::Words(vec!["on", "off", "act"]),
        "copy" => CommandValues::Words(vec!["answer", "code"]),
        "resume" => CommandValues::Sessions,
        "option" => CommandValues::Options,
        name => match Setting::from_name(name).map(Setting::values) {
            Some(SettingValues::Models) => CommandValues::Models,
            None | Some(SettingValues::Text | SettingValues::Count(_)) => CommandValues::Unknown,
            Some(values) => CommandValues::Words(values.words()),
        },
    }
}

fn unknown(name: &str) -> String {
    let names = setting::commands().map(|row| row.name);
    let names = names.chain(magics().map(|magic| magic.name));
    let meant = did_you_mean(name, names);
    format!("Unknown command: '{name}'. Run %ipycodex help for available commands.{meant}")
}

#[cfg(test)]
mod tests;
