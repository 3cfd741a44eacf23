//! The conversation as values: entries, the context XML that the model reads, an answer while it grows,
//! and its stored form.
//!
//! In: the record's entries ([`Dialog`]) and an agent's events. Out: text, byte for byte as the contract specifies.
//! Absent on purpose: SQL, agents, the terminal, and caches, since the record is the one truth.

mod answer;
mod blocks;
mod context;
mod entry;
mod plan;
mod python;

pub use answer::{
    AnswerBuilder, AnswerPart, CommandRecord, DENIED, ToolRecord, WorkRecord, answer_parts,
    call_line, command_line, denied_line, display_form, interrupted, tool_line, tool_records,
};
pub use blocks::{AnswerBlock, AnswerBlocks};
pub use context::{
    Dialog, INTERRUPTED, conversation_history, file_entry, last_error, shell, user_entry, variable,
    warnings,
};
pub use entry::{CellEntry, Expansion, PastExchange, PromptEntry, ShellEntry};
pub use plan::plan_steps;
