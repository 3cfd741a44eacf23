//! Files on their way to the disk.

use std::os::fd::{AsFd, AsRawFd};

/// Lets the system begin to bring these bytes of a file to the disk, and does not wait for it. Without it that begins
/// with the sync that waits for all of them.
#[allow(unsafe_code)]
pub fn begin_writing(file: impl AsFd, from: u64, bytes: u64) {
    let file = file.as_fd();
    let (Ok(from), Ok(bytes)) = (from.try_into(), bytes.try_into()) else {
        return;
    };
    // SAFETY: the descriptor is open, and nothing of our memory is named.
    let begun = unsafe {
        libc::sync_file_range(file.as_raw_fd(), from, bytes, libc::SYNC_FILE_RANGE_WRITE)
    };
    // A hint: the sync does it, and says what went wrong.
    let _ = begun;
}
