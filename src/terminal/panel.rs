//! The full-screen panel: lines on the alternate screen, their styles, keys one by one.
//!
//! In: a [`PanelFrame`] for the current size. Out: events. Invariant: after the drop, screen, cursor and mode are as
//! before, so the editor finds its line where it was; a signal or a panic meanwhile goes through the guard. Ctrl-Z
//! suspends here too, and the caller gets a resize when the program continues.
//!
//! Absent on purpose: the content of the lines, and the meaning of keys.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use nu_ansi_term::Style;

use crate::keys::by_habit;
use crate::runtime::TerminalSize;
use crate::screen::Screen;
use crate::screen::alternate::Alternate;
use crate::screen::guard::TerminalGuard;
use crate::terminal::typeahead::ctrl_c;
use crate::text::escape::visible_lines;
use crate::text::needle::excerpt;
use crate::text::report::Report;
use crate::text::{Break, Line, expand_tabs, rows, split_at_columns};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PanelFrame {
    /// From the top; lines below the last row are left out.
    pub(super) lines: Vec<Line>,
    /// Row and column of the cursor, from 0; `None` hides it.
    pub(super) cursor: Option<(usize, usize)>,
}

impl PanelFrame {
    /// Returns `rows` rows: `lines` from the top, `help` at the bottom.
    pub(super) fn new(
        mut lines: Vec<Line>,
        help: Vec<Line>,
        rows: usize,
        cursor: (usize, usize),
    ) -> Self {
        lines.resize(rows.saturating_sub(help.len()), Line::default());
        lines.extend(help);
        PanelFrame {
            lines,
            cursor: Some(cursor),
        }
    }
}

pub(super) struct Panel<'a> {
    screen: &'a Screen,
    /// Left before the mode is restored.
    _alternate: Alternate<'a>,
    mode: Raw<'a>,
}

struct Raw<'a>(Option<&'a TerminalGuard>);

impl<'a> Panel<'a> {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Fails when the terminal cannot be written, or its mode cannot be set.
    pub(super) fn open(
        screen: &'a Screen,
        guard: Option<&'a TerminalGuard>,
    ) -> Result<Self, Report> {
        let mode = Raw(guard);
        enable_raw_mode().map_err(unreadable)?;
        // Starts listening for resizes before the first frame is drawn.
        crossterm::event::poll(Duration::ZERO).map_err(unreadable)?;
        let panel = Panel {
            screen,
            _alternate: Alternate::open(screen, guard)?,
            mode,
        };
        screen.set_input_reports(true)?;
        Ok(panel)
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.screen.size()
    }

    /// Shows a frame in place of the last one.
    ///
    /// # Errors
    /// Fails when the terminal cannot be written.
    pub(super) fn show(&self, frame: &PanelFrame) -> Result<(), Report> {
        let bytes = painted(frame, self.size(), self.screen.colour());
        self.screen.write_trusted(bytes.as_bytes())?;
        self.screen.flush()?;
        Ok(())
    }

    /// Returns the next key, paste or resize, and reads on with `more` until there is one; `None` when what was read
    /// has to be shown. `more` returns whether it has, or `None` when there is nothing left to read.
    ///
    /// # Errors
    /// Fails when the terminal cannot be read, and as `more` does.
    pub(super) fn next_or(
        &self,
        mut more: impl FnMut() -> Result<Option<bool>, Report>,
    ) -> Result<Option<Event>, Report> {
        loop {
            if let Some(event) = self.next(Some(Duration::ZERO))? {
                return Ok(Some(event));
            }
            match more()? {
                None => return self.next(None),
                Some(true) => return Ok(None),
                Some(false) => {}
            }
        }
    }

    /// Returns the next key, paste or resize; `None` when `patience` ends before.
    fn next(&self, patience: Option<Duration>) -> Result<Option<Event>, Report> {
        loop {
            if self.mode.0.is_some_and(TerminalGuard::take_interrupt) {
                return Ok(Some(ctrl_c()));
            }
            if let Some(patience) = patience
                && !crossterm::event::poll(patience).map_err(unreadable)?
            {
                return Ok(None);
            }
            match crossterm::event::read().map_err(unreadable)? {
                Event::Key(key) if key.kind == KeyEventKind::Release => {}
                Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
                Event::Key(key)
                    if key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL =>
                {
                    if let Some(guard) = self.mode.0 {
                        guard.suspend();
                    }
                    let size = self.size();
                    return Ok(Some(Event::Resize(size.columns, size.rows)));
                }
                event => {
                    // crossterm drops keys that come together with a resize.
                    if let (Event::Resize(..), Some(guard)) = (&event, self.mode.0) {
                        guard.renotify_keys();
                    }
                    return Ok(Some(by_habit(event)));
                }
            }
        }
    }
}

