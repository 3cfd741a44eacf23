//! Reads a file whole, if it is one and small enough. Never waits: a pipe or device in its place is refused.

use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Bytes a `SKILL.md` may have.
pub(super) const MOST_BYTES: u64 = 1024 * 1024;

/// The bytes at `path`.
///
/// # Errors
/// One line that goes on after the name of the file.
pub(super) fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let file = std::fs::File::from(file);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("is no regular file".into());
    }
    let mut bytes = Vec::new();
    // One more than allowed: the size may have been another when it was asked for.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        let length = metadata.len();
        return Err(format!("has {length} bytes, {MOST_BYTES} are allowed"));
    }
    Ok(bytes)
}

/// SHA-256 in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    })
}
