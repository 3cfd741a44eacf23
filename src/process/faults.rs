//! The last act of a process that a fault ends: a stack that overflows, an abort, memory that is not there.
//!
//! Such a signal is not heard by a thread, as others are: the thread that made the fault runs what was asked for, and
//! then ends as it would have ended, with the words of whoever caught the signal before (Rust's of an overflow).

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// What ends a process by its own fault.
const FAULTS: [libc::c_int; 6] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGSYS,
];

type LastAct = Box<dyn Fn() + Send + Sync>;

/// Of those that were asked for the last; none is ever freed, since a fault may come at any time.
static LAST_ACT: AtomicPtr<LastAct> = AtomicPtr::new(std::ptr::null_mut());
/// What became of the signals before: written once, before a handler of ours can run.
static BEFORE: [AtomicPtr<libc::sigaction>; FAULTS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; FAULTS.len()];
static CATCHING: Mutex<bool> = Mutex::new(false);

/// From now on a fault that ends this process does this first, in place of what was asked for before.
///
/// It runs on a small stack, at any moment, on any thread: it takes no memory and waits for no lock.
pub fn before_a_fault_ends_us(act: impl Fn() + Send + Sync + 'static) {
    let act: LastAct = Box::new(act);
    LAST_ACT.store(Box::into_raw(Box::new(act)), Ordering::SeqCst);
    let mut catching = CATCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut catching, true) {
        FAULTS
            .iter()
            .zip(&BEFORE)
            .for_each(|(signal, before)| catch(*signal, before));
    }
}

#[allow(unsafe_code)]
fn catch(signal: libc::c_int, before: &AtomicPtr<libc::sigaction>) {
    // SAFETY: all zeros is a value of this struct; both point to structs that live, and the one of before for ever. On
    // a failure the signal stays what it was.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
        // The stack that has overflowed cannot be used; Rust gives each thread a second one.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let was = Box::into_raw(Box::new(MaybeUninit::zeroed().assume_init()));
        before.store(was, Ordering::SeqCst);
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
    // SAFETY: what is not null here was made by `before_a_fault_ends_us` and is never freed; the system gives `info`;
    // the calls may be made in a handler.
    unsafe {
        if let Some(act) = LAST_ACT.load(Ordering::SeqCst).as_ref() {
            act();
        }
        let at = FAULTS.iter().position(|fault| *fault == signal);
        let before = at.map_or(std::ptr::null_mut(), |at| BEFORE[at].load(Ordering::SeqCst));
        let by_instruction = (*info).si_code > 0;
        if by_instruction && !before.is_null() {
            // The instruction is tried again, and whoever was there before us hears of it.
            libc::sigaction(signal, before, std::ptr::null_mut());
            return;
        }
        // Sent by somebody, or by `abort`: it comes again when this handler has returned.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
