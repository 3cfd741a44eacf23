//! The event loop: takes commands and the events of both peers, and handles one at a time.
//!
//! The loop never waits for a reply: replies come back as later commands or events. A front-end that does not read
//! holds up the events of both peers (and so the cell's output), never the commands. Shutdown is a command, too.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::Parts;
use crate::config::RewindFiles;
use crate::effect::Event;
use crate::events::{Notice, report_notice};
use crate::handle::{Command, SessionHandle, Shared};
use crate::process::give_back_memory;
use crate::query::answer;
use crate::resume::began;
use crate::run::{Run, RunSender, stream};
use crate::session::Session;
use crate::shutdown::{ShutdownInbox, leave};
use crate::text::report::Report;

/// Starts a session on a thread of its own; the second value carries the events outside of runs.
///
/// # Errors
/// Fails when no thread can be started.
pub fn start(parts: Parts) -> Result<(SessionHandle, Run), Report> {
    let (commands, inbox) = tokio::sync::mpsc::unbounded_channel();
    let (background, run_of_background) = stream();
    let language = parts.runtime.capabilities.language.clone();
    let (handle, shared) = SessionHandle::new(commands.clone(), language);
    std::thread::Builder::new()
        .name("session".into())
        .spawn(move || run(parts, inbox, commands, background, shared))
        .map_err(|error| Report::no_thread("of the session", &error))?;
    Ok((handle, run_of_background))
}

fn run(
    parts: Parts,
    inbox: UnboundedReceiver<Command>,
    commands: UnboundedSender<Command>,
    background: RunSender,
    shared: Arc<Shared>,
) {
    let runtime_at_once = parts.runtime_at_once;
    let (session, reports) = Session::new(parts, commands, background.clone(), shared);
    let Ok(executor) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    else {
        background.send(Notice::warning("could not start the session's timer"));
        return;
    };
    executor.block_on(work(session, inbox, reports, runtime_at_once));
}

async fn work(
    mut session: Session,
    mut inbox: UnboundedReceiver<Command>,
    mut reports: UnboundedReceiver<Report>,
    runtime_at_once: bool,
) {
    let (start, started) = (began(session.io.record.clone()), session.io.inbox.clone());
    if session.io.runtimes.user.is_told_at_start() {
        // The record reports its start quickly, even while other processes hold the file.
        let (start, thread) = start.await;
        session.raise(Event::Started(start, thread));
        session.drain();
    } else {
        tokio::spawn(async move {
            let (start, thread) = start.await;
            // Fails when the session has ended.
            let _ = started.send(Event::Started(start, thread).into());
        });
    }
    if runtime_at_once {
        session.io.runtimes.user.get();
    }
    let keeps_files = session.state.choices.rewind_files != RewindFiles::Off;
    let directory = session.state.cwd.clone();
    session.io.keep_files(keeps_files, &directory);
    let mut worked = false;
    loop {
        session.drain();
        let works = session.state.scheduler.active().is_some();
        if std::mem::replace(&mut worked, works) && !works {
            give_back_memory();
        }
        let out = session.state.scheduler.out().cloned();
        let keeps_up =
            out.as_ref().is_none_or(RunSender::is_ready) && session.state.background.is_ready();
        let prompt = session.state.scheduler.prompt();
        let save = prompt.and_then(|prompt| prompt.save_deadline());
        let look_at = sooner(save, session.state.tool_runner.deadline());
        let look_at = sooner(look_at, session.state.kernels.due());
        tokio::select! {
            biased;
            command = inbox.recv() => match command {
                Some(Command::Close { tells, answer }) => {
                    let mut who = ShutdownInbox::new(tells, inbox);
                    let closed = leave(session, reports, &mut who).await;
                    let _ = answer.send(closed);
                    return;
                }
                Some(Command::Event(event)) => {
                    if let Event::Input(_, out) | Event::Queued(_, out) = &*event {
                        out.end_after(&session.io.record);
                    }
                    session.raise(*event);
                }
                Some(Command::Query(query)) => answer(query, &session.state, &mut session.io),
                None => return,
            },
            Some(report) = reports.recv() => session.state.background.send(report_notice(&report)),
            (role, event) = session.io.runtimes.next(), if keeps_up => {
                if let Some(event) = session.io.hear(role, event) {
                    session.raise(event);
                }
            }
            event = session.io.agent.get_mut().next(), if keeps_up => {
                session.io.files.on_agent(&event);
                session.raise(Event::Agent(event));
            }
            () = caught_up(out.as_ref(), &session.state.background), if !keeps_up => {}
            () = at(look_at), if look_at.is_some() => session.raise(Event::DeadlineReached),
        }
    }
}

async fn caught_up(out: Option<&RunSender>, background: &RunSender) {
    if let Some(out) = out {
        out.ready().await;
    }
    background.ready().await;
}

fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

async fn at(instant: Option<Instant>) {
    if let Some(instant) = instant {
        tokio::time::sleep_until(instant.into()).await;
    }
}
