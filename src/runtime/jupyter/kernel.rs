//! The interface to a kernel: its messages and its lifetime, whatever the transport.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::jupyter::{ChannelEvent, OutgoingMessage};
use crate::runtime::{Death, EnvironmentChanges, StartFailure};

/// What comes of a kernel.
#[derive(Debug)]
pub(in crate::runtime) enum KernelEvent {
    /// It can be spoken to.
    Open,
    /// It says something, or the connection broke.
    Heard(ChannelEvent),
    /// There is none.
    Failed(StartFailure),
    /// There is no way to it any more; it may run on.
    Lost(String),
    /// It has ended.
    Died(Death),
    /// It runs, as whoever runs it says; false: it does nothing.
    Runs(bool),
    /// Whoever runs it does not say whether it runs, and why not.
    Unknown(String),
}

/// A kernel and the way to it. Lives on a Tokio runtime of one thread.
pub(in crate::runtime) trait Kernel: Send {
    /// Starts it, or finds it; tells `news` from here on. One that was there before is no more.
    fn begin(&mut self, news: Sender<KernelEvent>);

    /// One that is started from here on is told these variables.
    fn add_environment(&mut self, told: &EnvironmentChanges);

    /// Sends a message.
    fn send(&self, message: OutgoingMessage);

    /// Interrupts it by other means than a message; false: there are none.
    fn interrupt(&self) -> bool;

    /// Asks whoever runs it whether it is there; the answer is news. One that tells of its end itself is not asked for.
    fn check_liveness(&self);

    /// Ends it at once.
    fn kill(&self);

    /// It was there before us, and stays.
    fn attached(&self) -> bool;

    /// How long it may take until it says who it is.
    fn patience(&self) -> Duration;

    /// Where it runs: its program, or the address it was found at.
    fn place(&self) -> String;

    /// Its process, where it is one of this machine.
    fn process(&self) -> Option<u32>;

    /// What it said last outside of its messages.
    fn last_words(&self) -> String;

    /// Ends one of ours and waits for its end; one that can be spoken to (`up`) is asked to leave first.
    fn end(&mut self, up: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
