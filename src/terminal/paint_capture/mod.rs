//! Captures the paints of reedline and writes only the differences to the terminal.
//!
//! reedline's painter writes the whole prompt at every key to standard error, and cannot write elsewhere. So during
//! a paint standard error is a memfd; its content is parsed as a paint (`frame`, of `token`s), and the difference
//! to the paint before is written (`diff`). NUL bytes of hidden rows ([`window`](super::window)) are dropped in any
//! case.
//!
//! In: notifications from reedline's callbacks: highlighter, prompt, keys, wait. Out: bytes for the [`Screen`].
//! Invariants: standard error is restored before a wait, a query of the terminal, or any write that is no paint. A
//! paint is written whole after anything that is no paint, when it cannot be parsed, for another terminal size, and
//! as the first of each read.
//!
//! Before that first paint the editor asks the terminal where the cursor is, and waits. Where the
//! line is slow, the label is shown before.

mod diff;
mod frame;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nu_ansi_term::{Color, Style};
use reedline::{EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};
use rustix::fs::{MemfdFlags, SeekFrom};

use crate::screen::Screen;
use crate::text::columns;
use diff::diff;
use frame::Frame;

/// The byte that a [`window`](super::window) puts in place of each hidden byte.
const HIDDEN: u8 = 0;

/// How long the editor waits for the terminal to tell where the cursor is; then it goes on in the next row.
const PATIENCE: Duration = Duration::from_secs(2);

/// A terminal that is near has answered by then.
const SOON: Duration = Duration::from_millis(2);

/// The paints of one editor; clones share them. By default they go to the terminal unchanged.
#[derive(Clone, Default)]
pub(super) struct PaintCapture(Arc<Mutex<CaptureState>>);

#[derive(Default)]
struct CaptureState {
    /// `None` where paints go to the terminal unchanged.
    catch: Option<StderrCapture>,
    /// The editor has begun a paint, and has not written yet.
    coming: bool,
    filter: PaintFilter,
    /// The editor has lines to write above the input; true: the last one is open.
    due: Option<bool>,
    /// The row above the input is an open line, to be replaced by the next one.
    open: bool,
    /// Reads of the editor, and whether the first paint of the last one has not come yet.
    reads: u64,
    awaits: bool,
    /// When the label was shown before its first paint, which has not come yet.
    labelled: Option<Instant>,
    /// The terminal does not tell where the cursor is: a label shown before would stay.
    unanswered: bool,
}

/// Redirects the painter's output.
struct StderrCapture {
    screen: Screen,
    terminal: OwnedFd,
    file: OwnedFd,
    catching: bool,
}

impl PaintCapture {
    pub(super) fn new(screen: Screen) -> Self {
        PaintCapture(Arc::new(Mutex::new(CaptureState {
            catch: StderrCapture::new(screen).ok().flatten(),
            ..CaptureState::default()
        })))
    }

    /// Wraps keys to watch for events that make the editor do something other than paint.
    pub(super) fn wrap(&self, keys: Box<dyn EditMode>) -> Box<dyn EditMode> {
        Box::new(ObservedKeys {
            keys,
            paint_capture: self.clone(),
        })
    }

    pub(super) fn begin(&self) {
        let mut state = self.state();
        state.show();
        state.coming = true;
        state.awaits = false;
    }

    /// Shows the label where the paint does not come soon, with the cursor at its start: the editor finds the cursor
    /// there, and paints in its place. Only in a row that is empty for certain, and in one row.
    pub(super) fn show_label(&self, label: &str) {
        let mut state = self.state();
        let Some(catch) = state.catch.as_ref().filter(|_| !state.unanswered) else {
            return;
        };
        let screen = catch.screen.clone();
        let fits = columns(label) < usize::from(screen.size().columns);
        if !fits || !screen.is_rich() || !screen.is_at_line_start() {
            return;
        }
        state.reads += 1;
        state.awaits = true;
        let read = state.reads;
        drop(state);
        let shown = match screen.colour() {
            true => Style::new().fg(Color::Green).paint(label).to_string(),
            false => label.to_owned(),
        };
        let paint_capture = self.clone();
        // Without a thread the label comes with the paint.
        let _ = std::thread::Builder::new()
            .name("label".into())
            .spawn(move || {
                std::thread::sleep(SOON);
                let mut state = paint_capture.state();
                if state.awaits && state.reads == read {
                    // reedline finds errors of the terminal by itself.
                    let _ = screen.write_trusted(format!("{shown}\r").as_bytes());
                    let _ = screen.flush();
                    state.labelled = Some(Instant::now());
                }
            });
    }

