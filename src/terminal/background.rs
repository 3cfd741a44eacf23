//! What happens while nothing runs: output of threads and tasks, notices, a dead interpreter.
//!
//! One thread takes the session's background events. While the editor reads, their text is printed above the input, but
//! only when the cursor stands in the input's last line (the editor's painter loses lines otherwise); until then, and
//! while something runs, it waits and is printed before the next prompt.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::display::{died, notice_text};
use crate::output::filter::{Filter, Policy};
use crate::report::Report;
use crate::screen::Screen;
use crate::session::{CellEvent, EndEvent, Next, Run, SessionEvent};
use crate::terminal::bell::Bell;
use crate::terminal::snapshot::{Shared, look};

/// Bytes that are kept while nobody can show them; the newest win.
const KEPT: usize = 1 << 20;

/// How long what a session told at its end may take to be here.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Events to safe text, in whole lines.
pub(super) struct Teller {
    filter: Filter,
    partial: String,
    screen: Screen,
}

impl Teller {
    pub(super) fn new(screen: Screen) -> Self {
        Teller {
            filter: Filter::new(Policy::Text),
            partial: String::new(),
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
            let mut safe = Vec::new();
            self.filter.push(&bytes, &mut safe);
            self.partial.push_str(&String::from_utf8_lossy(&safe));
            while let Some(end) = self.partial.find('\n') {
                told.push(self.partial.drain(..=end).collect());
            }
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

    /// A line that has not ended, for who tells no more; it ends here.
    pub(super) fn rest(&mut self) -> Option<String> {
        (!self.partial.is_empty()).then(|| std::mem::take(&mut self.partial) + "\n")
    }
}

/// Lines waiting to be shown.
#[derive(Clone)]
pub(super) struct Background {
    waiting: Arc<Mutex<VecDeque<String>>>,
    editing: Arc<AtomicBool>,
    printer: Printer,
    /// Hangs up when the session has no more to tell.
    over: Arc<Mutex<Receiver<()>>>,
}

/// The editor's way of printing above what is being typed.
#[derive(Clone)]
pub(super) struct Printer {
    pub(super) lines: SyncSender<String>,
    pub(super) bell: Bell,
    pub(super) snapshot: Shared,
}

impl Background {
    /// Begins to take events; lines go to `printer` while the editor reads.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(super) fn start(events: Run, printer: Printer, screen: Screen) -> Result<Self, Report> {
        let (going_on, over) = channel::<()>();
        let background = Background {
            waiting: Arc::default(),
            editing: Arc::default(),
            printer,
            over: Arc::new(Mutex::new(over)),
        };
        let taken = background.clone();
        let take = move || {
            let mut teller = Teller::new(screen);
            while let Next::Event(event) = events.next_blocking(None) {
                let told = teller.tell(*event).into_iter();
                told.for_each(|text| taken.add(text));
                taken.hand_over();
            }
            teller.rest().into_iter().for_each(|text| taken.add(text));
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
        self.hand_over();
    }

    /// Waits until all that a session which has ended told is here, but not for ever.
    pub(super) fn await_end(&self) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.recv_timeout(LAST_WORDS);
    }

    /// Everything that waits, to be printed now.
    pub(super) fn drain(&self) -> String {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .collect()
    }

    fn add(&self, line: String) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(line);
        let mut kept: usize = waiting.iter().map(String::len).sum();
        while kept > KEPT {
            kept -= waiting.pop_front().map_or(kept, |line| line.len());
        }
    }

    /// Gives the editor what waits, when it can be printed; asked again whenever the text has been painted.
    pub(super) fn hand_over(&self) {
        let in_last_line = look(&self.printer.snapshot).cursor_in_last_line();
        if !in_last_line || !self.editing.load(Ordering::SeqCst) {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(line) = waiting.pop_front() {
            let text = line.strip_suffix('\n').unwrap_or(&line).to_owned();
            if self.printer.lines.try_send(text).is_err() {
                waiting.push_front(line);
                return;
            }
            self.printer.bell.ring();
        }
    }
}
