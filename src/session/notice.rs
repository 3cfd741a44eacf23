//! One line for the user, and what can be done about it.

use crate::report::Report;

/// One thing the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// One line.
    pub message: String,
    /// Remedies, a line each.
    pub hints: Vec<String>,
    /// Something went wrong, as against something worth knowing.
    pub warning: bool,
}

impl Notice {
    /// Worth knowing.
    pub fn note(message: impl Into<String>) -> Self {
        Notice {
            message: message.into(),
            hints: Vec::new(),
            warning: false,
        }
    }

    /// Something went wrong.
    pub fn warning(message: impl Into<String>) -> Self {
        Notice {
            warning: true,
            ..Notice::note(message)
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// A report of the record as a line for the user.
pub fn report_notice(report: &Report) -> Notice {
    let mut message = report.message.clone();
    for cause in &report.causes {
        message.push_str(": ");
        message.push_str(cause);
    }
    Notice {
        message,
        hints: report.hints.clone(),
        warning: true,
    }
}
