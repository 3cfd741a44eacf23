//! The end of a session: stops the active job, writes pending rows and files, ends both peers.
//!
//! In: the commands that still come; an interrupt stops the waiting. Out: [`SessionEnd`]. Invariant: the end takes
//! a bounded time, even if the interpreter hangs.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::SessionEnd;
use crate::effect::{Effect, Event};
use crate::event_loop::Session;
use crate::events::{CellEvent, Notice};
use crate::handle::Command;
use crate::prompt::PromptEvent;
use crate::runtime::{RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest, VariablesRequest};
use crate::variables;

/// Longest wait for an interpreter's at-exit functions: longer than the runtime's own limit for them plus the time
/// until the interpreter reads the request.
const LEAVE: Duration = Duration::from_millis(6500);
/// Longest wait for the variables; a busy interpreter keeps none, and is not waited for again.
const KEEPING: Duration = Duration::from_secs(2);
/// Time after which a wait is reported.
const SOON: Duration = Duration::from_millis(300);

pub(super) struct ShutdownInbox {
    /// The user sees notices as they are sent.
    tells: bool,
    inbox: UnboundedReceiver<Command>,
    /// Other commands that came meanwhile; they get no answer, and their channels close with the session.
    held: Vec<Command>,
}

impl ShutdownInbox {
    pub(super) fn new(tells: bool, inbox: UnboundedReceiver<Command>) -> Self {
        let held = Vec::new();
        ShutdownInbox { tells, inbox, held }
    }
}

enum WaitAborted {
    TimedOut,
    /// The user does not want to wait.
    Interrupted,
}

impl Session {
    /// Stops what runs, writes what is pending and ends both peers.
    pub(super) async fn leave(mut self, who: &mut ShutdownInbox) -> SessionEnd {
        self.raise(Event::Interrupted);
        self.drain();
        self.state.scheduler.clear();
        // A stopped turn no longer waits for its code, and is recorded.
        self.state.tool_runner.abandon();
        self.end_all_kernels();
        self.raise_prompt(PromptEvent::ToolsStopped);
        self.drain();
        // A record that was locked at the start may have the number by now.
        if self.state.numbering.session() == 0 {
            self.state
                .numbering
                .on_start(self.io.record.session().await);
        }
        self.io.record.close();
        // Outputs that cannot be written now are lost.
        let _ = self.io.outputs.write_waiting();
        let left = match self.keep_variables_at_end(who).await {
            Ok(()) => self.shut_down(who).await,
            late => late,
        };
        // An interpreter that is late is ended when its handle is dropped below: by request, then by force.
        if !matches!(left, Err(WaitAborted::TimedOut)) {
            if left.is_err() {
                self.io.runtimes.user.kill();
            }
            // The process is reaped while the record is closed.
            drop(self.io.runtimes.user);
        }
        self.io.workbook.finish().await;
        self.io.record.flush().await;
        SessionEnd {
            resumable: self.state.numbering.resumable(),
        }
    }

    /// Keeps the variables before a change to another session; returns the notices for when it is done.
    pub(super) fn keep_variables(&mut self) -> impl Future<Output = Vec<Effect>> + use<> {
        let told = self.file_to_keep_in().map(|file| {
            let wish = VariablesRequest::Save;
            self.ask_for(RuntimeRequest::Variables { wish, file })
        });
        variables::keep_effects(told, self.state.numbering.session())
    }

    async fn shut_down(&mut self, who: &mut ShutdownInbox) -> Result<(), WaitAborted> {
        let Some(id) = self.io.runtimes.user.shut_down() else {
            return Ok(());
        };
        let what = "waiting for functions that run at exit";
        self.last_answer(id, LEAVE, what, who).await.map(drop)
    }

    async fn keep_variables_at_end(&mut self, who: &mut ShutdownInbox) -> Result<(), WaitAborted> {
        let Some(file) = self.file_to_keep_in() else {
            return Ok(());
        };
        let wish = VariablesRequest::Save;
        let request = RuntimeRequest::Variables { wish, file };
        let id = self.io.runtimes.user.get().submit(request);
        let what = "keeping the variables";
        let answered = self.last_answer(id, KEEPING, what, who).await;
        let said = match &answered {
            Ok(Some(answer)) => variables::kept_notice(answer, self.state.numbering.session()),
            Ok(None) => None,
            Err(WaitAborted::TimedOut) => Some(Notice::warning(
                "variables were not kept: the interpreter was busy until the end",
            )),
            Err(WaitAborted::Interrupted) => Some(Notice::warning("variables were not kept")),
        };
        said.into_iter()
            .for_each(|notice| self.state.background.send(notice));
        answered.map(drop)
    }

    /// Waits for an answer of the user's interpreter at the session's end, up to a limit or until the user leaves
    /// at once; the notice names `what`.
    async fn last_answer(
        &mut self,
        wanted: RequestId,
        most: Duration,
        what: &str,
        who: &mut ShutdownInbox,
    ) -> Result<Option<RuntimeReply>, WaitAborted> {
        let background = self.state.background.clone();
        let tells = async {
            if who.tells {
                tokio::time::sleep(SOON).await;
                let note = format!("{what}; Ctrl-C leaves at once");
                background.send(Notice::note(note));
            }
            std::future::pending().await
        };
        let interrupted = async {
            while let Some(command) = who.inbox.recv().await {
                if matches!(command, Command::Interrupt) {
                    return;
                }
                who.held.push(command);
            }
            std::future::pending().await
        };
        let answered = tokio::time::timeout(most, self.until_answered(wanted));
        tokio::select! {
            answer = answered => answer.map_err(|_| WaitAborted::TimedOut),
            () = interrupted => Err(WaitAborted::Interrupted),
            () = tells => Err(WaitAborted::TimedOut),
        }
    }

    /// Returns the interpreter's answer to this request and drops all other events meanwhile; `None` when the
    /// interpreter died.
    pub(super) async fn until_answered(&mut self, wanted: RequestId) -> Option<RuntimeReply> {
        loop {
            match self.io.runtimes.user.next().await {
                RuntimeEvent::Replied { id, answer } if id == wanted => return Some(answer),
                RuntimeEvent::Died { .. } => return None,
                RuntimeEvent::Output {
                    stream,
                    bytes,
                    foreign,
                    ..
                } => self.state.background.send(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                }),
                _ => {}
            }
        }
    }

    fn file_to_keep_in(&self) -> Option<PathBuf> {
        let user = &self.io.runtimes.user;
        let wanted =
            self.state.choices.keep_variables && user.able().saved_variables && user.is_up();
        wanted
            .then(|| self.io.outputs.file_of_variables())
            .flatten()
    }
}
