//! What the agent's code may do: the user's setting, and what the user has granted for the session.

use super::{ApprovalRequester, SessionGrants};
use crate::agent::{AgentCapabilities, Decision, QuestionOption, Sandbox, Subject};
use crate::config::{Choices, RunCells};
use crate::ids::ToolCaller;
use crate::question::QuestionSubject;

pub(crate) struct ApprovalPolicy<'a> {
    pub(crate) run_cells: &'a mut RunCells,
    pub(crate) grants: &'a mut SessionGrants,
    /// False where there is no user to ask.
    pub(crate) can_ask: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Ask,
    /// The user would have to be asked, and is not there.
    NobodyToAsk,
    /// The user has switched `run_cells` off.
    Off,
}

impl ApprovalPolicy<'_> {
    /// Decides about cells, in the user's interpreter if `live`; `resets` would drop the user's variables.
    pub(crate) fn cells(&self, live: bool, resets: bool) -> Verdict {
        match *self.run_cells {
            RunCells::Off => Verdict::Off,
            RunCells::Auto if !(live && resets && self.grants.cells.is_some()) => Verdict::Allowed,
            _ if live && !self.can_ask => Verdict::NobodyToAsk,
            RunCells::Auto | RunCells::Ask | RunCells::Preview => Verdict::Ask,
        }
    }

    /// Allows cells in the user's interpreter for the session, but no resets. The setting is where `%ipycodex` shows
    /// and changes it.
    pub(crate) fn grant_cells(&mut self) {
        let before = std::mem::replace(self.run_cells, RunCells::Auto);
        self.grants.cells.get_or_insert(before);
    }

    /// The user chose this setting, which ends what was granted under another one.
    pub(crate) fn choose(&mut self, setting: RunCells) {
        if std::mem::replace(self.run_cells, setting) != setting {
            self.grants.cells = None;
        }
    }

    /// Ends what was granted, together with the session.
    pub(crate) fn end_session(&mut self) {
        if let Some(before) = std::mem::take(self.grants).cells {
            *self.run_cells = before;
        }
    }
}

/// Returns the subject of a question to which a yes may last: one of the agent in its usual form, about what stays in
/// the sandbox after a yes. `able`: the features of the agent.
pub(crate) fn may_last<'a>(
    about: &'a QuestionSubject,
    asker: &ApprovalRequester,
    choices: &Choices,
    able: impl FnOnce() -> AgentCapabilities,
) -> Option<&'a Subject> {
    let QuestionSubject::Agent(subject) = about else {
        return None;
    };
    let confined = choices.sandbox != Sandbox::FullAccess;
    let usual =
        |option: &QuestionOption| option.kind == Decision::AllowOnce && option.name.is_empty();
    let may = match (asker, subject) {
        (ApprovalRequester::Agent { options, .. }, Subject::Command { .. }) => {
            options.iter().any(usual) && able().confines_allowed_commands
        }
        (ApprovalRequester::Agent { options, .. }, Subject::Edit { .. }) => {
            options.iter().any(usual) && able().sandbox
        }
        (ApprovalRequester::Tool(ToolCaller::Turn), Subject::Edit { .. }) => true,
        _ => false,
    };
    (may && confined).then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_lasts_only_for_what_stays_in_the_sandbox() {
        let command = QuestionSubject::Agent(Subject::Command {
            command: "make".into(),
            cwd: "/".into(),
            reason: None,
        });
        let edit = QuestionSubject::Agent(Subject::Edit {
            changes: Vec::new(),
            reason: None,
        });
        let cells = QuestionSubject::Cells(Vec::new());
        let agent = |name: &str| ApprovalRequester::Agent {
            question: "q".into(),
            options: vec![QuestionOption {
                id: "yes".into(),
                name: name.into(),
                kind: Decision::AllowOnce,
            }],
            reasons: false,
            reads: false,
        };
        let full = AgentCapabilities::full("a");
        let retries = AgentCapabilities {
            confines_allowed_commands: false,
            ..full.clone()
        };
        let text = AgentCapabilities::text_only("a");
        let turn = ApprovalRequester::Tool(ToolCaller::Turn);
        let code = ApprovalRequester::Tool(ToolCaller::Code);
        // The requester, its agent; for a command, a change of files, cells.
        for (asker, able, expected) in [
            (agent(""), &full, [true, true, false]),
            (agent(""), &retries, [false, true, false]),
            (agent(""), &text, [false, false, false]),
            (agent("Allow"), &full, [false, false, false]),
            (turn, &full, [false, true, false]),
            (code, &full, [false, false, false]),
        ] {
            for sandbox in [Sandbox::WorkspaceWrite, Sandbox::FullAccess] {
                let choices = Choices {
                    sandbox,
                    ..Choices::default()
                };
                let may = [&command, &edit, &cells]
                    .map(|about| may_last(about, &asker, &choices, || able.clone()).is_some());
                let confined = sandbox != Sandbox::FullAccess;
                assert_eq!(may, expected.map(|may| may && confined), "{asker:?}");
            }
        }
    }

    #[test]
    fn the_setting_and_the_grants_decide_together() {
        use Verdict::{Allowed, Ask, NobodyToAsk, Off};
        type Row = (RunCells, bool, bool, [Verdict; 4]);
        // Setting, granted for the session, somebody to ask; live, live with a reset, beside, beside with a reset.
        let table: [Row; 8] = [
            (RunCells::Off, false, true, [Off; 4]),
            (RunCells::Ask, false, true, [Ask; 4]),
            (
                RunCells::Ask,
                false,
                false,
                [NobodyToAsk, NobodyToAsk, Ask, Ask],
            ),
            (RunCells::Preview, false, true, [Ask; 4]),
            (RunCells::Auto, false, false, [Allowed; 4]),
            (RunCells::Ask, true, true, [Allowed, Ask, Allowed, Allowed]),
            (
                RunCells::Preview,
                true,
                true,
                [Allowed, Ask, Allowed, Allowed],
            ),
            (
                RunCells::Ask,
                true,
                false,
                [Allowed, NobodyToAsk, Allowed, Allowed],
            ),
        ];
        for (setting, granted, can_ask, expected) in table {
            let (mut run_cells, mut grants) = (setting, SessionGrants::default());
            let mut policy = ApprovalPolicy {
                run_cells: &mut run_cells,
                grants: &mut grants,
                can_ask,
            };
            if granted {
                policy.grant_cells();
            }
            let cases = [(true, false), (true, true), (false, false), (false, true)];
            let verdicts = cases.map(|(live, resets)| policy.cells(live, resets));
            assert_eq!(verdicts, expected, "{setting:?}, granted: {granted}");
            policy.end_session();
            assert_eq!(run_cells, setting, "a session leaves the setting as it was");
        }
    }
}
