//! Host commands: keys whose effect is ours, not reedline's. Keys are parsed in one place and executed in another;
//! reedline carries the command between them by name (`ReedlineEvent::ExecuteHostCommand`).

use reedline::ReedlineEvent;

use crate::config::KeyAction;
use crate::terminal::blocks::BlockCommand;
use crate::terminal::complete;

/// The prefix of the name of a [`HostCommand::Change`].
const CHANGE: &str = "change ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostCommand {
    Indent,
    /// Stop the program until the shell resumes it.
    Suspend,
    /// Draw everything again: other programs had the terminal.
    Resumed,
    Block(BlockCommand),
    Complete,
    Inspect,
    Suggest,
    SearchHistory,
    /// Switch between cells and prompts.
    PromptMode,
    /// Switch between cells and shell commands.
    ShellMode,
    /// Switch plan mode.
    PlanMode,
    OpenEditor,
    Answer,
    /// An incoming call needs the screen.
    CallPending,
    /// A change of the text whose text was unknown when the keys were parsed.
    Change(KeyAction),
}

impl HostCommand {
    /// Returns the command's name; no two commands have the same.
    pub(super) fn name(self) -> String {
        match self {
            HostCommand::Indent => "indent".into(),
            HostCommand::Suspend => "suspend".into(),
            HostCommand::Resumed => "resumed".into(),
            HostCommand::Block(command) => command.name(),
            HostCommand::Complete => "complete".into(),
            HostCommand::Inspect => "inspect".into(),
            HostCommand::Suggest => "suggest".into(),
            HostCommand::SearchHistory => "search_history".into(),
            HostCommand::PromptMode => "prompt_mode".into(),
            HostCommand::ShellMode => "shell_mode".into(),
            HostCommand::PlanMode => "plan_mode".into(),
            HostCommand::OpenEditor => "open_editor".into(),
            HostCommand::Answer => "answer".into(),
            HostCommand::CallPending => "called".into(),
            HostCommand::Change(action) => format!("{CHANGE}{}", action.name()),
        }
    }

    /// Parses [`HostCommand::name`].
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "indent" => Some(HostCommand::Indent),
            "suspend" => Some(HostCommand::Suspend),
            "resumed" => Some(HostCommand::Resumed),
            "complete" => Some(HostCommand::Complete),
            "inspect" => Some(HostCommand::Inspect),
            "suggest" => Some(HostCommand::Suggest),
            "search_history" => Some(HostCommand::SearchHistory),
            "prompt_mode" => Some(HostCommand::PromptMode),
            "shell_mode" => Some(HostCommand::ShellMode),
            "plan_mode" => Some(HostCommand::PlanMode),
            "open_editor" => Some(HostCommand::OpenEditor),
            "answer" => Some(HostCommand::Answer),
            "called" => Some(HostCommand::CallPending),
            name => match name.strip_prefix(CHANGE) {
                Some(action) => KeyAction::from_name(action).map(HostCommand::Change),
                None => BlockCommand::from_name(name).map(HostCommand::Block),
            },
        }
    }

    pub(super) fn event(self) -> ReedlineEvent {
        match self {
            // Menus of the editor, not commands.
            HostCommand::Complete => complete::tab(),
            HostCommand::Inspect => complete::back_tab(),
            action => ReedlineEvent::ExecuteHostCommand(action.name()),
        }
    }
}
