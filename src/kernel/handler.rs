//! The requests of the `ipycodex` kernel: cells, prompts and commands go to the session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::channels::{ExecuteReply, RequestHandler};
use super::context::SessionContext;
use super::execute::{execute, publish_run};
use super::introspection;
use super::stream_buffer::sleep_until;
use crate::jupyter::{ClientRequest, parse_comm};
use crate::runtime::RuntimeRequest;
use crate::session::NextEvent;

pub(super) struct SessionHandler(pub(super) SessionContext);

impl RequestHandler for SessionHandler {
    async fn execute(&mut self, request: &Arc<ClientRequest>) -> ExecuteReply {
        let context = &mut self.0;
        if let Some(startup) = context.startup.take() {
            // Failures of the startup run are published and do not fail the cell.
            drop(publish_run(context, &startup, request, false).await);
        }
        execute(context, request).await
    }

    async fn handle(&mut self, request: &Arc<ClientRequest>) -> Option<Value> {
        let context = &mut self.0;
        let message = &request.message;
        Some(match message.msg_type.as_str() {
            "comm_open" | "comm_msg" | "comm_close" => {
                comm(context, request).await;
                return None;
            }
            "comm_info_request" => {
                let target = message.text("target_name");
                context
                    .comms
                    .comm_info((!target.is_empty()).then_some(target))
            }
            "complete_request" => introspection::complete(&context.session, message).await,
            "inspect_request" => introspection::inspect(&context.session, message).await,
            "is_complete_request" => introspection::is_complete(&context.session, message).await,
            "history_request" => {
                context.consoles.insert(request.session().to_owned());
                introspection::history(&context.record, message).await
            }
            // An unknown request has no reply, as in all kernels.
            _ => return None,
        })
    }

    async fn idle(&mut self) {
        let SessionContext {
            background,
            background_output,
            server,
            comms,
            ..
        } = &mut self.0;
        loop {
            let due = background_output.due();
            tokio::select! {
                event = background.next() => match event {
                    Some(event) => background_output.publish(server, comms, event).await,
                    None => std::future::pending().await,
                },
                () = sleep_until(due) => background_output.flush(server).await,
            }
        }
    }

    async fn flush(&mut self) {
        let SessionContext {
            background,
            background_output,
            server,
            comms,
            ..
        } = &mut self.0;
        while let NextEvent::Event(event) = background.next_blocking(Some(Duration::ZERO)) {
            background_output.publish(server, comms, *event).await;
        }
        background_output.flush(server).await;
    }

    fn execution_count(&self) -> u32 {
        self.0.execution_count()
    }
}

async fn comm(context: &mut SessionContext, request: &Arc<ClientRequest>) {
    let Some(message) = parse_comm(&request.message) else {
        return;
    };
    context.comms.on_message(&message);
    context.background_output.set_parent(Arc::clone(request));
    // Comm messages have no reply; the wait ends when the interpreter has taken this one.
    drop(context.session.ask(RuntimeRequest::Comm(message)).await);
}
