//! The contract of commands: the state they read, the effects they return, and their row in the table.

use std::ops::RangeInclusive;

use super::page::Page;
use crate::agent::AgentCapabilities;
use crate::config::{AgentChoice, AgentCommand, Choices, Keymap, Provenance};

#[derive(Debug)]
pub struct MagicContext<'a> {
    pub choices: &'a Choices,
    /// The sources of the choices that the session began with, and the settings files.
    pub provenance: &'a Provenance,
    pub keys: &'a Keymap,
    pub agent: &'a AgentCapabilities,
}

/// An effect of a command; the session carries them out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MagicEffect {
    Print(String),
    Note(String),
    ShowPage(Page),
    /// List the themes for code; this one is in force.
    ListThemes(String),
    /// Answer with this agent from now on.
    UseAgent(AgentChoice),
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
    /// Hide entries from the conversation, or restore them.
    Hide {
        lines: Vec<RangeInclusive<u32>>,
        /// True hides.
        hidden: bool,
    },
    /// Put this prompt into the editor, else the last one, to be replaced with what came after it.
    EditPrompt(Option<u32>),
    /// Go on in a new session that holds what came before this prompt, else all of this one.
    ForkSession(Option<u32>),
    Undo,
    /// Undo the last exchange and send its prompt again.
    Retry,
    ShowHistory,
    Save {
        /// As typed, with its suffix; `None`: the startup notebook.
        file: Option<String>,
        force: bool,
    },
    LoadFile(String),
    /// Open a notebook in place; empty: list the cells of the open one.
    OpenNotebook(String),
    /// Put a cell of the open notebook into the editor.
    EditCell(usize),
    CloseNotebook,
    /// Write the session in the form the suffix names.
    Export {
        file: String,
        force: bool,
    },
    Copy(CopyTarget),
    /// Show the whole of a long output; an empty id lists them.
    ShowOutput(String),
    ListSkills,
    ShowUsage,
    /// Set one of the agent's own options; without a value, or without both, print the options.
    ChooseOption {
        /// May be empty.
        name: String,
        /// May be empty.
        value: String,
    },
    /// Log in by this method; without one, list the methods.
    /// Shorten the conversation; with what is to be kept, which may be empty.
    Compact(String),
    Login(Option<String>),
    Rename(String),
    /// Switch the editor between cells and prompts.
    TogglePrompts,
    /// Switch the editor between cells and shell commands.
    ToggleShell,
    PickSession,
    /// End the session here and resume the one with this number or name.
    Resume(String),
    /// End the session here and begin an empty one with this name.
    NewSession(Option<String>),
    Replay(ReplayRequest),
    Step(StepRequest),
    /// List what steps have changed in files: all, or this cell or prompt.
    Changes(Option<u32>),
    LookBack(LookBackWish),
    /// Have the agent answer this prompt (without its dot) beside the prompt.
    Aside(String),
    /// List what works beside the prompt.
    ListJobs,
    /// Wait for the end of the cell with this number, which is in the background.
    Wait(u32),
    /// Type this line for that cell, which waits for input.
    AnswerCell(u32, String),
    /// End that cell, or drop what it has left.
    KillCell(u32),
    /// Bring over what that cell has changed.
    MergeCell(u32),
    Plan(PlanCommand),
    /// Revoke the lasting approval with this number; `None`: list them.
    Allowed(Option<usize>),
    Interrupt,
    /// End the interpreter and start a new one.
    RestartRuntime,
}

impl MagicEffect {
    /// True when another session is here afterwards.
    pub fn leaves_session(&self) -> bool {
        matches!(
            self,
            MagicEffect::ForkSession(_)
                | MagicEffect::PickSession
                | MagicEffect::Resume(_)
                | MagicEffect::NewSession(_)
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRequest {
    /// No step: list the checkpoints.
    List,
    /// To before the cell with this number, or before the last one.
    Back(Option<u32>),
    /// Undo the last step back.
    Forward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanCommand {
    /// Plan mode on or off; `None`: tell how it is.
    Switch(Option<bool>),
    /// Have the plan of the last answer carried out.
    Act,
}

/// A question about the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookBackWish {
    pub code: String,
    /// Run the recorded cells again in an interpreter of its own, instead of asking the checkpoints.
    pub replay: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyTarget {
    Answer,
    /// The Python blocks of the last answer.
    Code,
    /// A cell, or the answer of an exchange, by its In number.
    Entry(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// In numbers; empty: all cells that ran in an interpreter that is gone.
    pub lines: Vec<RangeInclusive<u32>>,
    /// List the cells instead of running them.
    pub show: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewKind {
    /// The whole context, with sizes.
    Context,
    /// The tools on offer, and where each is named.
    Tools,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandUsage {
    /// The words after `%ipycodex`.
    pub name: String,
    pub arguments: String,
    pub help: String,
}

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
    /// Returns the one line to show.
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
