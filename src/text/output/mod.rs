//! Outputs of cells: MIME bundles, terminal bytes made safe or plain, tracebacks, sizes that a model gets.
//!
//! Bytes and JSON in, text out; pure. Absent on purpose: terminals and files.

pub mod filter;
mod html;
mod json_tree;
mod latex;
pub mod limits;
mod marker;
pub mod mime;
pub mod parts;
mod picture;
pub mod sequence;
pub mod shown;
pub mod traceback;
pub mod transcript;

pub(crate) use latex::in_characters;
pub use limits::{MODEL_CHARACTERS, Rest, cell_id, shorten, shorten_naming};
pub use mime::MimeBundle;
pub use picture::picture_type;
pub use shown::{CellOutput, STDERR, STDOUT};
pub use traceback::CellError;
pub use transcript::Transcript;
