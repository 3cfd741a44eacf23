//! The style of text (colours, bold, …) that a terminal has after `CSI … m`, as the sequences that produce it from
//! none.
//!
//! In: parameters of SGR sequences. Out: styles. Pure.

use std::sync::Arc;

pub(super) const RESET: &str = "\x1b[0m";

/// Longest list of sequences of one style, in bytes; beyond that only the last counts.
const LONGEST: usize = 128;

/// The sequences that set the style; `None` for no style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Style(Option<Arc<str>>);

#[derive(PartialEq, Eq)]
enum Sets {
    Foreground,
    Background,
    Other,
}

impl Style {
    pub(super) const NONE: Style = Style(None);

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The sequences that set the style.
    pub(super) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Appends the reset when a style is set.
    pub(super) fn leave(&self, text: &mut String) {
        if !self.is_none() {
            text.push_str(RESET);
        }
    }

    /// Returns the style after a sequence with these parameters.
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
        // The default colour is no style where nothing else may have set one.
        if !(text.is_empty() && matches!(parameters, "39" | "49")) {
            text.push_str(&format!("\x1b[{parameters}m"));
        }
        if text.len() > LONGEST {
            text = format!("\x1b[{parameters}m");
        }
        Style((!text.is_empty()).then(|| text.into()))
    }

    /// True when no style is in force after `text`.
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
