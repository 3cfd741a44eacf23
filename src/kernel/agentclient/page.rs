//! What a cell shows, on its way to the clients.
//!
//! Invariants: everything is under the header of its request; a fold is followed by an empty piece of standard output,
//! without which some clients keep back what comes behind it.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::marks::{Marks, Piece};
use crate::agent::AgentEvent;
use crate::jupyter::Request;
use crate::kernel::forms::Failure;
use crate::kernel::sheet::{Sheet, picture};
use crate::kernel::voice::Voice;
use crate::output::MimeBundle;
use crate::runtime::{Display, OutputStream};
use crate::session::{AnswerEvent, answer_event};
use crate::text::escape::xml_text;

/// The output of one cell.
pub(super) struct Page<'a> {
    sheet: Sheet<'a>,
    marks: Marks,
    /// Answers are markdown that grows.
    markdown: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(
        voice: &'a Voice,
        request: &Arc<Request>,
        silent: bool,
        markdown: bool,
    ) -> Self {
        Page {
            sheet: Sheet::new(voice, Arc::clone(request), silent, !markdown),
            marks: Marks::default(),
            markdown,
        }
    }

    /// Shows what an event says.
    pub(super) async fn on(&mut self, event: AgentEvent) {
        if self.markdown && !matches!(event, AgentEvent::Aside { .. }) {
            let event = match event {
                // The limit is no setting here.
                AgentEvent::Starting { turn, agent, .. } => AgentEvent::Starting {
                    turn,
                    agent,
                    limit: None,
                },
                AgentEvent::Sent { .. } => {
                    return self.sheet.answered(AnswerEvent::AgentStarts(None)).await;
                }
                event => event,
            };
            if let Some(event) = answer_event(event) {
                self.sheet.answered(event).await;
            }
            return;
        }
        let pieces = self.marks.on(event);
        self.show(pieces).await;
    }

    /// A line of ours behind a mark.
    pub(super) async fn say(&mut self, mark: &str, text: &str) {
        let pieces = self.marks.say(mark, text);
        self.show(pieces).await;
    }

    /// The turn is over.
    pub(super) async fn close(&mut self) {
        let pieces = self.marks.close();
        self.show(pieces).await;
    }

    /// A text of ours, on lines of its own.
    pub(super) async fn print(&mut self, stream: OutputStream, text: &str) {
        self.close().await;
        self.sheet
            .push(stream, format!("{text}\n").as_bytes())
            .await;
    }

    async fn show(&mut self, pieces: Vec<Piece>) {
        if self.markdown && !pieces.is_empty() {
            self.sheet.settle().await;
        }
        for piece in pieces {
            match piece {
                Piece::Out(text) => self.sheet.push(OutputStream::Stdout, text.as_bytes()).await,
                Piece::Err(text) => self.sheet.push(OutputStream::Stderr, text.as_bytes()).await,
                Piece::Fold(summary, text) => self.fold(&summary, &text).await,
                Piece::Picture(url) => {
                    if let Some(bundle) = picture(&url) {
                        self.sheet.show(&Display::of(bundle)).await;
                    }
                }
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
        self.sheet.show(&Display::of(bundle)).await;
        let nothing = json!({"name": "stdout", "text": ""});
        self.sheet.publish("stream", nothing).await;
    }

    /// When there is something to send; `None`: there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        self.sheet.due()
    }

    /// Sends what is due.
    pub(super) async fn send_due(&mut self) {
        self.sheet.send_due().await;
    }

    /// Asks whoever sent the request for a line; the name of the question.
    pub(super) async fn ask(&mut self, prompt: &str, secret: bool) -> String {
        self.sheet.flush().await;
        self.sheet.ask(prompt, secret).await
    }

    /// The cell is over, and has failed or not.
    pub(super) async fn finish(&mut self, failure: Option<&Failure>) {
        self.close().await;
        self.sheet.finish().await;
        if let Some(failure) = failure {
            self.sheet.publish("error", failure.content()).await;
        }
    }
}
