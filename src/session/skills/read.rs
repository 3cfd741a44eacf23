//! Reads a regular file whole, up to a limit. Never blocks: a pipe or device in its place is refused.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Bytes of a `SKILL.md` at most.
pub(super) const MOST_BYTES: u64 = 1024 * 1024;

/// The bytes at `path`.
///
/// # Errors
/// One line that continues a sentence about the file.
pub(super) fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let file = regular(path)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut bytes = Vec::new();
    // One byte more than allowed, since the file may have grown since its size was read.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("has {length} bytes, {MOST_BYTES} are allowed"));
    }
    Ok(bytes)
}

/// Opens the regular file at `path`.
///
/// # Errors
/// As [`whole`].
pub(super) fn regular(path: &Path) -> Result<File, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let file = File::from(file);
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("is not a regular file".into());
    }
    Ok(file)
}

fn unreadable(error: std::io::Error) -> String {
    format!("cannot be read: {error}")
}

pub(super) fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    })
}
