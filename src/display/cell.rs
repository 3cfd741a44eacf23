//! Rendering of a cell: its bytes through its filter, values by their best form, tracebacks.
//!
//! In: events of one cell (or of tools that print during a turn). Out: bytes on the screen. Bytes of a program that
//! owns the terminal (`foreign`) pass unchanged; everything else is filtered. Pictures are drawn below their label;
//! one that follows another may be delayed (`picture/animation.rs`).

use std::sync::Arc;
use std::time::Instant;

use nu_ansi_term::{Color, Style};

use super::picture::{Animation, PictureOutput, PictureSource, Pictures};
use crate::markdown::{Appearance, render};
use crate::output::filter::{Filter, Policy};
use crate::output::mime::{MimeBundle, TerminalForm};
use crate::output::traceback::CellError;
use crate::runtime;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};

pub(super) struct CellView {
    screen: Screen,
    appearance: Appearance,
    pictures: Pictures,
    animation: Animation<PendingPicture>,
    filter: Filter,
    policy: Policy,
    guard: Option<Arc<TerminalGuard>>,
    /// A program owns the terminal and its bytes pass unchanged.
    foreign: bool,
    /// The last unfiltered bytes did not end a line.
    foreign_open: bool,
}

#[derive(Debug)]
struct PendingPicture {
    picture: PictureSource,
    /// Text of the value, for terminals that draw no pictures.
    text: String,
}

impl CellView {
    pub(super) fn new(
        screen: Screen,
        appearance: Appearance,
        pictures: Pictures,
        guard: Option<Arc<TerminalGuard>>,
    ) -> Self {
        CellView {
            screen,
            appearance,
            pictures,
            animation: Animation::default(),
            filter: Filter::new(Policy::Cell),
            policy: Policy::Cell,
            guard,
            foreign: false,
            foreign_open: false,
        }
    }

    /// Switches to the policy for commands of the user's own shell.
    pub(super) fn set_shell_policy(&mut self) {
        self.policy = Policy::Shell;
        self.filter = Filter::new(self.policy);
    }

    pub(super) fn output(&mut self, bytes: &[u8], foreign: bool) -> Result<(), ScreenError> {
        self.set_foreign(foreign)?;
        if !bytes.is_empty() {
            self.animation.on_other_output();
        }
        if foreign {
            self.screen.write_trusted(bytes)?;
            self.foreign_open = bytes
                .last()
                .is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
            return Ok(());
        }
        self.foreign_open = false;
        self.screen.write_cell(&mut self.filter, bytes)
    }

    /// True while a program of the cell owns the terminal.
    pub(super) fn lends_terminal(&self) -> bool {
        self.foreign
    }

    /// True when the cursor is in an empty row below everything the cell has written.
    pub(super) fn is_at_empty_row(&self) -> bool {
        !self.foreign && !self.foreign_open && self.filter.at_line_start()
    }

    /// Switches the terminal's output mode: a program that owns the terminal makes its own line ends.
    fn set_foreign(&mut self, foreign: bool) -> Result<(), ScreenError> {
        if self.foreign != foreign {
            self.foreign = foreign;
            self.screen.flush()?;
            if let Some(guard) = &self.guard {
                guard.set_raw_output(foreign);
                // A program that owns the terminal chooses its own paste mode.
                self.screen.set_input_reports(!foreign)?;
            }
        }
        Ok(())
    }

    /// Renders a value (`Out[n]: `) or a display.
    pub(super) fn display(&mut self, display: &runtime::DisplayData) -> Result<(), ScreenError> {
        self.start_line()?;
        match display.execution_count {
            None => self.bundle(&display.terminal_bundle(), "", display.update),
            Some(count) => self.bundle(
                &display.terminal_bundle(),
                &format!("Out[{count}]: "),
                false,
            ),
        }
    }

    /// Prints help text without paging.
    pub(super) fn page(&mut self, bundle: &MimeBundle) -> Result<(), ScreenError> {
        self.start_line()?;
        self.bundle(bundle, "", false)
    }

