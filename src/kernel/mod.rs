//! The front-end for Jupyter: a kernel whose cells are Python, notes, commands and prompts.
//!
//! In: the messages of any number of clients, on the sockets a connection file names. Out: the events of the session as
//! messages. `shell` works requests off one after the other, `control` what does not wait for a cell; `execute` takes
//! an input from its message to its reply, `telling` says what its events mean to clients, `sheet` is what they see of
//! it, `answer` the markdown of what an agent says. Version 5.3 of the messaging protocol, with the welcome of 5.4 on
//! the publishing channel. Invariants: every request is between `busy` and `idle`; what a client sends cannot end the
//! kernel but by asking for that; the kernel ends when who started it is gone. Absent on purpose: the debugger,
//! subshells.

mod about;
mod answer;
mod asides;
mod asking;
mod comms;
mod control;
mod desk;
mod execute;
mod forms;
mod installed;
mod late;
mod leaving;
mod life;
mod printed;
mod sheet;
mod shell;
mod telling;
mod voice;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::history::History;
use crate::jupyter::{listen, read};
use crate::report::Report;
use crate::session::{Run, SessionHandle};
use about::About;
use comms::Comms;
use desk::Desk;
pub use installed::{InstalledKernel, KernelPlace, install, installed, uninstall};
use late::Late;
use leaving::Leaving;
use shell::Shell;
use voice::Voice;

/// How long the end of a session may take.
const LEAVE: Duration = Duration::from_secs(4);

/// The last words are on their way for so long.
const LAST_WORDS: Duration = Duration::from_millis(100);

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
    /// The process that started us, where it says so.
    pub parent: Option<u32>,
}

/// Serves whoever connects where the file says, until that is to end.
///
/// # Errors
/// The file is none, or its addresses cannot be had.
pub fn run(served: Served, file: &Path) -> Result<(), Report> {
    let info = read(file).map_err(|fault| {
        Report::failure(fault.to_string())
            .hint("a Jupyter client writes that file and starts the kernel with it")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::failure("could not start the kernel").because(error))?;
    let leaving = Leaving::default();
    life::end_with(served.parent, &served.session, &leaving)?;
    let session = served.session.clone();
    let ended = runtime.block_on(async {
        let (host, requests) = listen(&info).await.map_err(|error| {
            Report::failure(format!("the kernel cannot listen on {}: {error}", info.ip))
                .hint("another program may use a port that the connection file names; start the kernel anew")
        })?;
        let voice = Voice(host);
        let starting = json!({"execution_state": "starting"});
        voice.publish(None, "status", starting).await;
        let desk = Desk {
            session: served.session,
            history: served.history,
            voice: voice.clone(),
            background: served.background,
            stdin: requests.stdin,
            comms: Comms::default(),
            late: Late::default(),
            consoles: HashSet::new(),
        };
        let shell = Shell::new(desk, About, requests.shell, leaving.clone());
        tokio::spawn(control::work(
            requests.control,
            session.clone(),
            voice,
            About,
            leaving.clone(),
        ));
        tokio::spawn(shell.work(served.set_up));
        leaving.wait().await;
        tokio::time::sleep(LAST_WORDS).await;
        Ok(())
    });
    session.close(LEAVE);
    ended
}
