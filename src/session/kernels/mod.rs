//! The agent's own kernels: which there are, which one a call gets, which go.
//!
//! In: what a call wants, what became of a kernel, the time. Out: the number of a kernel, and those that are to end.
//! Knows no channel and no process; `work.rs` does what is said here. A kernel is kept for the session, its directory
//! and what its code may touch; a call that wants other things gets another one.
//!
//! Invariants: the one that works is never ended for another's sake; of those at rest at most [`MOST`] stay, the
//! longest unused go first, and none for longer than [`REST`]; where the system has no room for a new one, all at rest
//! go and it is tried once more; one that died twice within [`WINDOW`] is started no more until that is over. Absent on
//! purpose: the user's own interpreter, which nothing here ends.

mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agent::Sandbox;

/// Kernels that are kept while they do nothing.
const MOST: usize = 4;
/// How long one is kept that does nothing.
const REST: Duration = Duration::from_secs(5 * 60);
/// Two deaths within this time stop it.
const WINDOW: Duration = Duration::from_secs(60);

/// Which kernel a call wants its cells to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// The user's interpreter.
    Live,
    /// The agent's own, kept for the session.
    Scratch,
    /// One for this call.
    Fresh,
    /// A copy of the user's interpreter, kept for the turn.
    Copy,
}

/// What a call wants opened before its next cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opening {
    /// Which.
    pub which: Which,
    /// Where, as the agent wrote it; `None`: where the user is.
    pub cwd: Option<String>,
    /// Without what it holds.
    pub reset: bool,
}

/// A place for cells, looked at: the directory itself, or why it is none.
pub(super) type Looked = Result<PathBuf, String>;

/// What a kernel is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelWish {
    /// Where its code runs.
    pub cwd: PathBuf,
    /// What its code may touch.
    pub sandbox: Sandbox,
}

/// A kernel that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    /// Which; `None`: the user's.
    pub number: Option<u32>,
    /// Where.
    pub cwd: PathBuf,
    /// Why nothing keeps its code from changing things, where that was to be kept.
    pub unprotected: Option<String>,
    /// What became of the one before, with its variables.
    pub lost: Option<String>,
}

/// What a call gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lent {
    /// One that is up.
    Up(Opened),
    /// One that comes up.
    Coming,
    /// This one is to be started; [`Kernels::up`] follows.
    Start(u32),
}

/// All there are.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    all: BTreeMap<u32, Kernel>,
    /// The one that the call in hand has.
    lent: Option<u32>,
    last: u32,
}

#[derive(Debug)]
struct Kernel {
    wish: KernelWish,
    /// It ends with the call.
    fresh: bool,
    /// It takes cells; the reason why nothing protects from them.
    up: Option<Option<String>>,
    /// When it was used last.
    used: Instant,
    deaths: Vec<Instant>,
    /// How the interpreter before this one ended, until that is told.
    lost: Option<String>,
    /// It died and nothing starts another one.
    gone: bool,
    /// There was no room for it once.
    squeezed: bool,
}

