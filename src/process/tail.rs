//! The last words of a child: its standard error, drained always, kept in part.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many bytes are kept.
const KEPT: usize = 16 * 1024;

/// Drains a descriptor on a thread of its own and keeps the last 16 KiB.
#[derive(Debug, Clone)]
pub struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Holds true once the last writer has closed.
    ended: Arc<(Mutex<bool>, Condvar)>,
}

impl Tail {
    /// Starts draining `from`; the thread ends with the last writer.
    pub fn of(from: OwnedFd, thread_name: &str) -> Self {
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
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
            *end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            end.1.notify_all();
        };
        // Without a thread the child may block on its standard error; nothing better can be done than to go on.
        let _ = std::thread::Builder::new()
            .name(thread_name.into())
            .spawn(drain);
        Tail { bytes, ended }
    }

    /// Waits until the last writer has closed, at most `patience`, so that [`Tail::text`] holds the very last words.
    pub fn settle(&self, patience: Duration) {
        let ended = self.ended.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Running out of patience is no failure: somebody still holds the descriptor.
        let _ = self
            .ended
            .1
            .wait_timeout_while(ended, patience, |ended| !*ended);
    }

    /// What is kept at this moment, as text; untrusted.
    pub fn text(&self) -> String {
        let kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = kept.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}
