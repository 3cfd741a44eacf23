//! Signals, and the process that started us: an interrupt stops what runs, all else ends the kernel.

use std::time::Duration;

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::front::Interrupter;
use super::leaving::Leaving;
use crate::report::Report;

/// How often it is looked after.
const LOOKS: Duration = Duration::from_millis(500);

/// Begins to listen, and to look after the process that started us.
///
/// # Errors
/// When handlers or a thread cannot be had.
pub(super) fn end_with(
    parent: Option<u32>,
    interrupt: Interrupter,
    leaving: &Leaving,
) -> Result<(), Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(failed)?;
    let ends = leaving.clone();
    let listen = move || {
        for signal in signals.forever() {
            match signal {
                SIGINT => interrupt(),
                _ => ends.leave(),
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
    let leaving = leaving.clone();
    let own = std::os::unix::process::parent_id() == parent;
    let look = move || {
        loop {
            std::thread::sleep(LOOKS);
            // A child whose parent died has another one; the number of another process may be taken anew.
            let there = match own {
                true => std::os::unix::process::parent_id() == parent,
                false => std::path::Path::new("/proc")
                    .join(parent.to_string())
                    .exists(),
            };
            if !there {
                return leaving.leave();
            }
        }
    };
    std::thread::Builder::new()
        .name("parent".into())
        .spawn(look)
        .map_err(failed)?;
    Ok(())
}
