//! The files below the working directory, step by step: what each step changed, and the way back.
//!
//! In: directories, the beginning and the end of steps. Out: change sets, plans, files put back. A thread of its own
//! reads files when nobody works: a step that begins when nothing has changed waits for nothing. Invariants: what
//! changes while no step is active is the work of others; one lock, which the thread holds for a few milliseconds at a
//! time. Absent on purpose: sessions, questions, the screen.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ipycodex_process::files::private_dir;
use ipycodex_text::counted;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::restore::{RestoreError, finish, restore};
use crate::state::{Digest, FileState, Unstored};
use crate::store::{MOST_IN_ALL, Store};
use crate::timeline::{
    ChangeSet, ContentSource, FileChange, Owner, Restore, RewindPlan, fit, forget, plan,
    undone_by_forward,
};
use crate::tree::Tree;

/// How long a step waits for what others have just changed.
const PATIENCE: Duration = Duration::from_millis(40);
/// How long a question about changes waits for the files that were there at the start.
const LONG: Duration = Duration::from_secs(10);
/// How long the thread works while it holds the lock.
const SLICE: Duration = Duration::from_millis(4);
/// How long changes rest before they are read: work on one file comes in many parts, and an agent may tell of its work
/// a moment after it began.
const REST: Duration = Duration::from_millis(250);
/// Clocks of file systems go by ticks, so that a new file may seem to be older than the step that made it.
const TICK: Duration = Duration::from_millis(20);
/// Change sets that are kept.
const MOST_SETS: usize = 2_000;

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

