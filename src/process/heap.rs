//! Memory that is given back to the system: what is free in the heap, of which there is one for all threads, and pages
//! of our program's code.
//!
//! glibc makes a heap for each thread, and what is free at the end of one stays ours: a gigabyte that a cell printed
//! left 20 MiB there. Of the first heap all free pages can be given back. Other C libraries do as they do.
//!
//! The start touches code all over the program, and the system maps 64 KiB around each place: 13 MiB, of which a cell
//! uses 3. They are unmapped once; what is used later is mapped again from the system's cache.
//!
//! Here for the same reason as `io_hints.rs`: `unsafe` is in this folder.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Free bytes that are worth giving back.
const WORTH: usize = 4 << 20;

/// How long memory stays: what has just been freed is often needed again.
const REST: Duration = Duration::from_secs(1);

/// Makes all threads that start from now on use the first heap.
#[allow(unsafe_code)]
pub fn share_heap() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: a number for the allocator, which takes or refuses it.
        let set = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        let _ = set;
    }
}

/// Gives free memory back a second from now, on a thread of its own: the first time, and where we have grown by enough
/// of it since the last time.
pub fn give_back_memory() {
    static WAITS: AtomicBool = AtomicBool::new(false);
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    let left = LEFT.load(Ordering::SeqCst);
    // What was given back counts as free as well, but not as resident.
    let grown = resident_bytes().saturating_sub(left);
    let is_worth = left == 0 || (grown >= WORTH && free_bytes() >= WORTH);
    if !is_worth || WAITS.swap(true, Ordering::SeqCst) {
        return;
    }
    // Without a thread the memory stays ours until the next time.
    let started = std::thread::Builder::new()
        .name("memory".to_owned())
        .spawn(|| {
            std::thread::sleep(REST);
            WAITS.store(false, Ordering::SeqCst);
            trim();
            if LEFT.load(Ordering::SeqCst) == 0 {
                unmap_code();
            }
            LEFT.store(resident_bytes(), Ordering::SeqCst);
        });
    if started.is_err() {
        WAITS.store(false, Ordering::SeqCst);
    }
}

/// 0 where it cannot be read.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * rustix::param::page_size()
}

#[allow(unsafe_code)]
fn free_bytes() -> usize {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: counts, and changes nothing.
        unsafe { libc::mallinfo2() }.fordblks
    }
    #[cfg(not(target_env = "gnu"))]
    {
        0
    }
}

#[allow(unsafe_code)]
fn trim() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: only free memory is given back.
        let given = unsafe { libc::malloc_trim(0) };
        let _ = given;
    }
}

/// Unmaps the pages of our program's code, which stay in the system's cache.
#[allow(unsafe_code)]
fn unmap_code() {
    let Some((begin, end)) = own_code() else {
        return;
    };
    // SAFETY: a mapping of a file that nobody writes to; the next use of a page maps it again.
    let done = unsafe {
        libc::madvise(
            std::ptr::with_exposed_provenance_mut(begin),
            end - begin,
            libc::MADV_DONTNEED,
        )
    };
    let _ = done;
}

/// The addresses of the mapping of a file that this code is in, if it can be executed and not written to.
fn own_code() -> Option<(usize, usize)> {
    let here = own_code as fn() -> Option<(usize, usize)> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (begin, end) = range.split_once('-')?;
        let begin = usize::from_str_radix(begin, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let is_code = rest.starts_with("r-xp") && rest.contains('/');
        (is_code && (begin..end).contains(&here)).then_some((begin, end))
    })
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;
    use std::thread;

    /// Set where the test runs in a process of its own: other tests use memory, too.
    const ALONE: &str = "IPYCODEX_TEST_ALONE";

    #[test]
    fn free_memory_of_any_thread_is_given_back() {
        if std::env::var_os(ALONE).is_none() {
            let name = "heap::tests::free_memory_of_any_thread_is_given_back";
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            alone.args(["--exact", name]).env(ALONE, "1");
            let ran = alone.output().unwrap();
            let said = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let fill = || {
            let many: Vec<Vec<u8>> = (0..30_000).map(|n| vec![n as u8; 1_000]).collect();
            // What stays in the middle must not keep the rest.
            let kept: Vec<Vec<u8>> = many.into_iter().step_by(1_000).collect();
            kept
        };
        share_heap();
        let before = resident_bytes();
        let kept = thread::spawn(fill).join().unwrap();
        give_back_memory();
        let began = std::time::Instant::now();
        while resident_bytes() > before + (10 << 20) {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "{}",
                resident_bytes()
            );
            thread::yield_now();
        }
        assert_eq!(kept.len(), 30);
    }
}
