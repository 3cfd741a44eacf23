//! Bugs of ours: a panic in any thread ends the program with status 101, one line, and a report on disk.
//!
//! The terminal is restored first (`screen::guard` wraps this hook). The report holds the message, the source location
//! and, of a program that was not built as a release, the backtrace; and nothing of the user's input.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::path::Path;

use crate::config::Paths;
use crate::environment::Environment;
use crate::files::{FileMode, private_dir, write_whole};
use crate::screen::{ColorChoice, Screen};
use crate::text::report::{Report, ReportKind};

pub(super) fn report_panics(environment: &Environment) {
    let directory = Paths::new(environment, None, None).state_dir;
    let environment = environment.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let mut report = describe(panic);
        let text = format!("{}\n\n{}\n", report.message, Backtrace::force_capture());
        let path = directory.join("crash.txt");
        if write(&directory, &path, &text) {
            report = report.hint(format!(
                "details are in `{}`; please report it",
                path.display()
            ));
        }
        if let Ok(screen) = Screen::open(&environment, ColorChoice::Never) {
            // Without standard error only the exit status reports the panic.
            let _ = screen.print_report(&report);
        }
        std::process::exit(report.exit_code());
    }));
}

fn write(directory: &Path, path: &Path, text: &str) -> bool {
    private_dir(directory).is_ok() && write_whole(path, text.as_bytes(), FileMode::Private).is_ok()
}

fn describe(panic: &PanicHookInfo<'_>) -> Report {
    let place = panic
        .location()
        .map_or_else(String::new, |place| format!(" at {place}"));
    let message = panic.payload_as_str().unwrap_or("no message");
    Report {
        kind: ReportKind::Internal,
        ..Report::failure(format!(
            "a bug in ipycodex {}: {message}{place}",
            env!("CARGO_PKG_VERSION")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_private_and_bugs_exit_with_101() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("state");
        let path = directory.join("crash.txt");
        assert!(write(&directory, &path, "text"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        let report = Report {
            kind: ReportKind::Internal,
            ..Report::failure("x")
        };
        assert_eq!(report.exit_code(), 101);
    }
}
