//! What an agent asks of the user in the middle of a turn, and the answers.
//!
//! Text in questions is the agent's: foreign, to be shown escaped and whole. Every question is answered exactly once,
//! or its turn ends first.

use super::FileChange;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The agent's id of it.
    pub id: String,
    /// What it is about.
    pub subject: Subject,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// May this command run? Answer: [`Answer::Decided`].
    Command {
        /// As the agent will run it.
        command: String,
        /// The directory it runs in.
        cwd: String,
        /// The agent's reason. A command that comes with one may run outside the sandbox: agents ask for that so, and do not
        /// say it otherwise.
        reason: Option<String>,
    },
    /// May this be typed into a program that runs? Answer: [`Answer::Decided`].
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
    /// May these files be changed? Answer: [`Answer::Decided`].
    Edit {
        /// Each change, whole.
        changes: Vec<FileChange>,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// May more than the sandbox allows be touched? Answer: [`Answer::Decided`].
    Permissions {
        /// One line each: `network`, `write /p`, `read /q`.
        wanted: Vec<String>,
        /// The directory it is about.
        cwd: String,
        /// The agent's reason.
        reason: Option<String>,
    },
    /// Questions of the model, or of an MCP server. Answer: [`Answer::Filled`] or [`Answer::Declined`].
    Form {
        /// Who asks: empty for the model, else the name of the MCP server.
        server: String,
        /// What stands above the fields; may be empty.
        message: String,
        /// At least one.
        fields: Vec<Field>,
    },
    /// An MCP server wants a page to be opened. Answer: [`Answer::Decided`].
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
pub struct Field {
    /// Names it in the answer.
    pub id: String,
    /// A few words; may be empty.
    pub header: String,
    /// The question.
    pub question: String,
    /// Values to choose from and what each means; empty: free text.
    pub options: Vec<(String, String)>,
    /// Free text is taken beside the options.
    pub free: bool,
    /// More than one option may be chosen.
    pub several: bool,
    /// What is typed is not shown.
    pub secret: bool,
    /// May be left empty.
    pub optional: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To yes-or-no questions.
    Decided(Decision),
    /// To yes-or-no questions: no, the turn goes on, and the agent is told this.
    NoBecause(String),
    /// To a form: the id of each field and what was given for it.
    Filled(Vec<(String, Vec<String>)>),
    /// To a form: the user does not answer.
    Declined,
}

/// The four answers to "may I?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this time.
    Once,
    /// Yes, and like things for the rest of the session.
    Session,
    /// No; the turn goes on.
    No,
    /// No, and the turn stops.
    Stop,
}