    fn bundle(
        &mut self,
        bundle: &MimeBundle,
        label: &str,
        update: bool,
    ) -> Result<(), ScreenError> {
        let painted = self.paint(label, Color::Red.normal());
        let form = bundle.for_terminal(usize::from(self.screen.size().columns));
        if !matches!(
            form,
            TerminalForm::Image { .. } | TerminalForm::Drawing { .. }
        ) {
            self.animation.on_other_output();
        }
        match form {
            TerminalForm::Nothing => Ok(()),
            TerminalForm::Image { mime, base64, text } => {
                let picture = PictureSource::from_bundle(&mime, &base64);
                self.picture(PendingPicture { picture, text }, &painted, update)
            }
            TerminalForm::Drawing { svg, text } => {
                let picture = PictureSource::Drawing(svg);
                self.picture(PendingPicture { picture, text }, &painted, update)
            }
            TerminalForm::Plain(text) | TerminalForm::Json { tree: text, .. } => {
                self.screen.write_trusted(painted.as_bytes())?;
                // As in IPython, a value of several lines begins below its label.
                if !label.is_empty() && text.trim_end().contains('\n') {
                    self.screen.write_trusted(b"\n")?;
                }
                self.write_lines(&text)
            }
            TerminalForm::Markdown(source) => {
                if !label.is_empty() {
                    self.screen.write_trusted(painted.as_bytes())?;
                    self.screen.write_trusted(b"\n")?;
                }
                let width = usize::from(self.screen.size().columns);
                for line in render(&source, width, &self.appearance) {
                    self.screen
                        .write_trusted(line.to_ansi(self.screen.colour()).as_bytes())?;
                    self.screen.write_trusted(b"\n")?;
                }
                Ok(())
            }
        }
    }

    /// Draws a picture below its label, in place of its predecessor, or delays it.
    fn picture(
        &mut self,
        pending: PendingPicture,
        label: &str,
        update: bool,
    ) -> Result<(), ScreenError> {
        if !self.pictures.are_drawn(&self.screen) {
            self.screen.write_trusted(label.as_bytes())?;
        } else if !label.is_empty() {
            self.screen.write_trusted(label.as_bytes())?;
            self.screen.write_trusted(b"\n")?;
            self.animation.on_other_output();
        }
        match self.animation.offer(pending, update, Instant::now()) {
            Some(pending) => self.draw(&pending),
            None => Ok(()),
        }
    }

    fn draw(&mut self, pending: &PendingPicture) -> Result<(), ScreenError> {
        match self.pictures.draw(&pending.picture, &self.screen) {
            PictureOutput::Drawn(drawn) => {
                let bytes = self
                    .animation
                    .draw(drawn, self.screen.size(), Instant::now());
                self.screen.write_trusted(&bytes)
            }
            PictureOutput::Text(line) => {
                self.animation.on_other_output();
                // The value's text ends with the name of the format, which the line replaces.
                let shown = match pending.text.rsplit_once('\n') {
                    Some((text, last)) if last.starts_with("[image/") => format!("{text}\n{line}"),
                    _ => line,
                };
                self.write_lines(&shown)
            }
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.animation.has_pending()
    }

    pub(super) fn tick(&mut self) -> Result<(), ScreenError> {
        match self.animation.due(Instant::now()) {
            Some(pending) => {
                self.start_line()?;
                self.draw(&pending)?;
                self.screen.flush()
            }
            None => Ok(()),
        }
    }

    fn draw_pending(&mut self) -> Result<(), ScreenError> {
        match self.animation.take_pending() {
            Some(pending) => self.draw(&pending),
            None => Ok(()),
        }
    }

    /// Writes the text of a value: its own colours, no other sequences, and a newline at the end.
    fn write_lines(&mut self, text: &str) -> Result<(), ScreenError> {
        let mut filter = Filter::new(Policy::Cell);
        self.screen
            .write_cell(&mut filter, text.trim_end_matches('\n').as_bytes())?;
        self.screen.write_cell(&mut filter, b"\n")?;
        self.screen.end_cell(&mut filter, true)
    }

    pub(super) fn on_error(&mut self, error: &CellError) -> Result<(), ScreenError> {
        self.start_line()?;
        self.draw_pending()?;
        self.animation.on_other_output();
        for line in error.lines(self.screen.colour()) {
            self.screen.write_trusted(line.as_bytes())?;
            self.screen.write_trusted(b"\n")?;
        }
        Ok(())
    }

    /// Handles `clear_output`: scrolled lines cannot be cleared, so the next output starts on a fresh line.
    pub(super) fn clear(&mut self) -> Result<(), ScreenError> {
        self.start_line()?;
        self.animation.on_clear();
        self.filter = Filter::new(self.policy);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), ScreenError> {
        self.start_line()?;
        self.draw_pending()?;
        self.animation = Animation::default();
        self.screen.flush()
    }

    pub(super) fn start_line(&mut self) -> Result<(), ScreenError> {
        self.set_foreign(false)?;
        if std::mem::take(&mut self.foreign_open) {
            self.screen.write_trusted(b"\r\n")?;
        }
        self.screen.end_cell(&mut self.filter, true)?;
        self.filter = Filter::new(self.policy);
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
