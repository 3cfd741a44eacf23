//! The keyboard while a cell or a turn runs.
//!
//! Owns standard input between two readings of the editor. While a cell runs its bytes go to the cell's own terminal,
//! from the moment the interpreter began with it (earlier ones would come back as unread); while a turn runs Ctrl-C stops it and everything else is kept for the editor. One thread per run reads, and is
//! stopped through a pipe, so no byte is read once the run is over.

use std::borrow::Cow;
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::runtime::CellTerminal;
use crate::session::SessionHandle;

const CTRL_C: u8 = 0x03;
const CTRL_Z: u8 = 0x1a;
const CTRL_BACKSLASH: u8 = 0x1c;

/// A second Ctrl-C within this time is a second try, not a new one.
const SECOND_TRY: Duration = Duration::from_secs(2);

/// Text as the editor may hold it, which paints it as it is: control characters are spelled as Python spells them.
pub(super) fn editable(text: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let spelled = text.chars().map(|c| match c {
        c if plain(c) => c.to_string(),
        c => format!("\\x{:02x}", u32::from(c)),
    });
    Cow::Owned(spelled.collect())
}

/// Where the keys go.
pub(super) enum Target {
    /// To the cell's own terminal.
    Cell(Arc<dyn CellTerminal>),
    /// Nowhere: Ctrl-C stops the turn, the rest is kept.
    Turn,
}

/// What a key means to the shell itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// A second Ctrl-C in a cell.
    InterruptedTwice,
    /// A third: the kernel goes.
    Kill,
    /// Ctrl-Z.
    Suspend,
}

/// Reads the keyboard until it is stopped.
pub(super) struct Typing {
    stop: PipeWriter,
    reader: JoinHandle<()>,
    kept: Arc<Mutex<Kept>>,
    cell: Option<Arc<dyn CellTerminal>>,
}

/// What was typed and not handed on.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Where bytes go instead: the terminal of a cell that has begun.
    open: Option<Arc<dyn CellTerminal>>,
}

impl Kept {
    fn take(&mut self, bytes: &[u8]) {
        match &self.open {
            Some(terminal) => terminal.type_bytes(bytes),
            None => self.bytes.extend_from_slice(bytes),
        }
    }
}

impl Typing {
    /// Begins to read; `on_signal` is called on the reading thread.
    ///
    /// # Errors
    /// When no pipe or thread can be had.
    pub(super) fn start(
        target: Target,
        session: SessionHandle,
        on_signal: impl Fn(Signal) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (stopped, stop) = std::io::pipe()?;
        let kept = Arc::<Mutex<Kept>>::default();
        let cell = match &target {
            Target::Cell(terminal) => Some(Arc::clone(terminal)),
            Target::Turn => None,
        };
        let shared = Arc::clone(&kept);
        let read = move || {
            let mut keys = Keys {
                target,
                session,
                on_signal,
                kept: shared,
                tries: Vec::new(),
            };
            let stdin = std::io::stdin();
            loop {
                let mut sources = [
                    PollFd::new(&stopped, PollFlags::IN),
                    PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
                ];
                match poll(&mut sources, None) {
                    Ok(_) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => break,
                }
                if !sources[0].revents().is_empty() {
                    break;
                }
                let mut chunk = [0; 4096];
                match rustix::io::read(&stdin, &mut chunk) {
                    Ok(0) => break,
                    Ok(count) => keys.take(&chunk[..count]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => break,
                }
            }
        };
        let reader = std::thread::Builder::new()
            .name("typing".into())
            .spawn(read)?;
        Ok(Typing {
            stop,
            reader,
            kept,
            cell,
        })
    }

    /// The cell has begun: it gets what was typed, and what will be.
    pub(super) fn open(&self) {
        if let Some(terminal) = &self.cell {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            terminal.type_bytes(&std::mem::take(&mut kept.bytes));
            kept.open = Some(Arc::clone(terminal));
        }
    }

    /// The cell has ended: what is typed from now on is for the editor.
    pub(super) fn close(&self) {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .open = None;
    }

    /// Stops reading; returns what was typed for nobody.
    pub(super) fn stop(self) -> Vec<u8> {
        drop(self.stop);
        // A reader that panicked has ended the program.
        let _ = self.reader.join();
        std::mem::take(
            &mut self
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .bytes,
        )
    }
}

/// Decides for each byte.
struct Keys<F> {
    target: Target,
    session: SessionHandle,
    on_signal: F,
    kept: Arc<Mutex<Kept>>,
    tries: Vec<Instant>,
}

impl<F: Fn(Signal)> Keys<F> {
    /// Hands bytes to the cell, or keeps them.
    fn keep(&self, bytes: &[u8]) {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(bytes);
    }

    fn take(&mut self, bytes: &[u8]) {
        match &self.target {
            Target::Turn => {
                for &byte in bytes {
                    match byte {
                        CTRL_C => self.session.interrupt(),
                        CTRL_Z => (self.on_signal)(Signal::Suspend),
                        CTRL_BACKSLASH => {}
                        byte => self.keep(&[byte]),
                    }
                }
            }
            Target::Cell(terminal) => {
                let terminal = Arc::clone(terminal);
                // Control characters mean signals only while the cell's terminal says so: vim gets its Ctrl-Z.
                let mut rest = bytes;
                while let Some(at) = rest
                    .iter()
                    .position(|byte| matches!(*byte, CTRL_C | CTRL_Z))
                {
                    let (before, from) = rest.split_at(at);
                    self.keep(before);
                    if terminal.mode().signals {
                        self.control(from[0], terminal.as_ref());
                    } else {
                        self.keep(&from[..1]);
                    }
                    rest = &from[1..];
                }
                self.keep(rest);
            }
        }
    }

    fn control(&mut self, byte: u8, terminal: &dyn CellTerminal) {
        if byte == CTRL_Z {
            (self.on_signal)(Signal::Suspend);
            return;
        }
        self.tries.retain(|earlier| earlier.elapsed() < SECOND_TRY);
        self.tries.push(Instant::now());
        match self.tries.len() {
            1 => terminal.type_bytes(&[CTRL_C]),
            2 => {
                terminal.type_bytes(&[CTRL_C]);
                (self.on_signal)(Signal::InterruptedTwice);
            }
            _ => {
                (self.on_signal)(Signal::Kill);
                self.session.kill_runtime();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::editable;

    #[test]
    fn the_editor_holds_no_control_characters() {
        for (text, held) in [
            ("a = 'ä'\n\tb", "a = 'ä'\n\tb"),
            ("'\x1b[2J\x07'", "'\\x1b[2J\\x07'"),
            ("\u{9b}2J\x7f\0", "\\x9b2J\\x7f\\x00"),
            ("a\r\nb\rc", "a\nb\nc"),
        ] {
            assert_eq!(editable(text), held);
        }
    }
}
