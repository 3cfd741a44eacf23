//! The state of a history of files: the kept directories, the change sets, the steps that are active.
//!
//! In: beginnings and ends of steps, time to read files. Out: change sets, plans, files put back. Absent on purpose:
//! the lock and the thread (`history.rs`), what earlier processes left (`leftovers.rs`).

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::leftovers;
use crate::restore::{RestoreError, restore};
use crate::state::{Digest, FileState, Unstored};
use crate::store::{MOST_IN_ALL, Store};
use crate::timeline::{
    ChangeSet, ContentSource, FileChange, Owner, Restore, RewindPlan, fit, forget, plan,
};
use crate::tree::Tree;

/// How long a step waits for what others have just changed.
pub(crate) const PATIENCE: Duration = Duration::from_millis(40);
/// How long changes rest before they are read: work on one file comes in many parts, and an agent may tell of its work
/// a moment after it began.
pub(crate) const REST: Duration = Duration::from_millis(250);
/// Clocks of file systems go by ticks, so that a new file may seem to be older than the step that made it.
const TICK: Duration = Duration::from_millis(20);
/// Change sets that are kept.
const MOST_SETS: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) sets: Vec<ChangeSet>,
    pub(crate) open: ChangeSet,
    /// When the open set began.
    since: SystemTime,
    /// Steps that are active, the innermost last.
    pub(crate) active: Vec<Owner>,
    /// Of the set before the open one: paths that have not been looked at since it ended.
    late: BTreeSet<PathBuf>,
    /// When that set began.
    late_since: SystemTime,
    numbers: u64,
    /// Directories that are not kept, each with its reason.
    pub(crate) refused: Vec<(PathBuf, String)>,
    /// The first directory; it has not been listed yet.
    pub(crate) unlisted: Option<PathBuf>,
    /// Held as long as we live.
    lock: Option<File>,
}

impl Work {
    pub(crate) fn new(tree: Tree, folder: PathBuf, root: PathBuf) -> Self {
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
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        self.lock = Some(leftovers::claim(self.store.folder())?);
        self.store.open()
    }

    pub(crate) fn keep(&mut self, root: PathBuf) {
        match self.tree.keep(&root) {
            Ok(()) => self.unlisted = None,
            Err(why) => self.refuse(root, why),
        }
    }

    /// The files below this directory are not kept.
    pub(crate) fn refuse(&mut self, root: PathBuf, why: String) {
        self.unlisted = None;
        self.refused.push((root, why));
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.unlisted.is_none() && !self.tree.has_unread()
    }

    /// Works until then; returns false when there is nothing to do for now.
    pub(crate) fn go_on(&mut self, until: Instant) -> bool {
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
    pub(crate) fn settle(&mut self, until: Option<Instant>) -> bool {
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

    pub(crate) fn begin(&mut self, owner: Owner) {
        let last = self.active.last().copied();
        self.active.push(owner);
        if last != Some(owner) {
            self.turn_over(Some(owner));
        }
        if let Some(root) = self.unlisted.clone() {
            self.open.lose(root);
        }
    }

    pub(crate) fn begin_late(&mut self, owner: Owner) {
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

    pub(crate) fn end(&mut self, owner: Owner) {
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
    pub(crate) fn turn_over(&mut self, next: Option<Owner>) {
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
    pub(crate) fn close(&mut self, next: Option<Owner>) {
        self.numbers += 1;
        let next = ChangeSet::empty(self.numbers, next);
        self.sets.push(std::mem::replace(&mut self.open, next));
        if self.sets.len() > MOST_SETS {
            self.sets.remove(0);
        }
    }

    pub(crate) fn plan(
        &mut self,
        chosen: impl FnOnce(&[ChangeSet]) -> Vec<&ChangeSet>,
    ) -> RewindPlan {
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

    pub(crate) fn restore(
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
