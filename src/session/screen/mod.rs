//! The one writer to the terminal, and the guard that restores the terminal.
//!
//! Every byte for standard output and standard error goes through a [`Screen`]: *trusted* bytes from our renderers,
//! *untrusted text* from other sources, and output of the user's own cells through the cell's filter. Handles are
//! cheap clones of one writer; each call is written whole, never mixed with another. Output is buffered until
//! [`Screen::flush`] (or 64 KiB), a piece of 32 KiB only while others wait. After a closed pipe or a hung-up terminal
//! ([`ScreenError::Closed`]) nothing is written, nothing blocks or loops.
//!
//! Absent on purpose: layout, and reading keys.

pub mod alternate;
mod clipboard;
pub mod guard;
mod keyboard;
pub mod live;
mod notify;
mod sink;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environment::Environment;
use crate::output::filter::{Filter, Policy};
use crate::runtime::TerminalSize;
use crate::text::escape::{visible, visible_lines};
use crate::text::report::{Report, ReportKind};

use notify::NoticeProtocol;
pub use sink::ScreenError;
use sink::Sink;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal that supports them, unless the environment overrides it.
    #[default]
    Auto,
    Always,
    Never,
}

impl From<ScreenError> for Report {
    fn from(error: ScreenError) -> Self {
        let mut report = Report::failure(error.to_string());
        match error {
            ScreenError::Closed => report.kind = ReportKind::BrokenPipe,
            ScreenError::Write(cause) => report = report.because(cause),
        }
        report
    }
}

#[derive(Debug, Clone)]
pub struct Screen {
    sinks: Arc<Mutex<Sinks>>,
    facts: Arc<TerminalTraits>,
}

#[derive(Debug)]
struct Sinks {
    out: Sink,
    err: Sink,
    /// For cells that write to standard error while that is a terminal.
    err_filter: Option<Filter>,
    /// Buffer for the output of filters; kept to avoid allocations.
    scratch: Vec<u8>,
    /// A transient line is in the cursor's row; it is erased before other output.
    passing: bool,
    /// The terminal's own title is saved on its stack.
    titled: bool,
    /// What was shown last ended a line.
    at_line_start: bool,
}

impl Sinks {
    /// Writes to standard output, over a transient line.
    fn write(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        if let Some(last) = bytes.last() {
            self.at_line_start = *last == b'\n';
            if std::mem::take(&mut self.passing) {
                self.out.write(ERASE)?;
            }
        }
        self.out.write(bytes)
    }
}

const ERASE: &[u8] = b"\r\x1b[K";

