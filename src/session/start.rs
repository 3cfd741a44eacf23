//! A session begins: its thread, the handle of it, and the stream of what happens outside of runs.

use crate::report::Report;
use crate::session::Parts;
use crate::session::handle::SessionHandle;
use crate::session::run::{Run, stream};
use crate::session::task::run;

/// Starts a session on a thread of its own; the second value carries what happens outside of runs.
///
/// # Errors
/// When no thread can be had.
pub fn start(parts: Parts) -> Result<(SessionHandle, Run), Report> {
    let (commands, inbox) = tokio::sync::mpsc::unbounded_channel();
    let (background, run_of_background) = stream();
    let language = parts.runtime.able.language.clone();
    let (handle, shared) = SessionHandle::new(commands.clone(), language);
    std::thread::Builder::new()
        .name("session".into())
        .spawn(move || run(parts, inbox, commands, background, shared))
        .map_err(|error| Report::failure("could not start the session's thread").because(error))?;
    Ok((handle, run_of_background))
}
