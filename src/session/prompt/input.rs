//! The content of a prompt: typed text, attachments, options, and what its references evaluated to.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::preview::Preview;
use crate::agent::InputPart;
use crate::attachments::Attachments;
use crate::dialog::Expansion;
use crate::events::Notice;
use crate::output::limits::exceeds;
use crate::outputs::{OutputKind, Outputs};

/// Longest file that is sent whole, in code points; of a longer one the beginning and the end are sent.
const WHOLE_FILE: usize = 100_000;

pub(super) struct PromptInput {
    pub(super) line: u32,
    /// As typed, without the dot.
    pub(super) text: String,
    pub(super) attached: Vec<InputPart>,
    pub(super) schema: Option<serde_json::Value>,
    /// The functions to offer for a prompt whose references are not evaluated; `None` for a typed prompt.
    pub(super) verbatim: Option<Vec<String>>,
    /// The evaluated references; sent before the context and recorded with the prompt.
    pub(super) expansion: Expansion,
    /// In numbers that the prompt replaces; removed from the conversation only when its turn has not failed.
    pub(super) replaces: Option<RangeInclusive<u32>>,
    /// Show this preview instead of sending.
    pub(super) preview: Option<Preview>,
    pub(super) pictures: PromptPictures,
}

/// The state of the prompt's own pictures, as opposed to those in outputs of earlier cells.
#[derive(Debug, Default)]
pub(super) struct PromptPictures {
    /// Why pictures are not sent, a line each.
    pub(super) not_sent: Vec<String>,
    /// The references also have values that are not pictures.
    pub(super) has_other_values: bool,
    /// The user has been asked whether to send the prompt without its pictures.
    pub(super) omission_confirmed: bool,
}

impl PromptInput {
    /// Attaches the files that the prompt names, shortened where too long for the model; returns notices for the user.
    pub(super) fn attach(&mut self, attached: Attachments, outputs: &Outputs) -> Vec<Notice> {
        let mut notices = attached.notices;
        self.pictures.not_sent.extend(attached.lost);
        for mut part in attached.parts {
            if let InputPart::File { path, text } = &mut part
                && exceeds(text, WHOLE_FILE)
            {
                notices.push(Notice::note(format!(
                    "`{path}` is long: the agent gets its beginning and its end, and can read the rest"
                )));
                *text = outputs.cut(OutputKind::File, self.line, text);
            }
            self.attached.push(part);
        }
        notices
    }

    /// Puts the attachments before the evaluated references, as recorded and as sent. Returns what is sent: the text,
    /// and the files that are sent as files (`whole`).
    pub(super) fn take_attached(&mut self, whole: bool) -> (String, Vec<InputPart>) {
        let (mut sent, mut recorded) = (String::new(), String::new());
        let (mut files, mut images) = (Vec::new(), Vec::new());
        for part in std::mem::take(&mut self.attached) {
            let text = match part.clone().without_file() {
                InputPart::Image(url) => {
                    images.push(url.into());
                    continue;
                }
                InputPart::Text(text) | InputPart::File { text, .. } => text,
            };
            recorded.push_str(&text);
            match part {
                InputPart::File { .. } if whole => files.push(part),
                _ => sent.push_str(&text),
            }
        }
        sent.push_str(&self.expansion.xml);
        self.expansion.xml.insert_str(0, &recorded);
        self.expansion.images.splice(0..0, images);
        (sent, files)
    }

    pub(super) fn picture_count(&self) -> usize {
        let attached = self.attached.iter();
        let attached = attached.filter(|part| matches!(part, InputPart::Image(_)));
        attached.count() + self.expansion.images.len()
    }

    /// The reasons why none of the prompt's pictures is sent, if they are all it has and the user has not been asked
    /// yet. `no_images`: why the agent takes no pictures.
    pub(super) fn only_lost_pictures(&self, no_images: Option<String>) -> Option<Vec<String>> {
        let own = self.picture_count();
        let mut lost = self.pictures.not_sent.clone();
        match no_images {
            Some(why) if own > 0 => lost.push(why),
            _ if own > 0 => return None,
            _ => {}
        }
        // The text part before a picture holds its name.
        let names = |at: usize, text: &str| {
            text.starts_with("<file ")
                && matches!(self.attached.get(at + 1), Some(InputPart::Image(_)))
        };
        let more = self
            .attached
            .iter()
            .enumerate()
            .any(|(at, part)| match part {
                InputPart::Image(_) => false,
                InputPart::Text(text) => !names(at, text),
                InputPart::File { .. } => true,
            });
        let settled = self.pictures.omission_confirmed || self.preview.is_some();
        let waits = !lost.is_empty() && !more && !self.pictures.has_other_values && !settled;
        waits.then_some(lost)
    }

    /// The text whose references are evaluated: as typed, or a mention of each function to offer.
    pub(super) fn reference_text(&self) -> Cow<'_, str> {
        match &self.verbatim {
            None => Cow::Borrowed(&self.text),
            Some(tools) => tools.iter().map(|name| format!("&`{name}` ")).collect(),
        }
    }
}
