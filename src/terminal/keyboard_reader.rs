//! Reads the keyboard during a run, and decides for each byte which program gets it.
//!
//! Owns standard input between two reads of the editor. While a cell runs, bytes go to the cell's terminal, from
//! the moment the interpreter began the cell. During a turn Ctrl-C stops it and the rest is kept for the editor,
//! except while the agent runs a cell (keys are the cell's) or a question is open (keys are the question's). Up
//! takes back a waiting line.
//!
//! One thread per run reads; a pipe stops it ([`ReaderWaker`]), so no byte is read once the run is over. In the
//! background it does not read. Keys pressed before the terminal left kitty's keyboard mode are rewritten to their
//! legacy bytes. Absent on purpose: where bytes are kept (`input_router`).

use std::borrow::Cow;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::keys::{Decoder, spelled_by_habit};
use crate::runtime::CellTerminal;
use crate::screen::guard::TerminalGuard;
use crate::terminal::background_color::BackgroundReply;
use crate::terminal::focus::Focus;
use crate::terminal::input_router::InputRouter;
use crate::terminal::keys::key_queue::lock_queue;

const CTRL_C: u8 = 0x03;
const CTRL_Z: u8 = 0x1a;
const CTRL_BACKSLASH: u8 = 0x1c;

/// The arrow key, in both of its encodings.
const UP: &[u8] = b"\x1b[A";
const UP_TOO: &[u8] = b"\x1bOA";
const ALT_ENTER: &[u8] = b"\x1b\r";
const ALT_ENTER_TOO: &[u8] = b"\x1b[13;3u";
/// The keys that mean something to us while a cell runs.
const TAKEN: [&[u8]; 4] = [UP, UP_TOO, ALT_ENTER, ALT_ENTER_TOO];

/// Skips a cell of a replay.
const SKIP: u8 = b's';

/// Pause before bytes are sent again to a terminal that took no more.
const REFUSED_PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Longest wait for the rest of a paste that has begun.
const REST_PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Interval of the check that the terminal is ours again: a shell sends no signal when it brings back a job that
/// runs already.
const BACKGROUND_PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

pub(super) enum KeyTarget {
    Cell(Arc<dyn CellTerminal>),
    /// None: Ctrl-C stops the turn, the rest is kept.
    Turn,
    /// As `Turn`, for a cell without a terminal of its own: the third Ctrl-C kills its kernel.
    Kernel,
    /// As `Turn`, for a replay whose running cell has this terminal; `s` skips the cell while nothing else has been
    /// typed.
    Replay(Option<Arc<dyn CellTerminal>>),
}

/// Events of the keyboard that the shell itself handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyboardEvent {
    /// A second Ctrl-C in a cell or a command; the target that a third would kill.
    InterruptedTwice(KillTarget),
    /// A third Ctrl-C: kill this.
    Kill(KillTarget),
    Suspend,
    Returned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillTarget {
    Interpreter,
    Shell,
    Job,
}

pub(super) struct KeyboardReader {
    reader_waker: ReaderWaker,
    reader: JoinHandle<()>,
}

