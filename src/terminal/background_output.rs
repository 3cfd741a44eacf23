//! What happens while nothing runs: output of threads and tasks, notices, a dead interpreter.
//!
//! One thread takes the session's background events. While the editor reads, their text is printed above the input, as
//! soon as all of that is on the screen; until then, and while something runs, it waits and is printed before the next
//! prompt. A line that is written over again and again (a progress bar) is printed before it ends, too, ten times a
//! second at most, and what follows takes its place.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::display::{died, notice_text};
use crate::output::filter::{Filter, Policy};
use crate::report::Report;
use crate::screen::Screen;
use crate::session::{CellEvent, EndEvent, Next, Run, SessionEvent};
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::snapshot::{SharedSnapshot, look};
use crate::text::{cut, expand_tabs};

/// Bytes that are kept while nobody can show them; the newest win.
const KEPT: usize = 1 << 20;

/// Bytes of a line that has not ended; what is longer is told in parts.
const LONGEST: usize = 1 << 16;

/// How long a line that is written over waits for its end, or for its next state.
const STATE: Duration = Duration::from_millis(100);

/// How long what a session told at its end may take to be here.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Events to safe text, in whole lines.
pub(super) struct EventRenderer {
    filter: Filter,
    partial: String,
    /// The line begins anew with the next character, unless it ends there.
    returned: bool,
    /// The line has begun anew since it began.
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

    /// What an event says; each text ends in a newline.
    pub(super) fn tell(&mut self, event: SessionEvent) -> Vec<String> {
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
                notice_text(&died(&death.to_string(), restarting), &self.screen)
            }
            SessionEvent::Cell(CellEvent::Display(display)) => display.bundle.for_model() + "\n",
            SessionEvent::Cell(CellEvent::Raised(error)) => {
                error.lines(self.screen.colour()).join("\n") + "\n"
            }
            SessionEvent::End(EndEvent::Replay(replayed)) => {
                notice_text(&replayed.notice(), &self.screen)
            }
            // What a cell left without a line end.
            SessionEvent::Cell(CellEvent::Ended { .. }) => String::new(),
            // Of these nothing happens between runs, or it says nothing there.
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
            | SessionEvent::Told(_)
            | SessionEvent::After(_) => return told,
        };
        told.extend(self.rest());
        if !text.is_empty() {
            told.push(text);
        }
        told
    }

    /// Takes output that holds a carriage return at its end only, and gives on the lines that have ended.
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
            told.extend(self.rest());
        }
    }

    /// A line that is written over again and again, as it is now.
    fn state(&self) -> Option<&str> {
        (self.rewritten && !self.partial.is_empty()).then_some(&self.partial)
    }

    /// A line that has not ended, for who tells no more; it ends here.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.rewritten = false;
        (!self.partial.is_empty()).then(|| std::mem::take(&mut self.partial) + "\n")
    }
}

/// Lines waiting to be shown.
#[derive(Clone)]
pub(super) struct BackgroundOutput {
    /// Has the line that has not ended; held before `waiting` by who adds what it tells.
    teller: Arc<Mutex<EventRenderer>>,
    waiting: Arc<Mutex<PendingLines>>,
    editing: Arc<AtomicBool>,
    printer: EditorPrinter,
    screen: Screen,
    /// Hangs up when the session has no more to tell.
    over: Arc<Mutex<Receiver<()>>>,
}

#[derive(Default)]
struct PendingLines {
    lines: VecDeque<String>,
    /// Bytes of all of them.
    kept: usize,
    /// What comes behind them of a line that has not ended.
    state: Option<String>,
    /// The state that was printed last, while no line has been since.
    shown: Option<String>,
}

impl PendingLines {
    fn add(&mut self, line: String) {
        self.kept += line.len();
        self.lines.push_back(line);
        while self.kept > KEPT && self.take().is_some() {}
    }

    fn take(&mut self) -> Option<String> {
        let line = self.lines.pop_front()?;
        self.kept -= line.len();
        Some(line)
    }

    fn put_back(&mut self, line: String) {
        self.kept += line.len();
        self.lines.push_front(line);
    }
}

/// The editor's way of printing above what is being typed.
#[derive(Clone)]
pub(super) struct EditorPrinter {
    pub(super) lines: SyncSender<String>,
    pub(super) bell: EditorWaker,
    pub(super) snapshot: SharedSnapshot,
}

