//! The agent's own kernels: which exist, which one a call leases, which are ended.
//!
//! In: a call's request, what became of a kernel, the time. Out: the number of a kernel, and those to end. Knows no
//! channel and no process (`driver.rs`). A kernel belongs to the session, its directory and its sandbox; a call that
//! asks for another of these leases another kernel.
//!
//! Invariants: the leased kernel is never ended for another's sake; at most [`MOST_IDLE`] idle ones stay, the least
//! recently used go first, and none stays longer than [`IDLE_LIMIT`]; when the system has no room for a new one, all
//! idle ones are ended and the start is tried once more; a kernel that died twice within [`WINDOW`] is not started
//! again before that is over. Absent on purpose: the user's own interpreter, which nothing here ends.

pub(super) mod driver;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agent::Sandbox;

const MOST_IDLE: usize = 4;
const IDLE_LIMIT: Duration = Duration::from_secs(5 * 60);
/// A kernel that dies twice within this time is not started again before it is over.
const WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelChoice {
    Live,
    /// A kernel of the agent's, kept for the session.
    Scratch,
    /// A new kernel, for this call only.
    Fresh,
    /// A copy of the user's interpreter, kept for the turn.
    Copy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelPlacement {
    pub which: KernelChoice,
    /// The directory as the agent wrote it; `None` is the user's directory.
    pub cwd: Option<String>,
    /// Start the kernel anew, without its variables.
    pub reset: bool,
}

/// The directory for a call's cells, or why it cannot be used.
pub(super) type CheckedDirectory = Result<PathBuf, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRequest {
    pub cwd: PathBuf,
    pub sandbox: Sandbox,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenedKernel {
    /// `None` is the user's interpreter.
    pub number: Option<u32>,
    pub cwd: PathBuf,
    /// Why the code is not confined, where it should be.
    pub unprotected: Option<String>,
    /// How the previous kernel ended, losing its variables.
    pub lost: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lease {
    Up(OpenedKernel),
    Starting,
    /// Start this kernel; [`Kernels::up`] follows.
    Start(u32),
}

#[derive(Debug, Default)]
pub(super) struct Kernels {
    all: BTreeMap<u32, Kernel>,
    /// The kernel leased to the call in progress.
    leased: Option<u32>,
    last: u32,
}

#[derive(Debug)]
struct Kernel {
    request: KernelRequest,
    /// The kernel ends with its call.
    fresh: bool,
    /// `Some` once the kernel takes cells; inside, why its code is not confined.
    up: Option<Option<String>>,
    used: Instant,
    deaths: Vec<Instant>,
    /// How the previous interpreter ended, until that is reported.
    lost: Option<String>,
    /// Died, with no restart under way.
    gone: bool,
    /// Idle kernels were ended once to make room for this one.
    evicted_for: bool,
}

impl Kernels {
    /// Leases a kernel to the call in progress; returns the kernels to end for it. `reset`: start anew, without its
    /// variables.
    pub(super) fn lease(
        &mut self,
        request: KernelRequest,
        fresh: bool,
        reset: bool,
        now: Instant,
    ) -> (Result<Lease, String>, Vec<u32>) {
        let has = self.leased.filter(|number| {
            let kernel = self.all.get(number);
            kernel.is_some_and(|kernel| kernel.request == request && kernel.fresh == fresh)
        });
        let found = has.or_else(|| {
            let kept = |kernel: &Kernel| !kernel.fresh && !fresh && kernel.request == request;
            let found = self.all.iter().find(|(_, kernel)| kept(kernel));
            found.map(|(number, _)| *number)
        });
        let mut ends = Vec::new();
        if let (Some(number), true) = (found, reset) {
            self.all.remove(&number);
            ends.push(number);
        }
        let Some((number, kernel)) = found.and_then(|number| {
            let kernel = self.all.get_mut(&number)?;
            Some((number, kernel))
        }) else {
            let number = self.start(request, fresh, now);
            ends.extend(self.too_many());
            return (Ok(Lease::Start(number)), ends);
        };
        kernel
            .deaths
            .retain(|death| now.duration_since(*death) < WINDOW);
        if kernel.deaths.len() >= 2 {
            let why = kernel.lost.as_deref().unwrap_or("it died");
            let why = format!(
                "the kernel ended twice within a minute ({why}) and is not started again before the minute is over; \
                 `reset` starts another one at once"
            );
            return (Err(why), ends);
        }
        self.leased = Some(number);
        kernel.used = now;
        let leased = match &kernel.up {
            Some(_) => Lease::Up(kernel.opened(number)),
            None if std::mem::take(&mut kernel.gone) => Lease::Start(number),
            None => Lease::Starting,
        };
        (Ok(leased), ends)
    }

    fn start(&mut self, request: KernelRequest, fresh: bool, now: Instant) -> u32 {
        self.last += 1;
        let kernel = Kernel {
            request,
            fresh,
            up: None,
            used: now,
            deaths: Vec::new(),
            lost: None,
            gone: false,
            evicted_for: false,
        };
        self.all.insert(self.last, kernel);
        self.leased = Some(self.last);
        self.last
    }

    fn too_many(&mut self) -> Vec<u32> {
        let mut idle: Vec<(Instant, u32)> = self.idle().collect();
        idle.sort();
        let most = idle.len().saturating_sub(MOST_IDLE);
        self.forget(idle.into_iter().take(most).map(|(_, number)| number))
    }

    fn idle(&self) -> impl Iterator<Item = (Instant, u32)> {
        let idle = self
            .all
            .iter()
            .filter(|(number, _)| self.leased != Some(**number));
        idle.map(|(number, kernel)| (kernel.used, *number))
    }

    fn forget(&mut self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let gone: Vec<u32> = numbers.collect();
        for number in &gone {
            self.all.remove(number);
        }
        gone
    }

    /// Takes the start of a kernel; returns the kernel if the call in progress waits for it.
    pub(super) fn up(&mut self, number: u32, unprotected: Option<String>) -> Option<OpenedKernel> {
        let kernel = self.all.get_mut(&number)?;
        kernel.up = Some(unprotected);
        (self.leased == Some(number)).then(|| kernel.opened(number))
    }

    /// Removes a kernel that could not be started; returns true when the call in progress waits for it.
    pub(super) fn failed(&mut self, number: u32) -> bool {
        self.all.remove(&number);
        self.leased.take_if(|leased| *leased == number).is_some()
    }

    /// Takes a failed start for lack of room; returns the kernel's request and the idle kernels to end. `None`:
    /// that was tried before, or none is idle.
    pub(super) fn evict_idle(&mut self, number: u32) -> Option<(KernelRequest, Vec<u32>)> {
        let kernel = self.all.get_mut(&number)?;
        let request = kernel.request.clone();
        if std::mem::replace(&mut kernel.evicted_for, true) {
            return None;
        }
        let idle = self.idle().map(|(_, idle)| idle);
        let idle: Vec<u32> = idle.filter(|idle| *idle != number).collect();
        let ends = self.forget(idle.into_iter());
        (!ends.is_empty()).then_some((request, ends))
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }

    /// Takes the death of a kernel. `counts`: it died by itself. `gone`: no restart before the next lease.
    pub(super) fn died(&mut self, number: u32, how: &str, counts: bool, gone: bool, now: Instant) {
        if let Some(kernel) = self.all.get_mut(&number) {
            kernel.up = None;
            kernel.lost = Some(how.to_owned());
            kernel.deaths.extend(counts.then_some(now));
            kernel.gone = gone;
        }
    }

    /// Ends the lease of the call in progress; returns the kernels to end.
    pub(super) fn release(&mut self, now: Instant) -> Vec<u32> {
        let Some(number) = self.leased.take() else {
            return Vec::new();
        };
        match self.all.get_mut(&number) {
            Some(kernel) if kernel.fresh => self.forget(std::iter::once(number)),
            Some(kernel) => {
                kernel.used = now;
                self.too_many()
            }
            None => Vec::new(),
        }
    }

    /// Returns the time of the next [`Kernels::sweep`].
    pub(super) fn due(&self) -> Option<Instant> {
        self.idle().map(|(used, _)| used + IDLE_LIMIT).min()
    }

    /// Removes and returns the kernels that have been idle for too long.
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<u32> {
        let old = self.idle().filter(|(used, _)| *used + IDLE_LIMIT <= now);
        let old: Vec<u32> = old.map(|(_, number)| number).collect();
        self.forget(old.into_iter())
    }

    /// Removes and returns all idle kernels: their descriptors are needed.
    pub(super) fn clear(&mut self) -> Vec<u32> {
        let idle: Vec<u32> = self.idle().map(|(_, number)| number).collect();
        self.forget(idle.into_iter())
    }
}

impl Kernel {
    /// Reports the end of the previous kernel once.
    fn opened(&mut self, number: u32) -> OpenedKernel {
        OpenedKernel {
            number: Some(number),
            cwd: self.request.cwd.clone(),
            unprotected: self.up.clone().flatten(),
            lost: self.lost.take(),
        }
    }
}

impl OpenedKernel {
    /// The user's interpreter, in this directory.
    pub(super) fn live(cwd: PathBuf) -> Self {
        OpenedKernel {
            number: None,
            cwd,
            unprotected: None,
            lost: None,
        }
    }
}

#[cfg(test)]
mod tests;
