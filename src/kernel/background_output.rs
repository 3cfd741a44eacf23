//! Output outside of runs: of tasks and threads of cells that have ended, and of objects that got a comm message.
//!
//! Invariant: output has the header of the request that ran its cell, as long as that is remembered; other output
//! has the header of the last request.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::comms::Comms;
use super::messages;
use super::stream_buffer::StreamBuffer;
use crate::display::death_notice;
use crate::jupyter::{ClientRequest, KernelServer};
use crate::output::STDERR;
use crate::session::{CellEvent, SessionEvent};

/// The most cells whose requests are remembered.
const MAX_CELLS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct BackgroundOutput {
    cells: VecDeque<(u32, Arc<ClientRequest>)>,
    last_request: Option<Arc<ClientRequest>>,
    /// Printed text that was not sent yet, by the cell of `printed_by`.
    printed: StreamBuffer,
    printed_by: Option<Arc<ClientRequest>>,
}

impl BackgroundOutput {
    /// Remembers that `request` ran the cell of this number.
    pub(super) fn remember_cell(&mut self, line: u32, request: Arc<ClientRequest>) {
        self.set_parent(Arc::clone(&request));
        self.cells.push_back((line, request));
        let surplus = self.cells.len().saturating_sub(MAX_CELLS);
        self.cells.drain(..surplus);
    }

    /// From now on, output of no known cell belongs to `request`.
    pub(super) fn set_parent(&mut self, request: Arc<ClientRequest>) {
        self.last_request = Some(request);
    }

    /// When the printed output is to be sent; `None`: there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.printed.due(Instant::now())
    }

    pub(super) async fn flush(&mut self, server: &KernelServer) {
        let parent = self.printed_by.as_deref().map(ClientRequest::header);
        for (name, text) in self.printed.take(Instant::now()) {
            print(server, parent, name, &text).await;
        }
    }

    pub(super) async fn publish(
        &mut self,
        server: &KernelServer,
        comms: &mut Comms,
        event: SessionEvent,
    ) {
        let (request, event) = match event {
            SessionEvent::Cell(CellEvent::Late { line, event }) => {
                let known = self.cells.iter().rev().find(|(number, _)| *number == line);
                let request = known
                    .map(|(_, request)| request)
                    .or(self.last_request.as_ref());
                (request.cloned(), SessionEvent::Cell(*event))
            }
            event => (self.last_request.clone(), event),
        };
        let parent = request.as_deref().map(ClientRequest::header);
        let identity = |request: &Option<Arc<ClientRequest>>| request.as_ref().map(Arc::as_ptr);
        let is_output = matches!(event, SessionEvent::Cell(CellEvent::Output { .. }));
        if !is_output || identity(&self.printed_by) != identity(&request) {
            self.flush(server).await;
            self.printed_by.clone_from(&request);
        }
        match event {
            SessionEvent::Cell(CellEvent::Output { stream, bytes, .. }) => {
                self.printed.push(stream, &bytes);
                if self.printed.is_due(Instant::now()) {
                    self.flush(server).await;
                }
            }
            SessionEvent::Cell(CellEvent::Display(display)) => {
                let (kind, content) = messages::display_message(&display);
                server.publish(parent, kind, content).await;
            }
            SessionEvent::Cell(CellEvent::Clear { wait }) => {
                let content = json!({ "wait": wait });
                server.publish(parent, "clear_output", content).await;
            }
            SessionEvent::Cell(CellEvent::Comm(message)) => {
                comms.on_message(&message);
                server
                    .publish_message(parent, messages::comm_message(message, parent))
                    .await;
            }
            SessionEvent::Notice(notice) => {
                let hints = notice.hints.iter().map(|hint| format!("  hint: {hint}\n"));
                let text = format!("{}\n{}", notice.message, hints.collect::<String>());
                print(server, parent, STDERR, &text).await;
            }
            SessionEvent::RuntimeDied { death, restarting } => {
                comms.clear();
                let notice = death_notice(&death.to_string(), restarting);
                print(server, parent, STDERR, &format!("{}\n", notice.message)).await;
            }
            // No other event outside of runs has a message.
            SessionEvent::Cell(_)
            | SessionEvent::Begin(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(_)
            | SessionEvent::Text(_)
            | SessionEvent::After(_) => {}
        }
    }
}

async fn print(server: &KernelServer, parent: Option<&Value>, name: &str, text: &str) {
    server
        .publish(parent, "stream", json!({"name": name, "text": text}))
        .await;
}
