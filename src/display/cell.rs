//! A cell on the screen: its bytes through its filter, values by their best form, tracebacks.
//!
//! In go the events of one cell (or of tools that print during a turn); out goes what the user sees. Bytes of a program
//! that owns the terminal for the moment (`foreign`) are let through as they are; everything else passes the filter.

use std::sync::Arc;

use nu_ansi_term::{Color, Style};

use crate::markdown::{Appearance, render};
use crate::output::filter::{Filter, Policy};
use crate::output::mime::{MimeBundle, TerminalForm};
use crate::output::traceback::CellError;
use crate::runtime;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};

/// What one cell has put on the screen.
pub(super) struct CellView {
    screen: Screen,
    appearance: Appearance,
    filter: Filter,
    guard: Option<Arc<TerminalGuard>>,
    /// Bytes are being let through.
    foreign: bool,
    /// The last bytes let through did not end a line.
    foreign_open: bool,
}

impl CellView {
    pub(super) fn new(
        screen: Screen,
        appearance: Appearance,
        guard: Option<Arc<TerminalGuard>>,
    ) -> Self {
        CellView {
            screen,
            appearance,
            filter: Filter::new(Policy::Cell),
            guard,
            foreign: false,
            foreign_open: false,
        }
    }

    /// Bytes as they come.
    pub(super) fn output(&mut self, bytes: &[u8], foreign: bool) -> Result<(), ScreenError> {
        self.let_through(foreign)?;
        if foreign {
            self.screen.trusted(bytes)?;
            self.foreign_open = bytes
                .last()
                .is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
            return Ok(());
        }
        self.foreign_open = false;
        self.screen.cell(&mut self.filter, bytes)
    }

    /// A program of the cell has the terminal.
    pub(super) fn is_lent(&self) -> bool {
        self.foreign
    }

    /// The cursor stands in an empty row below everything the cell has written.
    pub(super) fn is_fresh(&self) -> bool {
        !self.foreign && !self.foreign_open && self.filter.at_line_start()
    }

    /// A program that owns the terminal does its own line ends: ours are switched off for its time.
    fn let_through(&mut self, foreign: bool) -> Result<(), ScreenError> {
        if self.foreign != foreign {
            self.foreign = foreign;
            self.screen.flush()?;
            if let Some(guard) = &self.guard {
                guard.raw_output(foreign);
            }
        }
        Ok(())
    }

    /// A value (`Out[n]: `) or a display.
    pub(super) fn display(&mut self, display: &runtime::Display) -> Result<(), ScreenError> {
        self.start_line()?;
        match display.execution_count {
            None => self.bundle(&display.bundle, ""),
            Some(count) => self.bundle(&display.bundle, &format!("Out[{count}]: ")),
        }
    }

    /// Help text, as it is.
    pub(super) fn page(&mut self, bundle: &MimeBundle) -> Result<(), ScreenError> {
        self.start_line()?;
        self.bundle(bundle, "")
    }

    fn bundle(&mut self, bundle: &MimeBundle, label: &str) -> Result<(), ScreenError> {
        let painted = self.paint(label, Color::Red.normal());
        match bundle.for_terminal() {
            TerminalForm::Nothing => Ok(()),
            TerminalForm::Plain(text) | TerminalForm::Image { text, .. } => {
                self.screen.trusted(painted.as_bytes())?;
                // As IPython: a value of several lines begins below its label.
                if !label.is_empty() && text.trim_end().contains('\n') {
                    self.screen.trusted(b"\n")?;
                }
                self.lines(&text)
            }
            TerminalForm::Markdown(source) => {
                if !label.is_empty() {
                    self.screen.trusted(painted.as_bytes())?;
                    self.screen.trusted(b"\n")?;
                }
                let width = usize::from(self.screen.size().columns);
                for line in render(&source, width, &self.appearance) {
                    self.screen
                        .trusted(line.to_ansi(self.screen.colour()).as_bytes())?;
                    self.screen.trusted(b"\n")?;
                }
                Ok(())
            }
        }
    }

    /// Text of a value: its own colours, nothing else, and a newline at the end.
    fn lines(&mut self, text: &str) -> Result<(), ScreenError> {
        let mut filter = Filter::new(Policy::Cell);
        self.screen
            .cell(&mut filter, text.trim_end_matches('\n').as_bytes())?;
        self.screen.cell(&mut filter, b"\n")?;
        self.screen.end_cell(&mut filter, true)
    }

    /// A traceback.
    pub(super) fn raised(&mut self, error: &CellError) -> Result<(), ScreenError> {
        self.start_line()?;
        for line in error.lines(self.screen.colour()) {
            self.screen.trusted(line.as_bytes())?;
            self.screen.trusted(b"\n")?;
        }
        Ok(())
    }

    /// The output so far is to be cleared: what has scrolled cannot be, so a fresh line is begun.
    pub(super) fn clear(&mut self) -> Result<(), ScreenError> {
        self.start_line()?;
        self.filter = Filter::new(Policy::Cell);
        Ok(())
    }

    /// The cell ended.
    pub(super) fn end(&mut self) -> Result<(), ScreenError> {
        self.start_line()?;
        self.screen.flush()
    }

    /// Puts the cursor at the start of a line.
    pub(super) fn start_line(&mut self) -> Result<(), ScreenError> {
        self.let_through(false)?;
        if std::mem::take(&mut self.foreign_open) {
            self.screen.trusted(b"\r\n")?;
        }
        self.screen.end_cell(&mut self.filter, true)?;
        self.filter = Filter::new(Policy::Cell);
        Ok(())
    }

    fn paint(&self, text: &str, style: Style) -> String {
        if self.screen.colour() && !text.is_empty() {
            style.paint(text).to_string()
        } else {
            text.to_owned()
        }
    }
}
