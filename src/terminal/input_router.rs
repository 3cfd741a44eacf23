//! Who has the keyboard while something runs, and what was typed for whom.
//!
//! In: bytes without a meaning for the shell itself (`typing.rs` reads them), the beginnings and ends of cells,
//! questions. Out: bytes to the cell's own terminal, keys to the editor's gate, where lines wait and can be taken back.
//! Invariant: every byte that nobody read is kept, once and in the order it was typed: what a cell left unread, what
//! its terminal did not take because the cell was over by then, what was typed besides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::KeyCode;

use crate::display::{Ahead, Ended, Keyboard};
use crate::runtime::{CellTerminal, InputReply};
use crate::session::{Reply, SessionHandle};
use crate::terminal::keys::key_queue::{KeyQueue, SharedKeyQueue, pass};
use crate::terminal::typeahead::{self, CellTypeahead};
use crate::text::keys::{Decoder, plain};

/// How long a program has to end at Ctrl-C before it is given more.
const DYING: Duration = Duration::from_millis(50);

/// Who has the keyboard; shared by the thread that reads and those who are typed for.
pub(super) struct InputRouter {
    pub(super) session: SessionHandle,
    state: Mutex<RouterState>,
}

pub(super) struct RouterState {
    /// What was typed for the editor waits here.
    pub(super) gate: SharedKeyQueue,
    /// Collects the keys of a turn.
    pub(super) decoder: Decoder,
    /// On its way to the cell that runs.
    pub(super) for_cell: CellTypeahead,
    /// Ctrl-C was typed; true: behind lines that were to run.
    pub(super) stopped_by: Option<bool>,
    /// Ctrl-C was read together with what runs: it comes before every other key.
    pub(super) interrupted: bool,
    /// Typed before the keyboard was anyone's.
    pub(super) ahead: Vec<u8>,
    /// What was typed and nobody read.
    pub(super) kept: Vec<u8>,
    /// Typed for the cell that runs, and not taken by its terminal: it is full, or the cell is over by now.
    pub(super) refused: Vec<u8>,
    /// When Ctrl-C was given to the job in front of a shell.
    pub(super) interrupting: Option<Instant>,
    /// The terminal of the cell that runs or is about to.
    pub(super) cell: Option<Arc<dyn CellTerminal>>,
    /// The cell has begun: it takes the bytes.
    pub(super) open: bool,
    /// A cell without a terminal of its own runs, or is about to.
    pub(super) bare: bool,
    /// How often Ctrl-C was pressed at this cell, with no other key after it.
    pub(super) tries: u32,
    /// A turn or a replay runs.
    pub(super) turn: bool,
    /// It is a replay.
    pub(super) replay: bool,
    /// A question listens: what was typed for it.
    pub(super) asked: Option<Vec<u8>>,
    pub(super) last_key: Instant,
    pub(super) resumed: bool,
    pub(super) stopped: bool,
}

impl RouterState {
    fn gate(&self) -> MutexGuard<'_, KeyQueue> {
        pass(&self.gate)
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        match &self.cell {
            Some(terminal) if self.open => {
                let line_mode = terminal.mode().canonical;
                let bytes = self.for_cell.hand_on(bytes, line_mode);
                self.refused.extend(bytes);
                if self.interrupting.is_some_and(|at| at.elapsed() < DYING) {
                    return;
                }
                let taken = terminal.type_bytes(&self.refused);
                self.refused.drain(..taken);
            }
            _ if self.turn && !self.replay => self.queue(bytes),
            _ => self.kept.extend_from_slice(bytes),
        }
    }

    /// Bytes for the editor, while no cell can have them. Up takes the last line back that Enter ended.
    fn queue(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let Some(event) = self.decoder.push(*byte) else {
                continue;
            };
            let mut gate = pass(&self.gate);
            if plain(&event) == KeyCode::Up && !gate.lines().ended.is_empty() {
                gate.reopen();
            } else {
                gate.hold(event);
            }
        }
    }

    /// Lines typed for the cell that it has not read are for the editor from now on.
    fn claim(&mut self) {
        let Some(terminal) = self.cell.as_ref().filter(|_| self.open) else {
            return;
        };
        let mut lines = terminal.take_lines();
        lines.append(&mut self.refused);
        let lines = self.for_cell.returned(&lines);
        let mut gate = self.gate();
        Decoder::all(&lines)
            .into_iter()
            .for_each(|event| gate.hold(event));
    }

    /// Up, at a cell in line mode: the last line that it has not read is typed again. False when there is none.
    pub(super) fn take_back(&mut self) -> bool {
        let Some(terminal) = self.cell.clone().filter(|_| self.open) else {
            return false;
        };
        let queued = terminal.has_lines() || !self.gate().lines().ended.is_empty();
        if !queued || !terminal.mode().canonical {
            return false;
        }
        if self.for_cell.at_line_start() {
            self.claim();
            let line = self.gate().take_line();
            self.keep(line.unwrap_or_default().as_bytes());
        }
        true
    }

    /// Ctrl-C for the job in front of a shell. A program that waits for what is typed would take along into its death
    /// what was typed behind the key: that is given on a moment later.
    pub(super) fn interrupt_job(&mut self, key: u8) {
        self.interrupting = None;
        self.keep(&[key]);
        self.interrupting = Some(Instant::now());
    }

    /// Ctrl-C: what was to run does not, and what the interrupt would take from the cell's terminal is taken first.
    pub(super) fn stop(&mut self) {
        if !self.turn {
            let before = std::mem::take(&mut self.kept);
            let lines = &before[..lines_end(&before).unwrap_or_default()];
            Decoder::all(lines)
                .into_iter()
                .filter(|event| !typeahead::is_ctrl_c(event))
                .for_each(|event| self.gate().hold(event));
        }
        self.claim();
        let queued = !self.gate().lines().ended.is_empty() || lines_end(&self.kept).is_some();
        self.stopped_by = Some(queued || self.stopped_by.unwrap_or_default());
    }
}

