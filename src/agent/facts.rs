//! Answers of an agent outside of turns: its models, the limits of the account, the sessions it keeps.

/// What can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// [`LookupReply::Models`].
    Models,
    /// [`LookupReply::Limits`].
    Limits,
    /// [`LookupReply::Sessions`].
    Sessions,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub enum LookupReply {
    /// The models offered, in the agent's order.
    Models(Vec<Model>),
    /// Limits of the account; empty when the agent tells none.
    Limits(Vec<Limit>),
    /// The conversations the agent keeps of this directory, in its order.
    Sessions(Vec<ListedSession>),
}

/// A conversation that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Names it.
    pub id: String,
    /// What the agent calls it; may be empty.
    pub title: String,
    /// When it went on last, in the agent's words; may be empty.
    pub updated: String,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What `model` takes.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    /// The efforts it offers, in the agent's words.
    pub efforts: Vec<String>,
    /// The effort it takes by itself; may be empty.
    pub default_effort: String,
    /// Chosen when no model is.
    pub is_default: bool,
}

/// How much of an allowance is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// `5 h`, `7 d`, … or a name of the agent's.
    pub window: String,
    /// Of 100.
    pub used_percent: f64,
    /// When it begins anew, in seconds since 1970 UTC.
    pub resets_at: Option<i64>,
}
