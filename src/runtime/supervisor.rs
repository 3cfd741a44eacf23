//! The scaffold of a runtime whose interpreter is owned by a thread, its supervisor: the handle that a session holds,
//! the thread's start and end, the decision to start another interpreter.
//!
//! In: a [`Supervisor`] and the [`Orders`] it takes. Out: a [`Runtime`]. Invariants: where the system refuses the
//! thread, requests have their ends all the same; dropping the handle ends the thread and waits; after two deaths
//! within a minute the next start waits for a cell. Absent on purpose: the threads' loops. A Python takes all requests
//! at once, a shell one at a time, both on a thread that polls descriptors (`control.rs`); a kernel is served by async
//! code, which gets requests, interrupts and kills in the one order they were given in.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender};

use super::request_kind::dead;
use super::terminal::CellPty;
use super::{
    CellTerminal, Death, Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent,
    RuntimeRequest, StartFailure,
};

/// Capacity of the event channel; a runtime that fills it stops reading its interpreter. Output comes in events of up
/// to 64 KiB.
pub(super) const EVENTS_IN_FLIGHT: usize = 64;
/// Two deaths within this time stop the restarts.
const WINDOW: Duration = Duration::from_secs(60);

/// The runtime of a branch and its events, until they are taken.
pub(super) type BranchParts = Mutex<Option<(Box<dyn Runtime>, Receiver<RuntimeEvent>)>>;

/// Capabilities as the handle reports them; a supervisor that learns more changes them.
pub(super) type SharedCapabilities = Arc<Mutex<RuntimeCapabilities>>;

/// Owns an interpreter, on a thread of its own.
pub(super) trait Supervisor: Send + 'static {
    /// Name of the thread.
    const THREAD: &'static str;
    /// Its interpreter, in messages.
    const OWNED: &'static str;

    /// Works until [`Orders::close`]; may start its interpreter again and again.
    fn run(self);
}

/// Orders to a supervisor, from any thread; none of them waits.
pub(super) trait Orders: Interrupter {
    fn submit(&self, id: RequestId, request: RuntimeRequest);

    /// Ends the supervisor and its interpreter.
    fn close(&self);
}

/// The handle of a supervisor. Dropping it ends the interpreter, unless that was found running.
pub(super) struct SupervisedRuntime {
    orders: Arc<dyn Orders>,
    capabilities: SharedCapabilities,
    terminal: Option<Arc<CellPty>>,
    last_id: u64,
    thread: Option<JoinHandle<()>>,
    /// Stands in for the supervisor when the system refuses the thread.
    refused: Option<(Sender<RuntimeEvent>, Death)>,
}

impl SupervisedRuntime {
    /// Starts the supervisor, which sends to `events`.
    pub(super) fn start<S: Supervisor>(
        supervisor: S,
        orders: Arc<dyn Orders>,
        capabilities: SharedCapabilities,
        terminal: Option<Arc<CellPty>>,
        events: Sender<RuntimeEvent>,
    ) -> Self {
        let thread = Builder::new().name(S::THREAD.into());
        let thread = thread.spawn(move || supervisor.run());
        let refused = thread.as_ref().err().map(|error| {
            let failure = StartFailure {
                message: format!("could not start a thread for {}: {error}", S::OWNED),
                hint: "end other programs, or raise the limit on processes (ulimit -u)".into(),
            };
            // The channel is new and has room.
            let _ = events.try_send(RuntimeEvent::StartFailed(failure.clone()));
            (events, Death::NotStarted(failure))
        });
        SupervisedRuntime {
            orders,
            capabilities,
            terminal,
            last_id: 0,
            thread: thread.ok(),
            refused,
        }
    }
}

impl SupervisedRuntime {
    /// Numbers the requests from here on.
    pub(super) fn counting_from(mut self, first: u64) -> Self {
        self.last_id = first;
        self
    }
}

impl Runtime for SupervisedRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        let known = self.capabilities.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        match &self.refused {
            None => self.orders.submit(id, request),
            Some((events, death)) => dead(id, &request, death).into_iter().for_each(|end| {
                // Full only when hundreds of events were never read.
                let _ = events.try_send(end);
            }),
        }
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.orders) as Arc<dyn Interrupter>
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        let terminal = self.terminal.clone()?;
        Some(terminal)
    }
}

impl Drop for SupervisedRuntime {
    fn drop(&mut self) {
        self.orders.close();
        if let Some(thread) = self.thread.take() {
            // It may wait for room for an event.
            thread.thread().unpark();
            // The thread has sent its last events; its panic was reported by the hook.
            let _ = thread.join();
        }
    }
}

/// The last death that nobody asked for.
#[derive(Debug, Default)]
pub(super) struct LastDeath(Option<Instant>);

impl LastDeath {
    /// Records a death; returns true when another interpreter is to be started at once.
    pub(super) fn restarts(&mut self, death: &Death) -> bool {
        if *death == Death::Killed {
            return true;
        }
        let before = self.0.replace(Instant::now());
        before.is_none_or(|before| before.elapsed() >= WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Execute;
    use crate::control::{Control, EventSender};
    use tokio::sync::mpsc::channel;

    struct Talker(EventSender);

    impl Supervisor for Talker {
        const THREAD: &'static str = "talker";
        const OWNED: &'static str = "nothing";

        fn run(self) {
            for number in 0..3 {
                self.0.send(RuntimeEvent::Notice(number.to_string()));
            }
        }
    }

    impl Interrupter for Control<()> {
        fn interrupt(&self) {}

        fn kill(&self) {}
    }

    #[test]
    fn a_full_channel_keeps_no_runtime_from_closing() {
        let (events, mut read) = channel(1);
        let control = Arc::new(Control::<()>::new());
        let talker = Talker(control.sender(events.clone()));
        let able = Arc::new(Mutex::new(RuntimeCapabilities::all("none")));
        let runtime = SupervisedRuntime::start(talker, control, able, None, events);
        while read.is_empty() {
            std::thread::yield_now();
        }
        // The thread waits for room by now, or is about to.
        drop(runtime);
        let notice = |event| matches!(event, RuntimeEvent::Notice(text) if text == "0");
        assert!(read.blocking_recv().is_some_and(notice));
        assert!(read.blocking_recv().is_none());
    }

    #[test]
    fn where_the_system_refuses_a_thread_each_request_ends_with_that_reason() {
        let (events, mut read) = channel(9);
        let death = Death::NotStarted(StartFailure {
            message: "no thread".into(),
            hint: String::new(),
        });
        let mut runtime = SupervisedRuntime {
            orders: Arc::new(Control::<()>::new()),
            capabilities: Arc::new(Mutex::new(RuntimeCapabilities::all("none"))),
            terminal: None,
            last_id: 0,
            thread: None,
            refused: Some((events, death)),
        };
        let cell = runtime.submit(RuntimeRequest::Execute(Execute::numbered("1".into(), 1)));
        let ended = format!("{:?}", read.try_recv().unwrap());
        assert!(ended.contains("no thread"), "{ended}");
        assert!(ended.contains(&format!("{cell:?}")), "{ended}");
    }

    #[test]
    fn the_second_death_waits_for_a_cell_and_a_kill_is_none() {
        let crash = Death::Signalled(11);
        let mut last_death = LastDeath::default();
        for (death, restarts) in [(&crash, true), (&Death::Killed, true), (&crash, false)] {
            assert_eq!(last_death.restarts(death), restarts, "{death}");
        }
    }
}
