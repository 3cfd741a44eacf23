//! Output while nothing runs: from threads and tasks, notices, the death of an interpreter.
//!
//! One thread takes the session's background events. While the editor reads, their text is printed above the input
//! once all of the input is on the screen; otherwise, and during a run, the text waits and is printed before the
//! next prompt. A line that is rewritten with `\r` (a progress bar) is also printed before it ends, ten times a
//! second at most, and the text that follows replaces it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::display::{death_notice, notice_text};
use crate::output::filter::{Filter, Policy};
use crate::screen::Screen;
use crate::session::{CellEvent, EndEvent, NextEvent, Run, SessionEvent};
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::report::Report;
use crate::text::{cut, expand_tabs};

/// Bytes kept while they cannot be shown; the oldest are dropped, and a line says how many.
const KEPT: usize = 1 << 20;

/// Bytes handed to the editor at once. It writes them and asks where the cursor is, and reads no key before the
/// terminal has drawn them and answers.
const AT_ONCE: usize = 1 << 14;

/// Bytes of an open line; a longer one is printed in parts.
const LONGEST: usize = 1 << 16;

/// Time for which a rewritten line waits for its end, or for its next state.
const STATE: Duration = Duration::from_millis(100);

/// Longest wait for the last events of a closed session.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) struct EventRenderer {
    filter: Filter,
    partial: String,
    /// A carriage return has come: the next character restarts the line, unless it is a newline.
    returned: bool,
    /// The line has been restarted since its beginning.
    rewritten: bool,
    screen: Screen,
}

impl EventRenderer {
    pub(super) fn new(screen: Screen) -> Self {
        EventRenderer {
            filter: Filter::new(Policy::Text),
            partial: String::new(),
            returned: false,
            rewritten: false,
            screen,
        }
    }

    pub(super) fn render(&mut self, event: SessionEvent) -> Vec<String> {
        let event = match event {
            SessionEvent::Cell(CellEvent::Late { event, .. }) => SessionEvent::Cell(*event),
            event => event,
        };
        let mut told = Vec::new();
        if let SessionEvent::Cell(CellEvent::Output { bytes, .. }) = event {
            let parts = bytes.split_inclusive(|byte| *byte == b'\r');
            parts.for_each(|part| self.output(part, &mut told));
            return told;
        }
        let text = match event {
            SessionEvent::Notice(notice) => notice_text(&notice, &self.screen),
            SessionEvent::RuntimeDied { death, restarting } => {
                notice_text(&death_notice(&death.to_string(), restarting), &self.screen)
            }
            SessionEvent::Cell(CellEvent::Display(display)) => display.bundle.for_model() + "\n",
            SessionEvent::Cell(CellEvent::Raised(error)) => {
                error.lines(self.screen.colour()).join("\n") + "\n"
            }
            SessionEvent::End(EndEvent::Replay(replayed)) => {
                notice_text(&replayed.notice(), &self.screen)
            }
            // Ends a line that the cell left open.
            SessionEvent::Cell(CellEvent::Ended { .. }) => String::new(),
            // These do not occur between runs, or print nothing there.
            SessionEvent::Cell(
                CellEvent::Output { .. }
                | CellEvent::Started
                | CellEvent::Clear { .. }
                | CellEvent::Comm(_)
                | CellEvent::Status(_)
                | CellEvent::Late { .. }
                | CellEvent::InputRequested { .. },
            )
            | SessionEvent::Begin(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(
                EndEvent::Turn { .. }
                | EndEvent::Asked { .. }
                | EndEvent::Call { .. }
                | EndEvent::NotRun,
            )
            | SessionEvent::Text(_)
            | SessionEvent::After(_) => return told,
        };
        told.extend(self.finish_line());
        if !text.is_empty() {
            told.push(text);
        }
        told
    }

    /// Takes output whose only carriage return, if any, is at its end; appends the lines that have ended to `told`.
    fn output(&mut self, bytes: &[u8], told: &mut Vec<String>) {
        let mut safe = Vec::new();
        self.filter.push(bytes, &mut safe);
        if std::mem::take(&mut self.returned) && safe.first().is_some_and(|first| *first != b'\n') {
            self.partial.clear();
        }
        self.returned = bytes.ends_with(b"\r");
        self.rewritten |= self.returned;
        let safe = String::from_utf8_lossy(&safe);
        if let Some(end) = safe.rfind('\n') {
            let ended = std::mem::take(&mut self.partial) + &safe[..=end];
            told.extend(ended.split_inclusive('\n').map(str::to_owned));
            self.partial.push_str(&safe[end + 1..]);
            self.rewritten = self.returned;
        } else {
            self.partial.push_str(&safe);
        }
        if self.partial.len() > LONGEST {
            told.extend(self.finish_line());
        }
    }

    /// Returns the current state of a line that is rewritten repeatedly.
    fn progress_line(&self) -> Option<&str> {
        (self.rewritten && !self.partial.is_empty()).then_some(&self.partial)
    }

    pub(super) fn finish_line(&mut self) -> Option<String> {
        self.rewritten = false;
        (!self.partial.is_empty()).then(|| std::mem::take(&mut self.partial) + "\n")
    }
}

#[derive(Clone)]
pub(super) struct BackgroundOutput {
    /// Holds the open line; lock this before `waiting` when adding its lines.
    renderer: Arc<Mutex<EventRenderer>>,
    waiting: Arc<Mutex<PendingLines>>,
    editing: Arc<AtomicBool>,
    printer: EditorPrinter,
    screen: Screen,
    /// Disconnects when the session's events have ended.
    over: Arc<Mutex<Receiver<()>>>,
}

#[derive(Default)]
struct PendingLines {
    lines: VecDeque<String>,
    kept: usize,
    /// How many lines were dropped since the last one was taken.
    dropped: usize,
    /// The open line behind them.
    state: Option<String>,
    /// The state printed last, until a line is printed.
    shown: Option<String>,
}

impl PendingLines {
    fn add(&mut self, line: String) {
        self.kept += line.len();
        self.lines.push_back(line);
        while self.kept > KEPT && self.pop().is_some() {
            self.dropped += 1;
        }
    }

