//! The output of a cell of the `agentclient` kernel.
//!
//! In: agent events, and lines of our own. Out: messages under the header of the request.

use std::sync::Arc;

use super::event_formatter::EventFormatter;
use crate::agent::AgentEvent;
use crate::jupyter::{ClientRequest, KernelServer};
use crate::kernel::cell_output::CellOutput;
use crate::kernel::event_mapper::Out;
use crate::kernel::messages::Failure;
use crate::runtime::OutputStream;
use crate::session::{AnswerEvent, answer_event};

pub(super) struct ClientOutput {
    pub(super) output: CellOutput,
    formatter: EventFormatter,
    /// Answers are shown as markdown in a display that is updated.
    markdown: bool,
}

impl ClientOutput {
    pub(super) fn new(
        server: KernelServer,
        request: &Arc<ClientRequest>,
        silent: bool,
        markdown: bool,
    ) -> Self {
        ClientOutput {
            output: CellOutput::new(server, Some(Arc::clone(request)), silent, !markdown),
            formatter: EventFormatter::default(),
            markdown,
        }
    }

    pub(super) async fn on(&mut self, event: AgentEvent) {
        let out = match self.markdown && !matches!(event, AgentEvent::Notice { .. }) {
            true => Vec::from_iter(answer(event).map(Out::Answer)),
            false => self.formatter.on(event),
        };
        self.put(out).await;
    }

    /// Prints a line of our own behind a mark.
    pub(super) async fn note(&mut self, mark: &str, text: &str) {
        let out = self.formatter.note(mark, text);
        self.put(out).await;
    }

    /// Ends unfinished lines of a turn.
    pub(super) async fn end_turn(&mut self) {
        let out = self.formatter.finish();
        self.put(out).await;
    }

    /// Prints a text of our own, beginning on a new line.
    pub(super) async fn print(&mut self, stream: OutputStream, text: &str) {
        self.end_turn().await;
        self.output.print(stream, text).await;
    }

    async fn put(&mut self, all: Vec<Out>) {
        for out in all {
            self.output.put(out).await;
        }
    }

    /// Ends the cell, with the failure if there was one.
    pub(super) async fn finish(&mut self, failure: Option<&Failure>) {
        self.end_turn().await;
        self.output.finish().await;
        let error = failure.map(|failure| Out::Error(failure.content()));
        self.put(Vec::from_iter(error)).await;
    }
}

/// The event of an answer that is shown as markdown.
fn answer(event: AgentEvent) -> Option<AnswerEvent> {
    match event {
        // The start limit is not configurable here.
        AgentEvent::Starting { turn, agent, .. } => answer_event(AgentEvent::Starting {
            turn,
            agent,
            limit: None,
        }),
        AgentEvent::Sent { .. } => Some(AnswerEvent::AgentStarts(None)),
        event => answer_event(event),
    }
}
