//! Routes the keys typed during a run: to the cell's terminal, to a question, or to the editor's key queue.
//!
//! In: bytes without a meaning for the shell itself (`keyboard_reader` reads them), the starts and ends of cells,
//! questions. Out: bytes for the cell's terminal, keys for the queue, whose lines can be taken back. Invariant:
//! every unread byte is kept, once and in the order typed: bytes that a cell left unread, bytes that its terminal
//! refused because the cell was over, and the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::display::{Keyboard, RunOutcome, Typeahead};
use crate::input::{Input, Mode, classify};
use crate::keys::{Decoder, plain};
use crate::runtime::{CellTerminal, InputReply};
use crate::session::{Reply, RunWaker, SessionHandle};
use crate::terminal::keys::key_queue::{KeyQueue, SharedKeyQueue, lock_queue};
use crate::terminal::steering::Steering;
use crate::terminal::typeahead::{self, CellTypeahead};

/// Time that a program has to end at Ctrl-C before it gets more input.
const DYING: Duration = Duration::from_millis(50);

/// What was typed ahead is not for a cell that is over by then, and its terminal does not echo it.
const BRIEF: Duration = Duration::from_millis(50);

/// Has the agent answer the prompt being typed beside what runs.
const ASIDE: KeyEvent = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
/// Erases the line being typed, on a terminal in line mode.
const CTRL_U: u8 = 0x15;

/// The routing state; shared by the reading thread and the display.
pub(super) struct InputRouter {
    pub(super) session: SessionHandle,
    /// Wakes the display, which shows what was typed.
    pub(super) display: RunWaker,
    /// The byte that moves the running cell to the background.
    pub(super) background: Option<u8>,
    state: Mutex<RouterState>,
}

pub(super) struct RouterState {
    session: SessionHandle,
    /// What a line without a mark is.
    mode: Mode,
    pub(super) key_queue: SharedKeyQueue,
    /// Collects the keys of a turn.
    pub(super) decoder: Decoder,
    /// Bytes on their way to the running cell.
    pub(super) cell_typeahead: CellTypeahead,
    /// Ctrl-C was typed; true: behind lines that were to run.
    pub(super) stopped_by: Option<bool>,
    /// Ctrl-C was read together with the submitted input: it comes before every other key.
    pub(super) interrupted: bool,
    /// Typed before the reader started.
    pub(super) ahead: Vec<u8>,
    /// Typed and not read by any program.
    pub(super) kept: Vec<u8>,
    /// Typed for the running cell and not taken by its terminal, which is full, or whose cell is over.
    pub(super) refused: Vec<u8>,
    /// The cell's terminal gets no bytes before this moment.
    pub(super) held_until: Instant,
    pub(super) cell: Option<Arc<dyn CellTerminal>>,
    /// The cell has begun: it takes the bytes.
    pub(super) open: bool,
    /// The current or next cell has no terminal of its own.
    pub(super) bare: bool,
    /// Presses of Ctrl-C at this cell with no other key after them.
    pub(super) tries: u32,
    pub(super) turn: bool,
    pub(super) replay: bool,
    /// Sends prompts into the running turn; `None` unless the run is a prompt of the user.
    steering: Option<Steering>,
    pub(super) asked: Option<Vec<u8>>,
    pub(super) last_key: Instant,
    /// The last byte was in the middle of a paste or of a key.
    pub(super) within_key: bool,
    pub(super) resumed: bool,
    pub(super) stopped: bool,
}

