//! Text for terminals and models, without a terminal, a session or a file.
//!
//! Positions, display widths, rows and styled lines; untrusted text made safe ([`escape`]); what a typed text is
//! ([`input`]); markdown, also while it streams ([`markdown`]); MIME bundles, terminal bytes and tracebacks
//! ([`output`]); entries of a conversation and the context made of them ([`dialog`]); the error that a user sees
//! ([`report`]). Pure; the lowest layer.

/// Most levels of nesting (quotes, groups, brackets) that parsers of untrusted input follow; deeper content is kept
/// whole as text.
pub const NESTING: usize = 100;

#[cfg(doctest)]
#[doc = include_str!("README.md")]
pub struct Readme;

pub mod dialog;
pub mod escape;
pub mod input;
pub mod json;
mod line;
pub mod markdown;
mod message;
pub mod needle;
pub mod offset;
pub mod output;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
pub mod report;
pub mod similar;
pub mod trace;
mod width;
mod wrap;

pub use escape::{xml_attribute, xml_text};
pub use json::parse as parse_json;
pub use line::{Line, MARKED, NOTICED, Span};
pub use message::{
    age_in_words, aligned, bytes_in_words, counted, first_line, hanging, indented, joined_words,
};
pub use width::{
    certain_columns, character_columns, clusters, columns, cut, cut_characters, cut_front,
    cut_with, expand_tabs, is_plain_ascii, last_word, split_at_columns,
};
pub use wrap::{Break, Room, rows, rows_of_runs, styled_rows};
