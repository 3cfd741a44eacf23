//! `-c CODE`, piped text, and `run FILE`: cells without an editor.
//!
//! In: the command line. Out: the exit code. Assembles a session, passes a [`RunPlan`] to `crate::batch`, and
//! closes the session.

use std::time::{Duration, Instant};

use crate::assemble::{Assembly, SessionOptions, assemble};
use crate::batch::{self, NotebookRun, PipedInput};
use crate::cli::args::{Arguments, Run};
use crate::cli::run_plan::{RunPlan, new_notebook, plan_run};
use crate::cli::session::{self, LEAVE, open_socket};
use crate::cli::{load, resume, script};
use crate::config::RuntimeChoice;
use crate::environment::Environment;
use crate::input::{Mode, has_prompt_dot};
use crate::runtime::Stdin;
use crate::session::Submission;
use crate::text::report::Report;

/// Runs the first input of the command line, then standard input, unless the program ends after the first input.
pub(super) fn piped(arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    let first = RunPlan::of(
        script::first_input(arguments, environment)?
            .into_iter()
            .collect(),
    );
    let work = match arguments.leaves() {
        true => RunPlan {
            stop: true,
            stdin_is_free: true,
            ..first
        },
        false => RunPlan {
            cells: first.cells,
            ..RunPlan::piped()?
        },
    };
    let load = load::files(arguments, environment)?;
    let work = RunPlan {
        once: true,
        script: load::script(&load),
        at_home: true,
        load,
        ..work
    };
    run(work, &Shown::default(), arguments, environment)
}

#[derive(Default)]
struct Shown {
    json: bool,
    timeout: Option<Duration>,
}

pub(super) fn file(
    what: &Run,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let mut work = plan_run(what)?;
    match &mut work.script {
        Some(script) => script.arguments.clone_from(&what.arguments),
        None if what.arguments.is_empty() => {}
        None => {
            let name = what.file.display();
            return Err(Report::usage(format!(
                "`{name}` takes no arguments: it is not a script"
            )));
        }
    }
    let work = RunPlan {
        stop: !what.allow_errors,
        load: load::files(arguments, environment)?,
        ..work
    };
    let shown = Shown {
        json: what.json,
        timeout: what.timeout,
    };
    run(work, &shown, arguments, environment)
}

fn run(
    mut work: RunPlan,
    shown: &Shown,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let usual = session::options(&arguments.common, arguments.prompt_mode)?;
    let wanted = SessionOptions {
        resume: resume::named(arguments, environment)?,
        once: work.once,
        stdin: if work.stdin_is_free {
            Stdin::Ask
        } else {
            Stdin::Refuse
        },
        script: work.script,
        at_home: work.at_home,
        ..usual
    };
    let set_up = work.at_home || !wanted.ipython.is_empty();
    let Assembly {
        session,
        background,
        screen,
        appearance,
        pictures,
        settings,
        reports,
        ..
    } = assemble(environment, wanted)?;
    if let (Some(report), RuntimeChoice::Embedded) = (work.foreign, &settings.choices.runtime) {
        return Err(report);
    }
    let prompt_mode = settings.choices.prompt_mode;
    let prompts = prompt_mode || work.cells.iter().any(|cell| has_prompt_dot(&cell.text));
    let mut kept = match work.keep {
        Some(keep) => {
            let document = match keep.document {
                Some(document) => document,
                None => new_notebook(&work.cells, &settings.choices.runtime, prompts)?,
            };
            Some({
                let output = keep.output.as_deref();
                NotebookRun::begin(document, keep.cells, keep.untouched, output)?
            })
        }
        None => None,
    };
    let _socket = open_socket(&session, &settings, environment);
    work.left_out
        .iter()
        .try_for_each(|line| screen.print_notice(line))?;
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    let options = batch::BatchOptions {
        screen,
        appearance,
        pictures,
        terminal: environment.stdout_is_terminal,
        stop: work.stop,
        may_raise: work.may_raise,
        set_up,
        load: work.load,
        stdin_is_free: work.stdin_is_free,
        silent: shown.json,
        timeout: shown.timeout,
    };
    let began = Instant::now();
    if prompts {
        session.warm_agent();
    }
    let piped = work.piped.iter_mut().flatten().map(|text| Submission {
        text,
        ..Submission::default()
    });
    let inputs = work.cells.into_iter().chain(piped).map(|cell| Submission {
        mode: if prompt_mode {
            Mode::Prompts
        } else {
            Mode::Cells
        },
        ..cell
    });
    let status = batch::run(&session, &background, inputs, kept.as_mut(), &options);
    if let Some(kept) = &mut kept {
        kept.finish()?;
        if let Some(moved) = kept.moved() {
            options.screen.print_notice(&moved)?;
        }
        if let Some(unkept) = kept.unkept() {
            options.screen.print_notice(unkept)?;
        }
        if let (true, Ok(code)) = (shown.json, &status) {
            let summary = kept.summary(*code, began.elapsed());
            options
                .screen
                .write_trusted(format!("{summary}\n").as_bytes())?;
        }
    }
    session.close(LEAVE);
    // Output of at-exit functions.
    batch::drain(&background, &options)?;
    options.screen.flush()?;
    match work.piped.and_then(PipedInput::failure) {
        Some(failure) => Err(failure),
        None => status,
    }
}