    /// Starts the capture: from now on the painter writes only the announced paint.
    pub(super) fn catch(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.coming)
            && let Some(catch) = &mut state.catch
        {
            catch.begin();
        }
    }

    /// Ends the capture for output that may be no paint: lines above the input. The editor first goes up by the
    /// rows that `goes_up` returns for the terminal's columns.
    pub(super) fn other(&self, goes_up: impl FnOnce(u16) -> u16) {
        let mut state = self.state();
        if !state.coming {
            state.show();
            state.make_room(goes_up);
            state.filter.forget();
        }
    }

    /// Returns true when the input's position on the screen is known.
    pub(super) fn is_placed(&self) -> bool {
        let state = self.state();
        state.catch.is_some() && state.filter.shown.is_some()
    }

    /// Returns true when the editor has lines that it has not written yet.
    pub(super) fn owes_lines(&self) -> bool {
        self.state().due.is_some()
    }

    /// Announces lines given to the editor; `open`: the last one will be replaced.
    pub(super) fn expect_lines(&self, open: bool) {
        self.state().due = Some(open);
    }

    /// Ends a paint, if there was one, and shows it.
    pub(super) fn show(&self) {
        self.state().show();
    }

    /// Handles a resize. The editor assumes that the text before the cursor ends in the cursor's row, or in the row
    /// above where that text fills rows of the new size.
    fn resized(&self) {
        let mut state = self.state();
        state.show();
        if let (Some(catch), Some((frame, (columns, _)))) = (&state.catch, &state.filter.shown)
            && let (Some(rows), Some((wide, _))) = (frame.full_rows(), catch.size())
            && !(rows * columns).is_multiple_of(wide)
        {
            let _ = catch.screen.write_trusted(b"\x1b[A");
            let _ = catch.screen.flush();
        }
    }

    /// Marks the content of the screen as unknown.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.show();
        state.filter.forget();
        state.open = false;
        state.awaits = false;
    }

    fn state(&self) -> MutexGuard<'_, CaptureState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CaptureState {
    fn show(&mut self) {
        let Some(catch) = &mut self.catch else {
            return;
        };
        let mut painted = catch.end();
        if painted.is_empty() {
            return;
        }
        painted.retain(|byte| *byte != HIDDEN);
        let labelled = self.labelled.take();
        self.unanswered |= labelled.is_some_and(|then| then.elapsed() >= PATIENCE);
        let bytes = self.filter.pass(&painted, catch.size());
        // reedline finds errors of the terminal by itself.
        let _ = catch.screen.write_trusted(&bytes);
        let _ = catch.screen.flush();
    }

    /// Places the cursor so that the editor, going up, reaches the first row of the input, and erases the input: it
    /// is painted again below the lines. Scrolls where the screen has too few rows for that.
    fn make_room(&mut self, goes_up: impl FnOnce(u16) -> u16) {
        let Some(open) = self.due.take() else { return };
        let replaces = std::mem::replace(&mut self.open, open);
        let (Some(catch), Some((frame, (columns, rows)))) = (&mut self.catch, &self.filter.shown)
        else {
            self.open = false;
            return;
        };
        let room = room(frame.first, replaces, goes_up(*columns), *rows);
        let _ = catch.screen.write_trusted(room.as_bytes());
        let _ = catch.screen.flush();
    }
}

