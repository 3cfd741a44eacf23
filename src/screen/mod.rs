//! The one writer to the terminal, and the guard that gives the terminal back.
//!
//! Every byte for standard output and standard error goes through a [`Screen`]: what our renderer made as *trusted*,
//! what others wrote as *untrusted text* or, from the user's own cells, through that cell's filter. Handles are cheap
//! clones of one writer; each call is written whole, never mixed with another.
//!
//! Output is buffered until [`Screen::flush`] (or 64 KiB). A closed pipe and a hung-up terminal are
//! [`ScreenError::Closed`]: nothing is written afterwards, nothing blocks or loops.
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
use crate::report::{Report, ReportKind};
use crate::runtime::TerminalSize;
use crate::text::escape::{visible, visible_lines};

use notify::NoticeProtocol;
pub use sink::ScreenError;
use sink::Sink;

/// When colours are used: `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal that supports them, unless the environment overrides it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
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

/// A handle on the one writer.
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
    /// Where filters put their bytes; kept for its memory.
    scratch: Vec<u8>,
    /// A passing line stands in the cursor's row: it goes before anything else is written.
    passing: bool,
    /// The terminal's own title is kept on its stack.
    titled: bool,
}

impl Sinks {
    /// Writes to standard output, in the place of a passing line.
    fn write(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        if !bytes.is_empty() && std::mem::take(&mut self.passing) {
            self.out.write(ERASE)?;
        }
        self.out.write(bytes)
    }
}

/// Empties the cursor's row.
const ERASE: &[u8] = b"\r\x1b[K";

/// Keeps the title on the terminal's stack, and takes it back. A terminal without one is left with our name.
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
    /// The screen of this process.
    ///
    /// # Errors
    /// When standard output or standard error cannot be duplicated.
    pub fn open(environment: &Environment, colour: ColorChoice) -> Result<Self, ScreenError> {
        let out = Sink::for_fd(&std::io::stdout()).map_err(ScreenError::Write)?;
        let err = Sink::for_fd(&std::io::stderr()).map_err(ScreenError::Write)?;
        Ok(Screen::over(out, err, environment, colour))
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

    /// Writes what our own renderer made.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_trusted(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.sinks().write(bytes)
    }

    /// Writes foreign text: printable characters, newlines and tabs pass, nothing else.
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

    /// Writes bytes as they came to standard output; for a front-end whose output is not a terminal.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn write_stdout(&self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.sinks().write(bytes)
    }

    /// Writes a cell's bytes to standard error: as they came, or filtered when it is a terminal.
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

    /// Writes a line about the program itself to standard error, after what standard output holds. Control characters
    /// are shown, not obeyed.
    ///
    /// # Errors
    /// [`ScreenError`] of standard error; a closed standard output does not silence it.
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

    /// Hands everything written so far to the system.
    ///
    /// # Errors
    /// [`ScreenError`].
    pub fn flush(&self) -> Result<(), ScreenError> {
        self.sinks().out.flush()
    }

    /// Shows a line of ours in the cursor's row, which must be empty, until anything else is written; `None` takes it
    /// away. The cursor stays at the row's start. It must be shorter than any terminal is wide; nothing is shown where
    /// the cursor cannot be moved.
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

    /// Has the terminal mark what is pasted and say whether it is looked at, or not; nothing where that is not known.
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

    /// Sets the terminal's title, where it has one; `None` gives its own back. Control characters are shown.
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

    /// Shows a desktop notice, through the terminal; without a terminal does nothing.
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

    /// Puts text into the user's clipboard.
    ///
    /// # Errors
    /// Why that cannot be done, as a phrase.
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

    /// True when standard output gets colours.
    pub fn colour(&self) -> bool {
        self.facts.colour
    }

    /// True when standard error gets colours.
    pub fn colour_on_stderr(&self) -> bool {
        self.facts.colour_on_stderr
    }

    /// True when standard output is a terminal that can move its cursor.
    pub fn is_rich(&self) -> bool {
        self.facts.rich
    }

    /// The size of the terminal at this moment; `COLUMNS` and `LINES`, else 80 by 24, where there is none.
    pub fn size(&self) -> TerminalSize {
        match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => TerminalSize {
                columns: size.ws_col,
                rows: size.ws_row,
            },
            _ => self.facts.fallback,
        }
    }

    /// The size of one cell in pixels, width and height, where the terminal reports it.
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

    /// A panic while writing leaves a buffer that is still whole bytes: going on is safe.
    fn sinks(&self) -> MutexGuard<'_, Sinks> {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flag decides, then `NO_COLOR`, then `CLICOLOR_FORCE`, then the terminal.
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
