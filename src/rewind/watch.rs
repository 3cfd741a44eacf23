//! Changes below watched directories, as inotify (inotify(7)) tells them.
//!
//! In: directories. Out: paths at which something may have changed; never what. Invariant: after an overflow of the
//! kernel's queue everything may have changed. Absent on purpose: files that are changed through a memory map, which
//! inotify tells when they are closed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Watched directories.
#[derive(Debug)]
pub(crate) struct Watch {
    fd: OwnedFd,
    directories: HashMap<i32, PathBuf>,
    numbers: HashMap<PathBuf, i32>,
}

/// What was read from a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Something at this path.
    Path(PathBuf),
    /// Anything: changes were lost.
    Anything,
}

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Watch {
            fd,
            directories: HashMap::new(),
            numbers: HashMap::new(),
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Watches the entries of a directory; one that was renamed is known by its new name from now on.
    pub(crate) fn add(&mut self, directory: &Path) -> io::Result<()> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let number = inotify::add_watch(&self.fd, directory, flags)?;
        if let Some(old) = self.directories.insert(number, directory.to_owned()) {
            self.numbers.remove(&old);
        }
        self.numbers.insert(directory.to_owned(), number);
        Ok(())
    }

    /// Returns true when this directory is watched: not when it was removed, even if there is another one by now.
    pub(crate) fn has(&self, directory: &Path) -> bool {
        self.numbers.contains_key(directory)
    }

    /// Stops watching a directory that is gone, and all below it.
    pub(crate) fn remove(&mut self, directory: &Path) {
        let fd = &self.fd;
        self.directories.retain(|number, path| {
            let goes = path.starts_with(directory);
            if goes {
                // Fails for one that was deleted: the kernel has removed its watch.
                let _ = inotify::remove_watch(fd, *number);
            }
            !goes
        });
        self.numbers.retain(|path, _| !path.starts_with(directory));
    }

    /// Tells what was touched since the last call, without waiting.
    pub(crate) fn read(&mut self, mut touched: impl FnMut(Touched)) {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.fd, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                touched(Touched::Anything);
                continue;
            }
            if event.events().contains(ReadFlags::IGNORED) {
                if let Some(directory) = self.directories.remove(&event.wd()) {
                    self.numbers.remove(&directory);
                    touched(Touched::Path(directory));
                }
                continue;
            }
            let Some(directory) = self.directories.get(&event.wd()) else {
                continue;
            };
            touched(Touched::Path(match event.file_name() {
                Some(name) => directory.join(OsStr::from_bytes(name.to_bytes())),
                None => directory.clone(),
            }));
        }
    }
}
