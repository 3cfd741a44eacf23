//! Answers to the agent's permission requests by the mode the user chose, and the list of these answers.
//!
//! Pure. Invariants: an option is chosen by its kind, never by its position; every request is remembered.

use crate::agent::{AgentQuestion, Decision, QuestionAnswer, Sandbox, Subject};

/// The most requests that are listed.
const LISTED: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PermissionMode {
    /// Each request is allowed.
    #[default]
    Auto,
    /// The user is asked.
    Manual,
    /// Each request is rejected.
    Deny,
}

impl PermissionMode {
    pub(super) fn named(name: &str) -> Option<PermissionMode> {
        [
            PermissionMode::Auto,
            PermissionMode::Manual,
            PermissionMode::Deny,
        ]
        .into_iter()
        .find(|mode| mode.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            PermissionMode::Auto => "auto",
            PermissionMode::Manual => "manual",
            PermissionMode::Deny => "deny",
        }
    }

    /// The sandbox for operations through us that the agent does not ask permission for.
    pub(super) fn sandbox(self) -> Sandbox {
        match self {
            PermissionMode::Auto => Sandbox::FullAccess,
            PermissionMode::Manual => Sandbox::WorkspaceWrite,
            PermissionMode::Deny => Sandbox::ReadOnly,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Permissions {
    pub(super) mode: PermissionMode,
    history: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PermissionDecision {
    /// This answer, and the line that reports it.
    Answer(QuestionAnswer, String),
    Ask,
}

impl Permissions {
    /// Decides about a request; `asks`: the client can ask its user.
    pub(super) fn decide(&mut self, question: &AgentQuestion, asks: bool) -> PermissionDecision {
        let what = brief(&question.subject);
        let form = matches!(
            question.subject,
            Subject::Form { .. } | Subject::Link { .. }
        );
        let (answer, said) = match self.mode {
            PermissionMode::Deny => (
                QuestionAnswer::Declined,
                format!("Denied (permission mode is deny): {what}"),
            ),
            PermissionMode::Auto if !form => yes(question, &what),
            PermissionMode::Auto | PermissionMode::Manual if asks => {
                return PermissionDecision::Ask;
            }
            PermissionMode::Auto | PermissionMode::Manual => {
                let why = "nobody can be asked here: the client takes no input";
                (QuestionAnswer::Declined, format!("Denied ({why}): {what}"))
            }
        };
        self.remember(&said);
        PermissionDecision::Answer(answer, said)
    }

    /// Remembers the line that reports an answer, or that a request was dropped.
    pub(super) fn remember(&mut self, said: &str) {
        self.history
            .push(format!("mode={}  {said}", self.mode.name()));
    }

    /// The last [`LISTED`] requests as text.
    pub(super) fn history(&self) -> String {
        if self.history.is_empty() {
            return "No permission requests recorded".to_owned();
        }
        let from = self.history.len().saturating_sub(LISTED);
        let lines = (1..).zip(&self.history[from..]);
        let lines = lines.map(|(number, said)| format!("  {number}. {said}"));
        format!(
            "Permission History:\n{}",
            lines.collect::<Vec<_>>().join("\n")
        )
    }
}

/// The least permissive option that allows; the first option where none does.
fn yes(question: &AgentQuestion, what: &str) -> (QuestionAnswer, String) {
    let of = |kind| question.options.iter().find(|option| option.kind == kind);
    let chosen = of(Decision::AllowOnce).or_else(|| of(Decision::AllowAlways));
    match chosen.or(question.options.first()) {
        Some(option) => {
            let name = match (option.name.as_str(), option.kind) {
                ("", Decision::AllowOnce) => "allow once",
                ("", _) => &option.id,
                (name, _) => name,
            };
            let verb = if option.kind.allows() {
                "Allowed"
            } else {
                "Answered"
            };
            let said = format!("{verb} ({name}): {what}");
            (QuestionAnswer::Chosen(option.id.clone()), said)
        }
        None => (
            QuestionAnswer::Declined,
            format!("Denied (the agent offered no options): {what}"),
        ),
    }
}

/// A request in one line.
pub(super) fn brief(subject: &Subject) -> String {
    let text = match subject {
        Subject::Command { command, .. } => command.clone(),
        Subject::Input { program, text, .. } => format!("type {text} into {program}"),
        Subject::Edit { changes, .. } => {
            let changes = changes
                .iter()
                .map(|it| format!("{} {}", it.change.as_str(), it.path));
            changes.collect::<Vec<_>>().join(", ")
        }
        Subject::Permissions {
            requested: wanted, ..
        } => wanted.join(", "),
        Subject::Form { message, .. } => message.clone(),
        Subject::Link { url, .. } => url.clone(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::QuestionOption;

    fn question(kinds: &[Decision]) -> AgentQuestion {
        let option = |kind: &Decision| QuestionOption {
            id: format!("{kind:?}"),
            name: format!("{kind:?}"),
            kind: *kind,
        };
        let subject = Subject::Command {
            command: "touch\n x".into(),
            cwd: "/".into(),
            reason: None,
        };
        AgentQuestion {
            options: kinds.iter().map(option).collect(),
            ..AgentQuestion::with_default_options("1", subject)
        }
    }

    #[test]
    fn the_mode_decides_and_everything_is_remembered() {
        let mut permissions = Permissions::default();
        assert_eq!(permissions.history(), "No permission requests recorded");
        let judged =
            |permissions: &mut Permissions, kinds: &[Decision], asks: bool| match permissions
                .decide(&question(kinds), asks)
            {
                PermissionDecision::Ask => "?".to_owned(),
                PermissionDecision::Answer(answer, said) => format!("{answer:?} {said}"),
            };
        use Decision::{AllowAlways, AllowOnce, RejectOnce};
        let auto = judged(
            &mut permissions,
            &[AllowAlways, AllowOnce, RejectOnce],
            false,
        );
        assert_eq!(auto, "Chosen(\"AllowOnce\") Allowed (AllowOnce): touch x");
        let auto = judged(&mut permissions, &[RejectOnce, AllowAlways], false);
        assert!(auto.starts_with("Chosen(\"AllowAlways\")"), "{auto}");
        let auto = judged(&mut permissions, &[RejectOnce], false);
        assert_eq!(
            auto,
            "Chosen(\"RejectOnce\") Answered (RejectOnce): touch x"
        );
        permissions.mode = PermissionMode::Manual;
        assert_eq!(judged(&mut permissions, &[AllowOnce], true), "?");
        let nobody = judged(&mut permissions, &[AllowOnce], false);
        assert!(nobody.starts_with("Declined Denied (nobody"), "{nobody}");
        permissions.mode = PermissionMode::Deny;
        let denied = judged(&mut permissions, &[AllowOnce], true);
        assert_eq!(denied, "Declined Denied (permission mode is deny): touch x");
        assert!(
            permissions
                .history()
                .ends_with("5. mode=deny  Denied (permission mode is deny): touch x")
        );
        for _ in 0..9 {
            permissions.remember("x");
        }
        assert_eq!(permissions.history().lines().count(), 11);
    }
}
