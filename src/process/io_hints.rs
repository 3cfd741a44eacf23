//! Hints to the kernel for large files: huge pages for a read buffer, early writeback of what was written.
//!
//! A page of the usual size is prepared when its first byte is written, which takes as long as reading those bytes.
//! Nothing depends on a hint: where one is refused, the result is the same and comes later.

use std::os::fd::{AsFd, AsRawFd};

/// A huge page, in bytes; a multiple of every usual page size.
const PAGE: usize = 2 << 20;

/// Smaller buffers gain nothing, in bytes.
const WORTH: usize = 8 << 20;

/// An empty buffer with this capacity, in huge pages where the system has them.
#[allow(unsafe_code)]
pub fn large_buffer(bytes: usize) -> Vec<u8> {
    let mut buffer: Vec<u8> = Vec::with_capacity(bytes);
    let room = buffer.spare_capacity_mut();
    let skipped = room.as_ptr().align_offset(PAGE);
    if room.len() >= WORTH
        && let Some(pages) = room.get_mut(skipped..)
    {
        let length = pages.len() / PAGE * PAGE;
        // SAFETY: the pages are within the buffer; how large they are changes nothing of what they hold.
        let advised =
            unsafe { libc::madvise(pages.as_mut_ptr().cast(), length, libc::MADV_HUGEPAGE) };
        let _ = advised;
    }
    buffer
}

/// Starts the writeback of this range of a file and does not wait for it. Without it the writeback starts with the
/// sync, which then waits for all bytes.
#[allow(unsafe_code)]
pub fn begin_writing(file: impl AsFd, from: u64, bytes: u64) {
    let file = file.as_fd();
    let (Ok(from), Ok(bytes)) = (from.try_into(), bytes.try_into()) else {
        return;
    };
    // SAFETY: the descriptor is open, and no memory of ours is passed.
    let started = unsafe {
        libc::sync_file_range(file.as_raw_fd(), from, bytes, libc::SYNC_FILE_RANGE_WRITE)
    };
    // The sync that follows reports what went wrong.
    let _ = started;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_any_size_can_be_filled() {
        for size in [0, 1, WORTH - 1, WORTH, WORTH + 4097] {
            let mut buffer = large_buffer(size);
            assert!(buffer.capacity() >= size);
            buffer.resize(size, b'x');
            assert!(buffer.iter().all(|byte| *byte == b'x'));
        }
    }
}
