//! The end of a session: stops the active job, writes pending rows and files, ends both peers.
//!
//! In: the commands that still come; an interrupt stops the waiting. Out: [`SessionEnd`]. Invariant: the end takes
//! a bounded time, even if the interpreter hangs.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::SessionEnd;
use crate::effect::Event;
use crate::events::{CellEvent, Notice, report_notice};
use crate::handle::Command;
use crate::runtime::{RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest, VariablesRequest};
use crate::session::Session;
use crate::text::report::Report;
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

/// Stops what runs, writes what is pending and ends both peers.
pub(super) async fn leave(
    mut session: Session,
    mut reports: UnboundedReceiver<Report>,
    who: &mut ShutdownInbox,
) -> SessionEnd {
    session.raise(Event::Interrupted);
    session.drain();
    session.state.scheduler.clear();
    session.raise(Event::Closing);
    session.drain();
    session.io.runtimes.end_branches();
    let asides = session.io.asides.take().into_iter();
    let asides = asides.map(|aside| tokio::task::spawn_blocking(move || aside.end()));
    let asides: Vec<_> = asides.collect();
    for aside in asides {
        // Without an end in time, it ends with this process.
        let _ = aside.await;
    }
    // A record that was locked at the start may have the number by now.
    if session.state.numbering.session() == 0 {
        session
            .state
            .numbering
            .on_start(session.io.record.session().await);
    }
    session.io.record.close();
    // Outputs that cannot be written now are lost.
    let _ = session.io.outputs.write_waiting();
    let left = match keep_variables_at_end(&mut session, who).await {
        Ok(()) => shut_down(&mut session, who).await,
        late => late,
    };
    // An interpreter that is late is ended when its handle is dropped below: by request, then by force.
    if !matches!(left, Err(WaitAborted::TimedOut)) {
        if left.is_err() {
            session.io.runtimes.user.kill();
        }
        // The process is reaped while the record is closed.
        drop(session.io.runtimes.user);
    }
    session.io.workbook.finish().await;
    // They end when the record has let go of its file: what could not be written is told of last.
    while let Some(report) = reports.recv().await {
        session.state.background.send(report_notice(&report));
    }
    SessionEnd {
        resumable: session.state.numbering.resumable(),
    }
}

async fn shut_down(session: &mut Session, who: &mut ShutdownInbox) -> Result<(), WaitAborted> {
    let Some(id) = session.io.runtimes.user.shut_down() else {
        return Ok(());
    };
    let what = "waiting for functions that run at exit";
    last_answer(session, id, LEAVE, what, who).await.map(drop)
}

async fn keep_variables_at_end(
    session: &mut Session,
    who: &mut ShutdownInbox,
) -> Result<(), WaitAborted> {
    let (choices, user) = (&session.state.choices, &session.io.runtimes.user);
    let Some(file) = variables::file_to_keep_in(choices, user, &session.io.outputs) else {
        return Ok(());
    };
    let wish = VariablesRequest::Save;
    let request = RuntimeRequest::Variables { wish, file };
    let id = session.io.runtimes.user.get().submit(request);
    let what = "keeping the variables";
    let answered = last_answer(session, id, KEEPING, what, who).await;
    let said = match &answered {
        Ok(Some(answer)) => variables::kept_notice(answer, session.state.numbering.session()),
        Ok(None) => None,
        Err(WaitAborted::TimedOut) => Some(Notice::warning(
            "variables were not kept: the interpreter was busy until the end",
        )),
        Err(WaitAborted::Interrupted) => Some(Notice::warning("variables were not kept")),
    };
    said.into_iter()
        .for_each(|notice| session.state.background.send(notice));
    answered.map(drop)
}

/// Waits for an answer of the user's interpreter at the session's end, up to a limit or until the user leaves
/// at once; the notice names `what`.
async fn last_answer(
    session: &mut Session,
    wanted: RequestId,
    most: Duration,
    what: &str,
    who: &mut ShutdownInbox,
) -> Result<Option<RuntimeReply>, WaitAborted> {
    let background = session.state.background.clone();
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
            if matches!(&command, Command::Event(event) if matches!(**event, Event::Interrupted)) {
                return;
            }
            who.held.push(command);
        }
        std::future::pending().await
    };
    let answered = tokio::time::timeout(most, until_answered(session, wanted));
    tokio::select! {
        answer = answered => answer.map_err(|_| WaitAborted::TimedOut),
        () = interrupted => Err(WaitAborted::Interrupted),
        () = tells => Err(WaitAborted::TimedOut),
    }
}

/// Returns the interpreter's answer to this request and drops all other events meanwhile; `None` when the
/// interpreter died.
pub(super) async fn until_answered(
    session: &mut Session,
    wanted: RequestId,
) -> Option<RuntimeReply> {
    loop {
        match session.io.runtimes.user.next().await {
            RuntimeEvent::Replied { id, answer } if id == wanted => return Some(answer),
            RuntimeEvent::Died { .. } => return None,
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => session.state.background.send(CellEvent::Output {
                stream,
                bytes,
                foreign,
            }),
            _ => {}
        }
    }
}
