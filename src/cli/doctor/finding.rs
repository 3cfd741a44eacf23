//! What is looked at, and what is found of it.

use std::time::Duration;

use nu_ansi_term::Color;

use crate::config::Settings;
use crate::environment::Environment;
use crate::report::Report;
use crate::screen::Screen;
use crate::text::NOTICED;

/// The longest a program is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    /// The shell works, with less.
    Warning,
    /// Something does not work.
    Error,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Error => "error",
        }
    }

    pub(super) fn colour(self) -> Color {
        match self {
            Verdict::Ok => Color::Green,
            Verdict::Warning => NOTICED,
            Verdict::Error => Color::Red,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) subject: &'static str,
    pub(super) verdict: Verdict,
    pub(super) message: String,
    /// What to do, where something is to be done.
    pub(super) mend: Option<String>,
}

impl Finding {
    pub(super) fn ok(subject: &'static str, message: impl Into<String>) -> Self {
        Finding {
            subject,
            verdict: Verdict::Ok,
            message: message.into(),
            mend: None,
        }
    }

    pub(super) fn warning(
        subject: &'static str,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Finding {
            verdict: Verdict::Warning,
            mend: Some(mend.into()),
            ..Finding::ok(subject, message)
        }
    }

    pub(super) fn error(
        subject: &'static str,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Finding {
            verdict: Verdict::Error,
            ..Finding::warning(subject, message, mend)
        }
    }
}

/// What is looked at.
pub(super) struct DoctorContext<'a> {
    pub(super) environment: &'a Environment,
    pub(super) settings: &'a Settings,
    /// What was wrong with the settings.
    pub(super) reports: &'a [Report],
    pub(super) screen: &'a Screen,
}

impl DoctorContext<'_> {
    /// A path as people write it.
    pub(super) fn shown(&self, path: &std::path::Path) -> String {
        self.settings.provenance.display_path(path)
    }
}
