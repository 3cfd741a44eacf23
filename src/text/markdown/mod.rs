//! Streamed markdown: deltas in, settled lines and a live tail out.
//!
//! In: model text, untrusted, cut anywhere. Out: [`Line`]s that a front-end prints. Invariants: no control character
//! of the text is returned; a settled line is final; the same text gives the same lines however it was cut; only the
//! last block is kept and parsed again. Dialect: CommonMark 0.31 with GitHub's tables, strikethrough, task boxes and
//! footnotes. Absent on purpose: IO, terminals, ticks (`screen::live` draws the lines).
//!
//! `source` cleans, `depth` bounds, `blocks` and `inline` parse, `settle` decides what is final, `wrap`, `table` and
//! `layout` make rows, `math` reads formulas, `code` and `theme` colour them, `fence` and `stream` carry state from
//! frame to frame; `web` renders code for exported pages.

mod background;
mod blocks;
mod code;
mod depth;
mod fence;
pub mod fences;
mod inline;
mod layout;

mod math;
mod settle;
mod source;
mod stream;
mod table;
mod theme;
mod web;
mod wrap;

#[cfg(test)]
mod tests;

pub use background::Background;
pub use code::warm_up;
pub use code::{CodeHighlighter, CodePainter, CodeState};

pub use stream::{MarkdownFrame, MarkdownStream};
pub use theme::{Appearance, Theme, UnknownTheme};
pub use web::code_to_html;

use crate::Line;

/// Renders a whole text at once, by the same code path as a stream.
pub fn render(text: &str, width: usize, appearance: &Appearance) -> Vec<Line> {
    let mut stream = MarkdownStream::new(*appearance);
    stream.push(text);
    stream.finish();
    stream.frame(width, usize::MAX).settled
}
