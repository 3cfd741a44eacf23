//! What a prompt is, whatever becomes of it: what was typed and given, what it stands in place of.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::preview::Preview;
use crate::agent::InputPart;
use crate::dialog::Expansion;

/// What is asked.
pub(super) struct Asked {
    /// `n` of `In [n]`.
    pub(super) line: u32,
    /// As typed, without the dot.
    pub(super) text: String,
    /// Files and other context given with the prompt, before it.
    pub(super) attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub(super) schema: Option<serde_json::Value>,
    /// Nothing in it is looked at; these functions are offered for it. `None`: it was typed.
    pub(super) verbatim: Option<Vec<String>>,
    /// What it refers to, evaluated once; sent before the context and recorded with the prompt.
    pub(super) expansion: Expansion,
    /// In numbers that leave the conversation for it; in the record once its turn has not failed.
    pub(super) replaces: Option<RangeInclusive<u32>>,
    /// It is not sent: what would be sent is told.
    pub(super) preview: Option<Preview>,
}

impl Asked {
    /// The text whose references count.
    pub(super) fn referring(&self) -> Cow<'_, str> {
        match &self.verbatim {
            None => Cow::Borrowed(&self.text),
            Some(tools) => tools.iter().map(|name| format!("&`{name}` ")).collect(),
        }
    }
}
