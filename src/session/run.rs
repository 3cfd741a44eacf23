//! The event stream of a run, from the loop to a front-end.
//!
//! One [`Run`] per submitted input: its events in order, then its end; awaited, or read by a blocking thread. The
//! stream is bounded: a front-end that stops reading stops the cell's output at the source, never the session.
//! Invariant: when an input's run has ended, what came of it is in the record (unless the file is in trouble).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::events::SessionEvent;
use crate::record::RecordHandle;

/// Unread events above which the sender waits.
const UNREAD: usize = 64;

/// The events of one submitted input; ends when the input is done.
#[derive(Debug)]
pub struct Run(Arc<RunChannel>);

#[derive(Debug)]
pub enum NextEvent {
    Event(Box<SessionEvent>),
    /// No event within the given time, or before a [`RunWaker`] woke the reader.
    Nothing,
    Ended,
}

/// Unread events, and the readers and senders that wait.
#[derive(Debug, Default)]
struct RunChannel {
    queue: Mutex<Queue>,
    /// For a reader that blocks.
    came: Condvar,
    /// For a reader that awaits.
    woken: Notify,
    /// For senders of many events.
    read: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<SessionEvent>,
    ended: bool,
    /// A reader that blocks is to return, see [`RunWaker`].
    interrupted: bool,
}

impl RunChannel {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.came.notify_all();
        self.woken.notify_one();
    }
}

impl Run {
    /// Returns the next event; `None` when the run is over. For one reader at a time.
    pub async fn next(&self) -> Option<SessionEvent> {
        loop {
            let woken = self.0.woken.notified();
            {
                let mut queue = self.0.queue();
                if let Some(event) = queue.events.pop_front() {
                    self.0.read.notify_one();
                    return Some(event);
                }
                if queue.ended {
                    return None;
                }
            }
            woken.await;
        }
    }

    /// Returns what wakes a reader that blocks.
    pub fn waker(&self) -> RunWaker {
        RunWaker(Arc::clone(&self.0))
    }

    /// Puts an event back, to be the next one again.
    pub fn unread(&self, event: SessionEvent) {
        self.0.queue().events.push_front(event);
        self.0.wake();
    }

