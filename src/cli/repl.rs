//! `ipycodex`: the REPL.
//!
//! In: the command line. Out: its exit status. Assembles the session, and passes it to `crate::terminal`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::assemble::{Assembly, SessionOptions, assemble};
use crate::cli::args::Arguments;
use crate::cli::{load, resume, script, session};
use crate::config::RuntimeChoice;
use crate::environment::Environment;
use crate::mcp::SocketServer;
use crate::runtime::Stdin;
use crate::session::report_notice;
use crate::terminal::{self, Greeting};
use crate::text::report::Report;
use crate::text::trace::STARTUP;

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    let resume = resume::chosen(arguments, environment)?;
    let load = load::files(arguments, environment)?;
    let first = script::first_input(arguments, environment)?;
    let fresh = resume.is_none();
    let wanted = SessionOptions {
        resume,
        cells_own_a_terminal: true,
        stdin: Stdin::Terminal,
        asks: true,
        script: load::script(&load),
        at_home: true,
        prompt_first: fresh && load.is_empty() && first.is_none(),
        ..session::options(&arguments.common, arguments.prompt_mode)?
    };
    let Assembly {
        session,
        background,
        screen,
        appearance,
        pictures,
        recall,
        settings,
        reports,
        first: new_record,
        python,
        waiting,
        ..
    } = assemble(environment, wanted)?;
    // The MCP socket is open while the shell lives, and is opened only after the first prompt.
    let server = Arc::new(Mutex::new(None));
    let (opened, left) = (Arc::clone(&server), Arc::clone(&server));
    let close = |server: &Mutex<Option<SocketServer>>| {
        drop(server.lock().unwrap_or_else(PoisonError::into_inner).take());
    };
    let (host, run_dir) = (session.clone(), settings.paths.run_dir.clone());
    let started_in = environment.cwd.clone().unwrap_or_default();
    let ready: terminal::Ready = Box::new(move |say| {
        log::trace!(target: STARTUP, "the prompt stands");
        drop(waiting);
        let trouble = move |report: Report| say(&report_notice(&report));
        let socket = SocketServer::open(&run_dir, host, started_in, trouble);
        *opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
    });
    let options = terminal::ReplOptions {
        ready,
        dying: Box::new(move || close(&left)),
        screen,
        appearance,
        pictures,
        recall,
        history_hint: settings.choices.history_hint,
        prompt_mode: settings.choices.prompt_mode,
        keys: settings.keys,
        edit_mode: settings.choices.edit_mode,
        external_editor: external_editor(environment),
        asks_background: !settings.choices.code_theme_chosen,
        reports,
        greeting: (arguments.resume.is_none() && settings.choices.greeting).then(|| Greeting {
            first: new_record,
            python,
            elsewhere: (settings.choices.runtime != RuntimeChoice::Embedded)
                .then(|| settings.choices.runtime.to_string()),
            ipython: settings.ipython,
            agent: settings.choices.agent.to_string(),
        }),
        startup: fresh.then(|| load::startup(&settings.paths)),
        load,
        first,
        environment: environment.clone(),
        record: [
            settings.paths.history.clone(),
            settings.paths.artifacts.clone(),
        ],
        resumed: !fresh,
    };
    let status = terminal::run(&session, background, options);
    close(&server);
    status
}

fn external_editor(environment: &Environment) -> Option<String> {
    let named = ["VISUAL", "EDITOR"];
    named
        .into_iter()
        .find_map(|name| environment.variable(name))
        .map(str::to_owned)
}
