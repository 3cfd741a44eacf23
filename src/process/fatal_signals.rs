//! Runs an action when a fault ends this process: a stack overflow, an abort, an invalid memory access.
//!
//! Such a signal is handled on the thread that caused it. After the action the process ends as it would have ended,
//! with the message of the previous handler (Rust's, for a stack overflow).

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The signals of faults.
const FAULTS: [libc::c_int; 6] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGSYS,
];

type Action = Box<dyn Fn() + Send + Sync>;

/// The action set last. No action is ever freed, since a fault may come at any time.
static ACTION: AtomicPtr<Action> = AtomicPtr::new(std::ptr::null_mut());
/// The previous dispositions: written once, before a handler of ours can run.
static PREVIOUS: [AtomicPtr<libc::sigaction>; FAULTS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; FAULTS.len()];
static INSTALLED: Mutex<bool> = Mutex::new(false);

/// Sets the action that runs first when a fault ends this process; replaces the previous action.
///
/// The action runs in a signal handler, on a small stack: it must not allocate or take a lock (signal-safety(7)).
pub fn run_on_fatal_signal(action: impl Fn() + Send + Sync + 'static) {
    let action: Action = Box::new(action);
    ACTION.store(Box::into_raw(Box::new(action)), Ordering::SeqCst);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut installed, true) {
        FAULTS
            .iter()
            .zip(&PREVIOUS)
            .for_each(|(signal, previous)| install(*signal, previous));
    }
}

#[allow(unsafe_code)]
fn install(signal: libc::c_int, previous: &AtomicPtr<libc::sigaction>) {
    // SAFETY: all zeros is a value of this struct; both point to live structs, and the previous one is never freed.
    // On failure the disposition is unchanged.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
        // An overflowed stack cannot be used; Rust gives each thread an alternate one.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let was = Box::into_raw(Box::new(MaybeUninit::zeroed().assume_init()));
        previous.store(was, Ordering::SeqCst);
        if libc::sigaction(signal, std::ptr::null(), was) == 0 {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

#[allow(unsafe_code)]
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: what is not null here was made by `run_on_fatal_signal` and is never freed; the system gives `info`;
    // the calls may be made in a handler.
    unsafe {
        if let Some(action) = ACTION.load(Ordering::SeqCst).as_ref() {
            action();
        }
        let at = FAULTS.iter().position(|fault| *fault == signal);
        let previous = at.map_or(std::ptr::null_mut(), |at| {
            PREVIOUS[at].load(Ordering::SeqCst)
        });
        let by_instruction = (*info).si_code > 0;
        if by_instruction && !previous.is_null() {
            // The instruction is executed again and raises the signal for the previous handler.
            libc::sigaction(signal, previous, std::ptr::null_mut());
            return;
        }
        // Sent by a process or by `abort`: raised again, delivered when this handler has returned.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
