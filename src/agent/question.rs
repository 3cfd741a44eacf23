//! Questions of an agent to the user during a turn, and the answers.
//!
//! Text in questions is foreign: it is shown escaped and whole. Every question is answered exactly once, or its
//! turn ends first.

use super::activity::FileChange;

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuestion {
    /// The agent's id of the question.
    pub id: String,
    /// The content of the question.
    pub subject: Subject,
    /// The possible answers to an approval, in the order to offer them; empty for a form.
    pub options: Vec<QuestionOption>,
    /// A rejection may carry the user's reason.
    pub accepts_reason: bool,
    /// The agent only wants to read: the user is asked in plan mode, too.
    pub reads: bool,
}

/// A possible answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionOption {
    /// The agent's id of the option.
    pub id: String,
    /// Label in the agent's words; empty: the usual label of its kind.
    pub name: String,
    /// The decision behind the option. Several options may be of one kind.
    pub kind: Decision,
}

impl AgentQuestion {
    /// A question with the usual options.
    pub fn with_default_options(id: impl Into<String>, subject: Subject) -> Self {
        let options = subject.default_options();
        AgentQuestion {
            id: id.into(),
            accepts_reason: options.iter().any(|option| option.kind == Decision::Stop),
            subject,
            options,
            reads: false,
        }
    }
}

impl Subject {
    /// The usual options for this subject.
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

/// The content of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Approval of a command. Answer: one of the options.
    Command {
        /// The command line as the agent will run it.
        command: String,
        /// The directory the command runs in.
        cwd: String,
        /// The agent's reason. A command with a reason may run outside the sandbox: agents request that by giving
        /// one, and do not announce it otherwise. One without may do so, too, unless
        /// [`AgentCapabilities::confines_allowed_commands`](super::AgentCapabilities) is set.
        reason: Option<String>,
    },
    /// Approval of input for a running program. Answer: one of the options.
    Input {
        /// The program; an approval holds as long as it runs.
        program: String,
        /// The input, in the agent's words.
        text: String,
        /// The directory the program was started in.
        cwd: String,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// Approval of changes of files. Answer: one of the options.
    Edit {
        /// The complete changes.
        changes: Vec<FileChange>,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// Approval of access beyond the sandbox. Answer: one of the options.
    Permissions {
        /// One line per permission: `network`, `write /p`, `read /q`.
        requested: Vec<String>,
        /// The directory that the permissions are relative to.
        cwd: String,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// Questions of the model, or of an MCP server. Answer: [`QuestionAnswer::Filled`] or
    /// [`QuestionAnswer::Declined`].
    Form {
        /// Name of the MCP server that asks; empty for the model.
        server: String,
        /// Text above the fields; may be empty.
        message: String,
        /// The fields, at least one.
        fields: Vec<FormField>,
    },
    /// An MCP server asks to open a page. Answer: one of the options.
    Link {
        /// Name of the server.
        server: String,
        /// The server's reason.
        message: String,
        /// Address of the page.
        url: String,
    },
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormField {
    /// Id of the field, used in the answer.
    pub id: String,
    /// Short heading; may be empty.
    pub header: String,
    /// The question.
    pub question: String,
    /// Values to choose from, each with its description; empty: free text.
    pub options: Vec<(String, String)>,
    /// Free text is accepted beside the options.
    pub free_text: bool,
    /// More than one option may be chosen.
    pub multiple: bool,
    /// The input is not echoed.
    pub secret: bool,
    /// The field may be left empty.
    pub optional: bool,
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// Answer to an approval: the id of the option.
    Chosen(String),
    /// Answer to an approval that accepts a reason: a rejection after which the turn goes on, with the reason for
    /// the agent.
    RejectedWithReason(String),
    /// Answer to a form: the values of each field, by its id.
    Filled(Vec<(String, Vec<String>)>),
    /// No option was chosen and no form was filled in: a rejection.
    Declined,
}

impl QuestionAnswer {
    /// The usual option of this kind.
    pub fn from_decision(kind: Decision) -> Self {
        QuestionAnswer::Chosen(kind.id().to_owned())
    }

    /// The decision of an answer to a question with the usual options.
    pub fn decision(&self) -> Option<Decision> {
        let QuestionAnswer::Chosen(id) = self else {
            return None;
        };
        Decision::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// A decision about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, once.
    AllowOnce,
    /// Yes, and without asking for similar requests from now on.
    AllowAlways,
    /// No; the turn goes on.
    RejectOnce,
    /// No, and without asking for similar requests from now on.
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

    /// Id of the usual option of this kind.
    fn id(self) -> &'static str {
        match self {
            Decision::AllowOnce => "allow_once",
            Decision::AllowAlways => "allow_always",
            Decision::RejectOnce => "reject_once",
            Decision::RejectAlways => "reject_always",
            Decision::Stop => "stop",
        }
    }

    /// True for the two decisions that allow.
    pub fn allows(self) -> bool {
        matches!(self, Decision::AllowOnce | Decision::AllowAlways)
    }
}
