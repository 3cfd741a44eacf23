//! What a key can ask of us beside the editor, by name: keys are parsed in one place and worked off in another, and the
//! editor carries the name from here to there.

use reedline::ReedlineEvent;

use crate::terminal::blocks::Wish;

/// What is done by us while the editor stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Indent the line just begun.
    Indent,
    /// Stop the program until the shell resumes it.
    Suspend,
    /// Something of the last answer.
    Wish(Wish),
}

impl Action {
    /// Its name; no two have the same.
    pub(super) fn name(self) -> String {
        match self {
            Action::Indent => "indent".into(),
            Action::Suspend => "suspend".into(),
            Action::Wish(wish) => wish.name(),
        }
    }

    /// And back.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "indent" => Some(Action::Indent),
            "suspend" => Some(Action::Suspend),
            name => Wish::named(name).map(Action::Wish),
        }
    }

    /// What the editor is told.
    pub(super) fn event(self) -> ReedlineEvent {
        ReedlineEvent::ExecuteHostCommand(self.name())
    }
}