impl KeyboardReader {
    /// Starts reading while the terminal is ours, and listening to `reader_waker`; calls `on_signal` on the reading
    /// thread.
    ///
    /// # Errors
    /// Fails when no pipe or thread can be created.
    pub(super) fn start(
        target: KeyTarget,
        router: &Arc<InputRouter>,
        reader_waker: &ReaderWaker,
        guard: Option<Arc<TerminalGuard>>,
        (focus, background_reply): (Focus, BackgroundReply),
        on_signal: impl Fn(KeyboardEvent) + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut listener = reader_waker.listen()?;
        let (router, reader_waker) = (Arc::clone(router), reader_waker.clone());
        {
            let mut state = router.state();
            // A Ctrl-C from before there was a listener was meant for this run.
            let signalled = guard.as_ref().is_some_and(|guard| guard.take_interrupt());
            let typed = lock_queue(&state.key_queue).take_interrupt();
            if signalled || typed.is_some() {
                state.interrupt_first(typed == Some(true));
            }
            match target {
                KeyTarget::Cell(terminal) => {
                    state.cell = Some(terminal);
                    // Keys read together with the cell's Enter are the cell's, like those typed from here on.
                    let mut key_queue = lock_queue(&state.key_queue);
                    // It was read together with the submitted input.
                    let background = router.background.filter(|it| key_queue.take_control(*it));
                    // Lines in front of a Ctrl-C are nobody's: they come back to the editor.
                    let text = match state.stopped_by {
                        Some(true) => None,
                        _ => key_queue.take_text(),
                    };
                    drop(key_queue);
                    let first = background.into_iter().chain(text.into_iter().flatten());
                    state.ahead.splice(..0, first);
                }
                KeyTarget::Turn => state.turn = true,
                KeyTarget::Kernel => (state.turn, state.bare) = (true, true),
                KeyTarget::Replay(terminal) => {
                    state.cell = terminal;
                    (state.turn, state.replay) = (true, true);
                }
            }
        }
        let read = move || {
            let may_read = || guard.as_ref().is_none_or(|guard| guard.in_foreground());
            let mut keys = KeyDispatcher {
                router,
                on_signal,
                stopped: false,
                within: Decoder::default(),
            };
            if std::mem::take(&mut keys.router.state().interrupted) {
                keys.take(&[CTRL_C]);
            }
            let ahead = std::mem::take(&mut keys.router.state().ahead);
            keys.take(&spelled_by_habit(ahead.into()));
            let stdin = std::io::stdin();
            let mut away = false;
            loop {
                // After a stop we may be in the background, without a notification.
                let was_away = away | std::mem::take(&mut keys.stopped);
                away = !may_read();
                if was_away && !away {
                    (keys.on_signal)(KeyboardEvent::Returned);
                }
                let mut sources = [
                    PollFd::new(&listener, PollFlags::IN),
                    PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
                ];
                let sources = if away {
                    &mut sources[..1]
                } else {
                    &mut sources[..]
                };
                let pause = match keys.router.offer_refused() {
                    true => Some(&REFUSED_PAUSE),
                    false => away.then_some(&BACKGROUND_PAUSE),
                };
                match poll(sources, pause) {
                    Ok(0) => continue,
                    Ok(_) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => break,
                }
                if !sources[0].revents().is_empty() {
                    match next_reason(&mut listener) {
                        WakeReason::Over if keys.within.is_within() && may_read() => {
                            keys.finish(&stdin);
                            break;
                        }
                        WakeReason::Over => break,
                        WakeReason::Interrupt => keys.take(&[CTRL_C]),
                        WakeReason::Resumed => {
                            keys.stopped = true;
                            keys.router.state().resumed = true;
                        }
                    }
                    continue;
                }
                if !may_read() {
                    away = true;
                    continue;
                }
                let mut chunk = [0; 4096];
                match rustix::io::read(&stdin, &mut chunk) {
                    Ok(count) if count > 0 => {
                        // A program with the terminal to itself gets all bytes: replies in them answer its own queries.
                        let lent = guard.as_ref().is_some_and(|guard| guard.has_raw_output());
                        let typed = match lent {
                            true => Cow::Borrowed(&chunk[..count]),
                            false => spelled_by_habit(
                                background_reply.filter_bytes(focus.filter_bytes(&chunk[..count])),
                            ),
                        };
                        keys.take(&typed);
                    }
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    // The terminal is gone; the hang-up thread ends the program.
                    Ok(_) | Err(_) => break,
                }
            }
        };
        let reader = std::thread::Builder::new()
            .name("typing".into())
            .spawn(read)?;
        Ok(KeyboardReader {
            reader_waker,
            reader,
        })
    }

    pub(super) fn stop(self) {
        self.reader_waker.close();
        // A reader that panicked has ended the program.
        let _ = self.reader.join();
    }
}

/// Returns the first of these keys in the bytes, and its place.
fn first_of<'a>(bytes: &[u8], keys: &[&'a [u8]]) -> Option<(usize, &'a [u8])> {
    let at = |place| move |key: &&&[u8]| bytes[place..].starts_with(key);
    (0..bytes.len()).find_map(|place| Some((place, *keys.iter().find(at(place))?)))
}

struct KeyDispatcher<F> {
    router: Arc<InputRouter>,
    on_signal: F,
    /// We have been stopped, and the terminal has not been seen as ours since.
    stopped: bool,
    /// The position within a key or a paste at the end of the bytes.
    within: Decoder,
}

enum KeyOwner {
    Question,
    Turn,
    /// A cell of the user, or (`true`) of the agent in a turn.
    Cell(Arc<dyn CellTerminal>, bool),
}

