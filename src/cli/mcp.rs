//! `mcp`: our tools for a client of the Model Context Protocol, over standard input and output.
//!
//! In: the command line. Out: a connection to a running shell, or a session of its own. Absent on purpose: the
//! protocol (`crate::mcp`).

use std::path::Path;
use std::time::Duration;

use crate::assemble::{Assembly, SessionOptions, assemble};
use crate::cli::args::{Allow, Arguments, Mcp};
use crate::cli::{resume, session};
use crate::config::resolve;
use crate::environment::Environment;
use crate::mcp::{self, Permission, PermissionSet, RunningShell};
use crate::screen::Screen;
use crate::session::{NextEvent, SessionEvent};
use crate::text::report::Report;

const LEAVE: Duration = Duration::from_secs(4);

const START: &str =
    "start `ipycodex` in a terminal, or leave the option out to work in a session without one";

pub(super) fn run(
    wanted: &Mcp,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let (shells, refused) = mcp::running_shells(&settings.paths.run_dir)?;
    let screen = Screen::open(environment, settings.color)?;
    refused
        .iter()
        .try_for_each(|why| screen.print_notice(&format!("could not attach: {why}")))?;
    match chosen(shells, wanted, arguments, environment)? {
        Some(shell) => mcp::relay(shell).map(|()| 0),
        None => alone(wanted, arguments, environment),
    }
}

/// Returns the shell to attach to; `None`: use a session of our own.
fn chosen(
    shells: Vec<RunningShell>,
    wanted: &Mcp,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Option<RunningShell>, Report> {
    if let Some(process) = wanted.shell {
        let found = shells.into_iter().find(|shell| shell.process == process);
        let none = || Report::failure(format!("there is no running shell {process}")).hint(START);
        return found.map(Some).ok_or_else(none);
    }
    if let Some(session) = &wanted.session {
        let number = resume::number(session, arguments, environment)?;
        let running: Vec<String> = shells.iter().map(described).collect();
        let found = shells.into_iter().find(|shell| shell.session == number);
        return found.map(Some).ok_or_else(|| {
            let report = Report::failure(format!("no running shell has session {session} open"))
                .hint(format!("open it in a terminal: `ipycodex -r {session}`"));
            match running.is_empty() {
                true => report,
                false => report.hint(format!(
                    "sessions open in running shells: {}",
                    running.join(", ")
                )),
            }
        });
    }
    let here = environment.cwd.as_deref().unwrap_or(Path::new("/"));
    match nearest(shells, here) {
        None if wanted.here => {
            Err(Report::failure(format!("no shell runs in `{}`", here.display())).hint(START))
        }
        found => Ok(found),
    }
}

fn described(shell: &RunningShell) -> String {
    format!("{} in `{}`", shell.session, shell.cwd.display())
}

/// Returns the shell that started us; else the newest shell in this directory, or in its git root.
fn nearest(mut shells: Vec<RunningShell>, here: &Path) -> Option<RunningShell> {
    let root = |path: &Path| {
        let mut above = path.ancestors();
        above
            .find(|path| path.join(".git").exists())
            .map(Path::to_owned)
    };
    let project = root(here);
    let is = |shell: &RunningShell, place: &dyn Fn(&Path) -> bool| {
        place(&shell.cwd) || place(&shell.started_in)
    };
    let at = (shells.iter().position(|shell| shell.inside))
        .or_else(|| {
            shells
                .iter()
                .position(|shell| is(shell, &|place| place == here))
        })
        .or_else(|| {
            let same = |place: &Path| project.is_some() && root(place) == project;
            shells.iter().position(|shell| is(shell, &same))
        })?;
    Some(shells.swap_remove(at))
}

/// Serves a session of our own, which ends with the client.
fn alone(wanted: &Mcp, arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    let assembly = SessionOptions {
        at_home: true,
        takes_clients: false,
        ..session::options(&arguments.common, false)?
    };
    let Assembly {
        session,
        background,
        screen,
        reports,
        ..
    } = assemble(environment, assembly)?;
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    // The user's start-up files run first: calls wait for them.
    let home = session.run_startup();
    std::thread::Builder::new()
        .name("background".into())
        .spawn(move || {
            for run in [home, background] {
                while let NextEvent::Event(event) = run.next_blocking(None) {
                    if let SessionEvent::Notice(notice) = *event {
                        // Standard error may be closed.
                        let _ = screen.print_notice(&notice.message);
                    }
                }
            }
        })
        .map_err(|error| Report::no_thread("that shows notices", &error))?;
    let served = mcp::serve(&session, allowance(&wanted.allow));
    session.close(LEAVE);
    served.map(|()| 0)
}

fn allowance(allow: &[Allow]) -> PermissionSet {
    let each = allow.iter().flat_map(|allow| match allow {
        Allow::Cells => vec![Permission::Cells],
        Allow::Files => vec![Permission::Files],
        Allow::Skills => vec![Permission::Skills],
        Allow::Unprotected => vec![Permission::Unprotected],
        Allow::All => Permission::ALL.into(),
    });
    PermissionSet(each.collect())
}
