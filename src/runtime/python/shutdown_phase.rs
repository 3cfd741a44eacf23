//! How far the shutdown of an interpreter has come, and what follows when it does not exit.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::Group;

/// Time for each step of an interpreter's shutdown: exit by itself, then after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// Time to receive the shutdown request, before the time for at-exit functions begins: on a busy machine even that
/// takes a while.
const HEARING: Duration = Duration::from_secs(3);

pub(super) enum ShutdownPhase {
    No,
    /// Requested; the time runs once no code runs.
    Asked(Option<Instant>),
    Terminated(Instant),
}

impl ShutdownPhase {
    /// Kills an interpreter that was asked to exit and does not; returns the time until the next check. Its at-exit
    /// functions run since `leaves_since`.
    pub(super) fn enforce(
        &mut self,
        group: &Group,
        runs_code: bool,
        leaves_since: Option<Instant>,
    ) -> Option<Duration> {
        let now = Instant::now();
        let (deadline, signal) = match self {
            ShutdownPhase::No => return None,
            ShutdownPhase::Asked(_) if runs_code => return None,
            ShutdownPhase::Asked(deadline) => {
                let hears_until = *deadline.get_or_insert(now + HEARING);
                let deadline = leaves_since.map_or(hears_until, |since| since + GRACE);
                (deadline, Signal::TERM)
            }
            ShutdownPhase::Terminated(deadline) => (*deadline, Signal::KILL),
        };
        if now < deadline {
            return Some(deadline - now);
        }
        group.signal(signal);
        *self = ShutdownPhase::Terminated(now + GRACE);
        Some(GRACE)
    }
}
