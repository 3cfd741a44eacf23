//! What the `ipycodex` kernel does with requests: cells, prompts and commands go to the session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::asides;
use super::desk::Desk;
use super::execute::{execute, follow, sleep_until};
use super::front::{Done, Front};
use crate::jupyter::{Request, comm_message};
use crate::runtime::RuntimeRequest;
use crate::session::Next;

/// See the module.
pub(super) struct Cells(pub(super) Desk);

impl Front for Cells {
    async fn execute(&mut self, request: &Arc<Request>) -> Done {
        let desk = &mut self.0;
        if let Some(set_up) = desk.set_up.take() {
            // What went wrong has been told, and is no fault of the cell.
            drop(follow(desk, &set_up, request, false).await);
        }
        execute(desk, request).await
    }

    async fn answer(&mut self, request: &Arc<Request>) -> Option<Value> {
        let desk = &mut self.0;
        let message = &request.message;
        Some(match message.kind.as_str() {
            "comm_open" | "comm_msg" | "comm_close" => {
                comm(desk, request).await;
                return None;
            }
            "comm_info_request" => {
                let target = message.text("target_name");
                desk.comms.listed((!target.is_empty()).then_some(target))
            }
            "complete_request" => asides::complete(&desk.session, message).await,
            "inspect_request" => asides::inspect(&desk.session, message).await,
            "is_complete_request" => asides::is_complete(&desk.session, message).await,
            "history_request" => {
                desk.consoles.insert(request.session().to_owned());
                asides::history(&desk.history, message).await
            }
            // What nobody knows is not answered, as all kernels have it.
            _ => return None,
        })
    }

    async fn meanwhile(&mut self) {
        let desk = &mut self.0;
        loop {
            let due = desk.late.due();
            tokio::select! {
                event = desk.background.next() => match event {
                    Some(event) => desk.late.tell(&desk.voice, &mut desk.comms, event).await,
                    None => std::future::pending().await,
                },
                () = sleep_until(due) => desk.late.flush(&desk.voice).await,
            }
        }
    }

    async fn settle(&mut self) {
        let desk = &mut self.0;
        while let Next::Event(event) = desk.background.next_blocking(Some(Duration::ZERO)) {
            desk.late.tell(&desk.voice, &mut desk.comms, *event).await;
        }
        desk.late.flush(&desk.voice).await;
    }

    fn last_line(&self) -> u32 {
        self.0.last_line()
    }
}

async fn comm(desk: &mut Desk, request: &Arc<Request>) {
    let Some(message) = comm_message(&request.message) else {
        return;
    };
    desk.comms.says(&message);
    desk.late.now(Arc::clone(request));
    // Who says nothing back has still heard it.
    drop(desk.session.ask(RuntimeRequest::Comm(message)).await);
}
