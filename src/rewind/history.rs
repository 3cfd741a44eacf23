//! The files below the working directory, step by step: what each step changed, and the way back.
//!
//! In: directories, the beginning and the end of steps. Out: change sets, plans, files put back. A thread of its own
//! reads files when nobody works: a step that begins when nothing has changed waits for nothing. Invariants: what
//! changes while no step is active is the work of others; one lock, which the thread holds for a few milliseconds at a
//! time. Absent on purpose: sessions, questions, the screen.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::leftovers::finish_others;
use crate::restore::RestoreError;
use crate::state::FileState;
use crate::timeline::{ChangeSet, Owner, Restore, RewindPlan, undone_by_forward};
use crate::tree::Tree;
use crate::work::{PATIENCE, REST, Work};

/// How long a question about changes waits for the files that were there at the start.
const LONG: Duration = Duration::from_secs(10);
/// How long the thread works while it holds the lock.
const SLICE: Duration = Duration::from_millis(4);

/// A handle to the history of files; clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct FileHistory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    work: Mutex<Work>,
    /// Callers that wait for the lock.
    waiting: AtomicUsize,
    /// What is being put back is to be left.
    stopped: AtomicBool,
    /// Its end ends the thread.
    _alive: OwnedFd,
}

impl FileHistory {
    /// Begins to keep the files below `root`, on a thread of its own. `parent` is the directory of all stores of the
    /// user; `excluded` are directories of ours. `tell` gets a line for what an earlier process left half done.
    pub fn start(
        root: PathBuf,
        parent: PathBuf,
        excluded: Vec<PathBuf>,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        static HISTORIES: AtomicUsize = AtomicUsize::new(0);
        let number = HISTORIES.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{}-{number}", std::process::id()));
        let (ended, alive) = pipe_with(PipeFlags::CLOEXEC)?;
        let shared = Arc::new(Shared {
            work: Mutex::new(Work::new(Tree::new(excluded)?, folder, root.clone())),
            waiting: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            _alive: alive,
        });
        let told = shared.work().tree.watch().fd().try_clone_to_owned()?;
        let working = Arc::downgrade(&shared);
        thread::Builder::new()
            .name("file history".to_owned())
            .spawn(move || {
                // It works when nobody else does.
                let _ = rustix::process::setpriority_process(None, 19);
                finish_others(&parent, &tell);
                match working.upgrade().map(|shared| shared.work().prepare()) {
                    Some(Ok(())) => {}
                    Some(Err(error)) => {
                        let why = format!("their contents cannot be kept: {error}");
                        if let Some(shared) = working.upgrade() {
                            shared.work().refuse(root, why);
                        }
                        return;
                    }
                    None => return,
                }
                if let Some(shared) = working.upgrade() {
                    shared.work().keep(root);
                }
                while let Some(shared) = working.upgrade() {
                    shared.work_a_little();
                    drop(shared);
                    wait_for_change(&told, &ended);
                }
            })?;
        Ok(FileHistory { shared })
    }

    /// A step begins: what changes from now on is its work. Changes of others that have just been made are read first;
    /// that takes 40 ms at most.
    pub fn begin(&self, owner: Owner) {
        self.wait_until(PATIENCE, |work| work.unlisted.is_none());
        self.lock().begin(owner);
    }

    /// A step of an agent begins, which tells of it a moment late: what has just changed is its work.
    pub fn begin_late(&self, owner: Owner) {
        self.lock().begin_late(owner);
    }

    /// A step ends.
    pub fn end(&self, owner: Owner) {
        self.lock().end(owner);
    }

    /// What has changed until now is the work of whoever was active. Waits, as [`FileHistory::begin`] does, 200 ms at
    /// most while the files that were there at the start are read.
    pub fn pause(&self) {
        self.wait_until_ready(5 * PATIENCE);
        let mut work = self.lock();
        let now = work.active.last().copied();
        work.turn_over(now);
    }

    /// A step of this owner changed no files.
    pub fn mark(&self, owner: Owner) {
        let mut work = self.lock();
        work.turn_over(Some(owner));
        work.close(None);
    }