/// Saves the title on the terminal's stack, and restores it. Terminals without a stack keep the program's name.
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b]2;ipycodex\x07\x1b[23;2t";

#[derive(Debug)]
struct TerminalTraits {
    colour: bool,
    colour_on_stderr: bool,
    rich: bool,
    titles: bool,
    in_tmux: bool,
    notices: NoticeProtocol,
    fallback: TerminalSize,
}

impl Screen {
    /// Opens the screen of this process.
    ///
    /// # Errors
    /// Standard output or standard error cannot be duplicated.
    pub fn open(environment: &Environment, colour: ColorChoice) -> Result<Self, ScreenError> {
        let out = Sink::for_fd(&std::io::stdout()).map_err(ScreenError::Write)?;
        let err = Sink::for_fd(&std::io::stderr()).map_err(ScreenError::Write)?;
        Ok(Screen::over(out, err, environment, colour))
    }

    /// As [`Screen::open`], for tests: both outputs go to this file.
    ///
    /// # Errors
    /// As [`Screen::open`].
    #[doc(hidden)]
    pub fn onto(
        file: &std::fs::File,
        environment: &Environment,
        colour: ColorChoice,
    ) -> Result<Self, ScreenError> {
        let sink = || Sink::for_fd(file).map_err(ScreenError::Write);
        Ok(Screen::over(sink()?, sink()?, environment, colour))
    }

    fn over(out: Sink, err: Sink, environment: &Environment, colour: ColorChoice) -> Self {
        let number = |name| {
            environment
                .variable(name)?
                .parse()
                .ok()
                .filter(|&n: &u16| n > 0)
        };
        Screen {
            sinks: Arc::new(Mutex::new(Sinks {
                out,
                err,
                err_filter: environment
                    .stderr_is_terminal
                    .then(|| Filter::new(Policy::Cell)),
                scratch: Vec::new(),
                passing: false,
                titled: false,
                at_line_start: false,
            })),
            facts: Arc::new(TerminalTraits {
                colour: wants_colour(environment, colour, environment.stdout_is_terminal),
                colour_on_stderr: wants_colour(environment, colour, environment.stderr_is_terminal),
                rich: environment.is_rich_terminal(),
                titles: environment.is_rich_terminal()
                    && environment
                        .variable("TERM")
                        .is_some_and(|term| term != "linux"),
                in_tmux: environment.variable("TMUX").is_some(),
                notices: NoticeProtocol::detect(environment),
                fallback: TerminalSize {
                    columns: number("COLUMNS").unwrap_or(80),
                    rows: number("LINES").unwrap_or(24),
                },
            }),
        }
    }

    /// Writes output of our own renderers unchanged.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_trusted(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.sinks().write(bytes)
    }

    /// Writes a sequence that shows nothing and leaves the cursor where it is, such as a query.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_sequence(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.sinks().out.write(bytes)
    }

    /// Returns true when the cursor is in the first column for certain: what was shown last ended a line.
    pub fn is_at_line_start(&self) -> bool {
        self.sinks().at_line_start
    }

    /// Writes untrusted text: printable characters, newlines and tabs pass, nothing else.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_untrusted(&self, text: &str) -> Result<(), ScreenError> {
        let mut filter = Filter::new(Policy::Text);
        let mut safe = Vec::new();
        filter.push(text.as_bytes(), &mut safe);
        filter.finish(&mut safe);
        self.sinks().write(&safe)
    }

    /// Writes a piece of a cell's output through the filter of that cell.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_cell(&self, filter: &mut Filter, bytes: &[u8]) -> Result<(), ScreenError> {
        self.filtered(|out| filter.push(bytes, out))
    }

    /// Writes bytes unchanged to standard output; for a front-end whose output is not a terminal.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_stdout(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.sinks().write(bytes)
    }

    /// Writes a cell's bytes to standard error: unchanged, or filtered when it is a terminal.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_stderr(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        let mut sinks = self.sinks();
        let sinks = &mut *sinks;
        sinks.out.flush()?;
        match &mut sinks.err_filter {
            None => sinks.err.write(bytes)?,
            Some(filter) => {
                sinks.scratch.clear();
                filter.push(bytes, &mut sinks.scratch);
                sinks.err.write(&sinks.scratch)?;
            }
        }
        sinks.err.flush()
    }

    /// Ends a cell's output: colours reset, the cursor below all of it and, when `fresh_line`, at a line's start.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn end_cell(&self, filter: &mut Filter, fresh_line: bool) -> Result<(), ScreenError> {
        self.filtered(|out| {
            filter.finish(out);
            if fresh_line && !filter.at_line_start() {
                filter.push(b"\n", out);
            }
        })
    }

    /// Writes a line about the program itself to standard error, after all buffered standard output. Control
    /// characters are escaped.
    ///
    /// # Errors
    /// [`ScreenError`] of standard error; a closed standard output does not suppress the line.
    pub fn print_notice(&self, text: &str) -> Result<(), ScreenError> {
        let mut sinks = self.sinks();
        let erased = match std::mem::take(&mut sinks.passing) {
            true => sinks.out.write(ERASE),
            false => Ok(()),
        };
        let flushed = erased.and_then(|()| sinks.out.flush());
        sinks.err.write(visible_lines(text).as_bytes())?;
        sinks.err.write(b"\n")?;
        sinks.err.flush()?;
        match flushed {
            Err(ScreenError::Closed) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes a report to standard error; nothing for a closed pipe.
    ///
    /// # Errors
    /// [`ScreenError`] of standard error.
    pub fn print_report(&self, report: &Report) -> Result<(), ScreenError> {
        match report.kind {
            ReportKind::BrokenPipe => Ok(()),
            _ => self.print_notice(&report.to_string()),
        }
    }

    /// Passes all buffered output to the system.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn flush(&self) -> Result<(), ScreenError> {
        self.sinks().out.flush()
    }

    /// Shows a line in the cursor's row, which must be empty, until the next output; `None` erases it. The cursor
    /// stays at the row's start. The line must be shorter than any terminal is wide; nothing is shown where the
    /// cursor cannot be moved.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn show_transient(&self, line: Option<&str>) -> Result<(), ScreenError> {
        let mut sinks = self.sinks();
        if std::mem::take(&mut sinks.passing) {
            sinks.out.write(ERASE)?;
        }
        if let Some(line) = line.filter(|_| self.facts.rich) {
            let line = visible(line);
            let (dim, plain) = match self.facts.colour {
                true => ("\x1b[2m", "\x1b[0m"),
                false => ("", ""),
            };
            sinks
                .out
                .write(format!("{dim}{line}{plain}\r").as_bytes())?;
            sinks.passing = true;
        }
        sinks.out.flush()
    }

    /// Switches bracketed paste and reports of the focus on or off, on terminals that support them.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn set_input_reports(&self, marked: bool) -> Result<(), ScreenError> {
        if !self.facts.rich {
            return Ok(());
        }
        let mut sinks = self.sinks();
        sinks.out.write(match marked {
            true => b"\x1b[?2004h\x1b[?1004h",
            false => b"\x1b[?1004l\x1b[?2004l",
        })?;
        sinks.out.flush()
    }

    /// Sets the terminal's title, where it has one; `None` restores the earlier title. Control characters are
    /// escaped.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn set_title(&self, title: Option<&str>) -> Result<(), ScreenError> {
        if !self.facts.titles {
            return Ok(());
        }
        let mut sinks = self.sinks();
        let bytes = match (title, sinks.titled) {
            (None, false) => return Ok(()),
            (None, true) => OLD_TITLE.to_owned(),
            (Some(title), true) => format!("\x1b]2;{}\x07", visible(title)),
            (Some(title), false) => format!("{KEEP_TITLE}\x1b]2;{}\x07", visible(title)),
        };
        sinks.titled = title.is_some();
        sinks.out.write(bytes.as_bytes())?;
        sinks.out.flush()
    }

    /// Shows a desktop notification through the terminal; does nothing without a terminal.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn notify(&self, text: &str) -> Result<(), ScreenError> {
        if !self.facts.rich {
            return Ok(());
        }
        let mut sinks = self.sinks();
        let sequence = self.facts.notices.sequence(text);
        sinks.out.write(sequence.as_bytes())?;
        sinks.out.flush()
    }

    /// Copies text to the user's clipboard.
    ///
    /// # Errors
    /// The reason, as a phrase.
    pub fn copy(&self, text: &str) -> Result<(), String> {
        if !self.facts.rich {
            return Err("standard output is not a terminal with a clipboard".into());
        }
        if self.facts.in_tmux {
            return clipboard::copy_in_tmux(text);
        }
        let mut sinks = self.sinks();
        let written = sinks.out.write(clipboard::sequence(text).as_bytes());
        written
            .and_then(|()| sinks.out.flush())
            .map_err(|error| error.to_string())
    }

    pub fn colour(&self) -> bool {
        self.facts.colour
    }

    pub fn colour_on_stderr(&self) -> bool {
        self.facts.colour_on_stderr
    }

    /// True when standard output is a terminal that can move its cursor.
    pub fn is_rich(&self) -> bool {
        self.facts.rich
    }

    /// Returns the current size of the terminal; without one `COLUMNS` and `LINES`, else 80 by 24.
    pub fn size(&self) -> TerminalSize {
        match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => TerminalSize {
                columns: size.ws_col,
                rows: size.ws_row,
            },
            _ => self.facts.fallback,
        }
    }

    /// Returns width and height of one cell in pixels, where the terminal reports them.
    pub fn cell_pixels(&self) -> Option<(u32, u32)> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
        let side = |pixels: u16, cells: u16| u32::from(pixels).checked_div(u32::from(cells));
        let width = side(size.ws_xpixel, size.ws_col).filter(|side| *side > 0)?;
        let height = side(size.ws_ypixel, size.ws_row).filter(|side| *side > 0)?;
        Some((width, height))
    }

    fn filtered(&self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), ScreenError> {
        let mut sinks = self.sinks();
        let mut scratch = std::mem::take(&mut sinks.scratch);
        scratch.clear();
        fill(&mut scratch);
        let written = sinks.write(&scratch);
        sinks.scratch = scratch;
        written
    }

    /// A panic during a write leaves whole bytes in the buffer, so a poisoned lock can be used.
    fn sinks(&self) -> MutexGuard<'_, Sinks> {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flag takes precedence, then `NO_COLOR`, then `CLICOLOR_FORCE`, then the terminal.
fn wants_colour(environment: &Environment, choice: ColorChoice, is_terminal: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if environment.variable("NO_COLOR").is_some() => false,
        ColorChoice::Auto
            if environment
                .variable("CLICOLOR_FORCE")
                .is_some_and(|value| value != "0") =>
        {
            true
        }
        ColorChoice::Auto => {
            is_terminal
                && environment
                    .variable("TERM")
                    .is_some_and(|term| term != "dumb")
        }
    }
}

#[cfg(test)]
mod tests;