    /// Takes the oldest line, or the one that says how many were dropped before it.
    fn take(&mut self) -> Option<String> {
        match std::mem::take(&mut self.dropped) {
            0 => self.pop(),
            dropped => Some(format!(
                "[{dropped} lines left out: they came faster than the terminal could show them]\n"
            )),
        }
    }

    fn pop(&mut self) -> Option<String> {
        let line = self.lines.pop_front()?;
        self.kept -= line.len();
        Some(line)
    }

    fn put_back(&mut self, line: String) {
        self.kept += line.len();
        self.lines.push_front(line);
    }
}

/// Prints above the text being typed, through the editor.
#[derive(Clone)]
pub(super) struct EditorPrinter {
    pub(super) lines: SyncSender<String>,
    pub(super) editor_waker: EditorWaker,
    pub(super) snapshot: SharedSnapshot,
}

impl BackgroundOutput {
    /// Starts to take events; lines go to `printer` while the editor reads.
    ///
    /// # Errors
    /// Fails when no thread can be started.
    pub(super) fn start(
        events: Run,
        printer: EditorPrinter,
        screen: Screen,
    ) -> Result<Self, Report> {
        let (going_on, over) = channel::<()>();
        let background = BackgroundOutput {
            renderer: Arc::new(Mutex::new(EventRenderer::new(screen.clone()))),
            waiting: Arc::default(),
            editing: Arc::default(),
            printer,
            screen,
            over: Arc::new(Mutex::new(over)),
        };
        let taken = background.clone();
        let take = move || {
            // The time of the oldest state that has not been handed on.
            let mut since: Option<Instant> = None;
            loop {
                let left = since.map(|since| STATE.saturating_sub(since.elapsed()));
                match events.next_blocking(left) {
                    NextEvent::Event(event) => {
                        let mut renderer = taken.renderer();
                        for text in renderer.render(*event) {
                            taken.add(text);
                            taken.printer.editor_waker.wake();
                        }
                        match renderer.progress_line() {
                            Some(_) => since = since.or_else(|| Some(Instant::now())),
                            None => since = None,
                        }
                    }
                    NextEvent::Nothing => {}
                    NextEvent::Ended => break,
                }
                if since.is_some_and(|since| since.elapsed() >= STATE) {
                    since = None;
                    taken.waiting().state = taken.renderer().progress_line().map(str::to_owned);
                    taken.printer.editor_waker.wake();
                }
            }
            drop(going_on);
        };
        std::thread::Builder::new()
            .name("background".into())
            .spawn(take)
            .map_err(|error| Report::no_thread("for background output", &error))?;
        Ok(background)
    }

    pub(super) fn set_editing(&self, editing: bool) {
        self.editing.store(editing, Ordering::SeqCst);
    }

    /// Shows lines above the text being typed, at once or as soon as possible.
    pub(super) fn print(&self, text: &str) {
        text.lines().for_each(|line| self.add(format!("{line}\n")));
        self.printer.editor_waker.wake();
    }

    /// Waits for the last events of a closed session, for [`LAST_WORDS`] at most.
    pub(super) fn await_end(&self) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.recv_timeout(LAST_WORDS);
    }

