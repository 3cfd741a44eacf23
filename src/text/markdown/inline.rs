//! Inline events to pieces of styled text.
//!
//! In: the parser's inline events with their ranges. Out: [`InlinePiece`]s. Invariant: a piece's text is clean, its
//! source offset lies inside its source, and offsets never decrease. Links show their target unless the terminal
//! gets it as OSC 8 and the text does not pretend to be another address. Absent on purpose: widths.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use nu_ansi_term::Style;
use pulldown_cmark::{BrokenLinkCallback, Event, LinkType, OffsetIter, Tag, TagEnd};

use super::depth::Bounded;
use super::math::{LONGEST, formula_at};
use super::source::{RESUMED, clean, safe_link};
use super::theme;
use crate::NESTING;

pub(crate) type Definitions = HashMap<String, String>;

/// A stretch of inline text in one style. `"\n"` is a hard break.
#[derive(Debug, Clone)]
pub(crate) struct InlinePiece {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) link: Option<Arc<str>>,
    pub(crate) at: usize,
    /// True when byte `n` of `text` is at `at + n` of the source.
    pub(crate) exact: bool,
}

/// How links are shown, and the definitions they may refer to.
pub(crate) struct Context<'a> {
    /// True for OSC 8 instead of `text (url)`.
    pub(crate) links: bool,
    pub(crate) definitions: &'a Definitions,
}

pub(crate) struct OpenLink {
    text_from: usize,
    /// The target of the OSC 8 link.
    target: Option<Arc<str>>,
    end: LinkEnd,
}

enum LinkEnd {
    /// `(target)`, and its source offset, if the source has it.
    Target(String, Option<usize>),
    /// The rest of a reference without a definition so far, as source.
    Source(String),
}

/// Reads the text of blocks from the parser's events.
pub(crate) struct Builder<'s, 'c, F: BrokenLinkCallback<'s>> {
    pub(crate) bounded: Bounded<'s>,
    /// The `source` of `bounded`.
    pub(crate) source: &'s str,
    pub(crate) context: &'c Context<'c>,
    pub(crate) own: HashMap<String, usize>,
    pub(crate) events: OffsetIter<'s, F>,
    /// Where the current top-level block or top-level item begins.
    pub(crate) unit_start: usize,
    /// The source up to here has been shown as a formula.
    pub(crate) passed: usize,
    /// End of the current paragraph; only offsets before it are in the paragraph.
    pub(crate) paragraph_end: usize,
    pub(crate) task: Option<bool>,
    pub(crate) styles: Vec<Style>,
    pub(crate) links: Vec<OpenLink>,
    /// Number of open elements inside one that is nested too deep and shown as source.
    pub(crate) too_deep: usize,
}

