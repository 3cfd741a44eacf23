//! The one error a user sees: what happened, why, what to do; and the exit code it means.

use std::fmt;

/// Who has to act, and so which exit code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// Something failed: 1.
    Failure,
    /// The command line was wrong: 2.
    Usage,
    /// A reader closed our output: 0, nothing printed.
    BrokenPipe,
    /// Our own bug: 101.
    Internal,
}

/// A failure with its causes and remedies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Who has to act.
    pub kind: ReportKind,
    /// One sentence without a full stop, the thing in backticks.
    pub message: String,
    /// From the nearest cause to the farthest.
    pub causes: Vec<String>,
    /// What the user can do, one line each.
    pub hints: Vec<String>,
}

impl Report {
    /// A plain failure.
    pub fn failure(message: impl Into<String>) -> Self {
        Report {
            kind: ReportKind::Failure,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Report {
            kind: ReportKind::Usage,
            ..Report::failure(message)
        }
    }

    /// Adds a cause.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The status the process ends with.
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
