//! The front-ends for Jupyter: a kernel whose cells are Python, notes, commands and prompts, and one whose cells are
//! prompts to an agent (`agentclient`).
//!
//! In: the messages of any number of clients, on the sockets a connection file names. Out: the events of the session as
//! messages. `serving` is what both have: `shell` works requests off one after the other, `control` what does not wait
//! for a cell; what is done with a request is a `front`. That of sessions is `cells`: `execute` takes an input from its
//! message to its reply, `telling` says what its events mean to clients, `sheet` is what they see of it, `answer` the
//! markdown of what an agent says. Version 5.5 of the messaging protocol, without the features it leaves to kernels.
//! Invariants: every request is between `busy` and `idle`; what a client sends cannot end the kernel but by asking for
//! that; the kernel ends when who started it is gone. Absent on purpose: the debugger; subshells, since the
//! types of `jupyter-protocol` 2 lose a header's `subshell_id`, by which clients know whose reply they have;
//! attachments, which notebooks have in text cells alone, and those are not sent to kernels.

mod about;
pub mod agentclient;
mod answer;
mod asides;
mod asking;
mod cells;
mod comms;
mod control;
mod desk;
mod execute;
mod forms;
mod front;
mod installed;
mod late;
mod leaving;
mod life;
mod pace;
mod printed;
mod serving;
mod sheet;
mod shell;
mod telling;
mod voice;
mod wish;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::history::History;
use crate::report::Report;
use crate::session::{Run, SessionHandle};
use about::About;
use cells::Cells;
use comms::Comms;
use desk::Desk;
use front::Interrupter;
pub use installed::{InstalledKernel, KernelKind, KernelPlace, install, installed, uninstall};
use late::Late;
use serving::serve;

/// How long the end of a session may take.
const LEAVE: Duration = Duration::from_secs(4);

/// What a kernel serves.
pub struct Served {
    /// The session.
    pub session: SessionHandle,
    /// What happens outside of runs.
    pub background: Run,
    /// The record.
    pub history: History,
    /// What is done before the first cell; told with it.
    pub set_up: Run,
    /// The Python of cells, where they run in one of our own.
    pub python: Option<PathBuf>,
    /// The process that started us, where it says so.
    pub parent: Option<u32>,
}

/// Serves whoever connects where the file says, until that is to end.
///
/// # Errors
/// The file is none, or its addresses cannot be had.
pub fn run(served: Served, file: &Path) -> Result<(), Report> {
    let session = served.session.clone();
    let stopped = session.clone();
    let interrupt: Interrupter = Arc::new(move || stopped.interrupt());
    let ended = serve(file, served.parent, interrupt, |voice, stdin| {
        let about = About::new(served.python, served.session.clone());
        let desk = Desk {
            session: served.session,
            history: served.history,
            voice,
            background: served.background,
            stdin,
            comms: Comms::default(),
            late: Late::default(),
            set_up: Some(served.set_up),
            consoles: HashSet::new(),
        };
        (Cells(desk), about)
    });
    session.close(LEAVE);
    ended
}
