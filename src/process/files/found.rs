//! A file as it was read: its text, and its status, compared before it is written.
//!
//! Invariant: changes that another program made in the meantime are not overwritten. A change that the status cannot
//! show (within one tick of the clock, with the same size) is not noticed.

use std::fs::Metadata;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::FileError;
use super::atomic::{FileMode, LostAttributes, write_whole_unless_changed};
use crate::large_buffer;

#[derive(Debug, Clone)]
pub struct TrackedFile {
    path: PathBuf,
    /// `None`: the file was missing.
    status: Option<FileStatus>,
    /// Attributes lost in the last replacement.
    unkept: LostAttributes,
}

/// The parts of a file's status that change with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStatus {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStatus {
    fn from_metadata(metadata: &Metadata) -> Self {
        FileStatus {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl TrackedFile {
    /// Reads a file of at most `most` bytes; `None` when it is missing.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, is too large, or is not UTF-8.
    pub fn read(path: &Path, most: u64) -> Result<(Option<String>, Self), FileError> {
        let cannot = |error| FileError::system("read", path, error);
        let refused = |reason: String, hint: &str| {
            Err(FileError::Refused {
                path: path.to_owned(),
                reason,
                hint: hint.to_owned(),
            })
        };
        let mut found = TrackedFile {
            path: path.to_owned(),
            status: None,
            unkept: LostAttributes::default(),
        };
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((None, found)),
            Err(error) => return Err(cannot(error)),
            // Opening a pipe would wait for a writer.
            Ok(metadata) if !metadata.is_file() => {
                return refused("is not a regular file".into(), "name a file");
            }
            Ok(_) => {}
        }
        let file = std::fs::File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        // One that tells no size, or grows meanwhile, shows it by one byte too many.
        let size = metadata.len().min(most) + 1;
        let mut bytes = large_buffer(usize::try_from(size).unwrap_or(0));
        if metadata.len() <= most {
            let mut bounded = file.take(most + 1);
            bounded.read_to_end(&mut bytes).map_err(cannot)?;
        }
        if metadata.len().max(bytes.len() as u64) > most {
            return refused(
                format!("is larger than {} MiB", most >> 20),
                "files up to that size are read",
            );
        }
        found.status = Some(FileStatus::from_metadata(&metadata));
        match String::from_utf8(bytes) {
            Ok(text) => Ok((Some(text), found)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
                refused(
                    format!("is not UTF-8: byte {at}, line {line}"),
                    "convert it, for example with `iconv -f latin1 -t utf-8`",
                )
            }
        }
    }

    /// A file to be written, whatever it contains now.
    ///
    /// # Errors
    /// Its status cannot be read.
    pub fn open_for_write(path: &Path) -> Result<Self, FileError> {
        let status = match std::fs::metadata(path) {
            Ok(metadata) => Some(FileStatus::from_metadata(&metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::system("access", path, error)),
        };
        Ok(TrackedFile {
            path: path.to_owned(),
            status,
            unkept: LostAttributes::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn existed(&self) -> bool {
        self.status.is_some()
    }

    /// True when the file has not been written since it was read.
    pub fn is_unchanged(&self) -> bool {
        let now = std::fs::metadata(&self.path).ok();
        now.as_ref().map(FileStatus::from_metadata) == self.status
    }

    /// The message about attributes (owner, group, access list, others) that the last [`TrackedFile::replace`] could
    /// not keep.
    pub fn lost_attributes(&self) -> Option<String> {
        self.unkept.sentence(&self.path)
    }

    /// Replaces the file by `parts`, or creates it.
    ///
    /// # Errors
    /// [`FileError::Refused`] when the file was changed since it was read; it is unchanged then, and after any other
    /// error.
    pub fn replace<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [u8]>,
        mode: FileMode,
    ) -> Result<(), FileError> {
        if !self.is_unchanged() {
            return Err(FileError::Refused {
                path: self.path.clone(),
                reason: "was changed by another program since it was read; nothing was written"
                    .into(),
                hint: "look at it again, then repeat the change".into(),
            });
        }
        let is_unchanged = || self.is_unchanged();
        let unkept = write_whole_unless_changed(&self.path, mode, &is_unchanged, |file| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            for part in parts {
                out.write_all(part)?;
            }
            out.flush()
        })?;
        let metadata = std::fs::metadata(&self.path);
        self.status = metadata.as_ref().ok().map(FileStatus::from_metadata);
        self.unkept = unkept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> impl Iterator<Item = &[u8]> {
        text.split_inclusive('\n').map(str::as_bytes)
    }

    #[test]
    fn a_file_is_replaced_unless_somebody_wrote_it_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (text, mut found) = TrackedFile::read(&path, 100).unwrap();
        assert_eq!(text, None);
        found.replace(parts("one\ntwo\n"), FileMode::Keep).unwrap();
        found.replace(parts("three"), FileMode::Keep).unwrap();
        let (text, mut found) = TrackedFile::read(&path, 100).unwrap();
        assert_eq!(text.as_deref(), Some("three"));
        std::fs::write(&path, "theirs").unwrap();
        let refused = found.replace(parts("mine"), FileMode::Keep).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("was changed by another program"),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
        std::fs::remove_file(&path).unwrap();
        assert!(found.replace(parts("mine"), FileMode::Keep).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_or_binary_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (bytes, why) in [
            (&b"\n\xff"[..], "byte 1, line 2"),
            (&[b'x'; 1025], "larger than 0 MiB"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = TrackedFile::read(&path, 1024).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        let error = TrackedFile::read(folder.path(), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = TrackedFile::read(&path.join("below"), 9).unwrap_err();
        assert!(error.to_string().starts_with("cannot read"), "{error}");
    }

    #[test]
    fn a_file_of_just_the_size_that_is_read_is_read_and_no_part_of_a_larger_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(
            TrackedFile::read(&path, 4).unwrap().0.as_deref(),
            Some("1234")
        );
        // It says that it has 0 bytes.
        let proc = Path::new("/proc/self/status");
        let error = TrackedFile::read(proc, 10).unwrap_err();
        assert!(error.to_string().contains("is larger"), "{error}");
        assert!(TrackedFile::read(proc, 1 << 20).unwrap().0.is_some());
    }

    #[test]
    fn a_file_to_be_written_is_there_or_not_and_says_what_it_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut found = TrackedFile::open_for_write(&path).unwrap();
        assert!(!found.existed());
        found.replace(parts("one"), FileMode::Keep).unwrap();
        assert!(found.existed());
        assert_eq!(found.lost_attributes(), None);
        std::fs::hard_link(&path, folder.path().join("b")).unwrap();
        let mut found = TrackedFile::open_for_write(&path).unwrap();
        assert!(found.existed());
        found.replace(parts("two"), FileMode::Keep).unwrap();
        let lost = found.lost_attributes().unwrap();
        assert!(lost.contains("hard link"), "{lost}");
        assert!(TrackedFile::open_for_write(&path.join("below")).is_err());
    }
}