impl<F: Fn(KeyboardEvent)> KeyDispatcher<F> {
    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        for byte in bytes {
            self.within.push(*byte);
        }
        {
            let mut state = self.router.state();
            state.last_key = Instant::now();
            state.within_key = self.within.is_within();
        }
        let mut rest = bytes;
        let background = self.router.background;
        while let Some(at) = rest.iter().position(|byte| {
            matches!(*byte, CTRL_C | CTRL_Z | CTRL_BACKSLASH) || Some(*byte) == background
        }) {
            self.forward(&rest[..at]);
            self.control(rest[at]);
            rest = &rest[at + 1..];
        }
        self.forward(rest);
        self.router.display.wake();
    }

    /// Reads to the end of the paste or key that has begun, as far as its bytes come at once: the next reader would
    /// misread the rest.
    fn finish(&mut self, stdin: &std::io::Stdin) {
        while self.within.is_within() {
            let mut source = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
            if !matches!(poll(&mut source, Some(&REST_PAUSE)), Ok(1..)) {
                return;
            }
            let mut chunk = [0; 4096];
            match rustix::io::read(stdin, &mut chunk) {
                Ok(count @ 1..) => self.take(&chunk[..count]),
                _ => return,
            }
        }
    }

    /// Sends bytes without a meaning for us to the owner of the keyboard.
    fn forward(&self, bytes: &[u8]) {
        let mut state = self.router.state();
        if !bytes.is_empty() {
            state.tries = 0;
        }
        if let Some(asked) = &mut state.asked {
            asked.extend_from_slice(bytes);
        } else if !state.replay {
            let mut rest = bytes;
            while let Some((at, key)) = first_of(rest, &TAKEN) {
                let (before, sequence) = rest.split_at(at);
                let (sequence, behind) = sequence.split_at(key.len());
                state.keep(before);
                let is_taken = match key {
                    ALT_ENTER | ALT_ENTER_TOO => state.take_aside(),
                    _ => state.recall_line(),
                };
                if !is_taken {
                    state.keep(sequence);
                }
                rest = behind;
            }
            state.keep(rest);
        } else if state.kept.is_empty() && bytes == [SKIP] {
            drop(state);
            self.router.session.skip_step();
        } else {
            state.kept.extend_from_slice(bytes);
        }
    }

    fn control(&mut self, byte: u8) {
        match (self.rule(), byte) {
            (KeyOwner::Question, CTRL_C) => {
                let mut state = self.router.state();
                state.stopped = true;
                state.stop();
                drop(state);
                self.router.session.interrupt();
            }
            (KeyOwner::Turn, CTRL_C) if self.router.state().bare => {
                let tries = self.count();
                if tries <= 2 {
                    self.router.session.interrupt();
                }
            }
            (KeyOwner::Turn, CTRL_C) => {
                self.router.state().stop();
                self.router.session.interrupt();
            }
            (KeyOwner::Cell(terminal, false), byte)
                if Some(byte) == self.router.background && self.takes_lines(terminal.as_ref()) =>
            {
                self.router.session.move_to_background();
            }
            (_, byte) if Some(byte) == self.router.background => self.forward(&[byte]),
            (KeyOwner::Question | KeyOwner::Turn, CTRL_Z) => self.suspend(),
            (KeyOwner::Turn, _) => {}
            // Control characters mean signals only while the cell's terminal says so: vim gets its Ctrl-Z. A shell
            // knows their meaning for the job in front.
            (KeyOwner::Cell(terminal, _), CTRL_C) if terminal.mode().job_control => {
                self.interrupt_job(terminal.as_ref());
            }
            (KeyOwner::Cell(terminal, _), byte) if terminal.mode().job_control => {
                self.router.state().keep_now(byte);
            }
            (KeyOwner::Cell(terminal, turn), CTRL_C)
                if terminal.mode().signals || self.replays() =>
            {
                self.interrupt(terminal.as_ref(), turn);
            }
            (KeyOwner::Cell(terminal, _), CTRL_Z) if terminal.mode().signals || self.replays() => {
                self.suspend();
            }
            (_, byte) => self.forward(&[byte]),
        }
    }

    fn rule(&self) -> KeyOwner {
        let state = self.router.state();
        match (&state.asked, &state.cell) {
            (Some(_), _) => KeyOwner::Question,
            (None, Some(terminal)) if state.open || !state.turn => {
                KeyOwner::Cell(Arc::clone(terminal), state.turn)
            }
            _ => KeyOwner::Turn,
        }
    }

    /// Returns true while no program of the cell's own has its terminal. Before the cell starts none has, whatever the
    /// mode: the interpreter leaves line mode for a moment to take back what the last cell did not read.
    fn takes_lines(&self, terminal: &dyn CellTerminal) -> bool {
        let mode = terminal.mode();
        let in_line_mode = mode.signals && mode.canonical && !mode.foreground_program;
        !mode.job_control && (in_line_mode || !self.router.state().open)
    }

    /// Returns true during a replay, whose cells never have the keyboard.
    fn replays(&self) -> bool {
        self.router.state().replay
    }

    fn suspend(&mut self) {
        (self.on_signal)(KeyboardEvent::Suspend);
        self.stopped = true;
        self.router.state().resumed = true;
    }

    /// Counts Ctrl-C at a cell: the first and second press interrupt, the third kills, however slowly they come;
    /// the message at the second holds until another key. Returns the count.
    fn count(&self) -> u32 {
        let tries = {
            let mut state = self.router.state();
            state.stop();
            state.tries += 1;
            state.tries
        };
        match tries {
            0 | 1 => {}
            2 => (self.on_signal)(KeyboardEvent::InterruptedTwice(KillTarget::Interpreter)),
            _ => {
                (self.on_signal)(KeyboardEvent::Kill(KillTarget::Interpreter));
                self.router.session.kill();
            }
        }
        tries
    }

    /// Ctrl-C at a cell with a terminal; in a turn, also stops the turn.
    fn interrupt(&mut self, terminal: &dyn CellTerminal, turn: bool) {
        if self.count() > 2 {
            return;
        }
        if turn {
            self.router.session.interrupt();
        }
        // A turn's interrupt reaches the interpreter; a program it has started is reached through its terminal. A
        // cell that has not begun gets it when it does.
        if !turn || terminal.mode().foreground_program {
            self.router.state().keep_now(CTRL_C);
        }
    }

    /// As `interrupt`, at a command of the shell, unless a program has the terminal out of line mode: to line
    /// editors and full-screen programs Ctrl-C is a key among others, however often it comes.
    fn interrupt_job(&mut self, terminal: &dyn CellTerminal) {
        let mode = terminal.mode();
        let tries = {
            let mut state = self.router.state();
            state.stop();
            state.tries = match mode.signals && mode.canonical {
                true => state.tries + 1,
                false => 0,
            };
            if state.tries <= 2 {
                state.interrupt_job(CTRL_C);
            }
            state.tries
        };
        let ends = match mode.foreground_program && tries <= 3 {
            true => KillTarget::Job,
            false => KillTarget::Shell,
        };
        if tries == 2 {
            (self.on_signal)(KeyboardEvent::InterruptedTwice(ends));
        } else if tries > 2 {
            (self.on_signal)(KeyboardEvent::Kill(ends));
            self.router.session.kill_shell();
        }
    }
}

