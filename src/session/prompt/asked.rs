//! What a prompt is, whatever becomes of it: what was typed and given, what it stands in place of.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::preview::Preview;
use crate::agent::InputPart;
use crate::dialog::Expansion;
use crate::output::limits::exceeds;
use crate::session::attached::Attached;
use crate::session::events::Notice;
use crate::session::outputs::{OutputKind, Outputs};

/// Code points of a file that is sent whole; of a longer one, as of any long output, beginning and end.
const WHOLE_FILE: usize = 100_000;

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
    /// What is known of the pictures that go with it.
    pub(super) pictures: OwnPictures,
}

/// The pictures that go with a prompt: not those that cells before it showed.
#[derive(Debug, Default)]
pub(super) struct OwnPictures {
    /// Why some are not sent, a line each.
    pub(super) lost: Vec<String>,
    /// Values that are no pictures go with it, too.
    pub(super) beside: bool,
    /// The user has said that it goes without them.
    pub(super) without: bool,
}

impl Asked {
    /// Takes the files it names, those too long for the model cut; says what is to be said of them.
    pub(super) fn attach(&mut self, attached: Attached, outputs: &Outputs) -> Vec<Notice> {
        let mut notices = attached.notices;
        self.pictures.lost.extend(attached.lost);
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

    /// What was given goes before what it refers to: with the prompt, and into the record. Returns what is sent with
    /// it: the texts, and the files where `whole` says that they are sent as files.
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

    /// How many pictures of its own are there to be sent.
    pub(super) fn own_pictures(&self) -> usize {
        let attached = self.attached.iter();
        let attached = attached.filter(|part| matches!(part, InputPart::Image(_)));
        attached.count() + self.expansion.images.len()
    }

    /// Why none of its own pictures is sent, where nothing else goes with it and the user has not been asked. `blind`:
    /// why the agent sees none.
    pub(super) fn lost_all(&self, blind: Option<String>) -> Option<Vec<String>> {
        let own = self.own_pictures();
        let mut lost = self.pictures.lost.clone();
        match blind {
            Some(why) if own > 0 => lost.push(why),
            _ if own > 0 => return None,
            _ => {}
        }
        // A picture's name stands before it.
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
        let settled = self.pictures.without || self.preview.is_some();
        let waits = !lost.is_empty() && !more && !self.pictures.beside && !settled;
        waits.then_some(lost)
    }

    /// The text whose references count.
    pub(super) fn referring(&self) -> Cow<'_, str> {
        match &self.verbatim {
            None => Cow::Borrowed(&self.text),
            Some(tools) => tools.iter().map(|name| format!("&`{name}` ")).collect(),
        }
    }
}
