//! Answers of an agent outside of turns: its models, the limits of the account, the sessions it keeps.

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
