//! Highlights the text being typed: colours, bracket marks, and the rows of it that fit on the screen.
//!
//! reedline calls this on every paint, cursor moves included; each call updates the
//! [`Snapshot`](super::snapshot::Snapshot). Cells are Python with IPython's magics and commands, in the code theme
//! in force (`line_scan` and `magics` classify lines, `cache` keeps the results, `line_painter` colours a line,
//! `worker` is its thread, `brackets` finds partners); prompts are plain, and without colour everything is.
//! Invariants: the painted bytes are those of the text, except for the rows a [`window`](super::window) hides; a
//! paint waits for colours for 2 ms at most.
//!
//! Absent on purpose: classifying the text (`input`), and its completeness.

mod brackets;
mod cache;
mod line_painter;
mod line_scan;
mod magics;
mod worker;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, Prompt, StyledText};

use crate::input::code_start;
use crate::markdown::{Background, Theme};
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::prompt::Label;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::terminal::window::{Window, WindowShown};
use crate::terminal::windowed_prompt::{NextPrefix, WindowedPrompt};
use crate::text::escape::visible_lines;
use brackets::{Mark, marks};
use cache::HighlightCache;
use worker::HighlightWorker;

type Piece = (Style, String);

/// Renders the text; shared by the editor and its highlighter.
pub(super) struct InputRenderer {
    snapshot: SharedSnapshot,
    /// `None` without colour.
    colours: Option<Arc<HighlightWorker>>,
    size: Box<dyn Fn() -> (u16, u16) + Send + Sync>,
    view: Mutex<ViewState>,
    front: NextPrefix,
}

#[derive(Default)]
struct ViewState {
    window: Window,
    last: Option<WindowShown>,
}

impl InputRenderer {
    /// `size` returns the terminal's current columns and rows.
    pub(super) fn new(
        snapshot: SharedSnapshot,
        theme: Option<Theme>,
        size: Box<dyn Fn() -> (u16, u16) + Send + Sync>,
    ) -> Arc<Self> {
        Arc::new(InputRenderer {
            snapshot,
            colours: theme.map(HighlightWorker::new),
            size,
            view: Mutex::default(),
            front: NextPrefix::default(),
        })
    }

    /// Sets the callback that requests a repaint once colours are there.
    pub(super) fn repaint_with(&self, repaint: Arc<dyn Fn() + Send + Sync>) {
        if let Some(colours) = &self.colours {
            colours.repaint_with(repaint);
        }
    }

    pub(super) fn set_theme(&self, theme: Theme) {
        if let Some(colours) = &self.colours {
            colours.cache().set_theme(theme);
        }
    }

    /// Repaints in the theme for the background that the terminal reported.
    pub(super) fn set_background(&self, background: Background) {
        if let (Some(colours), Ok(theme)) = (&self.colours, Theme::named(background.theme())) {
            colours.cache().set_theme(theme);
            colours.ask_repaint();
        }
    }

    /// Returns the label of the text, in front of the visible rows.
    pub(super) fn windowed_prompt<'a>(
        &'a self,
        label: &'a Label,
        paint_capture: &'a PaintCapture,
    ) -> WindowedPrompt<'a> {
        let columns = |text: &str| crate::text::columns(text);
        let mut view = self.view();
        view.window.label = columns(&label.render_prompt_left());
        view.window.continuation = columns(&label.render_prompt_multiline_indicator());
        WindowedPrompt {
            label,
            front: &self.front,
            paint_capture,
            snapshot: &self.snapshot,
        }
    }

    /// Returns, after a submit, the bytes that erase the window and print all of `text`; `None` when all of it is
    /// on the screen.
    pub(super) fn whole(&self, text: &str, label: &Label) -> Option<String> {
        let rows = self.view().last.take()?.rows?;
        let erased = "\x1b[1A\x1b[2K".repeat(rows);
        Some(format!("{erased}\r{}", self.submitted(text, label)))
    }

    /// Returns a submitted text as it stays on the screen, behind its label and with the end of its line.
    pub(super) fn submitted(&self, text: &str, label: &Label) -> String {
        let coloured = |style: Style, text: &str| match self.colours {
            Some(_) => style.paint(text).to_string(),
            None => text.to_owned(),
        };
        let green = Style::new().fg(Color::Green);
        let mut out = coloured(green, &label.render_prompt_left());
        let continuation = format!("\r\n{}", label.render_prompt_multiline_indicator());
        for (style, piece) in self.pieces(text, usize::MAX, 0..text.len()) {
            for (number, line) in piece.split('\n').enumerate() {
                if number > 0 {
                    out.push_str(&coloured(green, &continuation));
                }
                if !line.is_empty() {
                    out.push_str(&coloured(style, &visible_lines(line)));
                }
            }
        }
        out.push_str("\r\n");
        out
    }

    /// Returns the pieces of `text` within `range`; marks brackets for a cursor in the text. Without a cursor it is
    /// the last paint: the text stays on the screen in these colours.
    fn pieces(&self, text: &str, cursor: usize, range: Range<usize>) -> Vec<Piece> {
        let (mode, cell_language) = {
            let snapshot = lock_snapshot(&self.snapshot);
            (snapshot.mode, snapshot.cell_language.clone())
        };
        let code = code_start(text, mode);
        let (Some(colours), Some(start)) = (&self.colours, code) else {
            return vec![(Style::default(), text[range].to_owned())];
        };
        let wanted =
            1 + memchr::memchr_iter(b'\n', &text.as_bytes()[start..range.end.max(start)]).count();
        let last = cursor == usize::MAX;
        let cache = colours.update(&text[start..], wanted, cell_language.other(), last);
        let marks = match cursor.checked_sub(start) {
            Some(cursor) if cursor <= text.len() => marks(cache.lines(), cursor),
            _ => Vec::new(),
        };
        compose(&cache, text, start, &marks, range)
    }

    fn view(&self) -> std::sync::MutexGuard<'_, ViewState> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the pieces of `text` within `range`, joining neighbours of one style; its code begins at `start`.
