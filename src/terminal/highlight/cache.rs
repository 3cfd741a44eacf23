//! The highlight cache: the text being typed, line by line, with each line's kind, brackets and colours.
//!
//! In: the whole text at every paint, spans from the [`line_painter`](super::line_painter). Out: lines. An edit keeps
//! the lines before and behind it. Invariants: spans always cover their line; a changed line keeps its old colours,
//! stretched, until it is painted again, so nothing flickers. Changes since the painter's last look are a list of
//! [`Edit`]s.

use nu_ansi_term::Style;

use super::line_scan::{LineKind, LineScan, ScanState, scan_line};
use super::magics::{Language, body_language};
use crate::markdown::Theme;

/// Bytes, and their style.
pub(super) type Span = (usize, Style);

pub(super) struct HighlightCache {
    pub(super) theme: Theme,
    /// The language of the lines below the first.
    pub(super) language: Language,
    /// The language of cells that begin with no magic.
    cells: Language,
    lines: Vec<CachedLine>,
    edits: Vec<Edit>,
    /// The number of lines, from the first, that have their colours.
    pub(super) done: usize,
    /// The number of lines, from the first, that need colours before the screen is right.
    pub(super) wanted: usize,
    /// A paint did not wait for the colours.
    pub(super) owed: bool,
    pub(super) ready: bool,
}

pub(super) struct CachedLine {
    pub(super) text: String,
    pub(super) scan: LineScan,
    /// The state that `scan` started from.
    before: ScanState,
    pub(super) spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Replaced {
        at: usize,
        removed: usize,
        added: usize,
    },
    /// The kind or state of a line changed.
    Changed(usize),
    /// The theme changed: repaint all lines.
    All,
}

impl HighlightCache {
    pub(super) fn new(theme: Theme) -> Self {
        HighlightCache {
            theme,
            cells: Language::Python,
            language: Language::Python,
            lines: Vec::new(),
            edits: Vec::new(),
            done: 0,
            wanted: 0,
            owed: false,
            ready: false,
        }
    }

    pub(super) fn lines(&self) -> &[CachedLine] {
        &self.lines
    }

    /// Takes the changes since the last call.
    pub(super) fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits)
    }

    /// Returns true when there are changes that the painter has not taken.
    pub(super) fn has_edits(&self) -> bool {
        !self.edits.is_empty()
    }

    pub(super) fn painted(&mut self, at: usize, spans: Vec<Span>) {
        self.lines[at].spans = spans;
    }

    pub(super) fn set_theme(&mut self, theme: Theme) {
        if self.theme != theme {
            self.theme = theme;
            self.forget();
        }
    }

    pub(super) fn set_language(&mut self, cells: Language) {
        if self.cells != cells {
            self.cells = cells;
            self.lines.clear();
            self.forget();
        }
    }

    /// Sets the text of the cell; unchanged lines keep their colours.
    pub(super) fn set_text(&mut self, text: &str) {
        let new: Vec<&str> = text.split('\n').collect();
        let same = |(known, line): &(&CachedLine, &&str)| known.text == **line;
        let head = self.lines.iter().zip(&new).take_while(same).count();
        if head == new.len() && head == self.lines.len() {
            return;
        }
        let most = new.len().min(self.lines.len()) - head;
        let tail = self.lines.iter().rev().zip(new.iter().rev());
        let tail = tail.take(most).take_while(same).count();
        self.replace(head, tail, &new[head..new.len() - tail]);
        let mut changed = head..new.len() - tail;
        let language = match new[0].starts_with('%') {
            true => body_language(new[0]),
            false => self.cells.clone(),
        };
        if self.language != language {
            self.language = language;
            self.forget();
            changed = 0..new.len();
        }
        self.see(changed);
    }

    /// Replaces all lines but the first `head` and the last `tail` by `new`.
    fn replace(&mut self, head: usize, tail: usize, new: &[&str]) {
        let old = head..self.lines.len() - tail;
        let fresh: Vec<CachedLine> = new
            .iter()
            .enumerate()
            .map(|(place, text)| CachedLine {
                text: (*text).to_owned(),
                scan: LineScan {
                    kind: LineKind::Python,
                    brackets: Vec::new(),
                    state: ScanState::default(),
                },
                before: ScanState::default(),
                spans: match self.lines[old.clone()].get(place) {
                    Some(known) => stretched(known, text),
                    None => vec![(text.len(), Style::default())],
                },
            })
            .collect();
        self.edits.push(Edit::Replaced {
            at: head,
            removed: old.len(),
            added: new.len(),
        });
        drop(self.lines.splice(old, fresh));
        self.done = self.done.min(head);
    }

    /// Scans the lines of `changed`, and those behind as long as their starting state changes.
    fn see(&mut self, changed: std::ops::Range<usize>) {
        let mut state = match changed.start {
            0 => ScanState::default(),
            first => self.lines[first - 1].scan.state,
        };
        for (at, line) in self.lines.iter_mut().enumerate().skip(changed.start) {
            if at >= changed.end && line.before == state {
                break;
            }
            line.before = state;
            let scan = if at == 0 || self.language == Language::Python {
                scan_line(&line.text, state)
            } else {
                LineScan {
                    kind: LineKind::Python,
                    brackets: Vec::new(),
                    state: ScanState::default(),
                }
            };
            if scan.kind != line.scan.kind {
                self.edits.push(Edit::Changed(at));
                self.done = self.done.min(at);
            }
            line.scan = scan;
            state = line.scan.state;
        }
    }

    fn forget(&mut self) {
        self.edits.push(Edit::All);
        self.done = 0;
    }
}

