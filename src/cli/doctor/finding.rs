//! The input and the results of the checks.
//!
//! In: a [`DoctorContext`]. Out: [`Finding`]s, each with a verdict and, if needed, a remedy.

use std::time::Duration;

use nu_ansi_term::Color;

use crate::config::Settings;
use crate::environment::Environment;
use crate::screen::Screen;
use crate::text::NOTICED;
use crate::text::report::Report;

pub(super) const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    /// The shell works, without a feature.
    Warning,
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

#[derive(Debug)]
pub(super) struct Finding {
    pub(super) subject: &'static str,
    pub(super) verdict: Verdict,
    pub(super) message: String,
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

pub(super) struct DoctorContext<'a> {
    pub(super) environment: &'a Environment,
    pub(super) settings: &'a Settings,
    pub(super) reports: &'a [Report],
    pub(super) screen: &'a Screen,
}

impl DoctorContext<'_> {
    /// Returns a path with `~` for the home directory.
    pub(super) fn shown(&self, path: &std::path::Path) -> String {
        self.settings.provenance.display_path(path)
    }
}
