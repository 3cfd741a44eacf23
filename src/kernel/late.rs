//! What shows itself outside of runs: tasks and threads of cells that ended, objects that were told something.
//!
//! Invariant: it goes under the header of the request whose cell it is of, as long as that is remembered; what is
//! nobody's goes under that of the last one.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::comms::Comms;
use super::forms;
use super::printed::Printed;
use super::voice::Voice;
use crate::display::died;
use crate::jupyter::Request;
use crate::output::STDERR;
use crate::session::{CellEvent, SessionEvent};

/// Cells whose requests are remembered.
const REMEMBERED: usize = 256;

/// Whose output is whose.
#[derive(Debug, Default)]
pub(super) struct Late {
    cells: VecDeque<(u32, Arc<Request>)>,
    last: Option<Arc<Request>>,
    /// What was printed and not sent yet, and whose it is.
    printed: Printed,
    of: Option<Arc<Request>>,
}

impl Late {
    /// The cell of this number was this request's.
    pub(super) fn ran(&mut self, line: u32, request: Arc<Request>) {
        self.now(Arc::clone(&request));
        self.cells.push_back((line, request));
        let surplus = self.cells.len().saturating_sub(REMEMBERED);
        self.cells.drain(..surplus);
    }

    /// What comes now is a consequence of this.
    pub(super) fn now(&mut self, request: Arc<Request>) {
        self.last = Some(request);
    }

    /// When what was printed is to be sent; `None`: there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        self.printed.due(Instant::now())
    }

    /// Sends what was printed.
    pub(super) async fn flush(&mut self, voice: &Voice) {
        let parent = self.of.as_deref().map(Request::header);
        for (name, text) in self.printed.take(Instant::now()) {
            print(voice, parent, name, &text).await;
        }
    }

    /// Tells an event.
    pub(super) async fn tell(&mut self, voice: &Voice, comms: &mut Comms, event: SessionEvent) {
        let (request, event) = match event {
            SessionEvent::Cell(CellEvent::Late { line, event }) => {
                let known = self.cells.iter().rev().find(|(number, _)| *number == line);
                let request = known.map(|(_, request)| request).or(self.last.as_ref());
                (request.cloned(), SessionEvent::Cell(*event))
            }
            event => (self.last.clone(), event),
        };
        let parent = request.as_deref().map(Request::header);
        let name = |request: &Option<Arc<Request>>| request.as_ref().map(Arc::as_ptr);
        let prints = matches!(event, SessionEvent::Cell(CellEvent::Output { .. }));
        if !prints || name(&self.of) != name(&request) {
            self.flush(voice).await;
            self.of.clone_from(&request);
        }
        match event {
            SessionEvent::Cell(CellEvent::Output { stream, bytes, .. }) => {
                self.printed.push(stream, &bytes);
                if self.printed.is_due(Instant::now()) {
                    self.flush(voice).await;
                }
            }
            SessionEvent::Cell(CellEvent::Display(display)) => {
                let (kind, content) = forms::display(&display);
                voice.publish(parent, kind, content).await;
            }
            SessionEvent::Cell(CellEvent::Clear { wait }) => {
                let content = json!({ "wait": wait });
                voice.publish(parent, "clear_output", content).await;
            }
            SessionEvent::Cell(CellEvent::Comm(message)) => {
                comms.says(&message);
                voice
                    .publish_whole(parent, forms::comm(message, parent))
                    .await;
            }
            SessionEvent::Notice(notice) => {
                let hints = notice.hints.iter().map(|hint| format!("  hint: {hint}\n"));
                let text = format!("{}\n{}", notice.message, hints.collect::<String>());
                print(voice, parent, STDERR, &text).await;
            }
            SessionEvent::RuntimeDied { death, restarting } => {
                comms.clear();
                let notice = died(&death.to_string(), restarting);
                print(voice, parent, STDERR, &format!("{}\n", notice.message)).await;
            }
            // Nothing else happens outside of runs that a client could show.
            SessionEvent::Cell(_)
            | SessionEvent::Begin(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(_)
            | SessionEvent::Told(_)
            | SessionEvent::After(_) => {}
        }
    }
}

async fn print(voice: &Voice, parent: Option<&Value>, name: &str, text: &str) {
    voice
        .publish(parent, "stream", json!({"name": name, "text": text}))
        .await;
}
