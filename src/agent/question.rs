//! Questions of an agent to the user in the middle of a turn, and the answers.
//!
//! Text in questions is foreign: it is shown escaped and whole. Every question is answered exactly once, or its turn
//! ends first.

use super::activity::FileChange;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuestion {
    /// The agent's id of it.
    pub id: String,
    /// What it is about.
    pub subject: Subject,
    /// The ways to answer "may I?", in the order to offer them; empty for a form.
    pub options: Vec<QuestionOption>,
    /// A no may come with its reason.
    pub accepts_reason: bool,
}

/// One way to answer "may I?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionOption {
    /// Names it in the answer.
    pub id: String,
    /// In the agent's words; empty: the usual ones for its kind.
    pub name: String,
    /// What it comes to. Several may be of one kind.
    pub kind: Decision,
}

impl AgentQuestion {
    /// A question with the usual ways to answer.
    pub fn with_default_options(id: impl Into<String>, subject: Subject) -> Self {
        let options = subject.default_options();
        AgentQuestion {
            id: id.into(),
            accepts_reason: options.iter().any(|option| option.kind == Decision::Stop),
            subject,
            options,
        }
    }
}

impl Subject {
    /// The usual ways to answer.
    pub fn default_options(&self) -> Vec<QuestionOption> {
        let kinds: &[Decision] = match self {
            Subject::Form { .. } => &[],
            Subject::Link { .. } => &[Decision::AllowOnce, Decision::RejectOnce],
            _ => &[
                Decision::AllowOnce,
                Decision::AllowAlways,
                Decision::RejectOnce,
                Decision::Stop,
            ],
        };
        let options = kinds.iter().map(|kind| QuestionOption {
            id: kind.id().to_owned(),
            name: String::new(),
            kind: *kind,
        });
        options.collect()
    }
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// May this command run? Answer: one of the options.
    Command {
        /// As the agent will run it.
        command: String,
        /// The directory it runs in.
        cwd: String,
        /// The agent's reason. A command that comes with one may run outside the sandbox: agents ask for that so, and
        /// do not say it otherwise.
        reason: Option<String>,
    },
    /// May this be typed into a program that runs? Answer: one of the options.
    Input {
        /// Which program, for as long as it runs.
        program: String,
        /// The text, in the agent's words.
        text: String,
        /// The directory the program was started in.
        cwd: String,
        /// Why that is asked.
        reason: Option<String>,
    },
    /// May these files be changed? Answer: one of the options.
    Edit {
        /// Each change, whole.
        changes: Vec<FileChange>,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// May more than the sandbox allows be touched? Answer: one of the options.
    Permissions {
        /// One line each: `network`, `write /p`, `read /q`.
        requested: Vec<String>,
        /// The directory it is about.
        cwd: String,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// Questions of the model, or of an MCP server. Answer: [`QuestionAnswer::Filled`] or [`QuestionAnswer::Declined`].
    Form {
        /// Who asks: empty for the model, else the name of the MCP server.
        server: String,
        /// What stands above the fields; may be empty.
        message: String,
        /// At least one.
        fields: Vec<FormField>,
    },
    /// An MCP server wants a page to be opened. Answer: one of the options.
    Link {
        /// Name of the server.
        server: String,
        /// Why.
        message: String,
        /// Where.
        url: String,
    },
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormField {
    /// Names it in the answer.
    pub id: String,
    /// A few words; may be empty.
    pub header: String,
    /// The question.
    pub question: String,
    /// Values to choose from and what each means; empty: free text.
    pub options: Vec<(String, String)>,
    /// Free text is taken beside the options.
    pub free_text: bool,
    /// More than one option may be chosen.
    pub multiple: bool,
    /// What is typed is not shown.
    pub secret: bool,
    /// May be left empty.
    pub optional: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// To yes-or-no questions: the id of one of the options.
    Chosen(String),
    /// To yes-or-no questions that take it: no, the turn goes on, and the agent is told this.
    RejectedWithReason(String),
    /// To a form: the id of each field and what was given for it.
    Filled(Vec<(String, Vec<String>)>),
    /// Nothing was chosen, or filled in: no.
    Declined,
}

impl QuestionAnswer {
    /// The usual option of this kind.
    pub fn from_decision(kind: Decision) -> Self {
        QuestionAnswer::Chosen(kind.id().to_owned())
    }

    /// What it comes to, where the options were the usual ones.
    pub fn decision(&self) -> Option<Decision> {
        let QuestionAnswer::Chosen(id) = self else {
            return None;
        };
        Decision::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// What an answer to "may I?" comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and like things from now on.
    AllowAlways,
    /// No; the turn goes on.
    RejectOnce,
    /// No, and like things are not asked about any more.
    RejectAlways,
    /// No, and the turn stops.
    Stop,
}

impl Decision {
    const ALL: [Decision; 5] = [
        Decision::AllowOnce,
        Decision::AllowAlways,
        Decision::RejectOnce,
        Decision::RejectAlways,
        Decision::Stop,
    ];

    /// Names the usual option of this kind.
    fn id(self) -> &'static str {
        match self {
            Decision::AllowOnce => "allow_once",
            Decision::AllowAlways => "allow_always",
            Decision::RejectOnce => "reject_once",
            Decision::RejectAlways => "reject_always",
            Decision::Stop => "stop",
        }
    }

    /// Something is allowed.
    pub fn allows(self) -> bool {
        matches!(self, Decision::AllowOnce | Decision::AllowAlways)
    }
}
