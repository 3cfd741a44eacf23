//! The one error type that users see: the failure, its causes, hints, and the exit code.
//!
//! Invariant: the exit code of an error is decided here alone. Absent on purpose: printing, which is `screen`'s.

use std::fmt;

/// Kinds of reports, which determine the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// A failure: 1.
    Failure,
    /// A wrong command line: 2.
    Usage,
    /// A reader closed our output: 0, and nothing is printed.
    BrokenPipe,
    /// A bug of ours: 101.
    Internal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub kind: ReportKind,
    /// One sentence without a full stop; names in backticks.
    pub message: String,
    /// Nearest cause first.
    pub causes: Vec<String>,
    /// What the user can do, one line each.
    pub hints: Vec<String>,
}

impl Report {
    pub fn failure(message: impl Into<String>) -> Self {
        Report {
            kind: ReportKind::Failure,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// A thread, `whose`, could not be started.
    pub fn no_thread(whose: &str, error: &std::io::Error) -> Self {
        let report = Report::failure(format!("could not start the thread {whose}")).because(error);
        match error.kind() {
            // That is no answer of Linux itself, and the C library takes only "no such call" for an answer.
            std::io::ErrorKind::PermissionDenied => report.hint(
                "a filter of system calls (of a container?) refuses `clone3`: let it answer ENOSYS, or run without it",
            ),
            _ => report,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Report {
            kind: ReportKind::Usage,
            ..Report::failure(message)
        }
    }

    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub fn exit_code(&self) -> i32 {
        match self.kind {
            ReportKind::Failure => 1,
            ReportKind::Usage => 2,
            ReportKind::BrokenPipe => 0,
            ReportKind::Internal => 101,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for cause in &self.causes {
            write!(f, "\n  caused by: {cause}")?;
        }
        for hint in &self.hints {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl From<std::io::Error> for Report {
    fn from(error: std::io::Error) -> Self {
        let mut report = Report::failure(error.to_string());
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            report.kind = ReportKind::BrokenPipe;
        }
        report
    }
}
