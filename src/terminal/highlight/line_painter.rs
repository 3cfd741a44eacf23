//! Paints the lines of a [`HighlightCache`] in order, and remembers its progress.
//!
//! Keeps the language state before and after each line: (line, state before) → (spans, state after). Painting
//! resumes at the first line whose text or state before has changed, and stops at one whose state before is
//! unchanged. Invariant: the result equals painting from scratch. A line takes some 70 µs, the first of a language
//! some 5 ms. The states belong to one thread (they hold captures of regular expressions).

use std::rc::Rc;

use nu_ansi_term::{Color, Style};

use super::cache::{Edit, HighlightCache, Span};
use super::line_scan::LineKind;
use super::magics::{Language, rest_language};
use crate::markdown::{CodePainter, CodeState, Theme};

/// The style of marks that are IPython's, not Python's.
fn magic() -> Style {
    Color::Purple.normal()
}

/// `None` where the language has no state.
type State = Option<Rc<CodeState>>;

pub(super) struct LinePainter {
    palette: Painters,
    /// The states before and after each line at its last paint.
    states: Vec<Option<(State, State)>>,
    done: usize,
}

pub(super) struct PaintTask {
    pub(super) at: usize,
    text: String,
    kind: LineKind,
    language: Language,
}

struct Painters {
    theme: Theme,
    python: CodePainter,
    others: Vec<(String, Option<CodePainter>)>,
}

impl Painters {
    fn new(theme: Theme) -> Option<Self> {
        Some(Painters {
            theme,
            python: CodePainter::new("python", theme)?,
            others: Vec::new(),
        })
    }

    fn painter_for(&mut self, language: &Language) -> Option<&CodePainter> {
        let name = match language {
            Language::Python => return Some(&self.python),
            Language::Plain => return None,
            Language::Named(name) => name,
        };
        let known = self.others.iter().position(|(known, _)| known == name);
        let at = known.unwrap_or_else(|| {
            self.others
                .push((name.clone(), CodePainter::new(name, self.theme)));
            self.others.len() - 1
        });
        self.others[at].1.as_ref()
    }

    /// Paints text that no other text precedes.
    fn alone(&mut self, text: &str, language: &Language) -> Vec<Span> {
        match self.painter_for(language) {
            None => vec![(text.len(), Style::default())],
            Some(painter) => painter.line(&mut painter.start(), text),
        }
    }
}

impl LinePainter {
    /// Loads the tables unless they are loaded (some 8 ms).
    pub(super) fn new(theme: Theme) -> Option<Self> {
        Some(LinePainter {
            palette: Painters::new(theme)?,
            states: Vec::new(),
            done: 0,
        })
    }

    /// Returns the next line to paint; applies the cache's changes first, and reports to the cache the number of
    /// lines done.
    pub(super) fn next(&mut self, cache: &mut HighlightCache) -> Option<PaintTask> {
        for edit in cache.take_edits() {
            self.follow(edit);
        }
        if self.palette.theme != cache.theme
            && let Some(palette) = Painters::new(cache.theme)
        {
            self.palette = palette;
        }
        self.states.resize(cache.lines().len(), None);
        while self.done < self.states.len() {
            let known = self.states[self.done].as_ref();
            if known.is_none_or(|(before, _)| *before != self.before(self.done)) {
                break;
            }
            self.done += 1;
        }
        cache.done = self.done;
        let line = cache.lines().get(self.done)?;
        Some(PaintTask {
            at: self.done,
            text: line.text.clone(),
            kind: line.scan.kind,
            language: cache.language.clone(),
        })
    }

    /// Returns the spans of a line from [`LinePainter::next`].
    pub(super) fn paint(&mut self, task: &PaintTask) -> Vec<Span> {
        let before = self.before(task.at);
        let (spans, mut after) = self.palette.paint(task, &before);
        // The next comparison is by pointer first.
        if let Some((_, known)) = self.states[task.at].take()
            && known == after
        {
            after = known;
        }
        self.states[task.at] = Some((before, after));
        spans
    }

    /// Marks the line as unpainted, since the spans of [`LinePainter::paint`] were not used.
    pub(super) fn take_back(&mut self, task: &PaintTask) {
        self.states[task.at] = None;
    }

    fn follow(&mut self, edit: Edit) {
        match edit {
            Edit::Replaced { at, removed, added } => {
                let fresh = std::iter::repeat_n(None, added);
                drop(self.states.splice(at..at + removed, fresh));
                self.done = self.done.min(at);
            }
            Edit::Changed(at) => {
                self.states[at] = None;
                self.done = self.done.min(at);
            }
            Edit::All => {
                self.states.iter_mut().for_each(|state| *state = None);
                self.done = 0;
            }
        }
    }

    fn before(&self, at: usize) -> State {
        match at.checked_sub(1) {
            None => None,
            Some(above) => self.states[above].as_ref().and_then(|(_, s)| s.clone()),
        }
    }
}

impl Painters {
    fn paint(&mut self, task: &PaintTask, before: &State) -> (Vec<Span>, State) {
        let text = task.text.as_str();
        let first = task.at == 0;
        let language = match first {
            true if text.starts_with('%') => &Language::Python,
            _ => &task.language,
        };
        let Some(painter) = self.painter_for(language) else {
            return (vec![(text.len(), Style::default())], None);
        };
        let mut state = match before {
            Some(state) => CodeState::clone(state),
            None => painter.start(),
        };
        if *language != Language::Python || task.kind == LineKind::Python {
            let spans = painter.line(&mut state, text);
            return (spans, Some(Rc::new(state)));
        }
        let shell = Language::Named("bash".into());
        let mut spans = Vec::new();
        match task.kind {
            LineKind::Python => {}
            LineKind::Magic { at, end } => {
                push(&mut spans, self.python.line(&mut state, &text[..at]));
                push(&mut spans, [(end - at, magic())]);
                let rest = rest_language(&text[at..end]);
                push(&mut spans, self.alone(&text[end..], &rest));
            }
            LineKind::Shell { at, end } => {
                push(&mut spans, self.python.line(&mut state, &text[..at]));
                push(&mut spans, [(end - at, magic())]);
                push(&mut spans, self.alone(&text[end..], &shell));
            }
            LineKind::ShellRest => push(&mut spans, self.alone(text, &shell)),
            LineKind::Help { start, end } => {
                push(&mut spans, [(start, magic())]);
                push(&mut spans, self.python.line(&mut state, &text[start..end]));
                push(&mut spans, [(text.len() - end, magic())]);
            }
        }
        // Such a line does not affect the Python around it; text behind a cell magic starts afresh.
        (spans, before.clone())
    }
}

/// Appends spans; joins neighbours of one style.
fn push(spans: &mut Vec<Span>, more: impl IntoIterator<Item = Span>) {
    for (length, style) in more {
        match spans.last_mut() {
            _ if length == 0 => {}
            Some((known, last)) if *last == style => *known += length,
            _ => spans.push((length, style)),
        }
    }
}
