//! What the user is asked while a prompt is worked off, and what can be answered.
//!
//! Pure values. Text in them is foreign (a model's, a skill's, an MCP server's): front-ends show it escaped, whole and
//! without markup. Every question is answered once or said to be over.

use crate::agent::{Decision, QuestionAnswer, Subject};

/// One question, open until it is answered or over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// To be named in the answer.
    pub id: u64,
    /// What it is about.
    pub about: About,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The agent asks.
    Agent(Subject),
    /// The agent wants to run cells in the live interpreter.
    Cells(Vec<ProposedCell>),
    /// The agent wants to look at the namespace where nothing keeps its code from changing files.
    Unprotected {
        /// The code.
        code: String,
        /// Why there is no protection.
        why: String,
    },
    /// A skill that comes with the project wants to be read.
    ProjectSkill {
        /// Its name.
        skill: String,
        /// Its `SKILL.md`.
        path: String,
        /// The project's directory.
        project: String,
    },
    /// A skill that is being loaded holds code to be run.
    SkillCode {
        /// Its name.
        skill: String,
        /// Its `SKILL.md`.
        path: String,
        /// The blocks, in order.
        blocks: Vec<String>,
    },
}

/// A cell the agent wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCell {
    /// Python.
    pub code: String,
    /// What it is for, in the agent's words; may be empty.
    pub title: String,
    /// The interpreter is started anew before it: all variables go.
    pub reset: bool,
}

/// One way to answer "may I?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Yes, this time.
    Once,
    /// Yes, and like things for the rest of the session.
    Session,
    /// Yes, and it is remembered on this machine.
    Remember,
    /// No; the turn goes on.
    No,
    /// No, and the agent is told why; comes as [`Reply::NoBecause`].
    NoBecause,
    /// No, and the turn stops.
    Stop,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// One of [`About::choices`].
    Chosen(Choice),
    /// No, and the agent is told this.
    NoBecause(String),
    /// To a form: the id of each field and what was given for it.
    Filled(Vec<(String, Vec<String>)>),
    /// To a form: no answer.
    Declined,
}

impl About {
    /// The ways to answer, in the order to offer them; none for a form.
    pub fn choices(&self) -> &'static [Choice] {
        match self {
            About::Agent(Subject::Form { .. }) => &[],
            About::Agent(Subject::Link { .. }) => &[Choice::Once, Choice::No],
            About::Agent(_) => &[
                Choice::Once,
                Choice::Session,
                Choice::No,
                Choice::NoBecause,
                Choice::Stop,
            ],
            About::Cells(_) | About::Unprotected { .. } => {
                &[Choice::Once, Choice::Session, Choice::No, Choice::NoBecause]
            }
            About::ProjectSkill { .. } => &[
                Choice::Once,
                Choice::Remember,
                Choice::No,
                Choice::NoBecause,
            ],
            About::SkillCode { .. } => &[Choice::Remember, Choice::No, Choice::NoBecause],
        }
    }
}

impl Reply {
    /// The reason of a no, as a model is told it behind what did not happen; empty when none was given.
    pub(super) fn reason(&self) -> String {
        match self {
            Reply::NoBecause(why) => format!(". The user's reason: {why}"),
            _ => String::new(),
        }
    }

    /// The answer as the agent's contract has it.
    pub(super) fn for_agent(&self) -> QuestionAnswer {
        match self {
            Reply::Chosen(Choice::Once) => QuestionAnswer::Decided(Decision::Once),
            Reply::Chosen(Choice::Session | Choice::Remember) => {
                QuestionAnswer::Decided(Decision::Session)
            }
            Reply::Chosen(Choice::No | Choice::NoBecause) => QuestionAnswer::Decided(Decision::No),
            Reply::NoBecause(why) => QuestionAnswer::NoBecause(why.clone()),
            Reply::Chosen(Choice::Stop) => QuestionAnswer::Decided(Decision::Stop),
            Reply::Filled(fields) => QuestionAnswer::Filled(fields.clone()),
            Reply::Declined => QuestionAnswer::Declined,
        }
    }
}