impl Kernels {
    /// A kernel for the call in hand; and those that end for it. `reset`: without what it holds.
    pub(super) fn lend(
        &mut self,
        wish: KernelWish,
        fresh: bool,
        reset: bool,
        now: Instant,
    ) -> (Result<Lent, String>, Vec<u32>) {
        let has = self.lent.filter(|number| {
            let kernel = self.all.get(number);
            kernel.is_some_and(|kernel| kernel.wish == wish && kernel.fresh == fresh)
        });
        let found = has.or_else(|| {
            let kept = |kernel: &Kernel| !kernel.fresh && !fresh && kernel.wish == wish;
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
            let number = self.start(wish, fresh, now);
            ends.extend(self.too_many());
            return (Ok(Lent::Start(number)), ends);
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
        self.lent = Some(number);
        kernel.used = now;
        let lent = match &kernel.up {
            Some(_) => Lent::Up(kernel.opened(number)),
            None if std::mem::take(&mut kernel.gone) => Lent::Start(number),
            None => Lent::Coming,
        };
        (Ok(lent), ends)
    }

    fn start(&mut self, wish: KernelWish, fresh: bool, now: Instant) -> u32 {
        self.last += 1;
        let kernel = Kernel {
            wish,
            fresh,
            up: None,
            used: now,
            deaths: Vec::new(),
            lost: None,
            gone: false,
            squeezed: false,
        };
        self.all.insert(self.last, kernel);
        self.lent = Some(self.last);
        self.last
    }

    /// Those at rest that are too many, forgotten.
    fn too_many(&mut self) -> Vec<u32> {
        let mut resting: Vec<(Instant, u32)> = self.resting().collect();
        resting.sort();
        let most = resting.len().saturating_sub(MOST);
        self.forget(resting.into_iter().take(most).map(|(_, number)| number))
    }

    fn resting(&self) -> impl Iterator<Item = (Instant, u32)> {
        let resting = self
            .all
            .iter()
            .filter(|(number, _)| self.lent != Some(**number));
        resting.map(|(number, kernel)| (kernel.used, *number))
    }

    fn forget(&mut self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let gone: Vec<u32> = numbers.collect();
        for number in &gone {
            self.all.remove(number);
        }
        gone
    }

    /// A kernel came up; what a call that waits for it gets.
    pub(super) fn up(&mut self, number: u32, unprotected: Option<String>) -> Option<Opened> {
        let kernel = self.all.get_mut(&number)?;
        kernel.up = Some(unprotected);
        (self.lent == Some(number)).then(|| kernel.opened(number))
    }

    /// A kernel could not be started, and is no more; true when the call in hand waits for it.
    pub(super) fn failed(&mut self, number: u32) -> bool {
        self.all.remove(&number);
        self.lent.take_if(|lent| *lent == number).is_some()
    }

    /// There was no room for a kernel: what it is to be, and those at rest, which end for it; `None`: that has been
    /// tried, or none is at rest.
    pub(super) fn squeeze(&mut self, number: u32) -> Option<(KernelWish, Vec<u32>)> {
        let kernel = self.all.get_mut(&number)?;
        let wish = kernel.wish.clone();
        if std::mem::replace(&mut kernel.squeezed, true) {
            return None;
        }
        let resting = self.resting().map(|(_, resting)| resting);
        let resting: Vec<u32> = resting.filter(|resting| *resting != number).collect();
        let ends = self.forget(resting.into_iter());
        (!ends.is_empty()).then_some((wish, ends))
    }

    /// It is still wanted.
    pub(super) fn has(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }

    /// A kernel died; `counts`: by itself. `gone`: nothing starts another one before it is lent.
    pub(super) fn died(&mut self, number: u32, how: &str, counts: bool, gone: bool, now: Instant) {
        if let Some(kernel) = self.all.get_mut(&number) {
            kernel.up = None;
            kernel.lost = Some(how.to_owned());
            kernel.deaths.extend(counts.then_some(now));
            kernel.gone = gone;
        }
    }

    /// The call in hand needs its kernel no longer: those that end.
    pub(super) fn give_back(&mut self, now: Instant) -> Vec<u32> {
        let Some(number) = self.lent.take() else {
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

    /// When [`Kernels::sweep`] has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        self.resting().map(|(used, _)| used + REST).min()
    }

    /// Those that have done nothing for too long.
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<u32> {
        let old = self.resting().filter(|(used, _)| *used + REST <= now);
        let old: Vec<u32> = old.map(|(_, number)| number).collect();
        self.forget(old.into_iter())
    }

    /// All that do nothing: their descriptors are needed.
    pub(super) fn clear(&mut self) -> Vec<u32> {
        let resting: Vec<u32> = self.resting().map(|(_, number)| number).collect();
        self.forget(resting.into_iter())
    }
}

impl Kernel {
    /// What a call gets of it; how the one before ended is told once.
    fn opened(&mut self, number: u32) -> Opened {
        Opened {
            number: Some(number),
            cwd: self.wish.cwd.clone(),
            unprotected: self.up.clone().flatten(),
            lost: self.lost.take(),
        }
    }
}

impl Opened {
    /// The user's own, at this place.
    pub(super) fn live(cwd: PathBuf) -> Self {
        Opened {
            number: None,
            cwd,
            unprotected: None,
            lost: None,
        }
    }
}

#[cfg(test)]
mod tests;