fn compose(
    cache: &HighlightCache,
    text: &str,
    start: usize,
    marks: &[Mark],
    range: Range<usize>,
) -> Vec<Piece> {
    let mut out = Pieces {
        text,
        range,
        pieces: Vec::new(),
    };
    out.push(0..start, Style::default());
    let mut at = start;
    for line in cache.lines() {
        let end = at + line.text.len();
        if end >= out.range.start && at <= out.range.end {
            for (length, style) in &line.spans {
                out.marked(at..at + length, *style, start, marks);
                at += length;
            }
            out.push(end..end + 1, Style::default());
        }
        at = end + 1;
    }
    out.pieces
}

struct Pieces<'a> {
    text: &'a str,
    range: Range<usize>,
    pieces: Vec<Piece>,
}

impl Pieces<'_> {
    /// Appends a span, cut where a bracket in it is marked.
    fn marked(&mut self, span: Range<usize>, style: Style, start: usize, marks: &[Mark]) {
        let mut inside: Vec<&Mark> = marks
            .iter()
            .filter(|(at, _)| span.contains(&(start + at)))
            .collect();
        inside.sort_unstable_by_key(|(at, _)| *at);
        let mut from = span.start;
        for (at, restyle) in inside {
            let at = start + at;
            self.push(from..at, style);
            self.push(at..at + 1, restyle(style));
            from = at + 1;
        }
        self.push(from..span.end, style);
    }

    fn push(&mut self, span: Range<usize>, style: Style) {
        let (start, end) = (
            span.start.max(self.range.start),
            span.end.min(self.range.end).min(self.text.len()),
        );
        if start >= end {
            return;
        }
        let text = &self.text[start..end];
        match self.pieces.last_mut() {
            Some((known, last)) if *known == style => last.push_str(text),
            _ => self.pieces.push((style, text.to_owned())),
        }
    }
}

pub(super) struct InputHighlighter {
    pub(super) look: Arc<InputRenderer>,
    pub(super) on_prompt: Box<dyn Fn() + Send>,
    pub(super) before: Box<dyn Fn() + Send>,
}

impl Highlighter for InputHighlighter {
    fn highlight(&self, text: &str, cursor: usize) -> StyledText {
        (self.before)();
        let mut snapshot = lock_snapshot(&self.look.snapshot);
        if text.starts_with('.') && !snapshot.text.starts_with('.') {
            (self.on_prompt)();
        }
        if snapshot.text != text {
            text.clone_into(&mut snapshot.text);
        }
        snapshot.cursor = cursor;
        snapshot.fresh = true;
        let submitted = snapshot.submitted;
        drop(snapshot);
        let mut view = self.look.view();
        let shown = view.window.show(text, cursor, (self.look.size)());
        view.last = Some(shown.clone());
        drop(view);
        lock_snapshot(&self.look.snapshot).windowed = shown.rows.is_some();
        self.look.front.set(shown.front);
        let mut styled = StyledText::new();
        if shown.range.start > 0 {
            // As many bytes as are hidden: the editor finds the cursor by its offset.
            let hidden = "\0".repeat(shown.range.start);
            styled.push((Style::default(), hidden));
        }
        // A submitted text stays on the screen without marks.
        let cursor = if submitted { usize::MAX } else { cursor };
        for piece in self.look.pieces(text, cursor, shown.range) {
            styled.push(piece);
        }
        styled
    }
}

#[cfg(test)]
mod tests;
