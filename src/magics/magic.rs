//! What a command is made of: what it may know, what it may ask for, and its row in the table.

use std::ops::RangeInclusive;

use crate::agent::AgentCapabilities;
use crate::config::{AgentChoice, AgentCommand, Choices, Keymap, Provenance};
use crate::text::Page;

/// What a command may know.
#[derive(Debug)]
pub struct View<'a> {
    /// The choices in force.
    pub choices: &'a Choices,
    /// Who decided the choices the session began with, and which files there are.
    pub provenance: &'a Provenance,
    /// What the editor's keys do.
    pub keys: &'a Keymap,
    /// What the agent can.
    pub able: &'a AgentCapabilities,
}

/// What a command asks for; carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MagicOrder {
    /// Print this.
    Say(String),
    /// Worth knowing.
    Note(String),
    /// Show this page: help, or the settings.
    Help(Page),
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
    /// Write an MCP server into the settings file and put it into force; without a command, take it out.
    ChangeServer {
        /// Its name.
        name: String,
        /// How it is started.
        command: Option<AgentCommand>,
    },
    /// Delete the session's exchanges; the context begins here.
    Reset,
    /// List the sessions of this directory.
    ListSessions,
    /// Tell what the next prompt would send.
    Show(ContextShown),
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
    /// Work on a notebook in place; empty: list the cells of the one that is open.
    Open(String),
    /// Bring a cell of it into the editor.
    Bring(usize),
    /// Work on it no more.
    Close,
    /// Write the session in the form the suffix names.
    Export {
        /// As typed.
        file: String,
        /// Whatever is there is replaced.
        force: bool,
    },
    /// Put something into the clipboard.
    Copy(Copied),
    /// Show the whole of a long output; an empty id lists them.
    ShowOutput(String),
    /// List the skills.
    ListSkills,
    /// Print tokens and limits.
    ShowUsage,
    /// Set one of the agent's own options; without a value, or without both, print what there is.
    ChooseOption {
        /// Which; may be empty.
        name: String,
        /// To what; may be empty.
        value: String,
    },
    /// Log in this way; without one, print how.
    Login(Option<String>),
    /// Name the session.
    Rename(String),
    /// Prompts instead of cells in the editor, and back.
    TogglePrompts,
    /// Commands of the shell instead of cells in the editor, and back.
    ToggleShell,
    /// Let the user pick the session to go on with.
    PickSession,
    /// End the session here and go on with the one of this number or name.
    Resume(String),
    /// End the session here and begin an empty one, with this name.
    NewSession(Option<String>),
    /// Run cells of the record again.
    Replay(Again),
    /// Step the interpreter between cells.
    Step(Steps),
    /// Interrupt what runs.
    Interrupt,
    /// End the interpreter and start a new one.
    RestartRuntime,
}

/// Which step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// None: which could be made.
    List,
    /// To before the cell with this number, or before the last one.
    Back(Option<u32>),
    /// Undo the last step back.
    Forward,
}

/// What is put into the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The last answer.
    Answer,
    /// Its Python blocks.
    Code,
    /// A cell, or the answer of an exchange, by its In number.
    Entry(u32),
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
pub enum ContextShown {
    /// All of it, with sizes.
    Context,
    /// The tools it would offer, and where each is named.
    Tools,
}

/// A command as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandUsage {
    /// What stands after `%ipycodex`.
    pub name: String,
    /// What may follow.
    pub arguments: String,
    /// One line.
    pub help: String,
}

/// A command.
#[derive(Debug)]
pub(super) struct Magic {
    /// The word after `%ipycodex`.
    pub(super) name: &'static str,
    /// What may follow, for the help.
    pub(super) arguments: &'static str,
    /// One line: what it does.
    pub(super) help: &'static str,
    /// What else there is to know, for the page of this command; may be empty.
    pub(super) more: &'static str,
    pub(super) run: fn(&Magic, &str, &View<'_>) -> Result<Vec<MagicOrder>, String>,
}

/// A row for a command that takes no arguments.
pub(super) const fn plain(
    name: &'static str,
    help: &'static str,
    run: fn(&Magic, &str, &View<'_>) -> Result<Vec<MagicOrder>, String>,
) -> Magic {
    Magic {
        name,
        arguments: "",
        help,
        more: "",
        run,
    }
}

impl Magic {
    /// The row with what else there is to know.
    pub(super) const fn more(self, more: &'static str) -> Self {
        Magic { more, ..self }
    }
}

/// `order`, when nothing follows the command.
pub(super) fn alone(
    magic: &Magic,
    rest: &str,
    order: MagicOrder,
) -> Result<Vec<MagicOrder>, String> {
    if rest.is_empty() {
        Ok(vec![order])
    } else {
        Err(format!("{} takes no arguments, got '{rest}'", magic.name))
    }
}

/// `''` and `""` stand for the empty value; quotes around a value are not part of it.
pub(super) fn unquoted(value: &str) -> &str {
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
