//! Blocks the editor until a key comes or [`EditorWaker`] is written, and for nothing else.
//!
//! reedline polls crossterm in a loop when it has other sources; this file waits before that poll. In: keys on
//! standard input, the waker, held keys (`keys/key_queue.rs`). Invariants: while nothing comes, nothing wakes. No
//! key stays unread: crossterm is notified of keys once, and would see those that one read does not take, or that
//! come together with a signal, only with the next key; so it is notified again. A signal (a resize, or one that
//! brings held keys) is let through only while this thread waits: at another moment it takes the reply from a
//! pending cursor query.

use std::cell::Cell;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use reedline::{Completer, CompletionResult, CompletionStatus};
use rustix::event::{PollFd, PollFlags, poll};

use crate::process::{deliver_resize, resize_is_deferred};
use crate::screen::guard::TerminalGuard;
use crate::terminal::background_color::BackgroundReply;
use crate::terminal::background_output::BackgroundOutput;
use crate::terminal::editor_waker::EditorWaker;
use crate::terminal::keys::key_queue::{SharedKeyQueue, lock_queue};
use crate::terminal::paint_capture::PaintCapture;
use crate::terminal::typeahead::ctrl_c;

/// Timeout of the extra crossterm poll after a wake-up, since crossterm notices signals by itself.
pub(super) const ONCE_MORE: Duration = Duration::from_millis(2);

/// Poll flags of a terminal that is gone.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// The most replies of the terminal that may precede a key; each poll removes one.
const ANSWERS: usize = 4;

pub(super) struct EditorWait {
    pub(super) editor_waker: EditorWaker,
    pub(super) key_queue: SharedKeyQueue,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    pub(super) background: BackgroundOutput,
    pub(super) paint_capture: PaintCapture,
    /// Called when the first prompt is on the screen.
    pub(super) ready: Cell<Option<Box<dyn FnOnce() + Send>>>,
}

impl EditorWait {
    /// Returns when the editor has an event to handle.
    fn wait(&self) -> std::io::Result<()> {
        self.paint_capture.show();
        if let Some(ready) = self.ready.take() {
            ready();
        }
        self.background.hand_over(&self.paint_capture);
        let keyboard = std::io::stdin();
        while !has_event()? {
            if self.guard.as_ref().is_some_and(|it| it.take_interrupt()) {
                lock_queue(&self.key_queue).push(ctrl_c());
            }
            if lock_queue(&self.key_queue).has_keys_for_editor() || resize_is_deferred() {
                deliver_resize();
                break;
            }
            let mut sources = [
                PollFd::from_borrowed_fd(self.editor_waker.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(keyboard.as_fd(), PollFlags::IN),
            ];
            match poll(&mut sources, None) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            if sources[1].revents().intersects(GONE) {
                // The hang-up thread ends the program.
                loop {
                    std::thread::park();
                }
            }
            if !sources[0].revents().is_empty() {
                self.editor_waker.clear();
                break;
            }
            let told = || self.guard.as_ref().is_some_and(|it| it.renotify_keys());
            if has_event()? || !told() {
                break;
            }
        }
        Ok(())
    }
}

pub(super) fn has_event() -> std::io::Result<bool> {
    for _ in 0..ANSWERS {
        if crossterm::event::poll(Duration::ZERO)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the keys that were read together with the submitting key: they belong to the next input, before all keys
/// typed later.
pub(super) fn queue_typeahead(
    background_reply: &BackgroundReply,
    key_queue: &SharedKeyQueue,
) -> std::io::Result<()> {
    while has_event()? {
        for event in background_reply.pass(crossterm::event::read()?) {
            if !matches!(event, Event::Resize(..)) {
                lock_queue(key_queue).push(event);
            }
        }
    }
    Ok(())
}

/// Returns the hook called before every paint. The hook takes the terminal's background reply, when it has been
/// read; keys typed before it come first.
pub(super) fn before_paint(
    background_reply: &BackgroundReply,
    key_queue: &SharedKeyQueue,
    paint_capture: &PaintCapture,
) -> impl Fn() + Send + use<> {
    let (background_reply, key_queue, paint_capture) = (
        background_reply.clone(),
        Arc::clone(key_queue),
        paint_capture.clone(),
    );
    move || {
        paint_capture.begin();
        background_reply.look(|event| {
            if !matches!(event, Event::Resize(..)) {
                lock_queue(&key_queue).push(event);
            }
        });
    }
}

/// A completer that waits: the editor polls it right before it looks for events.
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
            // reedline finds errors of the terminal by itself.
            let _ = self.waiting.wait();
        }
        status
    }
}
