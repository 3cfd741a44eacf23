//! A log of what passes, for whoever looks for a fault: `IPYCODEX_TRACE=wire`, `startup`, or both with a comma.
//!
//! In: what any part tells the `log` crate under the target [`WIRE`] or [`STARTUP`]. Out: a file of this process below
//! the state directory, a line each: milliseconds since the start, target, thread, what it was. Invariants: messages
//! are named with their sizes in bytes and never quoted, so the log holds nothing of what users typed and no secrets;
//! where the variable is not set, a trace costs the look at one number. Absent on purpose: levels, filters, rotation.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use log::{LevelFilter, Log, Metadata, Record};

use crate::files::private_dir;
use crate::report::Report;
use crate::text::json;

/// The variable that names what is traced.
pub const VARIABLE: &str = "IPYCODEX_TRACE";

/// Messages between us and other processes.
pub const WIRE: &str = "wire";

/// Stages of the way to the first prompt.
pub const STARTUP: &str = "startup";

/// Updates of agents: never in the file, for whoever logs elsewhere.
pub const UPDATES: &str = "updates";

/// Traces what `wanted` names into a new file in `folder`, which it returns.
///
/// # Errors
/// `wanted` names something else, or the file cannot be made.
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
        // One write a line, so that lines stay whole; where there is no room for it, what is traced goes on.
        if let Ok(mut file) = self.file.lock() {
            let _ = file.write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}

/// What a line of JSON is, without what it says: its `type`, `op` and `id`.
pub fn describe_line(line: &[u8]) -> String {
    let value = json::parse(line).unwrap_or_default();
    let words = ["type", "op", "id"].into_iter().map(|key| &value[key]);
    let words = words.filter(|word| !word.is_null());
    let words: Vec<String> = words
        .map(|word| {
            word.as_str()
                .map_or_else(|| word.to_string(), str::to_owned)
        })
        .collect();
    words.join(" ")
}
