//! A kernel that is served: its sockets, its two channels, its end.
//!
//! Shared by all kernels; what they do with requests is their [`Front`]. Invariants: an interrupt and the end go beside
//! what runs; the kernel ends when it is asked to, by a signal, or when who started it is gone.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::Receiver;

use super::front::{Front, Interrupter, Introduces};
use super::leaving::Leaving;
use super::shell::Shell;
use super::voice::Voice;
use super::{control, life};
use crate::jupyter::{Request, listen, read};
use crate::report::Report;

/// The last words are on their way for so long.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Serves whoever connects where the file says, until that is to end. `open` is given a voice and what users type.
///
/// # Errors
/// The file is none, or its addresses cannot be had.
pub(super) fn serve<F: Front, I: Introduces + Clone>(
    file: &Path,
    parent: Option<u32>,
    interrupt: Interrupter,
    open: impl FnOnce(Voice, Receiver<Request>) -> (F, I),
) -> Result<(), Report> {
    let info = read(file).map_err(|fault| {
        Report::failure(fault.to_string())
            .hint("a Jupyter client writes that file and starts the kernel with it")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::failure("could not start the kernel").because(error))?;
    let leaving = Leaving::default();
    life::end_with(parent, interrupt.clone(), &leaving)?;
    runtime.block_on(async {
        let (host, requests) = listen(&info).await.map_err(|error| {
            Report::failure(format!("the kernel cannot listen on {}: {error}", info.ip))
                .hint("another program may use a port that the connection file names; start the kernel anew")
        })?;
        let voice = Voice(host);
        let starting = json!({"execution_state": "starting"});
        voice.publish(None, "status", starting).await;
        let (front, about) = open(voice.clone(), requests.stdin);
        let shell = Shell::new(front, voice.clone(), about.clone(), requests.shell, leaving.clone());
        let control = control::work(requests.control, interrupt, voice, about, leaving.clone());
        let end = async {
            leaving.wait().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            _ = async { tokio::join!(shell.work(), control) } => {}
            () = end => {}
        }
        Ok(())
    })
}
