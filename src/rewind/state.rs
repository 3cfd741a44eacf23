//! What a path holds at one moment: nothing, a file, a link or a directory. Values.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a path holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Permission bits.
        mode: u32,
        /// Size in bytes.
        size: u64,
        /// Its contents.
        contents: Contents,
    },
    /// A symbolic link, which is never followed.
    Link {
        /// Its target as it is written in the link.
        target: PathBuf,
    },
    /// A directory.
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// It is not known what was there, for this reason.
    Unknown(Unknown),
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// In the store, under this name.
    Stored(Digest),
    /// Not stored; a file with another time or size is another one.
    Unstored {
        why: Unstored,
        /// Time of the last modification, in nanoseconds since 1970.
        modified: i128,
    },
}

/// Why contents are not in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unstored {
    /// The file is larger than [`crate::MOST_OF_A_FILE`].
    TooLarge,
    /// The store holds [`crate::MOST_IN_ALL`] already.
    StoreFull,
    /// The file cannot be read.
    Unreadable,
    /// The file has not been read yet.
    NotYet,
}

/// Why it is not known what was at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unknown {
    /// Work went on before it could be read.
    Late,
    /// It was there before, in a place that is not kept.
    FromElsewhere,
    /// It is no longer kept: newer contents took its place in the store.
    Dropped,
}

/// SHA-256 of contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Digest(sha2::Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FileState {
    /// Returns the name of its contents in the store.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match self {
            FileState::File {
                contents: Contents::Stored(digest),
                ..
            } => Some(*digest),
            _ => None,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, FileState::Directory { .. })
    }

    pub(crate) fn is_unstored(&self, wanted: Unstored) -> bool {
        let FileState::File { contents, .. } = self else {
            return false;
        };
        matches!(contents, Contents::Unstored { why, .. } if *why == wanted)
    }

    /// Returns why this state cannot be made again; `None` when it can.
    #[must_use]
    pub fn why_lost(&self) -> Option<&'static str> {
        match self {
            FileState::File {
                contents: Contents::Unstored { why, .. },
                ..
            } => Some(match why {
                Unstored::TooLarge => "it is larger than 8 MiB",
                Unstored::StoreFull => "there was no room to keep it (256 MiB at most)",
                Unstored::Unreadable => "it could not be read",
                Unstored::NotYet => "it had not been read when it changed",
            }),
            FileState::Unknown(why) => Some(match why {
                Unknown::Late => "it was not read in time",
                Unknown::FromElsewhere => "it came from a place that is not kept",
                Unknown::Dropped => "what it was before is no longer kept",
            }),
            _ => None,
        }
    }
}
