//! The files that processes hold open for writing, as far as we may look.
//!
//! In: `/proc/PID/fd` and `/proc/PID/fdinfo` (proc_pid_fd(5), proc_pid_fdinfo(5)). Read once, when first asked about.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device and inode of each; read when first asked about.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(OnceCell<HashSet<(u64, u64)>>);

impl OpenFiles {
    pub(crate) fn holds(&self, file: &Metadata) -> bool {
        let open = self.0.get_or_init(read);
        open.contains(&(file.dev(), file.ino()))
    }
}

fn read() -> HashSet<(u64, u64)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let processes = entries(Path::new("/proc")).filter(|entry| {
        let name = entry.file_name();
        let first = name.as_encoded_bytes().first();
        first.is_some_and(u8::is_ascii_digit)
    });
    let mut open = HashSet::new();
    for process in processes {
        let process = process.path();
        for entry in entries(&process.join("fd")) {
            let Ok(file) = fs::metadata(entry.path()) else {
                continue;
            };
            let info = || fs::read_to_string(process.join("fdinfo").join(entry.file_name()));
            if file.is_file() && info().is_ok_and(|info| is_writing(&info)) {
                open.insert((file.dev(), file.ino()));
            }
        }
    }
    open
}

/// Reads the `flags` line: octal, the access mode in the last two bits.
fn is_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 0b11 != 0)
}
