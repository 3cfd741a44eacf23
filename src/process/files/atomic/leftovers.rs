//! Temporary files of writes that were killed.
//!
//! A writer holds a lock (flock) on its temporary file until the rename, so one that can be locked is abandoned. The
//! process number in its name proves nothing: another process may have that number by now, or the file may come from
//! another machine. Where files cannot be locked, leftovers stay.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat,
};

/// Part of every temporary name; the process id and a random number follow.
pub(super) const MARK: &str = ".ipycodex-";

/// Locks a new temporary file. False: another process has taken it for an abandoned one.
pub(super) fn lock(file: impl AsFd) -> bool {
    use rustix::io::Errno;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => false,
        _ => fstat(&file).is_ok_and(|stat| stat.st_nlink > 0),
    }
}

/// Removes abandoned files in `directory` whose names begin with `start`. Returns how many.
pub(super) fn remove(directory: &OwnedFd, start: &OsStr) -> usize {
    let Ok(entries) = Dir::read_from(directory) else {
        return 0;
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_owned());
    let left = names.filter(|name| is_temporary(name.to_bytes(), start.as_bytes()));
    left.filter(|name| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(directory, name.as_c_str(), flags, Mode::empty()) else {
            return false;
        };
        fstat(&file)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && unlinkat(directory, name.as_c_str(), AtFlags::empty()).is_ok()
    })
    .count()
}

/// True for a name of ours: `START.ipycodex-PID-RANDOM`.
fn is_temporary(name: &[u8], start: &[u8]) -> bool {
    let Some(rest) = name
        .strip_prefix(start)
        .and_then(|rest| rest.strip_prefix(MARK.as_bytes()))
        .and_then(|rest| std::str::from_utf8(rest).ok())
    else {
        return false;
    };
    rest.split_once('-').is_some_and(|(pid, random)| {
        pid.parse::<u32>().is_ok()
            && random.len() == 16
            && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
