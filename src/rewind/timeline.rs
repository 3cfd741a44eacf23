//! What changed between two moments, and by whom. Values and pure functions.
//!
//! A timeline is a list of change sets: each holds what paths held before and after it. A set without an owner is the
//! work of others: of the user in an editor, of another program. Invariant: within a set a path whose state is the same
//! before and after does not occur. Absent on purpose: files and clocks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use similar::TextMerge;

use crate::state::{Digest, FileState, Unknown};
use crate::tree::Found;

/// Whose step changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The session that the number counts in, by its index in this interpreter.
    pub session: u32,
    /// In number.
    pub line: u32,
    pub kind: StepKind,
}

/// What kind of step changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// A cell, or a command in shell mode.
    Cell,
    /// The agent, for the prompt with this number.
    Turn,
    /// A step back, which put files back.
    Back,
    /// A step forward again.
    Forward,
}

/// A path before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub before: FileState,
    pub after: FileState,
}

/// What changed while one owner worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    /// Counts from 1; later sets have higher numbers.
    pub number: u64,
    /// `None`: others.
    pub owner: Option<Owner>,
    pub changes: BTreeMap<PathBuf, FileChange>,
}

impl ChangeSet {
    /// What the set left at this path is not known.
    pub(crate) fn lose(&mut self, path: PathBuf) {
        let late = FileState::Unknown(Unknown::Late);
        let change = self.changes.entry(path).or_insert(FileChange {
            before: late.clone(),
            after: late.clone(),
        });
        change.after = late;
    }

    pub(crate) fn empty(number: u64, owner: Option<Owner>) -> Self {
        ChangeSet {
            number,
            owner,
            changes: BTreeMap::new(),
        }
    }

    pub(crate) fn note(&mut self, found: Found) {
        let Found {
            path,
            before,
            after,
        } = found;
        let change = self.changes.entry(path.clone()).or_insert(FileChange {
            before,
            after: FileState::Absent,
        });
        change.after = after;
        if change.before == change.after {
            self.changes.remove(&path);
        }
    }
}

/// What a rewind would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewindPlan {
    /// Paths that are put back, in order.
    pub restores: Vec<Restore>,
    /// Paths that others have changed since, and that can be merged: the step's changes are taken out of them.
    pub merges: Vec<Restore>,
    /// Paths that stay as they are, each with its reason.
    pub kept: Vec<(PathBuf, String)>,
}

/// A path that changes from one state to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    pub path: PathBuf,
    pub from: FileState,
    pub to: FileState,
}

impl RewindPlan {
    /// Returns true when a rewind would change nothing and nothing is kept from it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.restores.is_empty() && self.merges.is_empty() && self.kept.is_empty()
    }
}

/// What a plan reads and keeps.
pub(crate) trait ContentSource {
    fn read(&self, digest: Digest) -> io::Result<Vec<u8>>;
    /// Keeps merged contents.
    fn keep(&mut self, bytes: &[u8]) -> Option<Digest>;
}

/// Plans to take back what these sets changed; `now` tells what each path holds. The paths do not fit together yet:
/// [`fit`].
pub(crate) fn plan<S: ContentSource>(
    sets: &[&ChangeSet],
    now: impl Fn(&PathBuf, &mut S) -> FileState,
    contents: &mut S,
) -> RewindPlan {
    let mut plan = RewindPlan::default();
    let paths: HashSet<&PathBuf> = sets.iter().flat_map(|set| set.changes.keys()).collect();
    let mut paths: Vec<&PathBuf> = paths.into_iter().collect();
    paths.sort();
    for path in paths {
        let from = now(path, contents);
        let (mut to, mut merged, mut why) = (from.clone(), false, None);
        let changes = sets.iter().rev().filter_map(|set| set.changes.get(path));
        for change in changes {
            if let Some(lost) = change.before.why_lost() {
                why = Some(lost.to_owned());
                break;
            }
            if to == change.after {
                to = change.before.clone();
                continue;
            }
            match merge(change, &to, contents) {
                Some(state) => (to, merged) = (state, true),
                None => {
                    why = Some(match to {
                        FileState::Absent => "it has been removed since".to_owned(),
                        _ => "it has been changed since".to_owned(),
                    });
                    break;
                }
            }
        }
        // What cannot come back must not go.
        let why = why.or_else(|| {
            let lost = from.why_lost().filter(|_| to != from);
            lost.map(str::to_owned)
        });
        let path = path.clone();
        match why {
            Some(why) => plan.kept.push((path, why)),
            None if to == from => {}
            None if merged => plan.merges.push(Restore { path, from, to }),
            None => plan.restores.push(Restore { path, from, to }),
        }
    }
    plan
}