    /// Returns true when the file at this path is kept, or was when a step changed it.
    #[must_use]
    pub fn knows(&self, path: &Path) -> bool {
        let work = self.lock();
        let changed = |set: &ChangeSet| set.changes.contains_key(path);
        work.tree.knows(path) || changed(&work.open) || work.sets.iter().any(changed)
    }

    /// Keeps the files below this directory, too, unless they are kept already.
    pub fn keep(&self, root: PathBuf) {
        let shared = Arc::clone(&self.shared);
        if !self.lock().tree.covers(&root) {
            thread::spawn(move || shared.work().keep(root));
        }
    }

    /// Returns what steps and others have changed, oldest first.
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeSet> {
        self.wait_until_ready(LONG);
        let mut work = self.lock();
        work.settle(None);
        let mut sets = work.sets.clone();
        sets.extend((!work.open.changes.is_empty()).then(|| work.open.clone()));
        sets
    }

    /// Returns the directories whose files are not kept, each with its reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(PathBuf, String)> {
        self.lock().refused.clone()
    }

    /// Plans to take back the sets that `chosen` picks, oldest first.
    #[must_use]
    pub fn plan(&self, chosen: impl FnOnce(&[ChangeSet]) -> Vec<&ChangeSet>) -> RewindPlan {
        let mut work = self.lock();
        work.settle(None);
        work.turn_over(None);
        work.plan(chosen)
    }

    /// Plans to undo the last step back.
    #[must_use]
    pub fn plan_forward(&self) -> RewindPlan {
        self.plan(|sets| undone_by_forward(sets).into_iter().collect())
    }

    /// Puts paths back, all or none, as the work of `owner`. What others have changed since the plan was made is left
    /// out and returned.
    ///
    /// # Errors
    /// [`RestoreError`]; the files are as they were then, where it does not say otherwise.
    pub fn restore(
        &self,
        restores: &[Restore],
        owner: Owner,
    ) -> Result<Vec<PathBuf>, RestoreError> {
        self.shared.stopped.store(false, Ordering::SeqCst);
        let stopped = || self.shared.stopped.load(Ordering::SeqCst);
        self.restore_until(restores, owner, &stopped)
    }

    /// Stops what is being put back: all files are as they were then.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn restore_until(
        &self,
        restores: &[Restore],
        owner: Owner,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, RestoreError> {
        let mut work = self.lock();
        work.turn_over(Some(owner));
        let done = work.restore(restores, stopped);
        work.settle(None);
        work.close(None);
        done
    }

    /// Returns the contents of a file in this state; `None` where they are not kept.
    #[must_use]
    pub fn read(&self, state: &FileState) -> Option<Vec<u8>> {
        self.lock().store.get(state.digest()?).ok()
    }

    /// Waits until the files are kept that were there at the start, at most so long; returns whether they are.
    pub fn wait_until_ready(&self, most: Duration) -> bool {
        self.wait_until(most, Work::is_ready)
    }

    fn wait_until(&self, most: Duration, is_so: impl Fn(&Work) -> bool) -> bool {
        let until = Instant::now() + most;
        loop {
            if is_so(&self.lock()) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.shared.waiting.fetch_add(1, Ordering::SeqCst);
        let work = self.shared.work();
        self.shared.waiting.fetch_sub(1, Ordering::SeqCst);
        work
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let work = self.work.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(work.store.folder());
    }
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what there is to read.
    fn work_a_little(&self) {
        loop {
            while self.waiting.load(Ordering::SeqCst) > 0 {
                thread::yield_now();
            }
            if !self.work().go_on(Instant::now() + SLICE) {
                return;
            }
        }
    }
}

/// Waits for a change, then until changes rest; or for the end.
fn wait_for_change(told: &OwnedFd, ended: &OwnedFd) {
    let mut fds = [told, ended].map(|fd| PollFd::new(fd, PollFlags::IN));
    while poll(&mut fds, None) == Err(Errno::INTR) {}
    if fds[1].revents().is_empty() {
        thread::sleep(REST);
    }
}
