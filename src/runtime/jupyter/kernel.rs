//! The interface to a kernel: its messages, its lifetime, and why it did not start, for every transport.
//!
//! In: messages and commands of the supervisor. Out: [`KernelEvent`]s; a [`StartFailure`] with the last lines that the
//! kernel wrote to stderr. Implemented by `local.rs` and `gateway.rs`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::text::escape::visible;
use crate::{Death, EnvironmentChanges, StartFailure};
use ipycodex_jupyter::{ChannelEvent, OutgoingMessage};

#[derive(Debug)]
pub(crate) enum KernelEvent {
    /// The kernel accepts messages.
    Open,
    /// A message, or the loss of the connection.
    Heard(ChannelEvent),
    /// The kernel could not be started or found.
    Failed(StartFailure),
    /// The kernel cannot be reached any more; it may still run.
    Lost(String),
    Died(Death),
    /// The kernel runs, as its process or gateway reports; false: it is idle.
    Runs(bool),
    /// Its gateway does not report the state; the reason.
    Unknown(String),
}

/// A kernel and its connection. Lives on a Tokio runtime of one thread.
pub(crate) trait Kernel: Send {
    /// Starts or finds the kernel, which then sends to `news`. An earlier kernel must be gone.
    fn begin(&mut self, news: Sender<KernelEvent>);

    fn add_environment(&mut self, told: &EnvironmentChanges);

    fn send(&self, message: OutgoingMessage);

    /// Interrupts the kernel by other means than a message; false: there are none.
    fn interrupt(&self) -> bool;

    /// Requests the kernel's state, which comes as an event. Does nothing for a kernel whose end is detected
    /// anyway.
    fn check_liveness(&self);

    fn kill(&self);

    /// Returns true for a kernel that was not started by us, and stays.
    fn attached(&self) -> bool;

    /// Returns the maximum time until the kernel answers `kernel_info_request`.
    fn patience(&self) -> Duration;

    /// Returns the kernel's program, or the address it was found at.
    fn place(&self) -> String;

    fn process(&self) -> Option<u32>;

    /// Returns the end of the kernel's stderr.
    fn last_words(&self) -> String;

    /// Ends a kernel of ours and waits for its end; one that accepts messages (`up`) gets a `shutdown_request`
    /// first.
    fn end(&mut self, up: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl dyn Kernel {
    /// Returns the failure of a kernel that did not answer `kernel_info_request` in time.
    pub(super) fn unanswered(&self) -> StartFailure {
        let hint = match self.last_lines() {
            Some(words) => words,
            None if self.attached() => {
                "it may be busy or have hung: try again, or start a new kernel with `--runtime jupyter:NAME`"
                    .into()
            }
            None => alone(),
        };
        StartFailure {
            message: format!(
                "the kernel `{}` has not answered for {} s",
                self.place(),
                self.patience().as_secs()
            ),
            hint,
        }
    }

    /// Returns the failure of a kernel that ended before it answered.
    pub(super) fn ended_early(&self, death: &Death) -> StartFailure {
        let place = self.place();
        StartFailure {
            message: format!("the kernel `{place}` ended before it answered: {death}"),
            hint: self.last_lines().unwrap_or_else(alone),
        }
    }

    fn last_lines(&self) -> Option<String> {
        let said = self.last_words();
        let lines = said.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<_> = lines.map(visible).collect();
        let words = lines[lines.len().saturating_sub(3)..].join(" / ");
        (!words.is_empty()).then(|| format!("it said: {words}"))
    }
}

fn alone() -> String {
    "try it with `jupyter console`; `--runtime embedded` needs no kernel".into()
}
