//! The front-ends for Jupyter: a kernel whose cells are Python, notes, commands and prompts, and one whose cells
//! are prompts to an agent (`agentclient`).
//!
//! In: the messages of any number of clients, on the sockets that a connection file names. Out: the events of the
//! session as messages. Both kernels share `server`, with its `channels`, the wait for events and replies (`inputs`)
//! and the output (`cell_output`), and differ in their handler of requests. `handler` is that of sessions: `execute`
//! takes an input from its message to its reply, `event_mapper` says what an event puts out, `cell_output` sends it,
//! `answer` is an agent's answer as markdown.
//! Protocol: version 5.5 of Jupyter's messaging, without its optional features. Invariants: every request is
//! between `busy` and `idle`; a client ends the kernel by a `shutdown_request` only; the kernel ends when the
//! process that started it is gone. Absent on purpose: the debugger; subshells, since the types of
//! `jupyter-protocol` 2 lose a header's `subshell_id`, by which clients match replies; attachments, which only text
//! cells have, and those are not sent to kernels.

pub mod agentclient;
mod answer;
mod background_output;
mod cell_output;
mod channels;
mod event_mapper;
mod execute;
mod handler;
mod inputs;
mod introspection;
mod kernel_info;
mod kernelspec;
mod messages;
mod server;
mod shutdown;
mod stream_buffer;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::record::RecordHandle;
use crate::session::{Run, SessionHandle};
use crate::text::report::Report;
use background_output::BackgroundOutput;
use execute::SessionContext;
use handler::SessionHandler;
use kernel_info::SessionKernelInfo;
pub use kernelspec::{
    InstalledKernel, KernelKind, KernelspecDir, install, list_installed, uninstall,
};
use messages::Comms;
use server::serve;
use shutdown::InterruptFn;

/// Limit for the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);

pub struct KernelOptions {
    pub session: SessionHandle,
    /// Events outside of runs.
    pub background: Run,
    pub record: RecordHandle,
    /// The run before the first cell; published with it.
    pub startup: Run,
    /// The Python of cells, where they run in an interpreter of our own.
    pub python: Option<PathBuf>,
    /// Process id of the process that started us, if known.
    pub parent: Option<u32>,
}

/// Serves all clients on the addresses of the connection file until the shutdown.
///
/// # Errors
/// When the file is not a connection file, or its addresses are not available.
pub fn run(options: KernelOptions, file: &Path) -> Result<(), Report> {
    let session = options.session.clone();
    let interrupted = session.clone();
    let interrupt: InterruptFn = Arc::new(move || interrupted.interrupt());
    let result = serve(file, options.parent, interrupt, |server, inputs| {
        let info = SessionKernelInfo::new(options.python, options.session.clone());
        let context = SessionContext {
            session: options.session,
            record: options.record,
            background: BackgroundOutput::new(options.background, server.clone()),
            server,
            inputs,
            comms: Comms::default(),
            startup: Some(options.startup),
            consoles: HashSet::new(),
        };
        (SessionHandler(context), info)
    });
    session.close(CLOSE_TIMEOUT);
    result
}