impl Drop for Panel<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no reset; the next write fails.
        let _ = self.screen.set_input_reports(false);
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
        if let Some(guard) = self.0 {
            // crossterm restores the mode it found, which after a stop may have been the shell's.
            guard.reclaim();
        }
    }
}

pub(super) fn unreadable(error: std::io::Error) -> Report {
    Report::failure("could not read the terminal").because(error)
}

/// Returns the bytes that show a frame; each line is cut at the right edge.
fn painted(frame: &PanelFrame, size: TerminalSize, colour: bool) -> String {
    let mut out = String::from("\x1b[?2026h\x1b[?25l");
    let none = Line::default();
    for row in 0..usize::from(size.rows) {
        let line = frame.lines.get(row).unwrap_or(&none);
        // Cleared first: after the last column the sequence would erase that column, too.
        let _ = write!(out, "\x1b[{};1H\x1b[0m\x1b[2K", row + 1);
        let mut room = usize::from(size.columns);
        for span in line.spans() {
            let (text, _) = split_at_columns(&span.text, room);
            room -= crate::text::columns(text);
            let _ = write!(out, "\x1b[0m{}{text}", shown(span.style, colour).prefix());
        }
        // A row in reverse video is so up to the edge.
        if line
            .spans()
            .last()
            .is_some_and(|span| span.style.is_reverse)
        {
            out.push_str(&" ".repeat(room));
        }
    }
    out.push_str("\x1b[0m");
    if let Some((row, column)) = frame.cursor {
        let row = row.min(usize::from(size.rows).saturating_sub(1));
        let column = column.min(usize::from(size.columns).saturating_sub(1));
        let _ = write!(out, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1);
    }
    out.push_str("\x1b[?2026l");
    out
}

/// Without colours, underlines what would have one.
fn shown(mut style: Style, colour: bool) -> Style {
    if !colour && style.foreground.take().is_some() {
        style.is_underline = true;
    }
    style
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PanelStyle {
    Plain,
    Dim,
    Strong,
    Match,
}

impl From<PanelStyle> for Style {
    fn from(look: PanelStyle) -> Style {
        match look {
            PanelStyle::Plain => Style::new(),
            PanelStyle::Dim => Style::new().dimmed(),
            PanelStyle::Strong => Style::new().bold(),
            // Readable on light and dark backgrounds, and in reverse video.
            PanelStyle::Match => Style::new().bold().underline(),
        }
    }
}

/// Appends a text to the line with the range `at` marked and visible, in at most `room` columns.
pub(super) fn with_excerpt(line: Line, text: &str, at: &Range<usize>, room: usize) -> Line {
    let [before, matched, after] = excerpt(text, at, room);
    line.and(PanelStyle::Plain, before)
        .and(PanelStyle::Match, matched)
        .and(PanelStyle::Plain, after)
}

/// Wraps foreign text into rows of at most `width` columns, broken between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = expand_tabs(&visible_lines(text), 0);
    let of_line = |line| {
        rows(line, width, Break::Words)
            .into_iter()
            .map(|row| line[row].to_owned())
    };
    text.lines().flat_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    #[test]
    fn lines_are_cut_at_the_edge_and_a_shorter_frame_leaves_nothing_behind() {
        let size = TerminalSize {
            columns: 6,
            rows: 3,
        };
        let mut terminal =
            vt100::Parser::new(NonZeroU16::new(3).unwrap(), NonZeroU16::new(6).unwrap(), 9);
        let long = PanelFrame {
            lines: vec![
                Line::styled(PanelStyle::Plain, "123456789"),
                Line::styled(PanelStyle::Match, "漢字漢字"),
                Line::styled(PanelStyle::Plain, "ab")
                    .and(PanelStyle::Dim, "cdefgh")
                    .reversed(),
                Line::styled(PanelStyle::Plain, "no room"),
            ],
            cursor: Some((9, 9)),
        };
        terminal.process(painted(&long, size, true).as_bytes());
        assert_eq!(terminal.screen().contents(), "123456\n漢字漢\nabcdef");
        assert_eq!(terminal.screen().cursor_position(), (2, 5));
        assert!(terminal.screen().cell(2, 5).unwrap().inverse());
        let short = PanelFrame {
            lines: vec![Line::default(), Line::styled(PanelStyle::Plain, "x")],
            cursor: None,
        };
        terminal.process(painted(&short, size, false).as_bytes());
        assert_eq!(terminal.screen().contents(), "\nx");
        assert!(terminal.screen().hide_cursor());
    }
}
