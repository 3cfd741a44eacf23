//! A message to the user of one line, with its remedies.

use crate::text::report::Report;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// One line.
    pub message: String,
    /// Remedies, a line each.
    pub hints: Vec<String>,
    /// True for a failure, false for information.
    pub warning: bool,
}

impl Notice {
    pub fn note(message: impl Into<String>) -> Self {
        Notice {
            message: message.into(),
            hints: Vec::new(),
            warning: false,
        }
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Notice {
            warning: true,
            ..Notice::note(message)
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

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
