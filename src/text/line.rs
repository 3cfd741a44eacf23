//! One finished row of the screen: styled spans, and their form in bytes; the colours of messages.
//!
//! In: text without control characters. Out: plain text, columns, or ANSI text. Invariant: a line holds no control
//! character, and its ANSI form ends with no style and no link open, so that the output after it is not affected.
//! Absent on purpose: line ends and cursor movement, which belong to the code that draws.

use std::sync::Arc;

use nu_ansi_term::{Color, Style};

use super::width::{clusters, columns, is_plain_ascii, split_at_columns};

// Colours that are readable on a light background and on a dark one: yellow and cyan of the sixteen are unreadable on
// white unless the user has changed them, so these are of the 240 that no theme changes. Red and green, for failure and
// success, and for removed and added, are the terminal's own.

/// For text that the user should notice: questions, warnings.
pub const NOTICED: Color = Color::Fixed(136);

/// For text that differs from its surroundings: names of code in answers, the current choice, places in a file.
pub const MARKED: Color = Color::Fixed(31);

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub text: String,
    pub style: Style,
    /// Target of an OSC 8 link, already checked for scheme and control characters.
    pub link: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    pub fn plain_text(text: &str) -> Self {
        let mut line = Line::default();
        line.push(text, Style::new(), None);
        line
    }

    pub fn styled(style: impl Into<Style>, text: impl AsRef<str>) -> Self {
        Line::default().and(style, text)
    }

    /// Returns the line with one more span.
    pub fn and(mut self, style: impl Into<Style>, text: impl AsRef<str>) -> Self {
        self.push(text.as_ref(), style.into(), None);
        self
    }

    pub fn reversed(mut self) -> Self {
        self.spans
            .iter_mut()
            .for_each(|span| span.style.is_reverse = true);
        self
    }

    /// Appends text; joins the last span where style and link are equal.
    pub fn push(&mut self, text: &str, style: Style, link: Option<&Arc<str>>) {
        if text.is_empty() {
            return;
        }
        if let Some(last) = self.spans.last_mut()
            && last.style == style
            && last.link.as_ref() == link
        {
            last.text.push_str(text);
            return;
        }
        self.spans.push(Span {
            text: text.to_owned(),
            style,
            link: link.cloned(),
        });
    }

    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Renders the text with SGR (if `colour`) and links; every style is closed at the end.
    pub fn to_ansi(&self, colour: bool) -> String {
        let mut out = String::new();
        self.write_ansi_from(0, colour, &mut out);
        out
    }

    /// Appends the ANSI form of everything from `column` on, which must be a cluster boundary.
    pub fn write_ansi_from(&self, column: usize, colour: bool, out: &mut String) {
        let mut to_skip = column;
        let mut current = Style::new();
        let mut link: Option<&Arc<str>> = None;
        for span in &self.spans {
            let mut text = span.text.as_str();
            if to_skip > 0 {
                let (before, rest) = split_at_columns(text, to_skip);
                to_skip -= columns(before).min(to_skip);
                text = rest;
            }
            if text.is_empty() {
                continue;
            }
            if link != span.link.as_ref() {
                write_link(span.link.as_deref(), out);
                link = span.link.as_ref();
            }
            if colour && current != span.style {
                write_transition(current, span.style, out);
                current = span.style;
            }
            out.push_str(text);
        }
        if current != Style::new() {
            out.push_str("\x1b[0m");
        }
        if link.is_some() {
            write_link(None, out);
        }
    }

    /// Columns, at a cluster boundary of both, up to which two lines show the same in the same style.
    pub fn common_columns(&self, other: &Line) -> usize {
        let mut same = 0;
        for (a, b) in self.spans.iter().zip(&other.spans) {
            if a.style != b.style || a.link != b.link {
                break;
            }
            if a.text == b.text {
                same += columns(&a.text);
                continue;
            }
            if is_plain_ascii(&a.text) && is_plain_ascii(&b.text) {
                same += a
                    .text
                    .bytes()
                    .zip(b.text.bytes())
                    .take_while(|(x, y)| x == y)
                    .count();
            } else {
                same += clusters(&a.text)
                    .zip(clusters(&b.text))
                    .take_while(|(x, y)| x == y)
                    .map(|((_, width), _)| width)
                    .sum::<usize>();
            }
            break;
        }
        same
    }
}

impl<'t> FromIterator<(Style, &'t str)> for Line {
    fn from_iter<T: IntoIterator<Item = (Style, &'t str)>>(runs: T) -> Self {
        let mut line = Line::default();
        runs.into_iter()
            .for_each(|(style, text)| line.push(text, style, None));
        line
    }
}

/// Writes the shortest change from one style to the next.
fn write_transition(from: Style, to: Style, out: &mut String) {
    let removes = from.foreground.is_some() && to.foreground.is_none()
        || from.background.is_some() && to.background.is_none()
        || from.is_bold && !to.is_bold
        || from.is_dimmed && !to.is_dimmed
        || from.is_italic && !to.is_italic
        || from.is_underline && !to.is_underline
        || from.is_strikethrough && !to.is_strikethrough
        || from.is_reverse && !to.is_reverse;
    if removes {
        out.push_str("\x1b[0m");
        out.push_str(&to.prefix().to_string());
        return;
    }
    let added = Style {
        foreground: to.foreground.filter(|_| to.foreground != from.foreground),
        background: to.background.filter(|_| to.background != from.background),
        is_bold: to.is_bold && !from.is_bold,
        is_dimmed: to.is_dimmed && !from.is_dimmed,
        is_italic: to.is_italic && !from.is_italic,
        is_underline: to.is_underline && !from.is_underline,
        is_strikethrough: to.is_strikethrough && !from.is_strikethrough,
        is_reverse: to.is_reverse && !from.is_reverse,
        ..Style::new()
    };
    out.push_str(&added.prefix().to_string());
}

fn write_link(target: Option<&str>, out: &mut String) {
    out.push_str("\x1b]8;;");
    out.push_str(target.unwrap_or_default());
    out.push_str("\x1b\\");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Luminance of a colour of the cube, by the formula of WCAG 2.
    fn luminance(colour: Color) -> f64 {
        let Color::Fixed(number @ 16..232) = colour else {
            panic!("not of the cube: {colour:?}");
        };
        let part = |step: u8| {
            let value = f64::from([0, 95, 135, 175, 215, 255][usize::from(step)]) / 255.0;
            ((value + 0.055) / 1.055).powf(2.4)
        };
        let number = number - 16;
        let [red, green, blue] = [number / 36, number / 6 % 6, number % 6].map(part);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn they_stand_out_from_white_and_from_black() {
        for colour in [NOTICED, MARKED] {
            let light = luminance(colour) + 0.05;
            assert!(1.05 / light >= 3.0, "on white: {colour:?}");
            assert!(light / 0.05 >= 4.5, "on black: {colour:?}");
        }
    }
}
