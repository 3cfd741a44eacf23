//! The files below a directory, step by step: what each step changed, and the way back.
//!
//! A [`FileHistory`] keeps the contents of the files below the working directory, in a store of its own outside of the
//! project. Whoever does something there says when it begins and ends ([`FileHistory::begin`], [`FileHistory::end`]);
//! what changes between is that step's work, and all else is the work of others. A rewind takes steps back, the newest
//! first: a file that holds what the last of them left gets what it held before the first; one that others have
//! changed since stays as it is, or is merged when the user wants that.
//!
//! Kept: regular files up to 8 MiB, links, directories and modes; not what `.gitignore` names, nor `.git` itself,
//! whether the project is a repository or not, nor what lies in more than 50,000 entries.
//!
//! `look.rs` looks at a path, `tree.rs` at directories, `watch.rs` hears of changes (inotify), `store.rs` keeps
//! contents, `timeline.rs` holds who changed what and plans, `restore.rs` writes, `leftovers.rs` finishes what others
//! left, `work.rs` joins them, `history.rs` is the thread and the handle.
//!
//! Absent on purpose: sessions, questions and the screen.

mod history;
mod leftovers;
mod look;
mod open_files;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod restore;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod timeline;
mod tree;
mod watch;
mod work;

pub use history::FileHistory;
pub use restore::RestoreError;
pub use state::{Contents, Digest, FileState, Unknown, Unstored};
pub use store::{MOST_IN_ALL, MOST_OF_A_FILE};
pub use timeline::{ChangeSet, FileChange, Owner, Restore, RewindPlan, StepKind};
pub use tree::MOST_ENTRIES;
