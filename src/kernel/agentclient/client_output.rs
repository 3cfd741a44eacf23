//! The output of a cell of the `agentclient` kernel.
//!
//! In: agent events, and lines of our own. Out: messages under the header of the request. Invariant: a fold is followed
//! by an empty text on standard output, without which some clients hold back the output behind it.

use std::sync::Arc;

use serde_json::json;

use super::event_formatter::{EventFormatter, OutputPiece};
use crate::agent::AgentEvent;
use crate::jupyter::{ClientRequest, KernelServer};
use crate::kernel::cell_output::CellOutput;
use crate::kernel::messages::Failure;
use crate::output::MimeBundle;
use crate::runtime::{DisplayData, OutputStream};
use crate::session::{AnswerEvent, answer_event};
use crate::text::escape::xml_text;

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
        if self.markdown && !matches!(event, AgentEvent::Notice { .. }) {
            let event = match event {
                // The start limit is not configurable here.
                AgentEvent::Starting { turn, agent, .. } => AgentEvent::Starting {
                    turn,
                    agent,
                    limit: None,
                },
                AgentEvent::Sent { .. } => {
                    return self.output.on_answer(AnswerEvent::AgentStarts(None)).await;
                }
                event => event,
            };
            if let Some(event) = answer_event(event) {
                self.output.on_answer(event).await;
            }
            return;
        }
        let pieces = self.formatter.on(event);
        self.write(pieces).await;
    }

    /// Prints a line of our own behind a mark.
    pub(super) async fn note(&mut self, mark: &str, text: &str) {
        let pieces = self.formatter.note(mark, text);
        self.write(pieces).await;
    }

    /// Ends unfinished lines of a turn.
    pub(super) async fn end_turn(&mut self) {
        let pieces = self.formatter.finish();
        self.write(pieces).await;
    }

    /// Prints a text of our own, beginning on a new line.
    pub(super) async fn print(&mut self, stream: OutputStream, text: &str) {
        self.end_turn().await;
        self.output
            .write(stream, format!("{text}\n").as_bytes())
            .await;
    }

    async fn write(&mut self, pieces: Vec<OutputPiece>) {
        if self.markdown && !pieces.is_empty() {
            self.output.end_answer().await;
        }
        for piece in pieces {
            match piece {
                OutputPiece::Out(text) => {
                    self.output
                        .write(OutputStream::Stdout, text.as_bytes())
                        .await
                }
                OutputPiece::Err(text) => {
                    self.output
                        .write(OutputStream::Stderr, text.as_bytes())
                        .await
                }
                OutputPiece::Fold(summary, text) => self.fold(&summary, &text).await,
                OutputPiece::Picture(url) => self.output.picture(&url).await,
            }
        }
    }

    async fn fold(&mut self, summary: &str, text: &str) {
        let html = format!(
            "<details><summary>{}</summary><pre>{}</pre></details>",
            xml_text(summary),
            xml_text(text)
        );
        let bundle = MimeBundle::new(vec![
            ("text/html".into(), html.into()),
            ("text/plain".into(), format!("{summary}\n{text}").into()),
        ]);
        self.output.display(&DisplayData::new(bundle)).await;
        let nothing = json!({"name": "stdout", "text": ""});
        self.output.publish("stream", nothing).await;
    }

    /// Ends the cell, with the failure if there was one.
    pub(super) async fn finish(&mut self, failure: Option<&Failure>) {
        self.end_turn().await;
        self.output.finish().await;
        if let Some(failure) = failure {
            self.output.publish("error", failure.content()).await;
        }
    }
}