/// Returns the bytes for an input that begins in the row `first` of `rows`, and an editor that goes up `goes_up`
/// rows; `replaces`: erase the row above as well.
fn room(first: u16, replaces: bool, goes_up: u16, rows: u16) -> String {
    let first = first.saturating_sub(u16::from(replaces));
    let bottom = rows.saturating_sub(1);
    let below = first.saturating_add(goes_up);
    let scrolled = below.saturating_sub(bottom).min(first);
    let mut room = format!("\x1b[{};1H\x1b[J", first + 1);
    if scrolled > 0 {
        room += &format!("\x1b[{rows};1H{}", "\n".repeat(scrolled.into()));
    }
    room + &format!("\x1b[{};1H", below.min(bottom) + 1)
}

impl StderrCapture {
    /// Returns `None` where standard error is no terminal.
    fn new(screen: Screen) -> std::io::Result<Option<Self>> {
        if !std::io::stderr().is_terminal() {
            return Ok(None);
        }
        let terminal = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
        let last_words = terminal.try_clone()?;
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A panic in the middle of a paint is no paint.
            let _ = rustix::stdio::dup2_stderr(&last_words);
            next(panic);
        }));
        Ok(Some(StderrCapture {
            screen,
            terminal,
            file: rustix::fs::memfd_create("paint", MemfdFlags::CLOEXEC)?,
            catching: false,
        }))
    }

    fn begin(&mut self) {
        self.catching = self.catching || rustix::stdio::dup2_stderr(&self.file).is_ok();
    }

    fn end(&mut self) -> Vec<u8> {
        let mut painted = Vec::new();
        if !std::mem::take(&mut self.catching) {
            return painted;
        }
        // Both are open, so this does not fail.
        let _ = rustix::stdio::dup2_stderr(&self.terminal);
        let length = rustix::fs::tell(&self.file).unwrap_or(0);
        painted.resize(usize::try_from(length).unwrap_or(0), 0);
        let read = rustix::io::pread(&self.file, &mut painted, 0);
        painted.truncate(read.unwrap_or(0));
        let _ = rustix::fs::ftruncate(&self.file, 0);
        let _ = rustix::fs::seek(&self.file, SeekFrom::Start(0));
        painted
    }

    fn size(&self) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(&self.terminal).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
    }
}

/// The last paint on the screen.
#[derive(Default)]
struct PaintFilter {
    shown: Option<(Frame, (u16, u16))>,
}

impl PaintFilter {
    fn pass<'p>(&mut self, painted: &'p [u8], size: Option<(u16, u16)>) -> Cow<'p, [u8]> {
        let before = self.shown.take();
        let read = std::str::from_utf8(painted).ok().zip(size);
        let read = read.and_then(|(text, size)| Some((Frame::read(text, size)?, size)));
        let Some((frame, size)) = read else {
            return Cow::Borrowed(painted);
        };
        let rest = &painted[frame.length..];
        let known = before.filter(|(_, known)| *known == size);
        let changed = known.and_then(|(old, _)| diff(&old, &frame, size));
        // Bytes behind a paint may change the screen.
        self.shown = rest.is_empty().then_some((frame, size));
        match changed {
            None => Cow::Borrowed(painted),
            Some(changed) => Cow::Owned([changed.as_bytes(), rest].concat()),
        }
    }

    fn forget(&mut self) {
        self.shown = None;
    }
}

struct ObservedKeys {
    keys: Box<dyn EditMode>,
    paint_capture: PaintCapture,
}

impl EditMode for ObservedKeys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.keys.parse_event(raw);
        if matches!(event, ReedlineEvent::Resize(..)) {
            self.paint_capture.resized();
        }
        // The editor queries the cursor position, or clears the screen.
        if paints_only(&event) {
            self.paint_capture.show();
        } else {
            self.paint_capture.forget();
        }
        event
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// Returns true for events that reach the terminal only as a paint.
fn paints_only(event: &ReedlineEvent) -> bool {
    match event {
        ReedlineEvent::Multiple(events) | ReedlineEvent::UntilFound(events) => {
            events.iter().all(paints_only)
        }
        ReedlineEvent::ClearScreen
        | ReedlineEvent::ClearScrollback
        | ReedlineEvent::Resize(..)
        | ReedlineEvent::ExecuteHostCommand(_)
        | ReedlineEvent::OpenEditor => false,
        _ => true,
    }
}
