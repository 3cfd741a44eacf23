//! Explains why a kernel did not start, with the last lines it wrote to stderr.
//!
//! In: a kernel and its death. Out: a [`StartFailure`] with a hint.

use super::kernel::Kernel;
use crate::text::escape::visible;
use crate::{Death, StartFailure};

/// The kernel did not answer `kernel_info_request` in time.
pub(super) fn silent(kernel: &dyn Kernel) -> StartFailure {
    let hint = match last_words(kernel) {
        Some(words) => words,
        None if kernel.attached() => {
            "it may be busy or have hung: try again, or start a new kernel with `--runtime jupyter:NAME`".into()
        }
        None => alone(),
    };
    StartFailure {
        message: format!(
            "the kernel `{}` has not answered for {} s",
            kernel.place(),
            kernel.patience().as_secs()
        ),
        hint,
    }
}

/// The kernel ended before it answered.
pub(super) fn ended(kernel: &dyn Kernel, death: &Death) -> StartFailure {
    let place = kernel.place();
    StartFailure {
        message: format!("the kernel `{place}` ended before it answered: {death}"),
        hint: last_words(kernel).unwrap_or_else(alone),
    }
}

fn alone() -> String {
    "try it with `jupyter console`; `--runtime embedded` needs no kernel".into()
}

fn last_words(kernel: &dyn Kernel) -> Option<String> {
    let said = kernel.last_words();
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<_> = lines.map(visible).collect();
    let words = lines[lines.len().saturating_sub(3)..].join(" / ");
    (!words.is_empty()).then(|| format!("it said: {words}"))
}
