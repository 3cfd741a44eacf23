//! Replaces a file atomically: after a crash it is the old one or the new one.
//!
//! The bytes go into a temporary file beside the target (created exclusively, never through a link, random name), are
//! flushed to the disk, and are renamed to the target. All steps use the opened directory, so that no process can
//! exchange it in between. After an error the target is unchanged and the temporary file is removed; one that a kill
//! leaves is removed by the next write of that file, also where there was none yet. The new file has the owner, mode
//! and attributes of the old one.
//!
//! A target that is a symbolic link stays one: the file that it points to is replaced, if link and file lie in
//! directories that only the user can write. Absent on purpose: locks between processes.

mod attributes;
mod leftovers;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, accessat, fchmod, fstat,
    fsync, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{geteuid, getpid};

use super::FileError;
use crate::begin_writing;
pub use attributes::LostAttributes;
use leftovers::MARK;

/// The permissions of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Those of the old file, with its owner, access list and extended attributes; a file that did not exist gets
    /// 0666 less the umask.
    Keep,
    /// 0600.
    Private,
}

/// Replaces the file at `path` with `contents`, or creates it. Its directory must exist.
///
/// # Errors
/// [`FileError`]; the old file is unchanged then.
pub fn write_whole(path: &Path, contents: &[u8], mode: FileMode) -> Result<(), FileError> {
    write_whole_with(path, mode, |file| file.write_all(contents)).map(drop)
}

/// Like [`write_whole`], for contents that `fill` writes, unbuffered. Returns the attributes of the old file that
/// were lost.
///
/// # Errors
/// [`FileError`], those of `fill` included; the old file is unchanged then.
pub fn write_whole_with(
    path: &Path,
    mode: FileMode,
    fill: impl FnOnce(&mut NewFile) -> std::io::Result<()>,
) -> Result<LostAttributes, FileError> {
    write(path, mode, None, fill)
}

/// Like [`write_whole_with`], as long as nobody else changes the file: `is_unchanged` is asked when all has reached
/// the disk, just before the rename, and where there was no file, none is replaced.
///
/// # Errors
/// [`FileError`], one for a change included; the file at `path` is as the others left it then.
pub(super) fn write_whole_unless_changed(
    path: &Path,
    mode: FileMode,
    is_unchanged: &dyn Fn() -> bool,
    fill: impl FnOnce(&mut NewFile) -> std::io::Result<()>,
) -> Result<LostAttributes, FileError> {
    write(path, mode, Some(is_unchanged), fill)
}

fn write(
    path: &Path,
    mode: FileMode,
    is_unchanged: Option<&dyn Fn() -> bool>,
    fill: impl FnOnce(&mut NewFile) -> std::io::Result<()>,
) -> Result<LostAttributes, FileError> {
    let target = Target::find(path)?;
    leftovers::remove(&target.directory, &target.temporary_start());
    let (temporary, file) = target.create_temporary(mode)?;
    let written = target
        .fill(file, mode, fill)
        .and_then(|unkept| target.rename(&temporary, is_unchanged).map(|()| unkept));
    if written.is_err() {
        // A temporary file that cannot be removed is left to the next write.
        let _ = unlinkat(&target.directory, &temporary, AtFlags::empty());
    }
    written.map_err(|error| FileError::system("write", path, error))
}

/// Refuses `path` when a directory between `root` and it is a symbolic link.
///
/// # Errors
/// [`FileError::Refused`] for a link, a `..`, or a path outside `root`.
pub fn refuse_linked_parents(root: &Path, path: &Path) -> Result<(), FileError> {
    let refused = |path: &Path, reason: &str| {
        Err(FileError::Refused {
            path: path.to_owned(),
            reason: reason.into(),
            hint: "name the real file instead".into(),
        })
    };
    let Ok(inside) = path.strip_prefix(root) else {
        return refused(path, "is outside of the project");
    };
    let mut current = root.to_owned();
    let parents = inside.parent().unwrap_or(Path::new(""));
    for component in parents.components() {
        match component {
            Component::Normal(name) => current.push(name),
            Component::CurDir => continue,
            _ => return refused(path, "is outside of the project"),
        }
        if current.is_symlink() {
            return refused(&current, "is a symbolic link inside the project");
        }
    }
    Ok(())
}

/// The file while it is written. Writeback starts during the writes, so that the final sync waits for the last part
/// only.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    written: u64,
    /// Writeback has been started up to this offset.
    begun: u64,
}

impl NewFile {
    /// Bytes for which writeback is started at once.
    const PART: usize = 8 << 20;
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(&bytes[..bytes.len().min(Self::PART)])?;
        self.written += count as u64;
        let more = self.written - self.begun;
        if more >= Self::PART as u64 {
            begin_writing(&self.file, self.begun, more);
            self.begun = self.written;
        }
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Target {
    directory: OwnedFd,
    name: OsString,
    existing: Option<Stat>,
    path: PathBuf,
}

impl Target {
    fn find(path: &Path) -> Result<Self, FileError> {
        let target = Target::open(path, path)?;
        let Some(stat) = &target.existing else {
            return Ok(target);
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return target.require_writable();
        }
        target.require_private_directory("is a link in a directory that others can write")?;
        if stat.st_uid != geteuid().as_raw() {
            target.refuse("is a link made by another user")?;
        }
        let real = std::fs::canonicalize(path)
            .map_err(|error| FileError::system("follow", path, error))?;
        let goal = Target::open(&real, path)?;
        goal.require_private_directory("is a link into a directory that others own or can write")?;
        goal.require_writable()
    }

