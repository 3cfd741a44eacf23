//! Questions to the user and their possible replies.
//!
//! Pure values. Text in them is foreign (from a model, a skill, an MCP server): front-ends show it escaped, whole
//! and without markup. Every question is answered once or reported as over.

use crate::agent::{Decision, QuestionAnswer, QuestionOption, Subject};
use crate::file_rewind::FileRewind;
use crate::lasting::Lasting;
use crate::replacement::Replacement;
use crate::runtime::{MergeRow, SavedVariables};
use crate::text::aligned;

/// A question, open until it is answered or over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The id that the answer names.
    pub id: u64,
    /// The requester, where that is not the agent: the name that an MCP client gives itself.
    pub caller: Option<String>,
    pub about: QuestionSubject,
    /// The options of an agent's question; [`QuestionChoice::Named`] is one of them.
    pub options: Vec<QuestionOption>,
    /// A no to the agent may carry its reason.
    pub reasons: bool,
    /// What a yes covers that lasts, where one is offered.
    pub lasting: Option<Box<Lasting>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionSubject {
    Agent(Subject),
    /// The agent wants to run cells in the live interpreter.
    Cells(Vec<ProposedCell>),
    /// The agent wants to inspect the namespace where nothing keeps its code from changing files.
    Unprotected {
        code: String,
        /// Why there is no protection.
        why: String,
    },
    /// The agent wants to read a skill that comes with the project.
    ProjectSkill {
        skill: String,
        /// Its `SKILL.md`.
        path: String,
        project: String,
    },
    /// The project has files to run before the first input.
    ProjectFiles {
        /// The project's folder of start-up files.
        folder: String,
        /// Name and content of each file, in order.
        files: Vec<(String, String)>,
    },
    /// An exchange to be undone has run cells that the interpreter can step back over.
    StepBack {
        /// Its In number.
        exchange: u32,
        /// The cells from the exchange's first one up to now.
        over: Vec<SteppedCell>,
    },
    /// A prompt takes the place of an earlier one, or a session is forked before it.
    Replacement(Replacement),
    /// The agent has given a plan in plan mode; its steps.
    Plan(Vec<String>),
    /// Files that steps have changed can be put back.
    Files(Box<FileRewind>),
    /// A name was changed here and in a branch that is merged.
    NameConflict(NameConflict),
    /// A turn beside the prompt has left something.
    Offer(Box<Offer>),
    /// Variables were kept when the session ended and can be restored.
    Variables(SavedVariables),
    /// A prompt consists of pictures alone and none can be sent; the reasons, a line each.
    Pictures(Vec<String>),
    /// A skill that is being loaded contains code to run.
    SkillCode {
        skill: String,
        /// Its `SKILL.md`.
        path: String,
        blocks: Vec<String>,
    },
}

/// A cell that the agent wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCell {
    pub code: String,
    /// Its purpose, in the agent's words; may be empty.
    pub title: String,
    /// The interpreter is started anew before the cell: all variables are lost.
    pub reset: bool,
}

/// A name with two values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameConflict {
    /// The In number of the cell that the branch has run.
    pub line: u32,
    pub name: String,
    /// The value in the branch, type and size; empty: deleted there.
    pub theirs: String,
    /// The value at the prompt; empty: deleted here.
    pub ours: String,
    /// The name that the value of the branch gets beside the other.
    pub both: String,
    /// It is a file below the user's directory.
    pub is_file: bool,
}

impl NameConflict {
    /// Returns what tells it from all others of a merge.
    pub(super) fn key(&self) -> String {
        match self.is_file {
            true => file_key(&self.name),
            false => self.name.clone(),
        }
    }
}

/// A file among names: no name begins so.
pub(super) fn file_key(path: &str) -> String {
    format!("./{path}")
}

/// What a turn beside the prompt would bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its In number.
    pub line: u32,
    /// Without its dot.
    pub prompt: String,
    /// Sources of the cells that it has run in its interpreter.
    pub cells: Vec<String>,
    pub names: Vec<MergeRow>,
    pub files: Vec<OfferedFile>,
}

/// A file that a turn beside the prompt has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedFile {
    /// Below the user's directory.
    pub path: String,
    /// Its size.
    pub theirs: String,
    /// The size of another file in its place.
    pub ours: Option<String>,
}