#[derive(Debug)]
struct Work {
    tree: Tree,
    store: Store,
    sets: Vec<ChangeSet>,
    open: ChangeSet,
    /// When the open set began.
    since: SystemTime,
    /// Steps that are active, the innermost last.
    active: Vec<Owner>,
    /// Of the set before the open one: paths that have not been looked at since it ended.
    late: BTreeSet<PathBuf>,
    /// When that set began.
    late_since: SystemTime,
    numbers: u64,
    /// Directories that are not kept, each with its reason.
    refused: Vec<(PathBuf, String)>,
    /// The first directory; it has not been listed yet.
    unlisted: Option<PathBuf>,
    /// Held as long as we live.
    lock: Option<File>,
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
                    Some(Err(error)) => return log::warn!("files are not kept: {error}"),
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
        self.wait_until_ready(PATIENCE);
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
        let until = Instant::now() + most;
        loop {
            if self.lock().is_ready() {
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

impl Work {
    fn new(tree: Tree, folder: PathBuf, root: PathBuf) -> Self {
        Work {
            tree,
            store: Store::new(folder, MOST_IN_ALL),
            sets: Vec::new(),
            open: ChangeSet::empty(1, None),
            since: SystemTime::now(),
            active: Vec::new(),
            late: BTreeSet::new(),
            late_since: SystemTime::now(),
            numbers: 1,
            refused: Vec::new(),
            unlisted: Some(root),
            lock: None,
        }
    }

    /// Makes the store's folder and locks it.
    fn prepare(&mut self) -> io::Result<()> {
        let folder = self.store.folder();
        let _ = fs::remove_dir_all(folder);
        private_dir(folder).map_err(|error| io::Error::other(error.to_string()))?;
        let lock = File::create(folder.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        self.lock = Some(lock);
        self.store.open()
    }

    fn keep(&mut self, root: PathBuf) {
        if let Err(why) = self.tree.keep(&root) {
            self.refused.push((root, why));
        }
        self.unlisted = None;
    }

    fn is_ready(&self) -> bool {
        self.unlisted.is_none() && !self.tree.has_unread()
    }

    /// Works until then; returns false when there is nothing to do for now.
    fn go_on(&mut self, until: Instant) -> bool {
        self.hear();
        // While a step works its files change on; the last state of each counts.
        let done = !self.active.is_empty() || self.settle_what(true, Some(until));
        !done || self.tree.read_some(&mut self.store, until)
    }

    fn hear(&mut self) {
        let touched = self.tree.hear();
        if self.late.is_empty() {
            return;
        }
        // Touched again since its step ended: nobody can tell what the step left there.
        for path in touched {
            if self.late.remove(&path)
                && let Some(last) = self.sets.last_mut()
            {
                last.lose(path);
            }
        }
    }

    /// Looks at all that has been touched; returns false when the time was over before.
    fn settle(&mut self, until: Option<Instant>) -> bool {
        self.settle_what(false, until)
    }

    /// As [`Work::settle`]; `is_rest`: what rests only.
    fn settle_what(&mut self, is_rest: bool, until: Option<Instant>) -> bool {
        self.hear();
        if !self.late.is_empty() {
            let late = std::mem::take(&mut self.late);
            let Some(last) = self.sets.last_mut() else {
                return true;
            };
            let note = |found| last.note(found);
            self.late = self
                .tree
                .settle(late, &mut self.store, self.late_since, until, note);
            if !self.late.is_empty() {
                return false;
            }
        }
        let now = Instant::now();
        // The thread leaves what does not rest yet.
        let rested = if is_rest { now.checked_sub(REST) } else { None };
        let dirty = self.tree.take_dirty(rested.unwrap_or(now));
        if dirty.is_empty() {
            return true;
        }
        let open = &mut self.open;
        let note = |found| open.note(found);
        let rest = self
            .tree
            .settle(dirty, &mut self.store, self.since, until, note);
        let done = rest.is_empty();
        self.tree.touch(rest);
        self.make_room();
        done
    }

    fn begin(&mut self, owner: Owner) {
        let last = self.active.last().copied();
        self.active.push(owner);
        if last != Some(owner) {
            self.turn_over(Some(owner));
        }
        if let Some(root) = self.unlisted.clone() {
            self.open.lose(root);
        }
    }

    fn begin_late(&mut self, owner: Owner) {
        let is_first = self.active.is_empty();
        self.active.push(owner);
        if !is_first {
            return self.turn_over(Some(owner));
        }
        self.hear();
        if !self.open.changes.is_empty() {
            self.close(Some(owner));
        }
        self.open.owner = Some(owner);
    }

    fn end(&mut self, owner: Owner) {
        let Some(place) = self.active.iter().rposition(|active| *active == owner) else {
            return;
        };
        self.active.remove(place);
        let next = self.active.last().copied();
        if next != self.open.owner {
            self.turn_over(next);
        }
    }

    /// Ends the open set; the next one is the work of `next`.
    fn turn_over(&mut self, next: Option<Owner>) {
        let until = Instant::now() + PATIENCE;
        self.settle(Some(until));
        // What is late twice is known by nobody.
        for path in std::mem::take(&mut self.late) {
            if let Some(set) = self.sets.last_mut() {
                set.lose(path.clone());
            }
            self.tree.touch([path]);
        }
        if self.open.changes.is_empty() && self.tree.is_settled() {
            self.open.owner = next;
        } else {
            self.late = self.tree.take_dirty(Instant::now());
            self.late_since = self.since;
            self.close(next);
        }
        self.since = SystemTime::now() - TICK;
    }

    /// Ends the open set as it is.
    fn close(&mut self, next: Option<Owner>) {
        self.numbers += 1;
        let next = ChangeSet::empty(self.numbers, next);
        self.sets.push(std::mem::replace(&mut self.open, next));
        if self.sets.len() > MOST_SETS {
            self.sets.remove(0);
        }
    }

    fn plan(&mut self, chosen: impl FnOnce(&[ChangeSet]) -> Vec<&ChangeSet>) -> RewindPlan {
        let sets = chosen(&self.sets);
        let tree = &self.tree;
        let mut source = StoreSource(&mut self.store);
        let mut plan = plan(&sets, |path, source| tree.now(path, source.0), &mut source);
        let children = |path: &Path| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        fit(
            &mut plan,
            &sets,
            |path| path.is_dir() && !path.is_symlink(),
            children,
        );
        plan
    }

    fn restore(
        &mut self,
        restores: &[Restore],
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<PathBuf>, RestoreError> {
        let mut changed = Vec::new();
        let mut todo = Vec::new();
        for it in restores {
            match self.tree.now(&it.path, &mut self.store) == it.from {
                true => todo.push(it.clone()),
                false => changed.push(it.path.clone()),
            }
        }
        if !todo.is_empty() {
            let root = |path: &Path| self.tree.root_of(path).map(Path::to_owned);
            restore(&self.store, &todo, root, stopped)?;
        }
        Ok(changed)
    }

    /// Drops the oldest contents where new ones have no room.
    fn make_room(&mut self) {
        let was_full = |change: &FileChange| change.after.is_unstored(Unstored::StoreFull);
        if !self.open.changes.values().any(was_full) {
            return;
        }
        let half = self.sets.len().div_ceil(2);
        self.sets.iter_mut().take(half).for_each(forget);
        let kept = self.sets.iter().chain([&self.open]);
        let kept = kept.flat_map(|set| set.changes.values());
        let kept = kept.flat_map(|change| [&change.before, &change.after]);
        let needed: HashSet<Digest> = kept
            .chain(self.tree.states())
            .filter_map(FileState::digest)
            .collect();
        self.store.retain(&needed);
        let full = self
            .open
            .changes
            .iter()
            .filter(|(_, change)| was_full(change));
        let full: Vec<PathBuf> = full.map(|(path, _)| path.clone()).collect();
        let open = &mut self.open;
        let paths = full.into_iter().collect();
        self.tree
            .settle(paths, &mut self.store, self.since, None, |found| {
                open.note(found)
            });
    }
}

struct StoreSource<'a>(&'a mut Store);

impl ContentSource for StoreSource<'_> {
    fn read(&self, digest: Digest) -> io::Result<Vec<u8>> {
        self.0.get(digest)
    }

    fn keep(&mut self, bytes: &[u8]) -> Option<Digest> {
        self.0.put(bytes).ok()
    }
}

/// Name of the file that a live process holds locked.
const LOCK: &str = "lock";

/// Finishes what processes that are gone left half done, and removes their stores.
fn finish_others(parent: &Path, tell: &dyn Fn(String)) {
    let folders = fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        if let Some((done, changed)) = finish(&folder) {
            tell(finished(&done, &changed));
        }
        let _ = fs::remove_dir_all(&folder);
    }
}

fn finished(done: &[PathBuf], changed: &[PathBuf]) -> String {
    let mut line = format!(
        "An earlier ipycodex ended while it put files back; {} put back now",
        match done.len() {
            1 => "1 file was".to_owned(),
            number => format!("{} were", counted(number, "file")),
        }
    );
    if !changed.is_empty() {
        let names: Vec<String> = changed
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        line += &format!(
            ", but not these, which others have changed since: {}",
            names.join(", ")
        );
    }
    line
}
