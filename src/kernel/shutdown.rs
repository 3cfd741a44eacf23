//! Interrupt and end of a kernel: requests of clients, signals, and the death of the process that started it.
//!
//! SIGINT interrupts the running request; SIGHUP, SIGQUIT, SIGTERM and the end of the parent process end the
//! kernel.

use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::Notify;

use crate::text::report::Report;

/// Interval at which the parent process is checked.
const PARENT_POLL: Duration = Duration::from_millis(500);

/// Interrupts the running request; callable from any thread.
pub(super) type InterruptFn = Arc<dyn Fn() + Send + Sync>;

/// The request to end the kernel; all clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shutdown(Arc<Notify>);

impl Shutdown {
    pub(super) fn request(&self) {
        self.0.notify_one();
    }

    pub(super) async fn requested(&self) {
        self.0.notified().await;
    }
}

/// Starts the thread that listens for signals, and the one that polls the parent process if one is named.
///
/// # Errors
/// When handlers or a thread are not available.
pub(super) fn watch(
    parent: Option<u32>,
    interrupt: InterruptFn,
    shutdown: &Shutdown,
) -> Result<(), Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(failed)?;
    let on_signal = shutdown.clone();
    let listen = move || {
        for signal in signals.forever() {
            match signal {
                SIGINT => interrupt(),
                _ => on_signal.request(),
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    let Some(parent) = parent else {
        return Ok(());
    };
    let shutdown = shutdown.clone();
    let is_own_parent = std::os::unix::process::parent_id() == parent;
    let poll = move || {
        loop {
            std::thread::sleep(PARENT_POLL);
            // A child whose parent has died gets another parent. Any other process is known by its id only, which
            // the system may reuse.
            let alive = match is_own_parent {
                true => std::os::unix::process::parent_id() == parent,
                false => std::path::Path::new("/proc")
                    .join(parent.to_string())
                    .exists(),
            };
            if !alive {
                return shutdown.request();
            }
        }
    };
    std::thread::Builder::new()
        .name("parent".into())
        .spawn(poll)
        .map_err(failed)?;
    Ok(())
}