impl Offer {
    /// Returns the code of the cells, as one text.
    pub fn code(&self) -> String {
        let cells = self.cells.iter().map(|cell| cell.trim_end());
        cells.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns a line for each name and file: what it is, and what it does.
    pub fn changes(&self) -> Vec<[String; 3]> {
        let names = self.names.iter().map(|row| {
            let refused = row.refused.as_ref();
            let value = refused.map_or(row.theirs.clone(), |why| format!("stays behind: {why}"));
            [row.change.clone(), row.name.clone(), value]
        });
        let files = self.files.iter().map(|file| {
            let what = match file.ours {
                Some(_) => "another file",
                None => "new file",
            };
            [what.to_owned(), file.path.clone(), file.theirs.clone()]
        });
        names.chain(files).collect()
    }

    /// Returns all of it: the cells, then a line for each name and file.
    pub fn details(&self) -> String {
        let cells = self.cells.iter().enumerate();
        let cells = cells.map(|(n, cell)| format!("# %% cell {}\n{}\n", n + 1, cell.trim_end()));
        let changes = aligned(&self.changes()).into_iter();
        let changes = changes.map(|line| format!("{line}\n"));
        let text: String = cells.chain(changes).collect();
        text.trim_end().to_owned()
    }
}

/// A cell that the interpreter would step back over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteppedCell {
    pub line: u32,
    /// Its first line.
    pub code: String,
    /// The exchange to be undone has run it.
    pub own: bool,
}

/// A choice of answer to a request for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionChoice {
    /// Yes, this time.
    Once,
    /// Undecided: show first what it would do, then ask again.
    Try,
    /// Yes, and merge what others have changed since.
    Merge,
    /// Undecided: show the differences first, then ask again.
    Diff,
    /// The value of the branch.
    Theirs,
    /// The value at the prompt.
    Mine,
    /// Both, under two names.
    Both,
    /// Only the cells, to be run here.
    Cells,
    /// Undecided: show all of it first, then ask again.
    Details,
    /// Nothing, and forget it.
    Drop,
    /// Undecided: edit it first.
    Edit,
    /// Yes, to the conversation alone: the interpreter stays.
    Conversation,
    /// Yes, also to similar requests for the rest of the session.
    Session,
    /// Yes, remembered on this machine.
    Remember,
    /// Yes, and from now on, as far as [`Question::lasting`] says.
    Always,
    /// No; the turn goes on.
    No,
    /// No, with the reason for the agent; arrives as [`Reply::NoBecause`].
    NoBecause,
    /// No, and the turn stops.
    Stop,
    /// The agent's option with this index, which has a label of its own.
    Named(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// One of [`Question::choices`].
    Chosen(QuestionChoice),
    /// No, with this reason for the agent.
    NoBecause(String),
    /// To a form: the id of each field and its values.
    Filled(Vec<(String, Vec<String>)>),
    /// To a form: no answer.
    Declined,
}

impl Question {
    pub fn usual(id: u64, about: QuestionSubject) -> Self {
        let options = match &about {
            QuestionSubject::Agent(subject) => subject.default_options(),
            _ => Vec::new(),
        };
        Question {
            id,
            caller: None,
            reasons: options.iter().any(|option| option.kind == Decision::Stop),
            about,
            options,
            lasting: None,
        }
    }