impl<'s, F: BrokenLinkCallback<'s>> Builder<'s, '_, F> {
    /// Reads inline content up to the end of the enclosing block.
    pub(crate) fn pieces(&mut self, style: Style) -> Vec<InlinePiece> {
        self.styles.push(style);
        let mut out = Vec::new();
        let mut open = 0;
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) if open == 0 => break,
                Event::End(_) => open -= 1,
                _ => {}
            }
            self.inline(event, range, &mut out);
        }
        self.styles.pop();
        out
    }

    pub(crate) fn inline(
        &mut self,
        event: Event<'s>,
        range: Range<usize>,
        out: &mut Vec<InlinePiece>,
    ) {
        match event {
            Event::Start(_) if self.too_deep > 0 => self.too_deep += 1,
            Event::Start(_) if self.styles.len() > NESTING => {
                self.too_deep = 1;
                self.push(&self.source[range.clone()], range.start, true, out);
            }
            Event::End(_) if self.too_deep > 0 => self.too_deep -= 1,
            _ if self.too_deep > 0 => {}
            event => self.element(event, range, out),
        }
    }

    fn element(&mut self, event: Event<'s>, range: Range<usize>, out: &mut Vec<InlinePiece>) {
        let style = *self.styles.last().expect("a base style is always there");
        match event {
            Event::Start(Tag::Emphasis) => self.styles.push(style.italic()),
            Event::Start(Tag::Strong) => self.styles.push(style.bold()),
            Event::Start(Tag::Strikethrough) => self.styles.push(style.strikethrough()),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                id,
                ..
            }) => self.open_link(link_type, &dest_url, &id, &range, out),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                id,
                ..
            }) => {
                self.open_link(link_type, &dest_url, &id, &range, out);
                if range.len() >= 4 && self.source[range.clone()].starts_with("![]") {
                    self.push("image", range.start, false, out);
                }
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.close_link(&range, out);
            }
            Event::End(_) if self.styles.len() > 1 => {
                self.styles.pop();
            }
            Event::Text(text) => self.text(&text, &range, out),
            Event::Code(text) => {
                let source = &self.source[range.clone()];
                let ticks = source.len() - source.trim_start_matches('`').len();
                let inner = source.len().saturating_sub(2 * ticks);
                let stripped = usize::from(inner == text.len() + 2);
                self.styles.push(theme::inline_code());
                let exact = inner == text.len() + 2 * stripped;
                self.push(&text, range.start + ticks + stripped, exact, out);
                self.styles.pop();
            }
            Event::InlineHtml(text) | Event::Html(text) => {
                let tag = text.trim_matches(['<', '>', '/', ' ']);
                if tag.eq_ignore_ascii_case("br") {
                    self.push("\n", range.start, false, out);
                } else {
                    self.push(&text, range.start, true, out);
                }
            }
            Event::SoftBreak => self.push(" ", range.start, false, out),
            Event::HardBreak => self.push("\n", range.start, false, out),
            Event::TaskListMarker(done) => self.task = Some(done),
            // Shown as source: its definition may come after it is settled, or never.
            Event::FootnoteReference(label) => {
                self.push(&format!("[^{label}]"), range.start, false, out);
            }
            _ => {}
        }
    }

    /// Adds text and the formulas in it; events inside a formula are skipped.
    fn text(&mut self, text: &str, range: &Range<usize>, out: &mut Vec<InlinePiece>) {
        let exact = self.source.get(range.clone()) == Some(text);
        // The parser reports `\(` as `(` after a backslash.
        let escaped = text.starts_with(['(', '[']) && self.source[..range.start].ends_with('\\');
        if escaped && range.start > self.passed {
            let at = range.start - 1;
            if let Some((stop, shown)) = formula_at(self.source, at, self.formula_end(at)) {
                self.push(&shown, at, false, out);
                self.passed = stop;
            }
        }
        if !exact {
            // A control character that an entity stands for is no marker.
            return self.push(&clean(text), range.start, false, out);
        }
        let mut at = range.start.max(self.passed).min(range.end);
        while let Some(found) = self.source[at..range.end].find('$') {
            let dollar = at + found;
            match formula_at(self.source, dollar, self.formula_end(dollar)) {
                Some((stop, shown)) => {
                    self.push(&self.source[at..dollar], at, true, out);
                    self.push(&shown, dollar, false, out);
                    self.passed = stop;
                    at = stop.min(range.end);
                }
                None => {
                    let run = self.source[dollar..range.end]
                        .bytes()
                        .take_while(|byte| *byte == b'$')
                        .count();
                    self.push(&self.source[at..dollar + run], at, true, out);
                    at = dollar + run;
                }
            }
        }
        self.push(&self.source[at..range.end], at, true, out);
    }

    /// The end that a formula at `at` may not pass: the end of its paragraph where that is known, else of its line
    /// or cell.
    fn formula_end(&self, at: usize) -> usize {
        if at < self.paragraph_end {
            return self.paragraph_end;
        }
        let line = &self.source[at..self.source.floor_char_boundary(at + LONGEST)];
        at + line.find(['\n', '|']).unwrap_or(line.len())
    }

    fn push(&self, mut text: &str, mut at: usize, exact: bool, out: &mut Vec<InlinePiece>) {
        // The mark before the rest of a paragraph is not shown.
        if at == 0
            && self.source.starts_with(RESUMED)
            && let Some(rest) = text.strip_prefix(RESUMED)
        {
            let content = rest.trim_start_matches(' ');
            at = text.len() - content.len();
            text = content;
        }
        // Text inside a formula has been shown with it.
        if text.is_empty() || at < self.passed {
            return;
        }
        let shown = if text == "\n" {
            text.into()
        } else {
            self.bounded.shown(text).replace(['\n', '\t'], " ")
        };
        let exact = exact && shown.len() == text.len();
        out.push(InlinePiece {
            text: shown,
            style: *self.styles.last().expect("a base style is always there"),
            link: self.links.iter().rev().find_map(|link| link.target.clone()),
            at,
            exact,
        });
    }

    fn open_link(
        &mut self,
        link_type: LinkType,
        target: &str,
        id: &str,
        range: &Range<usize>,
        out: &mut Vec<InlinePiece>,
    ) {
        let style = *self.styles.last().expect("a base style is always there");
        let source = &self.source[range.clone()];
        let key = label_key(id);
        let by_reference = matches!(
            link_type,
            LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
        );
        let forward = by_reference && self.own.get(&key).is_some_and(|at| *at >= self.unit_start);
        let target = match self.context.definitions.get(&key) {
            Some(settled) if by_reference => settled.as_str(),
            _ => target,
        };
        if forward && !self.context.definitions.contains_key(&key) {
            // A later definition cannot count, since the text may be settled by then.
            let image = source.starts_with('!');
            self.push(if image { "![" } else { "[" }, range.start, false, out);
            let tail = match link_type {
                LinkType::Shortcut => "]".len(),
                LinkType::Collapsed => "][]".len(),
                _ => source.len() - source.rfind("][").unwrap_or(source.len() - 1),
            };
            let suffix = clean(&source[source.len() - tail..]).into_owned();
            self.links.push(OpenLink {
                text_from: out.len(),
                target: None,
                end: LinkEnd::Source(suffix),
            });
            self.styles.push(style);
            return;
        }
        let shown = clean(target).replace(['\n', '\t', ' '], "%20");
        let written = target.replace(' ', "%20");
        let safe = safe_link(&written).filter(|_| self.context.links);
        self.links.push(OpenLink {
            text_from: out.len(),
            target: safe.map(Arc::from),
            end: LinkEnd::Target(
                shown.clone(),
                source.rfind(&shown).map(|at| range.start + at),
            ),
        });
        self.styles.push(Style {
            is_underline: true,
            ..style
        });
    }

    fn close_link(&mut self, range: &Range<usize>, out: &mut Vec<InlinePiece>) {
        let Some(link) = self.links.pop() else {
            return;
        };
        self.styles.pop();
        let text: String = out[link.text_from.min(out.len())..]
            .iter()
            .map(|piece| piece.text.as_str())
            .collect();
        let (target, at) = match link.end {
            LinkEnd::Source(rest) => {
                self.push(&rest, range.end.saturating_sub(1), false, out);
                return;
            }
            LinkEnd::Target(target, at) => (target, at),
        };
        let same = |a: &str, b: &str| a.trim_end_matches('/') == b.trim_end_matches('/');
        let says_it = same(&text, &target) || target.strip_prefix("mailto:") == Some(&text);
        // A hidden target is shown where the text pretends to be another address.
        let pretends = text.contains("://") || text.trim_start().starts_with("www.");
        if target.is_empty() || says_it || link.target.is_some() && !pretends {
            return;
        }
        let start = at.unwrap_or(range.end.saturating_sub(1));
        self.push(" (", start, false, out);
        self.push(&target, start, at.is_some(), out);
        let end = start + if at.is_some() { target.len() } else { 0 };
        self.push(")", end, false, out);
    }
}

pub(crate) fn label_key(label: &str) -> String {
    label
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}
