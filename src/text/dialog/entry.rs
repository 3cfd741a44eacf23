//! The entries of a session: its cells and its prompts.
//!
//! Values as the record has them; hidden entries and those before the reset are included, with their marks.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellEntry {
    /// The In number.
    pub line: u32,
    /// As typed.
    pub source: String,
    /// The output as plain text; `None` without any.
    pub output: Option<String>,
    /// Set for a command of the persistent shell.
    pub shell: Option<ShellEntry>,
    /// Its pictures that can be sent, as `data:` URLs.
    pub images: Vec<Arc<str>>,
    /// The number of its pictures that are too large to be sent.
    pub too_large: usize,
    /// The cell raised, or its interpreter died.
    pub failed: bool,
    /// The user hid it from the conversation.
    pub hidden: bool,
    /// The interpreter has stepped back over the cell: it is not part of the conversation, and a replay skips it.
    pub stepped_over: bool,
    /// In number of the prompt whose answer contains the cell as a tool's work, so that it is no context.
    pub in_answer_of: Option<u32>,
}

impl CellEntry {
    /// True when the cell is not part of the conversation.
    pub fn is_excluded(&self) -> bool {
        self.hidden || self.stepped_over
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellEntry {
    pub command: String,
    /// The form of a notebook cell.
    pub cell: String,
    /// The exit status, when the command ended by itself.
    pub exit: Option<i32>,
}

/// The references of a prompt, as they were sent before its context; they stay part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expansion {
    /// `<warnings>`, `<variable>`s, `<shell>`s; markup already.
    pub xml: String,
    /// Pictures among the values, as `data:` URLs.
    pub images: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptEntry {
    pub id: i64,
    /// The In number.
    pub line: u32,
    /// The last code line before it.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    pub expansion: Expansion,
    /// The stored answer; empty when the agent sent no text, or was interrupted before its first word.
    pub response: String,
    /// The turn ended by itself, as far as the record knows; an empty answer counts.
    pub complete: bool,
    /// The user hid it from the conversation.
    pub hidden: bool,
}

/// An earlier prompt and its answer, in the form for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastExchange {
    /// The In number of the prompt.
    pub line: u32,
    /// References, context and request.
    pub user: String,
    /// The stored answer, or its replacement; empty when the agent sent no text.
    pub assistant: String,
    /// Pictures sent with `user`, as `data:` URLs: those of references, then those of the context.
    pub images: Vec<Arc<str>>,
}