const INTERRUPT: u8 = b'i';
const RESUMED: u8 = b'r';

/// Wakes the reader out of its poll, from any thread: to stop, or for an event of the signal thread. A reason sent
/// while no reader runs is lost; the sender of a Ctrl-C then keeps it itself.
#[derive(Clone, Default)]
pub(super) struct ReaderWaker(Arc<Mutex<Option<PipeWriter>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeReason {
    /// Ctrl-C came as a signal: it was typed before the terminal was ours again.
    Interrupt,
    /// Our process was stopped and continues.
    Resumed,
    /// The run is over: the reader stops.
    Over,
}

impl ReaderWaker {
    /// Opens the pipe.
    ///
    /// # Errors
    /// Fails when no pipe can be created.
    pub(super) fn listen(&self) -> std::io::Result<PipeReader> {
        let (listener, writer) = std::io::pipe()?;
        *self.writer() = Some(writer);
        Ok(listener)
    }

    pub(super) fn close(&self) {
        *self.writer() = None;
    }

    pub(super) fn has_reader(&self) -> bool {
        self.writer().is_some()
    }

    pub(super) fn interrupt(&self) -> bool {
        self.send(INTERRUPT)
    }

    /// Reports the end of a stop.
    pub(super) fn resumed(&self) {
        let _ = self.send(RESUMED);
    }

    fn send(&self, news: u8) -> bool {
        let mut writer = self.writer();
        writer
            .as_mut()
            .is_some_and(|writer| writer.write_all(&[news]).is_ok())
    }

    fn writer(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next_reason(listener: &mut PipeReader) -> WakeReason {
    let mut news = [0];
    match listener.read_exact(&mut news) {
        Ok(()) if news == [INTERRUPT] => WakeReason::Interrupt,
        Ok(()) => WakeReason::Resumed,
        Err(_) => WakeReason::Over,
    }
}

#[cfg(test)]
mod tests;
