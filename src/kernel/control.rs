//! The control channel: what does not wait for a cell.

use serde_json::json;
use tokio::sync::mpsc::Receiver;

use super::front::{Interrupter, Introduces};
use super::leaving::Leaving;
use super::voice::Voice;
use crate::jupyter::Request;

/// Works the channel off.
pub(super) async fn work(
    mut requests: Receiver<Request>,
    interrupt: Interrupter,
    voice: Voice,
    about: impl Introduces,
    leaving: Leaving,
) {
    while let Some(request) = requests.recv().await {
        let kind = request.message.kind.as_str();
        if kind == "interrupt_request" {
            // Before anything that may have to wait for a client to read.
            interrupt();
            voice.reply(&request, json!({"status": "ok"})).await;
        }
        voice.state(&request, "busy").await;
        match kind {
            "kernel_info_request" => {
                let content = about.kernel().await;
                voice.reply(&request, content).await;
            }
            "shutdown_request" => {
                let restart = request.message.content.get("restart");
                let restart = restart.cloned().unwrap_or(json!(false));
                voice
                    .reply(&request, json!({"status": "ok", "restart": restart}))
                    .await;
                leaving.leave();
            }
            // The debugger is declared absent; what nobody knows is not answered.
            _ => {}
        }
        voice.state(&request, "idle").await;
    }
}
