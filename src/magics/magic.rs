//! The contract of commands: the state they read, the effects they return, and their row in the table.

use std::ops::RangeInclusive;

use crate::agent::AgentCapabilities;
use crate::config::{AgentChoice, AgentCommand, Choices, Keymap, Provenance};
use crate::text::Page;

/// Session state that a command may read.
#[derive(Debug)]
pub struct MagicContext<'a> {
    /// The choices in force.
    pub choices: &'a Choices,
    /// The sources of the choices that the session began with, and the settings files.
    pub provenance: &'a Provenance,
    /// What the editor's keys do.
    pub keys: &'a Keymap,
    pub agent: &'a AgentCapabilities,
}

/// Carried out by the session, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MagicEffect {
    Print(String),
    /// Show a note.
    Note(String),
    /// Show this page: help, or the settings.
    ShowPage(Page),
    /// List the themes for code; this one is in force.
    ListThemes(String),
    /// Answer with this agent from now on.
    UseAgent(AgentChoice),
    /// Show what the agent reported about itself.
    DescribeAgent,
    /// Put these choices into force.
    ApplyChoices(Box<Choices>),
    /// Write a setting into the settings file and put it into force; without a value, show the value in the file.
    SaveSetting {
        name: &'static str,
        /// As written in the file.
        value: Option<serde_json::Value>,
    },
    /// Write an MCP server into the settings file and put it into force; without a command, take it out.
    ChangeServer {
        name: String,
        command: Option<AgentCommand>,
    },
    /// Delete the session's exchanges; the context begins here.
    Reset,
    /// List the sessions of this directory.
    ListSessions,
    /// Show what the next prompt would send.
    Preview(PreviewKind),
    /// List the models; this one is chosen (empty: none).
    ListModels(String),
    /// Warn when the agent does not list this model.
    CheckModel(String),
    /// Take entries out of the conversation, or back in.
    Hide {
        /// Their In numbers.
        lines: Vec<RangeInclusive<u32>>,
        /// True: out of the conversation.
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
        /// Replace an existing file.
        force: bool,
    },
    /// Run a notebook or script.
    LoadFile(String),
    /// Work on a notebook in place; empty: list the cells of the one that is open.
    OpenNotebook(String),
    /// Put a cell of the open notebook into the editor.
    EditCell(usize),
    /// Stop working on the open notebook.
    CloseNotebook,
    /// Write the session in the form the suffix names.
    Export {
        /// As typed.
        file: String,
        /// Replace an existing file.
        force: bool,
    },
    /// Put something into the clipboard.
    Copy(CopyTarget),
    /// Show the whole of a long output; an empty id lists them.
    ShowOutput(String),
    /// List the skills.
    ListSkills,
    /// Print tokens and limits.
    ShowUsage,
    /// Set one of the agent's own options; without a value, or without both, print what there is.
    ChooseOption {
        /// May be empty.
        name: String,
        /// May be empty.
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
    Replay(ReplayRequest),
    /// Step the interpreter between cells.
    Step(StepRequest),
    /// Interrupt what runs.
    Interrupt,
    /// End the interpreter and start a new one.
    RestartRuntime,
}

/// A step of the interpreter between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRequest {
    /// No step: list the possible ones.
    List,
    /// To before the cell with this number, or before the last one.
    Back(Option<u32>),
    /// Undo the last step back.
    Forward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyTarget {
    /// The last answer.
    Answer,
    /// Its Python blocks.
    Code,
    /// A cell, or the answer of an exchange, by its In number.
    Entry(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// In numbers; none: all that ran in an interpreter that is gone.
    pub lines: Vec<RangeInclusive<u32>>,
    /// List the cells instead of running them.
    pub show: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewKind {
    /// All of it, with sizes.
    Context,
    /// The tools it would offer, and where each is named.
    Tools,
}

/// A command for help and completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandUsage {
    /// The words after `%ipycodex`.
    pub name: String,
    pub arguments: String,
    pub help: String,
}

/// A command.
#[derive(Debug)]
pub(super) struct Magic {
    /// The word after `%ipycodex`.
    pub(super) name: &'static str,
    /// For the usage line.
    pub(super) arguments: &'static str,
    /// One line for the list of commands.
    pub(super) help: &'static str,
    /// More text for the page of the command; may be empty.
    pub(super) more: &'static str,
    pub(super) run: Run,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    /// The effect of a command that takes no arguments.
    Alone(fn() -> MagicEffect),
    /// # Errors
    /// The one line to show.
    With(fn(&Magic, &str, &MagicContext<'_>) -> Result<Vec<MagicEffect>, String>),
}

/// A command that takes no arguments.
pub(super) const fn plain(
    name: &'static str,
    help: &'static str,
    effect: fn() -> MagicEffect,
) -> Magic {
    Magic {
        name,
        arguments: "",
        help,
        more: "",
        run: Run::Alone(effect),
    }
}

impl Magic {
    pub(super) const fn more(self, more: &'static str) -> Self {
        Magic { more, ..self }
    }
}

/// Removes quotes around a value; `''` and `""` are the empty value.
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
