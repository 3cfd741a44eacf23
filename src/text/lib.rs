//! Text for terminals and models, without a terminal, a session or a file.
//!
//! Positions, display widths, rows and styled lines; untrusted text made safe ([`escape`]); what a typed text is
//! ([`input`]); markdown, also while it streams ([`markdown`]); MIME bundles, terminal bytes and tracebacks
//! ([`output`]); entries of a conversation and the context made of them ([`dialog`]); the error that a user sees
//! ([`report`]). Pure; the lowest layer.

/// Most levels of nesting (quotes, groups, brackets) that parsers of untrusted input follow; deeper content is kept
/// whole as text.
pub const NESTING: usize = 100;

mod aligned;
mod amounts;
pub mod dialog;
pub mod escape;
mod hanging;
pub mod input;
pub mod json;
mod line;
pub mod markdown;
pub mod needle;
pub mod offset;
mod one_line;
pub mod output;
mod palette;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
pub mod report;
pub mod similar;
pub mod trace;
mod width;
mod wrap;

pub use aligned::aligned;
pub use amounts::{age_in_words, bytes_in_words, counted};
pub use escape::{xml_attribute, xml_text};
pub use hanging::{hanging, indented};
pub use json::parse as parse_json;
pub use line::{Line, Span};
pub use one_line::{first_line, joined_words};
pub use palette::{MARKED, NOTICED};
pub use width::{
    certain_columns, character_columns, clusters, columns, cut, cut_characters, cut_front,
    cut_with, expand_tabs, is_plain_ascii, last_word, split_at_columns,
};
pub use wrap::{Break, Room, rows, rows_of_runs, styled_rows};
