//! The server of a kernel: its sockets, the two request channels, its end.
//!
//! Shared by both kernels, which differ in their [`RequestHandler`]. Invariants: interrupts and the shutdown do not
//! wait for the running request; the kernel ends when a client asks for it, by a signal, or when the process that
//! started it is gone.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::channels::{RequestHandler, ShellChannel, serve_control};
use super::inputs::Inputs;
use super::kernel_info::KernelInfo;
use super::shutdown::{InterruptFn, Shutdown, watch};
use crate::jupyter::{KernelServer, listen, read};
use crate::text::report::Report;

/// Time for the last messages to leave the sockets.
const LINGER: Duration = Duration::from_millis(100);

/// Serves all clients on the addresses of the connection file until the shutdown. `open` creates the handler from
/// the server and the `input_reply` messages.
///
/// # Errors
/// When the file is not a connection file, or its addresses are not available.
pub(super) fn serve<H: RequestHandler, I: KernelInfo + Clone>(
    file: &Path,
    parent: Option<u32>,
    interrupt: InterruptFn,
    open: impl FnOnce(KernelServer, Inputs) -> (H, I),
) -> Result<(), Report> {
    let connection = read(file).map_err(|fault| {
        Report::failure(fault.to_string())
            .hint("a Jupyter client writes that file and starts the kernel with it")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::failure("could not start the kernel").because(error))?;
    let shutdown = Shutdown::default();
    watch(parent, interrupt.clone(), &shutdown)?;
    runtime.block_on(async {
        let (server, requests) = listen(&connection).await.map_err(|error| {
            Report::failure(format!("the kernel cannot listen on {}: {error}", connection.ip))
                .hint("another program may use a port that the connection file names; start the kernel anew")
        })?;
        let starting = json!({"execution_state": "starting"});
        server.publish(None, "status", starting).await;
        let (handler, info) = open(server.clone(), Inputs::new(requests.stdin));
        let shell = ShellChannel::new(
            handler,
            server.clone(),
            info.clone(),
            requests.shell,
            shutdown.clone(),
        );
        let control = serve_control(requests.control, interrupt, server, info, shutdown.clone());
        let end = async {
            shutdown.requested().await;
            tokio::time::sleep(LINGER).await;
        };
        tokio::select! {
            _ = async { tokio::join!(shell.serve(), control) } => {}
            () = end => {}
        }
        Ok(())
    })
}