    /// Blocks the thread until the next event, at most `patience` (`None`: without limit).
    pub fn next_blocking(&self, patience: Option<Duration>) -> NextEvent {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut queue = self.0.queue();
        loop {
            if let Some(event) = queue.events.pop_front() {
                self.0.read.notify_one();
                return NextEvent::Event(Box::new(event));
            }
            if queue.ended {
                return NextEvent::Ended;
            }
            if std::mem::take(&mut queue.interrupted) {
                return NextEvent::Nothing;
            }
            let Some(deadline) = deadline else {
                let woken = self.0.came.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return NextEvent::Nothing;
            }
            let woken = self.0.came.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Wakes the reader of a [`Run`] that blocks: there is something to do besides the events.
#[derive(Debug, Clone)]
pub struct RunWaker(Arc<RunChannel>);

impl RunWaker {
    /// Lets [`Run::next_blocking`] return [`NextEvent::Nothing`], now or when it next finds no event.
    pub fn wake(&self) {
        self.0.queue().interrupted = true;
        self.0.came.notify_all();
    }
}

/// The session's end of a [`Run`]. Dropping the last one ends the run.
#[derive(Debug, Clone)]
pub(super) struct RunSender(Arc<SenderGuard>);

/// Shared by all clones of a sender; its drop ends the run.
#[derive(Debug)]
struct SenderGuard {
    channel: Arc<RunChannel>,
    /// What has to be written before the end.
    record: OnceLock<RecordHandle>,
}

impl Drop for SenderGuard {
    fn drop(&mut self) {
        let end = RunEnd(Arc::clone(&self.channel));
        if let (Some(record), Ok(runtime)) = (self.record.take(), Handle::try_current()) {
            runtime.spawn(async move {
                record.wait_written().await;
                drop(end);
            });
        }
    }
}

/// Ends the run when it is dropped.
struct RunEnd(Arc<RunChannel>);

impl Drop for RunEnd {
    fn drop(&mut self) {
        self.0.queue().ended = true;
        self.0.wake();
    }
}

impl RunSender {
    /// The run ends when what was recorded until then is in this record.
    pub(super) fn end_after(&self, record: &RecordHandle) {
        // Once for each run.
        let _ = self.0.record.set(record.clone());
    }

    /// Sends without waiting. Senders of many events wait for [`RunSender::ready`] first.
    pub(super) fn send(&self, event: impl Into<SessionEvent>) {
        let channel = &self.0.channel;
        // A front-end that went away does not stop the session.
        if Arc::strong_count(channel) > 1 {
            channel.queue().events.push_back(event.into());
            channel.wake();
        }
    }

    /// Returns true when the reader keeps up, or has gone.
    pub(super) fn is_ready(&self) -> bool {
        let channel = &self.0.channel;
        Arc::strong_count(channel) == 1 || channel.queue().events.len() < UNREAD
    }

    /// Returns when the reader has caught up.
    pub(super) async fn ready(&self) {
        while !self.is_ready() {
            let channel = &self.0.channel;
            channel.read.notified().await;
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A sender that waits for room would wait for ever.
        self.0.queue().events.clear();
        self.0.read.notify_one();
    }
}

pub(super) fn stream() -> (RunSender, Run) {
    let channel = Arc::new(RunChannel::default());
    (
        RunSender(Arc::new(SenderGuard {
            channel: Arc::clone(&channel),
            record: OnceLock::new(),
        })),
        Run(channel),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::TextEvent;

    fn event(text: &str) -> SessionEvent {
        SessionEvent::Text(TextEvent::Text(text.into()))
    }

    fn text(event: Option<SessionEvent>) -> String {
        match event {
            Some(SessionEvent::Text(TextEvent::Text(text))) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reader_that_blocks_is_woken_behind_what_came() {
        let (sender, run) = stream();
        run.waker().wake();
        sender.send(event("first"));
        let next = |patience| run.next_blocking(patience);
        assert!(matches!(next(None), NextEvent::Event(_)));
        assert!(matches!(next(None), NextEvent::Nothing));
        assert!(matches!(next(Some(Duration::ZERO)), NextEvent::Nothing));
        let waker = run.waker();
        let woken = std::thread::spawn(move || run.next_blocking(None));
        waker.wake();
        assert!(matches!(woken.join().unwrap(), NextEvent::Nothing));
    }

    #[test]
    fn a_run_ends_when_what_came_of_it_is_in_the_record() {
        let (go, held) = std::sync::mpsc::channel::<()>();
        let opening = crate::record::RecordOptions {
            path: "/nowhere".into(),
            record: false,
            named: false,
            leave_log: false,
        };
        let begin = crate::record::SessionSpec {
            cwd: "/some/where".into(),
            resume: None,
            fork: None,
            provider: "codex".into(),
            once: false,
        };
        let (record, _reports) = crate::record::open_after(opening, begin, move || {
            let _ = held.recv();
        });
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        executor.block_on(async {
            let (sender, run) = stream();
            sender.end_after(&record);
            sender.send(event("last"));
            drop(sender);
            assert_eq!(text(run.next().await), "last");
            tokio::task::yield_now().await;
            let next = run.next_blocking(Some(Duration::ZERO));
            assert!(matches!(next, NextEvent::Nothing), "{next:?}");
            go.send(()).unwrap();
            assert!(run.next().await.is_none());
        });
        // Without a loop, nobody waits.
        let (sender, run) = stream();
        sender.end_after(&record);
        drop(sender);
        assert!(matches!(run.next_blocking(None), NextEvent::Ended));
    }

    #[test]
    fn a_run_is_awaited_or_waited_for() {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (sender, run) = stream();
        let sent = std::thread::spawn(move || {
            for n in 0..3 {
                sender.send(event(&n.to_string()));
            }
        });
        assert_eq!(text(executor.block_on(run.next())), "0");
        let NextEvent::Event(second) = run.next_blocking(None) else {
            panic!("an event is on its way");
        };
        assert_eq!(text(Some(*second)), "1");
        assert_eq!(text(executor.block_on(run.next())), "2");
        sent.join().unwrap();
        assert!(executor.block_on(run.next()).is_none());
        assert!(matches!(run.next_blocking(None), NextEvent::Ended));
    }

    #[test]
    fn patience_ends_and_a_reader_that_left_holds_nobody_up() {
        let (sender, run) = stream();
        assert!(matches!(
            run.next_blocking(Some(Duration::ZERO)),
            NextEvent::Nothing
        ));
        for _ in 0..UNREAD {
            assert!(sender.is_ready());
            sender.send(event("x"));
        }
        assert!(!sender.is_ready());
        drop(run);
        assert!(sender.is_ready());
    }
}