    fn open(path: &Path, shown: &Path) -> Result<Self, FileError> {
        let Some(name) = path.file_name() else {
            return Err(FileError::system("write", shown, Errno::ISDIR));
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, parent, flags, Mode::empty())
            .map_err(|error| FileError::system("open the directory of", shown, error))?;
        let existing = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(FileError::system("access", shown, error)),
        };
        Ok(Target {
            directory,
            name: name.to_owned(),
            existing,
            path: shown.to_owned(),
        })
    }

    /// Refuses an existing file that the user may not write: a rename would bypass its protection.
    fn require_writable(self) -> Result<Self, FileError> {
        let Some(stat) = &self.existing else {
            return Ok(self);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                return Err(FileError::system("write", &self.path, Errno::ISDIR));
            }
            _ => return self.refuse("is not a regular file").map(|()| self),
        }
        accessat(
            &self.directory,
            &self.name,
            Access::WRITE_OK,
            AtFlags::EACCESS,
        )
        .map_err(|error| FileError::system("write", &self.path, error))?;
        Ok(self)
    }

    /// Refuses a directory that another user owns or can write to.
    fn require_private_directory(&self, reason: &str) -> Result<(), FileError> {
        let stat = fstat(&self.directory)
            .map_err(|error| FileError::system("access", &self.path, error))?;
        if stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o022 == 0 {
            Ok(())
        } else {
            self.refuse(reason)
        }
    }

    fn refuse(&self, reason: &str) -> Result<(), FileError> {
        Err(FileError::Refused {
            path: self.path.clone(),
            reason: reason.into(),
            hint: "name the real file, or another one".into(),
        })
    }

    fn create_temporary(&self, mode: FileMode) -> Result<(OsString, File), FileError> {
        const TRIES: usize = 8;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = match (mode, &self.existing) {
            (FileMode::Keep, None) => 0o666,
            _ => 0o600,
        };
        let mut last = Errno::EXIST;
        for _ in 0..TRIES {
            let name = self.temporary_name()?;
            match openat(&self.directory, &name, flags, Mode::from_raw_mode(bits)) {
                Ok(file) if leftovers::lock(&file) => return Ok((name, File::from(file))),
                // Another process holds it, or has removed it.
                Ok(_) => drop(unlinkat(&self.directory, &name, AtFlags::empty())),
                Err(Errno::EXIST) => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        Err(FileError::system("create a file beside", &self.path, last))
    }

    /// The prefix of the names of all temporary files of this target.
    fn temporary_start(&self) -> OsString {
        /// Bytes of the target's name in the prefix: a file name has at most 255 bytes.
        const KEPT: usize = 150;
        let mut name = OsString::from(".");
        let bytes = self.name.as_bytes();
        name.push(OsStr::from_bytes(&bytes[..bytes.len().min(KEPT)]));
        name
    }

    fn temporary_name(&self) -> Result<OsString, FileError> {
        let random = getrandom::u64().map_err(|error| {
            FileError::system(
                "create a file beside",
                &self.path,
                std::io::Error::other(error.to_string()),
            )
        })?;
        let mut name = self.temporary_start();
        name.push(format!("{MARK}{}-{random:016x}", getpid().as_raw_nonzero()));
        Ok(name)
    }

    /// Writes the temporary file and flushes it to the disk.
    fn fill(
        &self,
        file: File,
        mode: FileMode,
        fill: impl FnOnce(&mut NewFile) -> std::io::Result<()>,
    ) -> std::io::Result<LostAttributes> {
        let mut file = NewFile {
            file,
            written: 0,
            begun: 0,
        };
        fill(&mut file)?;
        let file = file.file;
        let unkept = match (mode, &self.existing) {
            (FileMode::Private, _) => {
                fchmod(&file, Mode::from_raw_mode(0o600))?;
                LostAttributes::default()
            }
            (FileMode::Keep, Some(stat)) => {
                attributes::copy_to(&self.directory, &self.name, stat, &file)?
            }
            (FileMode::Keep, None) => LostAttributes::default(),
        };
        file.sync_all()?;
        Ok(unkept)
    }

    fn rename(
        &self,
        temporary: &OsStr,
        is_unchanged: Option<&dyn Fn() -> bool>,
    ) -> std::io::Result<()> {
        let (from, to) = (temporary, &self.name);
        let changed = || {
            let why = "another program changed it at the same moment; nothing was written";
            Err(std::io::Error::other(why))
        };
        let rename = || renameat(&self.directory, from, &self.directory, to);
        match (is_unchanged, &self.existing) {
            (Some(is_unchanged), _) if !is_unchanged() => return changed(),
            (Some(_), None) => {
                let new = RenameFlags::NOREPLACE;
                match renameat_with(&self.directory, from, &self.directory, to, new) {
                    Err(Errno::EXIST) => return changed(),
                    // Not on this file system.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename()?,
                    renamed => renamed?,
                }
            }
            _ => rename()?,
        }
        match fsync(self.directory.as_fd()) {
            // Some file systems cannot flush a directory; the file itself is safe.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