impl RouterState {
    fn key_queue(&self) -> MutexGuard<'_, KeyQueue> {
        lock_queue(&self.key_queue)
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        match &self.cell {
            Some(terminal) if self.open => {
                let line_mode = terminal.mode().canonical;
                let bytes = self.cell_typeahead.forward(bytes, line_mode);
                self.refused.extend(bytes);
                if Instant::now() < self.held_until {
                    return;
                }
                let taken = terminal.type_bytes(&self.refused);
                self.refused.drain(..taken);
            }
            _ if self.turn && !self.replay => self.queue(bytes),
            _ => self.kept.extend_from_slice(bytes),
        }
    }

    /// As `keep`, for a key that no cell is too brief for.
    pub(super) fn keep_now(&mut self, key: u8) {
        self.held_until = Instant::now();
        self.keep(&[key]);
    }

    /// Queues bytes for the editor, while no cell can have them. Up takes back the last line that Enter ended.
    /// A prompt goes into the running turn, unless Tab ended it.
    fn queue(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let Some(mut event) = self.decoder.push(*byte) else {
                continue;
            };
            let mut key_queue = lock_queue(&self.key_queue);
            if event == Event::Key(ASIDE)
                && let Some(prompt) = prompt_beside(&key_queue.lines().typed, self.mode)
            {
                key_queue.take_typed();
                self.session.ask_aside(prompt);
                continue;
            }
            if let Some(steering) = &mut self.steering
                && plain(&event) == KeyCode::Tab
                && steering.is_for_turn(&key_queue.lines().typed)
            {
                steering.pause();
                event = Event::Key(KeyCode::Enter.into());
            }
            if plain(&event) == KeyCode::Up && !key_queue.lines().ended.is_empty() {
                key_queue.reopen_line();
            } else {
                key_queue.push(event);
                if let Some(steering) = &mut self.steering {
                    steering.send_next(&mut key_queue);
                }
            }
        }
    }

    /// Moves lines typed for the cell that it has not read to the editor.
    fn claim(&mut self) {
        let Some(terminal) = self.cell.as_ref().filter(|_| self.open) else {
            return;
        };
        let mut lines = terminal.take_lines();
        lines.append(&mut self.refused);
        let lines = self.cell_typeahead.restore_paste_marks(&lines);
        let mut key_queue = self.key_queue();
        Decoder::all(&lines)
            .into_iter()
            .for_each(|event| key_queue.push(event));
    }

    /// Up, at a cell in line mode: reopens the last line that the cell has not read. Returns false when there is
    /// none.
    pub(super) fn recall_line(&mut self) -> bool {
        let Some(terminal) = self.cell.clone().filter(|_| self.open) else {
            return false;
        };
        let queued = terminal.has_lines() || !self.key_queue().lines().ended.is_empty();
        if !queued || !terminal.mode().canonical {
            return false;
        }
        if self.cell_typeahead.at_line_start() {
            self.claim();
            let line = self.key_queue().take_line();
            self.keep(line.unwrap_or_default().as_bytes());
        }
        true
    }

    /// Alt-Enter, at a cell in line mode: takes the line being typed back, if it is a prompt for beside the cell.
    pub(super) fn take_aside(&mut self) -> bool {
        let Some(terminal) = self.cell.clone().filter(|_| self.open) else {
            return false;
        };
        let prompt = prompt_beside(self.cell_typeahead.typed(), self.mode);
        let Some(prompt) = prompt.filter(|_| terminal.mode().canonical) else {
            return false;
        };
        self.keep(&[CTRL_U]);
        self.session.ask_aside(prompt);
        true
    }

    /// Ctrl-C for the job in front of a shell. A program that reads input would take bytes typed behind the key
    /// along when it dies, so those are sent a moment later.
    pub(super) fn interrupt_job(&mut self, key: u8) {
        self.keep_now(key);
        self.held_until = Instant::now() + DYING;
    }

    pub(super) fn interrupt_first(&mut self, queued: bool) {
        self.interrupted = true;
        if queued {
            self.stopped_by = Some(true);
        }
    }

    /// Ctrl-C: queued lines do not run; bytes that the interrupt would discard from the cell's terminal are taken
    /// first.
    pub(super) fn stop(&mut self) {
        if !self.turn {
            let before = std::mem::take(&mut self.kept);
            let lines = &before[..lines_end(&before).unwrap_or_default()];
            Decoder::all(lines)
                .into_iter()
                .filter(|event| !typeahead::is_ctrl_c(event))
                .for_each(|event| self.key_queue().push(event));
        }
        self.claim();
        if let Some(steering) = &mut self.steering {
            steering.end(&mut lock_queue(&self.key_queue));
        }
        let queued = !self.key_queue().lines().ended.is_empty() || lines_end(&self.kept).is_some();
        self.stopped_by = Some(queued || self.stopped_by.unwrap_or_default());
    }
}

/// Returns the text of a line that is a whole prompt.
fn prompt_beside(line: &str, mode: Mode) -> Option<String> {
    match classify(line, mode) {
        Input::Prompt(prompt) if !prompt.repeats() => Some(prompt.text),
        _ => None,
    }
}

/// Returns the end of the last complete line.
fn lines_end(bytes: &[u8]) -> Option<usize> {
    let last = bytes
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'))?;
    Some(last + 1)
}

impl InputRouter {
    pub(super) fn new(
        session: SessionHandle,
        display: RunWaker,
        key_queue: SharedKeyQueue,
        background: Option<u8>,
        mode: Mode,
    ) -> Arc<Self> {
        Arc::new(InputRouter {
            session: session.clone(),
            display,
            background,
            state: Mutex::new(RouterState {
                session,
                mode,
                key_queue,
                decoder: Decoder::default(),
                cell_typeahead: CellTypeahead::default(),
                stopped_by: None,
                interrupted: false,
                ahead: Vec::new(),
                kept: Vec::new(),
                refused: Vec::new(),
                held_until: Instant::now(),
                cell: None,
                open: false,
                bare: false,
                tries: 0,
                turn: false,
                replay: false,
                steering: None,
                asked: None,
                last_key: Instant::now(),
                within_key: false,
                resumed: false,
                stopped: false,
            }),
        })
    }

    /// Records that Ctrl-C was typed already, behind lines that were to run (`queued`) or not.
    pub(super) fn interrupt_first(&self, queued: bool) {
        self.state().interrupt_first(queued);
    }

    /// Adds bytes read before the reader started; they come before all bytes read later.
    pub(super) fn add_ahead(&self, typed: &[u8]) {
        self.state().ahead.extend_from_slice(typed);
    }

    pub(super) fn set_cell(&self, terminal: Option<Arc<dyn CellTerminal>>) {
        self.state().cell = terminal;
    }