impl BackgroundOutput {
    /// Begins to take events; lines go to `printer` while the editor reads.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(super) fn start(
        events: Run,
        printer: EditorPrinter,
        screen: Screen,
    ) -> Result<Self, Report> {
        let (going_on, over) = channel::<()>();
        let background = BackgroundOutput {
            teller: Arc::new(Mutex::new(EventRenderer::new(screen.clone()))),
            waiting: Arc::default(),
            editing: Arc::default(),
            printer,
            screen,
            over: Arc::new(Mutex::new(over)),
        };
        let taken = background.clone();
        let take = move || {
            // Since when there is a state that has not been given on.
            let mut since: Option<Instant> = None;
            loop {
                let left = since.map(|since| STATE.saturating_sub(since.elapsed()));
                match events.next_blocking(left) {
                    Next::Event(event) => {
                        let mut teller = taken.teller();
                        for text in teller.tell(*event) {
                            taken.add(text);
                            taken.printer.bell.ring();
                        }
                        match teller.state() {
                            Some(_) => since = since.or_else(|| Some(Instant::now())),
                            None => since = None,
                        }
                    }
                    Next::Nothing => {}
                    Next::Ended => break,
                }
                if since.is_some_and(|since| since.elapsed() >= STATE) {
                    since = None;
                    taken.waiting().state = taken.teller().state().map(str::to_owned);
                    taken.printer.bell.ring();
                }
            }
            drop(going_on);
        };
        std::thread::Builder::new()
            .name("background".into())
            .spawn(take)
            .map_err(|error| {
                Report::failure("could not start the thread for background output").because(error)
            })?;
        Ok(background)
    }

    /// Whether the editor reads.
    pub(super) fn set_editing(&self, editing: bool) {
        self.editing.store(editing, Ordering::SeqCst);
    }

    /// Shows lines above what is being typed; later when that is not possible now.
    pub(super) fn say(&self, text: &str) {
        text.lines().for_each(|line| self.add(format!("{line}\n")));
        self.printer.bell.ring();
    }

    /// Waits until all that a session which has ended told is here, but not for ever.
    pub(super) fn await_end(&self) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.recv_timeout(LAST_WORDS);
    }

    /// Everything that waits, to be printed now, and what there is of a line that has not ended.
    pub(super) fn drain(&self) -> String {
        let mut teller = self.teller();
        let waiting = std::mem::take(&mut *self.waiting());
        let shown = |rest: &String| waiting.shown.as_deref() == rest.strip_suffix('\n');
        let rest = teller.rest().filter(|rest| !shown(rest));
        waiting.lines.into_iter().chain(rest).collect()
    }

    fn teller(&self) -> MutexGuard<'_, EventRenderer> {
        self.teller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: String) {
        self.waiting().add(line);
    }

    fn waiting(&self) -> MutexGuard<'_, PendingLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the editor what waits, when it can be printed; asked again whenever the editor is about to wait.
    pub(super) fn hand_over(&self, paints: &PaintCapture) {
        let can = look(&self.printer.snapshot).takes_lines_above(paints.is_placed());
        if !can || paints.owes_lines() || !self.editing.load(Ordering::SeqCst) {
            return;
        }
        let mut waiting = self.waiting();
        let mut given = false;
        while let Some(line) = waiting.take() {
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
            && let Some(state) = waiting.state.take_if(|_| paints.is_placed())
            && waiting.shown.as_ref() != Some(&state)
        {
            // In one row, which is not full: it is known which one what follows takes the place of.
            let room = usize::from(self.screen.size().columns).saturating_sub(1);
            let row = cut(&expand_tabs(&state, 0), room).into_owned();
            open = self.printer.lines.try_send(row).is_ok();
            given |= open;
            waiting.shown = Some(state).filter(|_| open);
        }
        if given {
            paints.expect_lines(open);
            self.printer.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::runtime::OutputStream;
    use crate::screen::ColorChoice;

    fn teller() -> EventRenderer {
        EventRenderer::new(Screen::open(&Environment::default(), ColorChoice::Never).unwrap())
    }

    fn told(teller: &mut EventRenderer, printed: &[u8]) -> Vec<String> {
        teller.tell(SessionEvent::Cell(CellEvent::Output {
            stream: OutputStream::Stdout,
            bytes: printed.to_vec(),
            foreign: false,
        }))
    }

    #[test]
    fn a_line_that_is_written_over_is_told_as_it_ends() {
        let mut teller = teller();
        assert_eq!(told(&mut teller, b"10%\r20%\r"), [""; 0]);
        assert_eq!(
            told(&mut teller, b"30%\nnext\r\n\rlast"),
            ["30%\n", "next\n"]
        );
        assert_eq!(teller.state(), Some("last"));
        assert_eq!(teller.rest().as_deref(), Some("last\n"));
        assert_eq!(teller.state(), None);
        // What is written once may be the beginning of a line.
        told(&mut teller, b"no end");
        assert_eq!(teller.state(), None);
        told(&mut teller, b"\r10%");
        assert_eq!(teller.state(), Some("10%"));
        assert_eq!(told(&mut teller, b"\r20%\nmore"), ["20%\n"]);
        assert_eq!(teller.state(), None);
    }

    #[test]
    fn a_line_without_an_end_is_told_in_parts() {
        let mut teller = teller();
        let dots = vec![b'.'; LONGEST];
        assert_eq!(told(&mut teller, &dots).len(), 0);
        assert_eq!(told(&mut teller, b".")[0].len(), LONGEST + 2);
        assert_eq!(teller.rest(), None);
    }

    #[test]
    fn of_what_waits_the_newest_is_kept() {
        let mut waiting = PendingLines::default();
        let lines = (0..100_000).map(|number| format!("{number:019}\n"));
        lines.for_each(|line| waiting.add(line));
        assert!(waiting.kept <= KEPT);
        assert_eq!(waiting.lines.len() * 20, waiting.kept);
        assert_eq!(
            waiting.lines.back().map(|line| line.trim().to_owned()),
            Some(format!("{:019}", 99_999))
        );
    }
}
