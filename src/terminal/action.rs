//! What a key can ask of us beside the editor, by name: keys are parsed in one place and worked off in another, and the
//! editor carries the name from here to there.

use reedline::ReedlineEvent;

use crate::config::KeyAction;
use crate::terminal::blocks::BlockWish;
use crate::terminal::complete;

/// Begins the name of a [`Action::Change`].
const CHANGE: &str = "change ";

/// What is done by us while the editor stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Indent the line just begun.
    Indent,
    /// Stop the program until the shell resumes it.
    Suspend,
    /// Draw everything again: other programs had the terminal.
    Resumed,
    /// Something of the last answer.
    Wish(BlockWish),
    /// Complete what stands before the cursor.
    Complete,
    /// Signature and documentation of what stands at the cursor.
    Inspect,
    /// Ask the model how the text goes on.
    Suggest,
    /// Look an earlier entry up by a part of it.
    SearchHistory,
    /// Prompts instead of cells, and back.
    PromptMode,
    /// Commands of the shell instead of cells, and back.
    ShellMode,
    /// The text in the user's own editor.
    OpenEditor,
    /// See what a guest asks.
    Answer,
    /// A guest needs the screen.
    Called,
    /// A change of the text that the keys could not make without knowing it.
    Change(KeyAction),
}

impl Action {
    /// Its name; no two have the same.
    pub(super) fn name(self) -> String {
        match self {
            Action::Indent => "indent".into(),
            Action::Suspend => "suspend".into(),
            Action::Resumed => "resumed".into(),
            Action::Wish(wish) => wish.name(),
            Action::Complete => "complete".into(),
            Action::Inspect => "inspect".into(),
            Action::Suggest => "suggest".into(),
            Action::SearchHistory => "search_history".into(),
            Action::PromptMode => "prompt_mode".into(),
            Action::ShellMode => "shell_mode".into(),
            Action::OpenEditor => "open_editor".into(),
            Action::Answer => "answer".into(),
            Action::Called => "called".into(),
            Action::Change(action) => format!("{CHANGE}{}", action.name()),
        }
    }

    /// And back.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "indent" => Some(Action::Indent),
            "suspend" => Some(Action::Suspend),
            "resumed" => Some(Action::Resumed),
            "complete" => Some(Action::Complete),
            "inspect" => Some(Action::Inspect),
            "suggest" => Some(Action::Suggest),
            "search_history" => Some(Action::SearchHistory),
            "prompt_mode" => Some(Action::PromptMode),
            "shell_mode" => Some(Action::ShellMode),
            "open_editor" => Some(Action::OpenEditor),
            "answer" => Some(Action::Answer),
            "called" => Some(Action::Called),
            name => match name.strip_prefix(CHANGE) {
                Some(action) => KeyAction::named(action).map(Action::Change),
                None => BlockWish::named(name).map(Action::Wish),
            },
        }
    }

    /// What the editor is told.
    pub(super) fn event(self) -> ReedlineEvent {
        match self {
            // Menus of the editor, not commands.
            Action::Complete => complete::tab(),
            Action::Inspect => complete::back_tab(),
            action => ReedlineEvent::ExecuteHostCommand(action.name()),
        }
    }
}
