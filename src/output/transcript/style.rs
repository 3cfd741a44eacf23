//! The style of text (colours, bold, …) as a terminal has it after `CSI … m`: the sequences that make it, from none.

use std::sync::Arc;

/// Ends every style.
pub(super) const RESET: &str = "\x1b[0m";

/// Bytes of the sequences of one style; of more, only the last counts.
const LONGEST: usize = 128;

/// A style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Style(Option<Arc<str>>);

/// What a sequence sets.
#[derive(PartialEq, Eq)]
enum Sets {
    Foreground,
    Background,
    Other,
}

impl Style {
    /// None.
    pub(super) const NONE: Style = Style(None);

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The sequences that make it.
    pub(super) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Writes what ends it.
    pub(super) fn leave(&self, text: &mut String) {
        if !self.is_none() {
            text.push_str(RESET);
        }
    }

    /// The one that a sequence with these parameters makes of it.
    pub(super) fn then(&self, parameters: &str) -> Style {
        let (first, rest) = parameters.split_once(';').unwrap_or((parameters, ""));
        if first.trim_start_matches('0').is_empty() {
            return match rest {
                "" => Style::NONE,
                rest => Style::NONE.then(rest),
            };
        }
        let sets = sets(parameters);
        let mut text = String::new();
        let before = self.text().split_inclusive('m');
        let stays = |sequence: &&str| {
            let other = sequence.trim_start_matches("\x1b[").trim_end_matches('m');
            other != parameters && (sets == Sets::Other || self::sets(other) != sets)
        };
        text.extend(before.filter(stays));
        // The usual colour is none where nothing else may have set one.
        if !(text.is_empty() && matches!(parameters, "39" | "49")) {
            text.push_str(&format!("\x1b[{parameters}m"));
        }
        if text.len() > LONGEST {
            text = format!("\x1b[{parameters}m");
        }
        Style((!text.is_empty()).then(|| text.into()))
    }

    /// True when no style is in force behind `text`.
    pub(super) fn ends(text: &str) -> bool {
        let last = text.rfind("\x1b[").map_or("", |at| &text[at + 2..]);
        let parameters = last
            .split_once('m')
            .map_or("", |(parameters, _)| parameters);
        parameters.trim_start_matches('0').is_empty()
    }
}

fn sets(parameters: &str) -> Sets {
    let (first, rest) = parameters.split_once(';').unwrap_or((parameters, ""));
    match first.parse::<u8>() {
        Ok(38) => Sets::Foreground,
        Ok(48) => Sets::Background,
        Ok(30..=39 | 90..=97) if rest.is_empty() => Sets::Foreground,
        Ok(40..=49 | 100..=107) if rest.is_empty() => Sets::Background,
        _ => Sets::Other,
    }
}
