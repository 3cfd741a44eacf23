//! Our own job, as the shell that started it sees it: stopped as Ctrl-Z on a terminal stops one.
//!
//! Invariant: [`stop_our_job`] returns only when the shell has let us go on, or at once where nobody could (our process
//! group is orphaned, as under tmux without a shell). Absent on purpose: the terminal, which `screen` gives back first.

use std::io;
use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, kill_process};
use signal_hook::consts::signal::{SIGINT, SIGQUIT, SIGTSTP};

use super::caught::Caught;

/// While it lives, the signals of keys typed at the terminal are nothing to us; to a program we start they mean what
/// they always mean.
pub(super) struct KeysIgnored {
    stop: Caught,
    _others: [Caught; 2],
}

extern "C" fn nothing(_: libc::c_int) {}

impl KeysIgnored {
    pub(super) fn begin() -> io::Result<Self> {
        let ignored = |signal| Caught::begin(signal, nothing);
        Ok(KeysIgnored {
            stop: ignored(SIGTSTP)?,
            _others: [ignored(SIGINT)?, ignored(SIGQUIT)?],
        })
    }

    /// Does something while stops stop us.
    pub(super) fn with_stops(&mut self, what: impl FnOnce()) {
        self.stop.without(what);
    }
}

/// Stops us and the programs of our job that wait for us (`sh -c`, `uv run`): a shell takes the terminal back only when
/// the process it has started stops.
///
/// A shell that sees those stop may let us go on at once. Our own stop waits for us by then, so it is taken back, as by
/// any word to go on, instead of coming after it.
pub fn stop_our_job() {
    let waiting = those_that_wait();
    stops_blocked(|| {
        // To this thread, which cannot go on before the stop; a signal to the process lets it run on for a moment.
        let _ = signal_hook::low_level::raise(SIGTSTP);
        for process in waiting {
            // One that is not ours to signal goes on waiting.
            let _ = kill_process(process, Signal::TSTP);
        }
    });
}

/// Does something while stops wait for this thread.
#[allow(unsafe_code)]
fn stops_blocked(what: impl FnOnce()) {
    let mut stops = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are written before they are read. None of these calls fails: the signal is known.
    unsafe {
        libc::sigemptyset(stops.as_mut_ptr());
        libc::sigaddset(stops.as_mut_ptr(), SIGTSTP);
        libc::pthread_sigmask(libc::SIG_BLOCK, stops.as_ptr(), before.as_mut_ptr());
    }
    what();
    // SAFETY: the mask that was in force.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
}

/// Our ancestors in our process group, the nearest first.
fn those_that_wait() -> Vec<Pid> {
    let group = getpgrp();
    let in_our_group = |process: &Pid| getpgid(Some(*process)) == Ok(group);
    std::iter::successors(getppid(), |process| parent(*process))
        .take_while(in_our_group)
        .collect()
}

/// The parent of another process, where the system tells.
fn parent(process: Pid) -> Option<Pid> {
    let path = format!("/proc/{}/stat", process.as_raw_pid());
    let stat = std::fs::read_to_string(path).ok()?;
    // The name, in parentheses, can hold anything; state and parent follow it.
    let (_, behind) = stat.rsplit_once(')')?;
    Pid::from_raw(behind.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found() {
        assert_eq!(parent(rustix::process::getpid()), getppid());
        assert_eq!(parent(Pid::from_raw(i32::MAX).unwrap()), None);
    }
}