    /// Returns the choices in the order to offer them; none for a form.
    pub fn choices(&self) -> Vec<QuestionChoice> {
        match &self.about {
            QuestionSubject::Agent(_) => {
                let options = self.options.iter().enumerate();
                let mut choices: Vec<QuestionChoice> = options.map(usual).collect();
                if self.lasting.is_some() {
                    let lasts = |choice: &QuestionChoice| *choice == QuestionChoice::Session;
                    let session = choices.iter().position(lasts);
                    let behind = session.map_or(choices.len().min(1), |at| at + 1);
                    choices.insert(behind, QuestionChoice::Always);
                }
                if self.reasons {
                    let no = choices
                        .iter()
                        .position(|choice| *choice == QuestionChoice::No);
                    choices.insert(
                        no.map_or(choices.len(), |no| no + 1),
                        QuestionChoice::NoBecause,
                    );
                }
                choices
            }
            QuestionSubject::Cells(_) => {
                vec![
                    QuestionChoice::Once,
                    QuestionChoice::Session,
                    QuestionChoice::Try,
                    QuestionChoice::No,
                    QuestionChoice::NoBecause,
                ]
            }
            QuestionSubject::Unprotected { .. } => {
                vec![
                    QuestionChoice::Once,
                    QuestionChoice::Session,
                    QuestionChoice::No,
                    QuestionChoice::NoBecause,
                ]
            }
            QuestionSubject::ProjectSkill { .. } => vec![
                QuestionChoice::Once,
                QuestionChoice::Remember,
                QuestionChoice::No,
                QuestionChoice::NoBecause,
            ],
            QuestionSubject::ProjectFiles { .. } => vec![
                QuestionChoice::Once,
                QuestionChoice::Remember,
                QuestionChoice::No,
            ],
            QuestionSubject::StepBack { .. }
            | QuestionSubject::Variables(_)
            | QuestionSubject::Pictures(_) => {
                vec![QuestionChoice::Once, QuestionChoice::No]
            }
            QuestionSubject::Plan(_) => vec![
                QuestionChoice::Once,
                QuestionChoice::Edit,
                QuestionChoice::No,
            ],
            QuestionSubject::Files(rewind) => {
                let once = (!rewind.plan.restores.is_empty()).then_some(QuestionChoice::Once);
                let merge = (!rewind.plan.merges.is_empty()).then_some(QuestionChoice::Merge);
                let rest = [QuestionChoice::Diff, QuestionChoice::No];
                once.into_iter().chain(merge).chain(rest).collect()
            }
            QuestionSubject::NameConflict(conflict) => {
                let both = !conflict.theirs.is_empty() && !conflict.ours.is_empty();
                let both = both.then_some(QuestionChoice::Both);
                let first = [QuestionChoice::Theirs, QuestionChoice::Mine].into_iter();
                first.chain(both).chain([QuestionChoice::No]).collect()
            }
            QuestionSubject::Offer(offer) => {
                let cells = (!offer.cells.is_empty()).then_some(QuestionChoice::Cells);
                let first = [QuestionChoice::Merge].into_iter().chain(cells);
                let rest = [
                    QuestionChoice::Details,
                    QuestionChoice::Drop,
                    QuestionChoice::No,
                ];
                first.chain(rest).collect()
            }
            QuestionSubject::Replacement(plan) if plan.moves_more() => vec![
                QuestionChoice::Once,
                QuestionChoice::Conversation,
                QuestionChoice::No,
            ],
            QuestionSubject::Replacement(_) => vec![QuestionChoice::Once, QuestionChoice::No],
            QuestionSubject::SkillCode { .. } => vec![
                QuestionChoice::Remember,
                QuestionChoice::No,
                QuestionChoice::NoBecause,
            ],
        }
    }
}

/// Maps an option to a usual choice, or to a named one when the agent labels it itself.
fn usual((number, option): (usize, &QuestionOption)) -> QuestionChoice {
    match option.kind {
        _ if !option.name.is_empty() => QuestionChoice::Named(number),
        Decision::AllowOnce => QuestionChoice::Once,
        Decision::AllowAlways => QuestionChoice::Session,
        Decision::RejectOnce => QuestionChoice::No,
        Decision::RejectAlways => QuestionChoice::Named(number),
        Decision::Stop => QuestionChoice::Stop,
    }
}

impl Reply {
    /// Returns the reason of a no, phrased to follow the refusal in the text for the model; empty when none was
    /// given.
    pub(super) fn reason(&self) -> String {
        match self {
            Reply::NoBecause(why) => format!(". The user's reason: {why}"),
            _ => String::new(),
        }
    }

