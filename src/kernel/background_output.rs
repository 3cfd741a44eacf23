//! Output outside of runs: of tasks and threads of cells that have ended, and of objects that got a comm message.
//!
//! Invariant: output has the header of the request that ran its cell, as long as that is remembered; other output
//! has the header of the last request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::cell_output::CellOutput;
use super::event_mapper::EventMapper;
use super::messages::Comms;
use super::stream_buffer::sleep_until;
use crate::display::death_notice;
use crate::jupyter::{ClientRequest, KernelServer};
use crate::session::{CellEvent, NextEvent, Notice, Run, SessionEvent};

/// The most cells whose requests are remembered.
const MAX_CELLS: usize = 256;

pub(super) struct BackgroundOutput {
    /// Events outside of runs.
    run: Run,
    cells: VecDeque<(u32, Arc<ClientRequest>)>,
    last_request: Option<Arc<ClientRequest>>,
    output: CellOutput,
}

impl BackgroundOutput {
    pub(super) fn new(run: Run, server: KernelServer) -> Self {
        BackgroundOutput {
            run,
            cells: VecDeque::new(),
            last_request: None,
            output: CellOutput::new(server, None, false, false),
        }
    }

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

    /// Waits for an event; `None` when printed text is to be sent.
    pub(super) async fn next(&self) -> Option<SessionEvent> {
        tokio::select! {
            Some(event) = self.run.next() => Some(event),
            () = sleep_until(self.output.due()) => None,
        }
    }

    /// Publishes the events that have happened.
    pub(super) async fn flush(&mut self, comms: &mut Comms) {
        while let NextEvent::Event(event) = self.run.next_blocking(Some(Duration::ZERO)) {
            self.publish(comms, Some(*event)).await;
        }
        self.publish(comms, None).await;
    }

    /// Publishes an event, or the printed text.
    pub(super) async fn publish(&mut self, comms: &mut Comms, event: Option<SessionEvent>) {
        let (request, event) = match event {
            None => return self.output.flush().await,
            Some(SessionEvent::Cell(CellEvent::Late { line, event })) => {
                let known = self.cells.iter().rev().find(|(number, _)| *number == line);
                let request = known.map(|(_, request)| request).cloned();
                let request = request.or_else(|| self.last_request.clone());
                (request, SessionEvent::Cell(*event))
            }
            Some(event) => (self.last_request.clone(), event),
        };
        let is_printed = matches!(event, SessionEvent::Cell(CellEvent::Output { .. }));
        if !is_printed {
            self.output.flush().await;
        }
        self.output.set_request(request).await;
        let event = match event {
            SessionEvent::Cell(
                CellEvent::Output { .. }
                | CellEvent::Display(_)
                | CellEvent::Clear { .. }
                | CellEvent::Comm(_),
            )
            | SessionEvent::Notice(_) => event,
            SessionEvent::RuntimeDied { death, restarting } => {
                comms.clear();
                let notice = death_notice(&death.to_string(), restarting);
                Notice::note(notice.message).into()
            }
            // No other event outside of runs has a message.
            SessionEvent::Cell(_)
            | SessionEvent::Begin(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(_)
            | SessionEvent::Text(_)
            | SessionEvent::After(_) => return,
        };
        for out in EventMapper::new("", comms).on(event, false) {
            self.output.put(out).await;
        }
        match is_printed {
            true => self.output.send_due().await,
            false => self.output.flush().await,
        }
    }
}
