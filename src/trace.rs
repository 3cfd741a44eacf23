//! A log for debugging: `IPYCODEX_TRACE=wire`, `startup`, or both with a comma.
//!
//! In: messages to the `log` crate under the target [`WIRE`] or [`STARTUP`]. Out: a file of this process below the
//! state directory, one line per message: milliseconds since the start, target, thread, message. Invariants:
//! messages name a request and its size in bytes and never quote it, so the log holds no user input and no secrets;
//! where the variable is not set, a trace costs one comparison. Absent on purpose: levels, filters, rotation.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use log::{LevelFilter, Log, Metadata, Record};

use crate::files::private_dir;
use crate::text::report::Report;
use crate::text::trace::{STARTUP, VARIABLE, WIRE};

/// Traces the targets in `wanted` to a new file in `folder`; returns its path.
///
/// # Errors
/// `wanted` names another target, or the file cannot be created.
pub fn init(wanted: &str, folder: &Path, began: Instant) -> Result<PathBuf, Report> {
    let mut targets = Vec::new();
    for word in wanted.split(',').map(str::trim) {
        let target = [WIRE, STARTUP].into_iter().find(|target| *target == word);
        targets.push(target.ok_or_else(|| {
            Report::usage(format!("`{VARIABLE}={wanted}` is not understood"))
                .hint("expected `wire`, `startup`, or both with a comma")
        })?);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = now.unwrap_or_default().as_secs();
    let path = folder.join(format!("trace-{seconds}-{}.log", std::process::id()));
    let trouble = Report::failure(format!("`{}` cannot be made", path.display()));
    private_dir(folder).map_err(|error| trouble.clone().because(error))?;
    let file = File::create_new(&path).map_err(|error| trouble.because(error))?;
    let trace = Trace {
        targets,
        began,
        file: Mutex::new(file),
    };
    if log::set_boxed_logger(Box::new(trace)).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
    Ok(path)
}

struct Trace {
    targets: Vec<&'static str>,
    began: Instant,
    file: Mutex<File>,
}

impl Log for Trace {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.targets.contains(&metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let thread = std::thread::current();
        let line = format!(
            "{:10.3} ms  {:7}  {:14}  {}\n",
            self.began.elapsed().as_secs_f64() * 1e3,
            record.target(),
            thread.name().unwrap_or_default(),
            record.args()
        );
        // One write per line keeps lines whole; a failed write must not stop the traced program.
        if let Ok(mut file) = self.file.lock() {
            let _ = file.write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}
