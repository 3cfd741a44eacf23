//! How the editor waits: for keys and for the bell, and for nothing else.
//!
//! The line editor looks for events of the library that reads the terminal, again and again where it is to hear of
//! other things too. Here it waits before it looks. In: keys on standard input; the bell, which any thread rings that
//! has something for the editor to paint; keys that are held (`keys/gate.rs`), which are made an event of. Invariants:
//! while nothing comes, nothing wakes. No key lies unheard: the library is told of keys once, and those that one read
//! does not take, or that come together with a signal, it would hear of with the next key only; it is told again. A
//! signal, be it a change of the window's size or one that brings held keys, comes when this thread waits: at another
//! moment it takes from who asks for the cursor the answer of the terminal.

use std::cell::Cell;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use reedline::{Completer, CompletionResult, CompletionStatus};
use rustix::event::{PollFd, PollFlags, poll};

use crate::process::{let_resize_come, resize_is_kept};
use crate::screen::guard::TerminalGuard;
use crate::terminal::background_color::BackgroundReply;
use crate::terminal::background_output::BackgroundOutput;
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::keys::key_queue::{SharedKeyQueue, pass};
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::typeahead::ctrl_c;

/// How long the library is asked once more when the bell has rung: of a signal it hears by itself.
pub(super) const ONCE_MORE: Duration = Duration::from_millis(2);

/// What a terminal tells that is there no more.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// How many answers of the terminal may have been read before a key. Each look takes one out of its way.
const ANSWERS: usize = 4;

/// What the editor waits for.
pub(super) struct EditorWait {
    pub(super) bell: EditorWaker,
    pub(super) gate: SharedKeyQueue,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    pub(super) background: BackgroundOutput,
    pub(super) paints: PaintCapture,
    /// Called when the first prompt stands.
    pub(super) ready: Cell<Option<Box<dyn FnOnce() + Send>>>,
}

impl EditorWait {
    /// Returns when there is something for the editor to do.
    fn wait(&self) -> std::io::Result<()> {
        self.paints.show();
        if let Some(ready) = self.ready.take() {
            ready();
        }
        self.background.hand_over(&self.paints);
        let keyboard = std::io::stdin();
        while !heard()? {
            if self.guard.as_ref().is_some_and(|it| it.take_interrupt()) {
                pass(&self.gate).hold(ctrl_c());
            }
            if pass(&self.gate).waits() || resize_is_kept() {
                let_resize_come();
                break;
            }
            let mut sources = [
                PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(keyboard.as_fd(), PollFlags::IN),
            ];
            match poll(&mut sources, None) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            if sources[1].revents().intersects(GONE) {
                // The thread that hears of it ends the program.
                loop {
                    std::thread::park();
                }
            }
            if !sources[0].revents().is_empty() {
                self.bell.hush();
                break;
            }
            let told = || self.guard.as_ref().is_some_and(|it| it.tell_of_keys());
            if heard()? || !told() {
                break;
            }
        }
        Ok(())
    }
}

/// True when the library has an event.
pub(super) fn heard() -> std::io::Result<bool> {
    for _ in 0..ANSWERS {
        if crossterm::event::poll(Duration::ZERO)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes what was read of the keys together with the one that submitted: it belongs to the next input, before whatever
/// is typed from now on.
pub(super) fn take_ahead(ground: &BackgroundReply, gate: &SharedKeyQueue) -> std::io::Result<()> {
    while heard()? {
        for event in ground.pass(crossterm::event::read()?) {
            if !matches!(event, Event::Resize(..)) {
                pass(gate).hold(event);
            }
        }
    }
    Ok(())
}

/// What is called before every paint. Takes the terminal's answer about its background, when it has been read; keys
/// typed before it come first.
pub(super) fn before_paint(
    ground: &BackgroundReply,
    gate: &SharedKeyQueue,
    paints: &PaintCapture,
) -> impl Fn() + Send + use<> {
    let (ground, gate, paints) = (ground.clone(), Arc::clone(gate), paints.clone());
    move || {
        paints.begin();
        ground.look(|event| {
            if !matches!(event, Event::Resize(..)) {
                pass(&gate).hold(event);
            }
        });
    }
}

/// A completer; the editor asks it how it goes on right before it looks for events, and waits there.
pub(super) struct WaitingCompleter<C> {
    pub(super) completer: C,
    pub(super) waiting: EditorWait,
}

impl<C: Completer> Completer for WaitingCompleter<C> {
    fn complete(&mut self, text: &str, cursor: usize) -> CompletionResult {
        self.completer.complete(text, cursor)
    }

    fn poll_completion(&mut self) -> CompletionStatus {
        let status = self.completer.poll_completion();
        if status != CompletionStatus::Ready {
            // What is wrong with the terminal the editor finds by itself.
            let _ = self.waiting.wait();
        }
        status
    }
}