/// Where the last line that was ended ends.
fn lines_end(bytes: &[u8]) -> Option<usize> {
    let last = bytes
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'))?;
    Some(last + 1)
}

impl InputRouter {
    /// Nothing typed, nobody typed for.
    pub(super) fn new(session: SessionHandle, gate: SharedKeyQueue) -> Arc<Self> {
        Arc::new(InputRouter {
            session,
            state: Mutex::new(RouterState {
                gate,
                decoder: Decoder::default(),
                for_cell: CellTypeahead::default(),
                stopped_by: None,
                interrupted: false,
                ahead: Vec::new(),
                kept: Vec::new(),
                refused: Vec::new(),
                interrupting: None,
                cell: None,
                open: false,
                bare: false,
                tries: 0,
                turn: false,
                replay: false,
                asked: None,
                last_key: Instant::now(),
                resumed: false,
                stopped: false,
            }),
        })
    }

    /// Ctrl-C was typed already.
    pub(super) fn interrupt_first(&self) {
        self.state().interrupted = true;
    }

    /// These bytes were read before the keyboard was anyone's: they come before all that is read from now on.
    pub(super) fn add_ahead(&self, typed: &[u8]) {
        self.state().ahead.extend_from_slice(typed);
    }

    /// The cell of this terminal comes next.
    pub(super) fn set_cell(&self, terminal: Option<Arc<dyn CellTerminal>>) {
        self.state().cell = terminal;
    }

    /// The cell has begun: it gets what was typed for it, and what will be.
    pub(super) fn open(&self) {
        let mut state = self.state();
        state.tries = 0;
        state.bare = state.cell.is_none();
        if !state.bare {
            state.open = true;
            // What was typed during a turn was not typed for a cell nobody knew of.
            if !state.turn {
                let kept = std::mem::take(&mut state.kept);
                state.keep(&kept);
            }
        }
    }

    /// The cell has ended and did not read `unread`: what is typed from now on is for the editor.
    pub(super) fn close(&self, unread: &[u8]) {
        let mut state = self.state();
        (state.open, state.bare) = (false, false);
        let mut unread = unread.to_vec();
        unread.append(&mut state.refused);
        let mut for_cell = std::mem::take(&mut state.for_cell);
        let mut unread = for_cell.returned(&unread);
        unread.extend(for_cell.held());
        if state.turn && !state.replay {
            state.queue(&unread);
        } else {
            state.kept.extend(unread);
        }
    }

    /// How the run went, as far as what was typed ahead goes. Lines typed before Ctrl-C do not run whatever came of
    /// it; what was typed only behind it was meant for what follows.
    pub(super) fn ended(&self, ended: Ended) -> Ended {
        match (ended, self.state().stopped_by) {
            (_, Some(true)) => Ended::Interrupted,
            (Ended::Interrupted, Some(false)) => Ended::Well,
            (ended, _) => ended,
        }
    }

    /// What was typed and nobody read, once.
    pub(super) fn take_rest(&self) -> Vec<u8> {
        self.close(&[]);
        let mut state = self.state();
        if let Some(event) = state.decoder.rest() {
            state.gate().hold(event);
        }
        // Nobody had the keyboard.
        let mut rest = std::mem::take(&mut state.ahead);
        rest.append(&mut state.kept);
        rest
    }

    /// Offers the cell's terminal what it has not taken; true while there is more, or may be: what waits for the cell
    /// to begin may be too early for its terminal.
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
    fn ahead(&self) -> Ahead {
        let state = self.state();
        let lines = state.gate().lines();
        let mut ahead = Ahead {
            queued: lines.ended,
            typed: lines.typed,
            awaited: false,
        };
        if let Some(terminal) = state.cell.as_ref().filter(|_| state.open) {
            // The terminal shows it.
            ahead.typed.clear();
            ahead.awaited = terminal.is_read();
            if terminal.has_lines() {
                ahead.queued.push(state.for_cell.last_line().to_owned());
            }
        }
        ahead
    }

    fn quiet(&self) -> Duration {
        self.state().last_key.elapsed()
    }

    fn listen(&self) {
        let mut state = self.state();
        state.asked = Some(Vec::new());
        state.stopped = false;
    }

    fn heard(&self) -> Vec<u8> {
        let mut state = self.state();
        state.asked.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn release(&self, rest: &[u8]) {
        let mut state = self.state();
        let late = state.asked.take().unwrap_or_default();
        state.keep(rest);
        state.keep(&late);
    }

    fn resumed(&self) -> bool {
        std::mem::take(&mut self.state().resumed)
    }

    fn stopped(&self) -> bool {
        self.state().stopped
    }

    fn stop(&self) {
        self.session.interrupt();
    }

    fn answer(&self, question: u64, reply: Reply) {
        self.session.answer(question, reply);
    }

    fn reply_input(&self, call: u64, reply: InputReply) {
        self.session.reply_input(call, reply);
    }
}
