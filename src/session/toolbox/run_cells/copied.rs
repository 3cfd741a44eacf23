//! A cell that ran in a copy of the live session, as what every cell leaves behind.

use std::time::Duration;

use crate::agent::InputPart;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::output::transcript::TranscriptText;
use crate::runtime::Ending;
use crate::session::cell::Remains;
use crate::session::toolbox::pyrun::{NOTHING, seen};

/// What Python raises where an interrupt falls.
const INTERRUPTED: &str = "KeyboardInterrupt";

/// What a cell left that printed this and had this value, or raised this; and what of it has not been shown yet: it
/// printed before the user's eyes.
pub(super) fn remains(printed: &str, result: Result<MimeBundle, CellError>) -> (Remains, String) {
    let rest = match (printed, &result) {
        ("", _) => None,
        _ => Some(seen("", result.clone()).text),
    };
    let raised = result.as_ref().err().map(CellError::summary);
    let ending = match &result {
        Ok(_) => Ending::Ok,
        Err(error) if error.name == INTERRUPTED => Ending::Interrupted,
        Err(_) => Ending::Error,
    };
    let result = seen(printed, result);
    let images = result.content.into_iter().filter_map(|part| match part {
        InputPart::Image(url) => Some(url),
        InputPart::Text(_) | InputPart::File { .. } => None,
    });
    let rest = rest.map_or_else(
        || result.text.clone(),
        |rest| match rest.as_str() {
            NOTHING => String::new(),
            _ => rest,
        },
    );
    let remains = Remains {
        ending,
        shown: whole(result.text),
        outputs: Vec::new(),
        kept: None,
        images: images.collect(),
        raised,
        took: Duration::ZERO,
        leaving: false,
        cwd: None,
    };
    (remains, rest)
}

fn whole(text: String) -> TranscriptText {
    TranscriptText {
        total_bytes: text.len() as u64,
        total_characters: text.chars().count() as u64,
        total_lines: text.lines().count() as u64,
        cut: false,
        text,
    }
}
