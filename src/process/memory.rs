//! Memory of our own: what is about to be filled with a large file is taken in large pages.
//!
//! A page of the usual size is prepared when its first byte is written, which takes as long as reading those bytes.

/// A large page, in bytes; a multiple of every usual one.
const PAGE: usize = 2 << 20;

/// Smaller buffers gain nothing.
const WORTH: usize = 8 << 20;

/// Room for so many bytes, in large pages where the system has them.
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
        // Where there are none, the usual ones do.
        let _ = advised;
    }
    buffer
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