/// Fits a line's colours to its new text: inserted text looks like the text before it.
fn stretched(known: &CachedLine, text: &str) -> Vec<Span> {
    let (old, new) = (known.text.as_bytes(), text.as_bytes());
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take(most).take_while(|(a, b)| a == b).count();
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 0;
    for (length, style) in &known.spans {
        let end = at + length;
        // The parts of the span before and behind the change.
        let front = end.min(head).saturating_sub(at);
        let back = end.saturating_sub(at.max(old.len() - tail));
        if front + back > 0 {
            spans.push((front + back, *style));
        }
        at = end;
    }
    let kept: usize = spans.iter().map(|(length, _)| length).sum();
    let put_in = new.len() - kept;
    // The span that ends at the change, or contains it, gets the inserted text.
    let mut at = 0;
    for span in &mut spans {
        at += span.0;
        if at >= head {
            span.0 += put_in;
            return cut_at_characters(spans, text);
        }
    }
    vec![(text.len(), Style::default())]
}

/// Moves span borders that a change put inside a character.
fn cut_at_characters(mut spans: Vec<Span>, text: &str) -> Vec<Span> {
    let mut at = 0;
    let mut wanted = 0;
    for (length, _) in &mut spans {
        wanted += *length;
        let mut end = wanted;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        *length = end - at;
        at = end;
    }
    if let Some((length, _)) = spans.last_mut() {
        *length += text.len() - at;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use nu_ansi_term::Color;
    use proptest::prelude::*;

    fn line(text: &str, spans: Vec<Span>) -> CachedLine {
        CachedLine {
            text: text.to_owned(),
            scan: scan_line(text, ScanState::default()),
            before: ScanState::default(),
            spans,
        }
    }

    #[test]
    fn a_changed_line_keeps_its_colours_until_it_is_painted() {
        let red = Color::Red.normal();
        let plain = Style::default();
        let spans = || vec![(3, red), (4, plain)];
        for (text, expected) in [
            ("def foox", vec![(3, red), (5, plain)]),
            ("def fo", vec![(3, red), (3, plain)]),
            ("deef foo", vec![(4, red), (4, plain)]),
            ("defx foo", vec![(4, red), (4, plain)]),
            ("", vec![(0, plain)]),
        ] {
            assert_eq!(
                stretched(&line("def foo", spans()), text),
                expected,
                "{text:?}"
            );
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn stretched_spans_cover_the_line(
            old in "[aé漢 ]{0,8}",
            new in "[aé漢 ]{0,8}",
            cut in 0usize..9,
        ) {
            let cut = (0..=cut.min(old.len())).rev().find(|at| old.is_char_boundary(*at)).unwrap();
            let spans = vec![(cut, Color::Red.normal()), (old.len() - cut, Style::default())];
            let spans = stretched(&line(&old, spans), &new);
            let mut at = 0;
            for (length, _) in &spans {
                at += length;
                prop_assert!(new.is_char_boundary(at));
            }
            prop_assert_eq!(at, new.len());
        }
    }
}
