//! What a session holds: its cells and its prompts.
//!
//! Values as the record has them; what is hidden or lies before the reset is still there, marked.

use std::sync::Arc;

/// A recorded cell and what it showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellEntry {
    /// Its In number.
    pub line: u32,
    /// As typed.
    pub source: String,
    /// What it showed, as plain text; `None` when nothing.
    pub output: Option<String>,
    /// It is a command of the persistent shell, and no cell.
    pub shell: Option<ShellEntry>,
    /// Pictures it showed, as `data:` URLs, those that can be sent.
    pub images: Vec<Arc<str>>,
    /// How many more it showed that are too large to be sent.
    pub too_large: usize,
    /// It raised, or its interpreter died.
    pub failed: bool,
    /// Taken out of the conversation by the user.
    pub hidden: bool,
    /// The interpreter has stepped back over it: it is out of the conversation, and nothing runs it again by itself.
    pub stepped_over: bool,
    /// In number of the prompt whose answer holds it as a tool's work: told there, it is no context.
    pub in_answer_of: Option<u32>,
}

impl CellEntry {
    /// It is out of the conversation.
    pub fn is_excluded(&self) -> bool {
        self.hidden || self.stepped_over
    }
}

/// A command of the persistent shell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellEntry {
    /// As typed.
    pub command: String,
    /// As a notebook has it.
    pub cell: String,
    /// The status it ended with, when it ended by itself.
    pub exit: Option<i32>,
}

/// What a prompt refers to, as it was sent before the context: part of the exchange for good.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expansion {
    /// `<warnings>`, `<variable>`s, `<shell>`s; markup already.
    pub xml: String,
    /// Pictures among the values, as `data:` URLs.
    pub images: Vec<Arc<str>>,
}

/// A recorded prompt and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptEntry {
    /// Its row.
    pub id: i64,
    /// Its own In number.
    pub line: u32,
    /// The last code line before it.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// What it referred to.
    pub expansion: Expansion,
    /// The stored answer; empty when the agent said nothing, or was interrupted before its first word.
    pub response: String,
    /// The turn ended by itself, as far as the record knows: an empty answer is one.
    pub complete: bool,
    /// The exchange was taken out of the conversation by the user.
    pub hidden: bool,
}

/// An exchange of the conversation as the model is to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastExchange {
    /// The prompt's In number.
    pub line: u32,
    /// What was referred to, context and request.
    pub user: String,
    /// The stored answer, or what is told in its place; empty when the agent said nothing.
    pub assistant: String,
    /// Pictures that went with `user`, as `data:` URLs: those referred to, then those of the context.
    pub images: Vec<Arc<str>>,
}
