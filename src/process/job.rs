//! Stops our own job, as Ctrl-Z on a terminal does.
//!
//! Invariant: [`stop_our_job`] returns when the shell continues the job, or at once where no shell can (our process
//! group is orphaned, as under tmux without a shell). Absent on purpose: the terminal, which `screen` restores first.

use std::io;
use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, kill_process};
use signal_hook::consts::signal::{SIGINT, SIGQUIT, SIGTSTP};

use super::procfs::parent;
use super::signals::ScopedHandler;

/// Makes us ignore the signals of terminal keys while it lives; programs we start get the default action.
pub(super) struct KeysIgnored {
    stop: ScopedHandler,
    _others: [ScopedHandler; 2],
}

extern "C" fn nothing(_: libc::c_int) {}

impl KeysIgnored {
    pub(super) fn begin() -> io::Result<Self> {
        let ignored = |signal| ScopedHandler::begin(signal, nothing);
        Ok(KeysIgnored {
            stop: ignored(SIGTSTP)?,
            _others: [ignored(SIGINT)?, ignored(SIGQUIT)?],
        })
    }

    /// Runs `action` while a stop signal stops us.
    pub(super) fn with_stops(&mut self, action: impl FnOnce()) {
        self.stop.without(action);
    }
}

/// Stops us and the programs of our job that wait for us (`sh -c`, `uv run`): a shell takes the terminal back only when
/// the process that the shell started stops.
///
/// A shell that sees those stop may send SIGCONT at once. Our own SIGTSTP is pending by then, so SIGCONT discards it;
/// sent later, it would stop us after the shell has continued the job.
pub fn stop_our_job() {
    let waiting = waiting_ancestors();
    with_stops_blocked(|| {
        // To this thread, which cannot go on before the stop; a signal to the process lets it run on for a moment.
        let _ = signal_hook::low_level::raise(SIGTSTP);
        for process in waiting {
            // A process that we may not signal keeps waiting.
            let _ = kill_process(process, Signal::TSTP);
        }
    });
}

/// Runs `action` while SIGTSTP is blocked in this thread.
#[allow(unsafe_code)]
fn with_stops_blocked(action: impl FnOnce()) {
    let mut stops = MaybeUninit::uninit();
    let mut previous = MaybeUninit::uninit();
    // SAFETY: both are written before they are read. None of these calls fails: the signal is known.
    unsafe {
        libc::sigemptyset(stops.as_mut_ptr());
        libc::sigaddset(stops.as_mut_ptr(), SIGTSTP);
        libc::pthread_sigmask(libc::SIG_BLOCK, stops.as_ptr(), previous.as_mut_ptr());
    }
    action();
    // SAFETY: the mask that was in force.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, previous.as_ptr(), std::ptr::null_mut()) };
}

/// Our ancestors in our process group, the nearest first.
fn waiting_ancestors() -> Vec<Pid> {
    let group = getpgrp();
    let in_our_group = |process: &Pid| getpgid(Some(*process)) == Ok(group);
    std::iter::successors(getppid(), |process| parent(*process))
        .take_while(in_our_group)
        .collect()
}
