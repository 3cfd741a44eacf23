//! The folder of doors: two files for each running shell, named after its process.
//!
//! What a killed shell left behind is known by its socket, which nobody answers; it is taken away by the next shell
//! that starts, and by whoever looks for shells. The folder is the user's own: whoever comes here has checked that.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The socket and the token of the shell of this process id.
pub(super) fn files(folder: &Path, process: u32) -> (PathBuf, PathBuf) {
    let at = |suffix| folder.join(format!("{process}.{suffix}"));
    (at("sock"), at("key"))
}

/// Whose sockets are there, the newest first.
pub(super) fn sockets(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut sockets: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let process: u32 = path.file_stem()?.to_str()?.parse().ok()?;
            let started = entry.metadata().ok()?.modified().ok()?;
            (path.extension()? == "sock").then_some((started, process))
        })
        .collect();
    sockets.sort_by(|one, other| other.cmp(one));
    sockets.into_iter().map(|(_, process)| process).collect()
}

/// Removes the files of a shell.
pub(super) fn take_away(folder: &Path, process: u32) {
    let (socket, key) = files(folder, process);
    for path in [socket, key] {
        drop(std::fs::remove_file(path));
    }
}

/// Removes the files of all shells that were killed.
pub(super) fn sweep(folder: &Path) {
    for process in sockets(folder) {
        let connected = UnixStream::connect(files(folder, process).0);
        if connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            take_away(folder, process);
        }
    }
}
