//! The files below directories as they were when they were last looked at, and the look.
//!
//! In: directories to keep, and what their watch tells. Out: changes, path by path, as they are found. Invariants: what
//! `.gitignore` names is not kept, nor `.git`, nor what is no file, link or directory; links are not followed; what was
//! not looked at is not said to be absent. Absent on purpose: who changed something.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::look::{Stamp, file, look, other};
use crate::state::{Contents, FileState, Unknown, Unstored};
use crate::store::{MOST_OF_A_FILE, Store};
use crate::watch::{Touched, Watch};
use ignore::{DirEntry, WalkBuilder};

/// Entries of the directories that are kept at most.
pub const MOST_ENTRIES: usize = 50_000;
/// Names that are never kept.
const NEVER: [&str; 2] = [".git", "__pycache__"];

/// Kept directories.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
    roots: Vec<PathBuf>,
    excluded: Vec<PathBuf>,
    watch: Watch,
    /// Paths that may have changed since they were looked at, and when that was heard last.
    dirty: BTreeMap<PathBuf, Instant>,
    /// Files whose contents have not been read yet, the smallest last.
    unread: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    stamp: Stamp,
    state: FileState,
}

/// A path that was looked at, and is another than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
}

impl Tree {
    pub(crate) fn new(excluded: Vec<PathBuf>) -> io::Result<Self> {
        Ok(Tree {
            entries: BTreeMap::new(),
            roots: Vec::new(),
            excluded,
            watch: Watch::new()?,
            dirty: BTreeMap::new(),
            unread: Vec::new(),
        })
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Returns true when this path lies below a directory that is kept.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Returns the kept directory that this path lies in.
    pub(crate) fn root_of(&self, path: &Path) -> Option<&Path> {
        let mut roots = self.roots.iter();
        roots
            .find(|root| path.starts_with(root))
            .map(PathBuf::as_path)
    }

    /// Keeps a directory from now on; the contents of its files are read later, by [`Tree::read_some`].
    ///
    /// # Errors
    /// Why it is not kept, as a sentence; nothing has changed then.
    pub(crate) fn keep(&mut self, root: &Path) -> Result<(), String> {
        let mut found = BTreeMap::new();
        for entry in self.walk(root, None) {
            if found.len() + self.entries.len() >= MOST_ENTRIES {
                self.watch.remove(root);
                return Err(format!("it holds more than {MOST_ENTRIES} entries"));
            }
            let path = entry.into_path();
            if let Ok(metadata) = fs::symlink_metadata(&path) {
                if metadata.is_dir()
                    && let Err(error) = self.watch.add(&path)
                {
                    self.watch.remove(root);
                    return Err(format!("its directories cannot be watched: {error}"));
                }
                if let Some(entry) = Entry::unread(&path, &metadata) {
                    found.insert(path, entry);
                }
            }
        }
        let mut unread: Vec<(u64, PathBuf)> = found
            .iter()
            .filter(|(_, entry)| entry.is_unread())
            .map(|(path, entry)| (entry.stamp.size, path.clone()))
            .collect();
        unread.sort_by(|a, b| b.cmp(a));
        let unread = unread.into_iter().map(|(_, path)| path);
        self.unread.splice(..0, unread);
        self.entries.append(&mut found);
        self.roots.retain(|known| !known.starts_with(root));
        self.roots.push(root.to_owned());
        Ok(())
    }

    /// Reads the contents of some files that have not been read yet; returns false when there are none.
    pub(crate) fn read_some(&mut self, store: &mut Store, until: Instant) -> bool {
        while let Some(path) = self.unread.pop() {
            // One that is touched meanwhile is looked at as a change.
            if let Some(entry) = self.entries.get_mut(&path)
                && entry.is_unread()
                && store.has_room_at_start(entry.stamp.size)
                && let Ok(metadata) = fs::symlink_metadata(&path)
                && Stamp::of(&metadata) == entry.stamp
                && let Some((stamp, state)) = look(&path, store)
                && stamp == entry.stamp
            {
                entry.state = state;
            }
            if Instant::now() >= until {
                break;
            }
        }
        !self.unread.is_empty()
    }

    /// Takes what the watch tells; returns the paths that it told of.
    pub(crate) fn hear(&mut self) -> Vec<PathBuf> {
        let mut touched = Vec::new();
        let mut anything = false;
        self.watch.read(|it| match it {
            Touched::Path(path) => touched.push(path),
            Touched::Anything => anything = true,
        });
        if anything {
            // Whatever is known may be another, and roots are walked whole.
            touched.extend(self.entries.keys().cloned());
            touched.extend(self.roots.iter().cloned());
            for root in self.roots.clone() {
                touched.extend(self.walk(&root, None).map(DirEntry::into_path));
            }
        }
        // Nobody tells that a root was removed as long as a process is in it, nor that it is there again.
        let is_same = |root: &Path| {
            let now = fs::symlink_metadata(root).ok().map(|it| it.ino());
            now == self.entries.get(root).map(|entry| entry.stamp.inode)
        };
        touched.extend(self.roots.iter().filter(|root| !is_same(root)).cloned());
        touched.sort();
        touched.dedup();
        self.touch(touched.iter().cloned());
        touched
    }

    /// These paths are looked at again.
    pub(crate) fn touch(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let now = Instant::now();
        self.dirty.extend(paths.into_iter().map(|path| (path, now)));
    }

    pub(crate) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Takes the paths that may have changed, but have not since then.
    pub(crate) fn take_dirty(&mut self, since: Instant) -> BTreeSet<PathBuf> {
        let rested = self.dirty.extract_if(.., |_, heard| *heard <= since);
        rested.map(|(path, _)| path).collect()
    }

    /// Looks at these paths until the time is over; tells what has changed, and returns what was not looked at.
    ///
    /// `since`: when the work began that the changes are of; a file that is older came from elsewhere.
    pub(crate) fn settle(
        &mut self,
        mut paths: BTreeSet<PathBuf>,
        store: &mut Store,
        since: SystemTime,
        until: Option<Instant>,
        mut found: impl FnMut(Found),
    ) -> BTreeSet<PathBuf> {
        let mut arrivals: HashMap<PathBuf, HashSet<OsString>> = HashMap::new();
        let mut inodes = Inodes::default();
        let is_late = |until: Option<Instant>| until.is_some_and(|until| Instant::now() >= until);
        while let Some(path) = paths.pop_first() {
            let stays = self.entries.contains_key(&path)
                && self.look_again(&path, store, &mut inodes, &mut found);
            // Who comes anew is asked about together with its neighbours.
            if !stays
                && let (Some(parent), Some(name)) = (path.parent(), path.file_name())
                && (self.roots.contains(&path) || self.entries.contains_key(parent))
                && path.symlink_metadata().is_ok()
            {
                let names = arrivals.entry(parent.to_owned()).or_default();
                names.insert(name.to_owned());
            }
            if is_late(until) {
                break;
            }
        }
        for (parent, names) in arrivals {
            if is_late(until) {
                paths.extend(names.iter().map(|name| parent.join(name)));
                continue;
            }
            for entry in self.walk(&parent, Some(names)) {
                self.arrive(&entry.into_path(), store, since, &mut inodes, &mut found);
            }
        }
        paths
    }

    /// Returns true when the file at this path is kept.
    pub(crate) fn knows(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Returns what a path holds now; it is looked at as [`Tree::settle`] does.
    pub(crate) fn now(&self, path: &Path, store: &mut Store) -> FileState {
        look(path, store).map_or(FileState::Absent, |(_, state)| state)
    }

    /// Returns all contents that the kept files have.
    pub(crate) fn states(&self) -> impl Iterator<Item = &FileState> {
        self.entries.values().map(|entry| &entry.state)
    }

    /// Looks at a known path; returns false when what was there is gone, whatever is there now.
    fn look_again(
        &mut self,
        path: &Path,
        store: &mut Store,
        inodes: &mut Inodes,
        found: &mut impl FnMut(Found),
    ) -> bool {
        let Some(entry) = self.entries.get_mut(path) else {
            return false;
        };
        // A number of an inode is soon given to another directory.
        let is_watched = !entry.is_directory() || self.watch.has(path);
        let is_same = |now: &(Stamp, FileState)| is_watched && entry.is_kind_of(now);
        let Some((stamp, after)) = look(path, store).filter(is_same) else {
            self.leave(path, inodes, found);
            return false;
        };
        inodes.gone.insert(entry.stamp.inode);
        entry.stamp = stamp;
        let before = std::mem::replace(&mut entry.state, after.clone());
        if before != after {
            found(Found {
                path: path.to_owned(),
                before,
                after,
            });
        }
        true
    }

    /// A path is gone, with all below it.
    fn leave(&mut self, path: &Path, inodes: &mut Inodes, found: &mut impl FnMut(Found)) {
        let below: Vec<PathBuf> = self
            .entries
            .range(path.to_owned()..)
            .map(|(path, _)| path.clone())
            .take_while(|below| below.starts_with(path))
            .collect();
        if self.entries.get(path).is_some_and(Entry::is_directory) {
            self.watch.remove(path);
        }
        for path in below {
            if let Some(entry) = self.entries.remove(&path) {
                inodes.gone.insert(entry.stamp.inode);
                found(Found {
                    path,
                    before: entry.state,
                    after: FileState::Absent,
                });
            }
        }
    }

    fn arrive(
        &mut self,
        path: &Path,
        store: &mut Store,
        since: SystemTime,
        inodes: &mut Inodes,
        found: &mut impl FnMut(Found),
    ) {
        if self.entries.contains_key(path) || self.entries.len() >= MOST_ENTRIES {
            return;
        }
        let Some((stamp, after)) = look(path, store) else {
            return;
        };
        if matches!(after, FileState::Directory { .. }) {
            // What cannot be watched is looked at as far as its parent's watch tells.
            let _ = self.watch.add(path);
        }
        // Not all file systems tell when a file was made.
        let changed = SystemTime::UNIX_EPOCH
            + Duration::from_nanos(stamp.changed.try_into().unwrap_or_default());
        let is_older = || {
            let made = fs::symlink_metadata(path).and_then(|metadata| metadata.created());
            made.unwrap_or(changed) < since
        };
        let entries = &self.entries;
        let before = match is_older() && !inodes.knows(stamp.inode, entries) {
            true => FileState::Unknown(Unknown::FromElsewhere),
            false => FileState::Absent,
        };
        self.entries.insert(
            path.to_owned(),
            Entry {
                stamp,
                state: after.clone(),
            },
        );
        found(Found {
            path: path.to_owned(),
            before,
            after,
        });
    }

    /// Walks a directory, its entries without it; with names: these entries of it, and all below them.
    fn walk(
        &self,
        directory: &Path,
        names: Option<HashSet<OsString>>,
    ) -> impl Iterator<Item = DirEntry> + use<> {
        let excluded = self.excluded.clone();
        let chosen = names.is_some();
        let mut builder = WalkBuilder::new(directory);
        builder
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .same_file_system(true)
            .filter_entry(move |entry| {
                let name = entry.file_name();
                let is_named =
                    |names: &HashSet<OsString>| entry.depth() != 1 || names.contains(name);
                entry.depth() == 0
                    || names.as_ref().is_none_or(is_named)
                        && !NEVER.iter().any(|never| name == *never)
                        && !excluded.iter().any(|path| entry.path() == path)
            });
        let walk = builder.build().filter_map(Result::ok);
        walk.filter(move |entry| !chosen || entry.depth() > 0)
    }
}

impl Entry {
    /// An entry whose contents are not read; `None` for what is no file, link or directory.
    fn unread(path: &Path, metadata: &Metadata) -> Option<Self> {
        let stamp = Stamp::of(metadata);
        let why = match stamp.size > MOST_OF_A_FILE {
            true => Unstored::TooLarge,
            false => Unstored::NotYet,
        };
        let state = match metadata.is_file() {
            true => file(
                &stamp,
                Contents::Unstored {
                    why,
                    modified: stamp.modified,
                },
            ),
            false => other(path, metadata)?,
        };
        Some(Entry { stamp, state })
    }

    fn is_directory(&self) -> bool {
        matches!(self.state, FileState::Directory { .. })
    }

    /// Returns true for the same directory, or for no directory either time.
    fn is_kind_of(&self, (stamp, state): &(Stamp, FileState)) -> bool {
        match (
            self.is_directory(),
            matches!(state, FileState::Directory { .. }),
        ) {
            (true, true) => self.stamp.inode == stamp.inode,
            (false, false) => true,
            _ => false,
        }
    }

    fn is_unread(&self) -> bool {
        let FileState::File { contents, .. } = &self.state else {
            return false;
        };
        matches!(
            contents,
            Contents::Unstored {
                why: Unstored::NotYet,
                ..
            }
        )
    }
}

/// Inodes of files that are known, for those that were renamed.
#[derive(Default)]
struct Inodes {
    gone: HashSet<u64>,
    there: Option<HashSet<u64>>,
}

impl Inodes {
    fn knows(&mut self, inode: u64, entries: &BTreeMap<PathBuf, Entry>) -> bool {
        let all = || entries.values().map(|entry| entry.stamp.inode).collect();
        self.gone.contains(&inode) || self.there.get_or_insert_with(all).contains(&inode)
    }
}
