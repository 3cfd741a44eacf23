//! What a session holds: its cells and its prompts.

/// A recorded cell and what it showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellEntry {
    /// Its In number.
    pub line: u32,
    /// As typed.
    pub source: String,
    /// What it showed, as plain text; `None` when nothing.
    pub output: Option<String>,
    /// Pictures it showed, as `data:` URLs, those that can be sent.
    pub images: Vec<String>,
    /// It raised, or its interpreter died.
    pub failed: bool,
    /// Taken out of the conversation by the user.
    pub hidden: bool,
    /// In number of the prompt whose answer holds it as a tool's work: told there, it is no context.
    pub told: Option<u32>,
}

/// What a prompt refers to, as it was sent before the context: part of the exchange for good.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expansion {
    /// `<warnings>`, `<variable>`s, `<shell>`s; markup already.
    pub xml: String,
    /// Pictures among the values, as `data:` URLs.
    pub images: Vec<String>,
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
    /// The stored answer; empty when it was interrupted before its first word.
    pub response: String,
    /// The exchange was taken out of the conversation by the user.
    pub hidden: bool,
}

/// One session. `cells` ascend by line, `prompts` by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialog {
    /// Every recorded input, those that are prompts or commands too (they are skipped when building).
    pub cells: Vec<CellEntry>,
    /// Finished exchanges.
    pub prompts: Vec<PromptEntry>,
    /// Cells up to this line are no longer part of the conversation.
    pub reset_line: u32,
}
