//! The requests of the `ipycodex` kernel: cells, prompts and commands go to the session.

use std::sync::Arc;

use serde_json::Value;

use super::channels::{ExecuteReply, RequestHandler};
use super::execute::{SessionContext, execute, publish_run};
use super::introspection;
use crate::jupyter::{ClientRequest, parse_comm};
use crate::runtime::RuntimeRequest;

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
        let context = &mut self.0;
        loop {
            let event = context.background.next().await;
            context.background.publish(&mut context.comms, event).await;
        }
    }

    async fn flush(&mut self) {
        self.0.background.flush(&mut self.0.comms).await;
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
    context.background.set_parent(Arc::clone(request));
    // Comm messages have no reply; the wait ends when the interpreter has taken this one.
    drop(context.session.ask(RuntimeRequest::Comm(message)).await);
}
