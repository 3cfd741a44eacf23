//! Text as such: positions, display width, frontmatter, foreign text made safe.

pub mod escape;
pub mod frontmatter;
pub mod needle;
pub mod offset;
pub mod similar;
pub mod width;

pub use escape::xml_text;
pub use width::{clusters, columns, is_plain_ascii, split_at_columns};