    /// Begins the cell: unless it is brief, it gets the bytes typed for it so far, and later ones.
    pub(super) fn open(&self) {
        let mut state = self.state();
        state.held_until = Instant::now() + BRIEF;
        state.tries = 0;
        state.bare = state.cell.is_none();
        if !state.bare {
            state.open = true;
            // Keys typed during a turn were not meant for this cell, which the user did not expect.
            if !state.turn {
                let kept = std::mem::take(&mut state.kept);
                state.keep(&kept);
            }
        }
    }

    /// Ends the cell, which did not read `unread`; later bytes are for the editor.
    pub(super) fn close(&self, unread: &[u8]) {
        let mut state = self.state();
        (state.open, state.bare) = (false, false);
        let mut unread = unread.to_vec();
        unread.append(&mut state.refused);
        let mut cell_typeahead = std::mem::take(&mut state.cell_typeahead);
        let mut unread = cell_typeahead.restore_paste_marks(&unread);
        unread.extend(cell_typeahead.into_pending());
        if state.turn && !state.replay {
            state.queue(&unread);
        } else {
            state.kept.extend(unread);
        }
    }

    /// Returns the outcome of the run for typeahead. Lines typed before Ctrl-C do not run, whatever the outcome;
    /// lines typed only behind it were meant for the next input.
    pub(super) fn ended(&self, ended: RunOutcome) -> RunOutcome {
        match (ended, self.state().stopped_by) {
            (_, Some(true)) => RunOutcome::Interrupted,
            (RunOutcome::Interrupted, Some(false)) => RunOutcome::Succeeded,
            (ended, _) => ended,
        }
    }

    /// Sends prompts typed from here on into the running turn.
    pub(super) fn begin_steering(&self) {
        let mut state = self.state();
        let steering = Steering::new(self.session.clone(), state.mode, &state.key_queue());
        state.steering = Some(steering);
    }

    /// The turn has taken the prompt that was sent, or not.
    pub(super) fn on_steered(&self, taken: bool) {
        let mut state = self.state();
        let key_queue = Arc::clone(&state.key_queue);
        if let Some(steering) = &mut state.steering {
            steering.on_answer(taken, &mut lock_queue(&key_queue));
        }
    }

    /// Takes the bytes that no program has read.
    pub(super) fn take_rest(&self) -> Vec<u8> {
        self.close(&[]);
        let mut state = self.state();
        if let Some(mut steering) = state.steering.take() {
            steering.end(&mut state.key_queue());
        }
        if let Some(event) = state.decoder.rest() {
            state.key_queue().push(event);
        }
        // Typed while no reader ran.
        let mut rest = std::mem::take(&mut state.ahead);
        rest.append(&mut state.kept);
        rest
    }

    /// Sends the cell's terminal the bytes it refused before; returns true while there are or may be more: a
    /// terminal may refuse bytes until its cell begins.
    pub(super) fn offer_refused(&self) -> bool {
        let mut state = self.state();
        if state.open && !state.refused.is_empty() {
            state.keep(&[]);
        }
        let early = state.cell.is_some() && !state.open && !state.turn && !state.kept.is_empty();
        early || !state.refused.is_empty()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyboard for InputRouter {
    fn typeahead(&self) -> Typeahead {
        let state = self.state();
        let mut lines = state.key_queue().lines();
        let sent = state.steering.as_ref().and_then(Steering::sent_line);
        lines.ended.splice(..0, sent);
        let mut ahead = Typeahead {
            queued: lines.ended,
            typed: lines.typed,
            input_awaited: false,
        };
        if let Some(terminal) = state.cell.as_ref().filter(|_| state.open) {
            // The terminal shows it.
            ahead.typed.clear();
            ahead.input_awaited = terminal.is_waiting_for_input();
            if terminal.has_lines() {
                ahead
                    .queued
                    .push(state.cell_typeahead.last_line().to_owned());
            }
        }
        ahead
    }

    /// Zero in the middle of a paste: its rest, however late, was not typed for what has appeared meanwhile.
    fn since_last_key(&self) -> Duration {
        let state = self.state();
        match state.within_key {
            true => Duration::ZERO,
            false => state.last_key.elapsed(),
        }
    }

    fn capture(&self) {
        let mut state = self.state();
        state.asked = Some(Vec::new());
        state.stopped = false;
    }

    fn take_captured(&self) -> Vec<u8> {
        let mut state = self.state();
        state.asked.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn release(&self, rest: &[u8]) {
        let mut state = self.state();
        let late = state.asked.take().unwrap_or_default();
        state.keep(rest);
        state.keep(&late);
    }

    fn take_resumed(&self) -> bool {
        std::mem::take(&mut self.state().resumed)
    }

    fn is_interrupted(&self) -> bool {
        self.state().stopped
    }

    fn interrupt(&self) {
        self.session.interrupt();
    }

    fn answer(&self, question: u64, reply: Reply) {
        self.session.answer(question, reply);
    }

    fn reply_input(&self, call: u64, reply: InputReply) {
        self.session.reply_input(call, reply);
    }
}
