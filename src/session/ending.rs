//! The end of a session: what runs is stopped, what is there is written, both peers are ended.
//!
//! Out: [`Closed`]. Invariant: it takes a bounded time, whatever the interpreter does.

use std::time::Duration;

use crate::session::Closed;
use crate::session::floor::FloorEvent;
use crate::session::prompt::PromptEvent;
use crate::session::task::Session;

/// How long the end of a session waits for an interpreter's at-exit functions.
const LEAVE: Duration = Duration::from_millis(1500);

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
}
