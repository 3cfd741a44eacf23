//! Requests beside turns: look-ups, completions, questions of code; and the table of those without an answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::failure::AgentFailure;
use super::settings::Effort;
use super::turn::Usage;

/// Requests without an answer, by key. Each waits until the process is ready, is sent once, and ends once.
#[derive(Debug)]
pub(super) struct Beside<T> {
    pub(super) open: BTreeMap<u64, T>,
    /// Key of the last one added.
    added: u64,
    /// Key of the last one sent.
    sent: u64,
}

impl<T> Default for Beside<T> {
    fn default() -> Self {
        Beside {
            open: BTreeMap::new(),
            added: 0,
            sent: 0,
        }
    }
}

impl<T> Beside<T> {
    pub(super) fn add(&mut self, request: T) {
        self.added += 1;
        self.open.insert(self.added, request);
    }

    /// Keys of the requests that are to be sent; they count as sent from now on.
    pub(super) fn unsent(&mut self) -> std::ops::RangeInclusive<u64> {
        std::mem::replace(&mut self.sent, self.added) + 1..=self.added
    }

    /// Removes all requests, when the process is gone.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.open).into_values()
    }
}

/// A query that an agent answers outside of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// [`LookupReply::Models`].
    Models,
    /// [`LookupReply::Limits`].
    Limits,
    /// [`LookupReply::Sessions`].
    Sessions,
}

/// The answer to a [`Lookup`].
#[derive(Debug, Clone, PartialEq)]
pub enum LookupReply {
    /// The models offered, in the agent's order.
    Models(Vec<Model>),
    /// Limits of the account; empty when the agent reports none.
    Limits(Vec<Limit>),
    /// The conversations that the agent keeps for this directory, in its order.
    Sessions(Vec<ListedSession>),
}

/// A conversation that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// The agent's id of the conversation.
    pub id: String,
    /// The agent's title; may be empty.
    pub title: String,
    /// Time of the last change, as the agent writes it; may be empty.
    pub updated: String,
}

/// A model offered by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Name to use as the `model` setting.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    /// Reasoning efforts offered, in the agent's words.
    pub efforts: Vec<String>,
    /// The effort used when none is set; may be empty.
    pub default_effort: String,
    /// True for the model used when none is set.
    pub is_default: bool,
}

/// How much of an allowance is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Length of the window, `5 h`, `7 d`, …, or a name of the agent's.
    pub window: String,
    /// Percentage, 0 to 100.
    pub used_percent: f64,
    /// Start of the next window, in seconds since 1970 UTC.
    pub resets_at: Option<i64>,
}

/// The model's text, unchanged, or the failure.
pub type SuggestReply = Result<String, AgentFailure>;

/// Everything one completion needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestRequest {
    /// System prompt of completions.
    pub instructions: String,
    /// Context, the text around the cursor, and the task.
    pub input: String,
    /// Name of the model; `None`: the agent's default.
    pub model: Option<String>,
    /// Directory of the session.
    pub cwd: PathBuf,
}

/// A question that is answered without the conversation and without tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsultRequest {
    /// The question, in the form of a completion request.
    pub question: SuggestRequest,
    /// Reasoning effort.
    pub effort: Effort,
    /// JSON schema that the answer must fit.
    pub schema: Option<Value>,
}

/// The answer, or the failure.
pub type ConsultReply = Result<ConsultAnswer, AgentFailure>;

/// An answer beside the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsultAnswer {
    /// The model's last message.
    pub text: String,
    /// Tokens used, if the agent reports them.
    pub usage: Option<Usage>,
}
