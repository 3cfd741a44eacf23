//! Finds the `SKILL.md` files below a folder.
//!
//! In: a folder that may hold links to anywhere. Out: candidates in name order, and diagnostics for those left out.
//! Breadth first, so that near files are found before a limit is met; linked directories are followed, except to one
//! that contains the folder, and each directory is entered once. Names that begin with a dot and `node_modules` are
//! not entered.
//!
//! Limits: [`MOST_DEPTH`] levels, [`MOST_DIRECTORIES`] directories and [`MOST_ENTRIES`] entries per root.

use std::collections::HashSet;
use std::fs::FileType;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::SkillDiagnostic;

/// Levels below a root.
const MOST_DEPTH: usize = 6;
/// Directories read per root.
const MOST_DIRECTORIES: usize = 2_000;
/// Entries examined per root.
const MOST_ENTRIES: usize = 20_000;
/// Files listed per skill.
const MOST_FILES: usize = 50;

/// A `SKILL.md` that may be a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The `SKILL.md` or `skill.md`, links resolved; a refused one as it was found.
    pub path: PathBuf,
    pub refused: Option<String>,
}

/// The candidates below `root`, whose path contains no links.
pub(super) fn candidates(root: &Path, diagnostics: &mut Vec<SkillDiagnostic>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut walk = Walk::default();
    walk.enter(root.to_owned());
    let mut depth = 0;
    let mut above = None;
    while !walk.next.is_empty() {
        for directory in std::mem::take(&mut walk.next) {
            let Some(listing) = walk.list(&directory) else {
                continue;
            };
            let named = |name: &str| listing.iter().any(|(entry, _)| entry == name);
            if let Some(name) = ["SKILL.md", "skill.md"]
                .into_iter()
                .find(|name| named(name))
            {
                found.push(candidate(root, directory.join(name)));
            }
            if depth < MOST_DEPTH {
                for (name, kind) in listing {
                    let path = directory.join(&name);
                    if name.starts_with('.') || name == "node_modules" {
                    } else if kind.is_dir() {
                        walk.enter(path);
                    } else if kind.is_symlink() {
                        if leads_above(root, &path) {
                            above.get_or_insert(path);
                        } else {
                            walk.enter(path);
                        }
                    }
                }
            }
        }
        depth += 1;
    }
    if let Some(path) = above {
        diagnostics.push(SkillDiagnostic {
            path: path.to_string_lossy().into_owned(),
            skipped: true,
            message: "not followed: links to a directory it lies in".into(),
        });
    }
    if walk.full {
        diagnostics.push(SkillDiagnostic {
            path: root.to_string_lossy().into_owned(),
            skipped: true,
            message: format!(
                "searched in part: {MOST_DIRECTORIES} directories and {MOST_ENTRIES} entries are the limit"
            ),
        });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The files beside a `SKILL.md`, as relative paths in name order; hidden ones are left out, links are not followed.
pub(super) fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut walk = Walk::default();
    walk.enter(directory.to_owned());
    for depth in 0..=MOST_DEPTH {
        for folder in std::mem::take(&mut walk.next) {
            for (name, kind) in walk.list(&folder).unwrap_or_default() {
                let path = folder.join(&name);
                if name.starts_with('.') || name == "node_modules" {
                } else if kind.is_dir() && depth < MOST_DEPTH {
                    walk.enter(path);
                } else if kind.is_file() && !matches!(name.as_str(), "SKILL.md" | "skill.md") {
                    let below = path.strip_prefix(directory).expect("found below it");
                    found.push(below.to_string_lossy().into_owned());
                }
            }
        }
    }
    found.sort();
    if found.len() > MOST_FILES {
        let more = found.len() - MOST_FILES;
        found.truncate(MOST_FILES);
        found.push(format!("... and {more} more"));
    }
    found
}

/// True for a link from below `root` to a directory that contains `root`.
fn leads_above(root: &Path, link: &Path) -> bool {
    let target = link.canonicalize();
    target.is_ok_and(|target| target != root && root.starts_with(target))
}

fn candidate(root: &Path, path: PathBuf) -> Candidate {
    match path.canonicalize() {
        Ok(real) if !path.is_symlink() || real.starts_with(root) => Candidate {
            path: real,
            refused: None,
        },
        Ok(real) => Candidate {
            refused: Some(format!(
                "links to `{}`, outside of its folder",
                real.display()
            )),
            path,
        },
        Err(error) => Candidate {
            refused: Some(format!("cannot be read: {error}")),
            path,
        },
    }
}

/// The directories entered, and those to enter.
#[derive(Debug, Default)]
struct Walk {
    /// Device and inode.
    seen: HashSet<(u64, u64)>,
    next: Vec<PathBuf>,
    entries: usize,
    full: bool,
}

impl Walk {
    /// Queues a directory, or the target of a link to one, unless it was entered before.
    fn enter(&mut self, path: PathBuf) {
        if self.seen.len() >= MOST_DIRECTORIES || self.entries >= MOST_ENTRIES {
            self.full = true;
            return;
        }
        // A link that dangles or loops, or an unreadable path, is not a directory.
        let Ok(metadata) = std::fs::metadata(&path) else {
            return;
        };
        if metadata.is_dir() && self.seen.insert((metadata.dev(), metadata.ino())) {
            self.next.push(path);
        }
    }

    /// The entries of a directory in name order; names that are not UTF-8 cannot be `SKILL.md` and are left out.
    fn list(&mut self, directory: &Path) -> Option<Vec<(String, FileType)>> {
        let mut listing = Vec::new();
        for entry in std::fs::read_dir(directory).ok()?.flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                self.full = true;
                break;
            }
            if let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) {
                listing.push((name, kind));
            }
        }
        listing.sort_by(|one, other| one.0.cmp(&other.0));
        Some(listing)
    }
}