    /// Returns the answer for an agent that offered `options`, selected by kind, never by position. An option with
    /// a label of the agent's may reach further than the user was shown, so a usual yes selects it for this once
    /// only.
    pub fn for_agent(&self, options: &[QuestionOption]) -> QuestionAnswer {
        use Decision::{AllowAlways, AllowOnce, RejectAlways, RejectOnce, Stop};
        let of = |kinds: &[Decision]| {
            let found = kinds.iter().find_map(|kind| {
                let lasting = matches!(kind, AllowAlways | RejectAlways);
                let mut fitting = options.iter().filter(|option| option.kind == *kind);
                fitting.find(|option| option.name.is_empty() || !lasting)
            });
            found.map_or(QuestionAnswer::Declined, |option| {
                QuestionAnswer::Chosen(option.id.clone())
            })
        };
        match self {
            Reply::Chosen(
                QuestionChoice::Once | QuestionChoice::Merge | QuestionChoice::Conversation,
            ) => of(&[AllowOnce]),
            Reply::Chosen(
                QuestionChoice::Session | QuestionChoice::Remember | QuestionChoice::Always,
            ) => of(&[AllowAlways, AllowOnce]),
            Reply::Chosen(
                QuestionChoice::No
                | QuestionChoice::NoBecause
                | QuestionChoice::Try
                | QuestionChoice::Edit
                | QuestionChoice::Diff
                | QuestionChoice::Theirs
                | QuestionChoice::Mine
                | QuestionChoice::Both
                | QuestionChoice::Cells
                | QuestionChoice::Details
                | QuestionChoice::Drop,
            ) => of(&[RejectOnce]),
            Reply::Chosen(QuestionChoice::Stop) => of(&[Stop, RejectOnce]),
            Reply::Chosen(QuestionChoice::Named(number)) => match options.get(*number) {
                Some(option) => QuestionAnswer::Chosen(option.id.clone()),
                None => QuestionAnswer::Declined,
            },
            Reply::NoBecause(why) => QuestionAnswer::RejectedWithReason(why.clone()),
            Reply::Filled(fields) => QuestionAnswer::Filled(fields.clone()),
            Reply::Declined => QuestionAnswer::Declined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, name: &str, kind: Decision) -> QuestionOption {
        QuestionOption {
            id: id.into(),
            name: name.into(),
            kind,
        }
    }

    /// Options as an agent may list them: the lasting one first, two of a kind.
    fn named() -> Vec<QuestionOption> {
        vec![
            option("all", "Always allow", Decision::AllowAlways),
            option("like", "Allow all like it", Decision::AllowAlways),
            option("one", "Allow", Decision::AllowOnce),
            option("no", "Reject", Decision::RejectOnce),
        ]
    }

    #[test]
    fn options_are_chosen_by_kind_and_named_ones_by_themselves() {
        let check = |options: &[QuestionOption], choice, expected: Option<&str>| {
            let expected = match expected {
                Some(id) => QuestionAnswer::Chosen(id.into()),
                None => QuestionAnswer::Declined,
            };
            assert_eq!(
                Reply::Chosen(choice).for_agent(options),
                expected,
                "{choice:?}"
            );
        };
        let own = named();
        check(&own, QuestionChoice::Once, Some("one"));
        // A grant for the session is kept by this session, not by the agent.
        check(&own, QuestionChoice::Session, Some("one"));
        check(&own, QuestionChoice::No, Some("no"));
        check(&own, QuestionChoice::Stop, Some("no"));
        check(&own, QuestionChoice::Named(1), Some("like"));
        check(&own, QuestionChoice::Named(9), None);
        check(&own[..2], QuestionChoice::Once, None);
        check(&own[..2], QuestionChoice::Session, None);
        check(&own[..3], QuestionChoice::No, None);
        let about = Subject::Command {
            command: "x".into(),
            cwd: "/".into(),
            reason: None,
        };
        let usual = about.default_options();
        check(&usual, QuestionChoice::Session, Some("allow_always"));
        check(&usual, QuestionChoice::Stop, Some("stop"));
    }

    #[test]
    fn every_option_is_a_choice() {
        let about = QuestionSubject::Agent(Subject::Command {
            command: "x".into(),
            cwd: "/".into(),
            reason: None,
        });
        let mut question = Question::usual(1, about);
        use QuestionChoice::{No, NoBecause, Once, Session, Stop};
        assert_eq!(question.choices(), [Once, Session, No, NoBecause, Stop]);
        (question.options, question.reasons) = (named(), false);
        let all: Vec<QuestionChoice> = (0..4).map(QuestionChoice::Named).collect();
        assert_eq!(question.choices(), all);
    }
}
