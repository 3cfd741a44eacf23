//! The end of a child's standard error.
//!
//! In: a descriptor, which is always drained. Out: its last 16 KiB, as untrusted text.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

const CAPACITY: usize = 16 * 1024;

/// Drains a descriptor on a thread of its own and keeps the last 16 KiB.
#[derive(Debug, Clone)]
pub struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Holds true once the last writer has closed.
    ended: Arc<(Mutex<bool>, Condvar)>,
}

impl StderrTail {
    /// Starts draining `from`; the thread ends with the last writer.
    pub fn new(from: OwnedFd, thread_name: &str) -> Self {
        let bytes = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&bytes);
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let end = Arc::clone(&ended);
        let drain = move || {
            let mut source = File::from(from);
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = source.read(&mut chunk) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..count]);
                let surplus = kept.len().saturating_sub(CAPACITY);
                kept.drain(..surplus);
            }
            *end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            end.1.notify_all();
        };
        // Without a thread the child may block on its standard error; there is no better way to go on.
        let _ = std::thread::Builder::new()
            .name(thread_name.into())
            .spawn(drain);
        StderrTail { bytes, ended }
    }

    /// Waits until the last writer has closed, at most `patience`, so that [`StderrTail::text`] is complete.
    pub fn wait_closed(&self, patience: Duration) {
        let ended = self.ended.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A timeout is no failure: a descendant may still hold the descriptor.
        let _ = self
            .ended
            .1
            .wait_timeout_while(ended, patience, |ended| !*ended);
    }

    /// The bytes kept so far, as text; untrusted.
    pub fn text(&self) -> String {
        let kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = kept.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}
