//! The end of a session: what runs is stopped, what is there is written, both peers are ended.
//!
//! Out: [`Closed`]. Invariant: it takes a bounded time, whatever the interpreter does.

use std::path::PathBuf;
use std::time::Duration;

use crate::runtime::{RequestId, RuntimeAnswer, RuntimeEvent, RuntimeRequest, VariablesWish};
use crate::session::Closed;
use crate::session::commands::Deed;
use crate::session::events::{CellEvent, Notice};
use crate::session::floor::FloorEvent;
use crate::session::prompt::PromptEvent;
use crate::session::task::Session;
use crate::session::variables;

/// How long the end of a session waits for an interpreter's at-exit functions.
const LEAVE: Duration = Duration::from_millis(1500);
/// How long it waits for the variables to be kept; an interpreter that is busy keeps none.
const KEEPING: Duration = Duration::from_secs(1);

impl Session {
    /// Stops what runs, writes what is there and ends both peers.
    pub(super) async fn leave(mut self) -> Closed {
        self.on_floor(FloorEvent::Interrupted);
        self.floor.clear();
        // A stopped turn waits for its code no longer, and is recorded.
        self.toolbox.abandon();
        self.end_all_kernels();
        self.on_prompt(PromptEvent::ToolsAway);
        // A record that was locked at the start may have told the number since.
        if self.numbering.session() == 0 {
            self.numbering.on_start(self.history.session().await);
        }
        self.history.close();
        // What cannot be written now is lost with the memory it is in.
        let _ = self.outputs.write_waiting();
        self.keep_variables_at_end().await;
        if let Some(id) = self.runtimes.user.shut_down() {
            let gone = self.until_answered(id);
            // An interpreter that does not leave is ended when its handle is dropped.
            let in_time = tokio::time::timeout(LEAVE, gone).await;
            if in_time.is_ok() {
                // It is reaped while the record is being closed.
                drop(self.runtimes.user);
            }
        }
        self.workbook.finish().await;
        self.history.flush().await;
        Closed {
            resumable: self.numbering.resumable(),
        }
    }

    /// Keeps the variables, as the session is about to be left for another one; what is said of it, once it is done.
    pub(super) fn keep_variables(&mut self) -> impl Future<Output = Vec<Deed>> + use<> {
        let told = self.file_to_keep_in().map(|file| {
            let wish = VariablesWish::Keep;
            self.ask_for(RuntimeRequest::Variables { wish, file })
        });
        variables::kept(told, self.numbering.session())
    }

    /// Keeps the variables, as everything ends.
    pub(super) async fn keep_variables_at_end(&mut self) {
        let Some(file) = self.file_to_keep_in() else {
            return;
        };
        let wish = VariablesWish::Keep;
        let request = RuntimeRequest::Variables { wish, file };
        let id = self.runtimes.user.get().submit(request);
        let answered = tokio::time::timeout(KEEPING, self.until_answered(id)).await;
        let said = match answered {
            Ok(Some(answer)) => variables::said_of_end(answer, self.numbering.session()),
            Ok(None) => None,
            Err(_) => Some(Notice::warning(
                "variables were not kept: the interpreter was busy until the end",
            )),
        };
        said.into_iter()
            .for_each(|notice| self.background.send(notice));
    }

    /// The answer of the user's interpreter to this request, while nothing else is listened to; `None`: it died.
    pub(super) async fn until_answered(&mut self, wanted: RequestId) -> Option<RuntimeAnswer> {
        loop {
            match self.runtimes.user.next().await {
                RuntimeEvent::Answered { id, answer } if id == wanted => return Some(answer),
                RuntimeEvent::Died { .. } => return None,
                RuntimeEvent::Output {
                    stream,
                    bytes,
                    foreign,
                    ..
                } => self.background.send(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                }),
                _ => {}
            }
        }
    }

    fn file_to_keep_in(&self) -> Option<PathBuf> {
        let user = &self.runtimes.user;
        let wanted = self.choices.keep_variables && user.able().keeps_variables && user.is_up();
        wanted.then(|| self.outputs.file_of_variables()).flatten()
    }
}