    /// Takes all waiting text, and the state of an open line, to be printed now.
    pub(super) fn drain(&self) -> String {
        let mut renderer = self.renderer();
        let mut waiting = std::mem::take(&mut *self.waiting());
        let shown = |rest: &String| waiting.shown.as_deref() == rest.strip_suffix('\n');
        let rest = renderer.finish_line().filter(|rest| !shown(rest));
        let lines = std::iter::from_fn(|| waiting.take());
        lines.chain(rest).collect()
    }

    fn renderer(&self) -> MutexGuard<'_, EventRenderer> {
        self.renderer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: String) {
        self.waiting().add(line);
    }

    fn waiting(&self) -> MutexGuard<'_, PendingLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands waiting lines to the editor when they can be printed; called whenever the editor is about to wait.
    pub(super) fn hand_over(&self, paint_capture: &PaintCapture) {
        let can =
            lock_snapshot(&self.printer.snapshot).takes_lines_above(paint_capture.is_placed());
        if !can || paint_capture.owes_lines() || !self.editing.load(Ordering::SeqCst) {
            return;
        }
        let mut waiting = self.waiting();
        let (mut given, mut bytes) = (false, 0);
        while bytes < AT_ONCE
            && let Some(line) = waiting.take()
        {
            bytes += line.len();
            let text = line.strip_suffix('\n').unwrap_or(&line).to_owned();
            if self.printer.lines.try_send(text).is_err() {
                waiting.put_back(line);
                break;
            }
            given = true;
            waiting.shown = None;
        }
        let mut open = false;
        if waiting.lines.is_empty()
            && let Some(state) = waiting.state.take_if(|_| paint_capture.is_placed())
            && waiting.shown.as_ref() != Some(&state)
        {
            // A state that fits one row without filling it can be replaced: its row is known.
            let room = usize::from(self.screen.size().columns).saturating_sub(1);
            let row = cut(&expand_tabs(&state, 0), room).into_owned();
            open = self.printer.lines.try_send(row).is_ok();
            given |= open;
            waiting.shown = Some(state).filter(|_| open);
        }
        if given {
            paint_capture.expect_lines(open);
            self.printer.editor_waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::runtime::OutputStream;
    use crate::screen::ColorChoice;

    fn renderer() -> EventRenderer {
        EventRenderer::new(Screen::open(&Environment::default(), ColorChoice::Never).unwrap())
    }

    fn told(renderer: &mut EventRenderer, printed: &[u8]) -> Vec<String> {
        renderer.render(SessionEvent::Cell(CellEvent::Output {
            stream: OutputStream::Stdout,
            bytes: printed.to_vec(),
            foreign: false,
        }))
    }

    #[test]
    fn a_rewritten_line_is_printed_as_it_ends() {
        let mut renderer = renderer();
        assert_eq!(told(&mut renderer, b"10%\r20%\r"), [""; 0]);
        assert_eq!(
            told(&mut renderer, b"30%\nnext\r\n\rlast"),
            ["30%\n", "next\n"]
        );
        assert_eq!(renderer.progress_line(), Some("last"));
        assert_eq!(renderer.finish_line().as_deref(), Some("last\n"));
        assert_eq!(renderer.progress_line(), None);
        // Output without a newline may be the beginning of a line.
        told(&mut renderer, b"no end");
        assert_eq!(renderer.progress_line(), None);
        told(&mut renderer, b"\r10%");
        assert_eq!(renderer.progress_line(), Some("10%"));
        assert_eq!(told(&mut renderer, b"\r20%\nmore"), ["20%\n"]);
        assert_eq!(renderer.progress_line(), None);
    }

    #[test]
    fn a_line_without_an_end_is_printed_in_parts() {
        let mut renderer = renderer();
        let dots = vec![b'.'; LONGEST];
        assert_eq!(told(&mut renderer, &dots).len(), 0);
        assert_eq!(told(&mut renderer, b".")[0].len(), LONGEST + 2);
        assert_eq!(renderer.finish_line(), None);
    }

    #[test]
    fn the_newest_pending_lines_are_kept() {
        let mut waiting = PendingLines::default();
        let lines = (0..100_000).map(|number| format!("{number:019}\n"));
        lines.for_each(|line| waiting.add(line));
        assert!(waiting.kept <= KEPT);
        assert_eq!(waiting.lines.len() * 20, waiting.kept);
        let dropped = 100_000 - waiting.lines.len();
        assert!(
            waiting
                .take()
                .unwrap()
                .starts_with(&format!("[{dropped} lines"))
        );
        assert_eq!(waiting.take(), Some(format!("{dropped:019}\n")));
        assert_eq!(
            waiting.lines.back().map(|line| line.trim().to_owned()),
            Some(format!("{:019}", 99_999))
        );
    }
}
