//! How the system schedules a thread that reads what another process writes.
//!
//! A reader that has slept is run at once, in the place of the writer, for each little piece. Each change of threads
//! takes as long as the writing itself; where both work for a user who waits, the writer had better go on.

use std::marker::PhantomData;

/// While it lives, the calling thread waits for a processor that is free, or for its turn (`SCHED_BATCH` of sched(7)).
/// Threads and processes that it starts meanwhile inherit that.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct BatchScheduling {
    was_usual: bool,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl BatchScheduling {
    /// Begins, unless the user has given the thread another policy than the usual one.
    pub fn begin() -> Self {
        let was_usual = policy() == libc::SCHED_OTHER;
        if was_usual {
            set_policy(libc::SCHED_BATCH);
        }
        BatchScheduling {
            was_usual,
            _thread: PhantomData,
        }
    }
}

impl Drop for BatchScheduling {
    fn drop(&mut self) {
        if self.was_usual {
            set_policy(libc::SCHED_OTHER);
        }
    }
}

// Not by the functions of the C library: in musl they do nothing.
#[allow(unsafe_code)]
fn policy() -> libc::c_int {
    // SAFETY: 0 is the calling thread, and no memory of ours is passed.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    policy.try_into().unwrap_or(-1)
}

/// Where it is refused, all works as before, slower.
#[allow(unsafe_code)]
fn set_policy(policy: libc::c_int) {
    // The fields of `sched_param`: these policies have no priority.
    let priority: libc::c_int = 0;
    // SAFETY: 0 is the calling thread, and the system only reads the priority.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    let _ = done;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_scheduled_as_before_once_it_is_over() {
        let before = policy();
        for _ in 0..2 {
            let outer = BatchScheduling::begin();
            drop(BatchScheduling::begin());
            if before == libc::SCHED_OTHER {
                assert_eq!(policy(), libc::SCHED_BATCH);
            }
            drop(outer);
            assert_eq!(policy(), before);
        }
    }
}
