//! Text without any meaning of its own: positions, display width, rows, styled lines, untrusted text made safe; the
//! error that a user sees, and the names of what is traced.
//!
//! Pure; the lowest layer. Absent on purpose: markdown, and output of cells.

/// Most levels of nesting (quotes, groups, brackets) that parsers of untrusted input follow; deeper content is kept
/// whole as text.
pub const NESTING: usize = 100;

mod aligned;
mod amounts;
pub mod escape;
mod hanging;
pub mod json;
mod line;
pub mod needle;
pub mod offset;
mod one_line;
mod palette;
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