/// Keeps paths as they are that could not be put back by themselves: what has no directory to be in, directories that
/// hold something which stays, and what came from a path that stays (the contents would be nowhere then). `children`
/// names what is in a directory now.
pub(crate) fn fit(
    plan: &mut RewindPlan,
    sets: &[&ChangeSet],
    is_directory: impl Fn(&Path) -> bool,
    children: impl Fn(&Path) -> Vec<PathBuf>,
) {
    let changes = || sets.iter().flat_map(|set| &set.changes);
    let mut left: HashMap<Digest, Vec<&PathBuf>> = HashMap::new();
    for (path, change) in changes() {
        if let Some(digest) = change.before.digest() {
            left.entry(digest).or_default().push(path);
        }
    }
    // What each path held at first, and what it got.
    let mut held: HashMap<&PathBuf, (Option<Digest>, Vec<Digest>)> = HashMap::new();
    for (path, change) in changes() {
        let first = change.before.digest();
        let (_, got) = held.entry(path).or_insert_with(|| (first, Vec::new()));
        got.extend(change.after.digest());
    }
    loop {
        let planned = plan.restores.iter().chain(&plan.merges);
        let planned: BTreeMap<&PathBuf, &FileState> =
            planned.map(|it| (&it.path, &it.to)).collect();
        let comes: HashSet<Digest> = planned.values().filter_map(|to| to.digest()).collect();
        let kept: BTreeSet<&PathBuf> = plan.kept.iter().map(|(path, _)| path).collect();
        let why_not = |it: &Restore| {
            let stays = |child: &PathBuf| planned.get(child) != Some(&&FileState::Absent);
            let parent = it.path.parent().map(Path::to_owned).unwrap_or_default();
            let has_parent = match planned.get(&parent) {
                Some(FileState::Directory { .. }) => true,
                Some(_) => false,
                None => is_directory(&parent),
            };
            let (first, got) = match held.get(&it.path) {
                Some((first, got)) => (*first, got.as_slice()),
                None => (None, [].as_slice()),
            };
            let got = got.iter().filter(|digest| Some(**digest) != first);
            let got = got.filter(|digest| !comes.contains(*digest));
            let came_from = got.filter_map(|digest| left.get(digest)).flatten();
            let is_moved = came_from
                .into_iter()
                .any(|from| **from != it.path && kept.contains(from));
            let goes = it.from.is_directory() && !it.to.is_directory();
            match () {
                () if it.to != FileState::Absent && !has_parent => {
                    Some("its directory is not there")
                }
                () if is_moved => Some("it holds what was in a file that stays"),
                () if goes && children(&it.path).iter().any(stays) => Some("something in it stays"),
                () => None,
            }
        };
        let stay = plan.restores.iter().chain(&plan.merges);
        let stay = stay.filter_map(|it| Some((it.path.clone(), why_not(it)?.to_owned())));
        let stay: Vec<(PathBuf, String)> = stay.filter(|(path, _)| !kept.contains(path)).collect();
        if stay.is_empty() {
            plan.kept.sort();
            return;
        }
        let is_stay = |it: &Restore| stay.iter().any(|(path, _)| *path == it.path);
        plan.restores.retain(|it| !is_stay(it));
        plan.merges.retain(|it| !is_stay(it));
        plan.kept.extend(stay);
    }
}

/// Takes a change out of a text that others have changed since; `None` where the same lines changed, or no text.
fn merge(
    change: &FileChange,
    current: &FileState,
    contents: &mut impl ContentSource,
) -> Option<FileState> {
    let FileState::File { mode, .. } = current else {
        return None;
    };
    let text = |state: &FileState| String::from_utf8(contents.read(state.digest()?).ok()?).ok();
    let (base, ours, theirs) = (text(&change.after)?, text(&change.before)?, text(current)?);
    let merged = TextMerge::from_lines(base.as_str(), ours.as_str(), theirs.as_str());
    if merged.is_conflicted() {
        return None;
    }
    let merged = merged.to_string();
    Some(FileState::File {
        mode: *mode,
        size: merged.len() as u64,
        contents: crate::state::Contents::Stored(contents.keep(merged.as_bytes())?),
    })
}

/// Returns the steps back that a step forward undoes: the last one that has not been undone, where nothing else was
/// done since.
pub(crate) fn undone_by_forward(sets: &[ChangeSet]) -> Option<&ChangeSet> {
    let mut forward = 0;
    for set in sets.iter().rev() {
        let Some(owner) = set.owner else { continue };
        match owner.kind {
            StepKind::Forward => forward += 1,
            StepKind::Back if forward == 0 => return Some(set),
            StepKind::Back => forward -= 1,
            StepKind::Cell | StepKind::Turn => return None,
        }
    }
    None
}

/// Forgets what the paths of this set were before.
pub(crate) fn forget(set: &mut ChangeSet) {
    for change in set.changes.values_mut() {
        change.before = FileState::Unknown(Unknown::Dropped);
    }
}
