//! The command line: what was typed, and which front-end or subcommand it means.
//!
//! One file per subcommand; each is a function from arguments to an exit code or a report.

mod about;
mod args;
mod ask;
mod crash;
mod doctor;
mod door;
mod export;
mod kernel;
mod load;
mod mcp;
mod notebook;
mod repl;
mod resume;
mod run;
mod script;
mod search;
mod sessions;
mod setup;
mod skills;
mod version;
mod work;

use std::time::{Duration, Instant};

use clap::Parser;
use clap::error::ErrorKind;

use crate::config::Paths;
use crate::environment::Environment;
use crate::report::{Report, ReportKind};
use crate::runtime::connect::keep_gateway;
use crate::screen::{ColorChoice, Screen};
use crate::trace::{self, STARTUP};
use args::{Arguments, Subcommands};

/// Runs the program; returns its exit code. What went wrong is printed.
pub fn main() -> i32 {
    let began = Instant::now();
    let environment = Environment::capture();
    crash::report_panics(&environment);
    if let Some(wanted) = environment.variable(trace::VARIABLE)
        && let Err(report) = traced(wanted, began, &environment)
    {
        return ended(&report, &environment);
    }
    let (typed, rest) = script::without_arguments(std::env::args_os().collect());
    let (typed, traits) = args::without_traits(typed.into_iter());
    let arguments = match Arguments::try_parse_from(&typed) {
        Ok(mut arguments) => {
            arguments.common.traits = traits;
            arguments.arguments = rest;
            arguments
        }
        Err(error) => {
            if error.kind() == ErrorKind::UnknownArgument
                && let Some(report) = args::mistyped(typed.into_iter())
            {
                return ended(&report, &environment);
            }
            // A closed pipe is nobody's fault.
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
                _ => 2,
            };
        }
    };
    match dispatch(arguments, &environment) {
        Ok(status) => status,
        Err(report) => ended(&report, &environment),
    }
}

/// Begins the log of what passes, and says where it is.
fn traced(wanted: &str, began: Instant, environment: &Environment) -> Result<(), Report> {
    let folder = Paths::new(environment, None, None).state_dir;
    let path = trace::begin(wanted, &folder, began)?;
    let said = format!("{} is written to {}", trace::VARIABLE, path.display());
    Screen::open(environment, ColorChoice::Auto)?.notice(&said)?;
    log::trace!(target: STARTUP, "ipycodex {}", env!("CARGO_PKG_VERSION"));
    Ok(())
}

/// Says what went wrong; the exit code it means.
fn ended(report: &Report, environment: &Environment) -> i32 {
    if report.kind != ReportKind::BrokenPipe
        && let Ok(screen) = Screen::open(environment, ColorChoice::Auto)
    {
        // Without standard error the exit code has to say it.
        let _ = screen.report(report);
    }
    report.exit_code()
}

fn dispatch(arguments: Arguments, environment: &Environment) -> Result<i32, Report> {
    match arguments.command {
        None if arguments.leaves()
            || !environment.stdin_is_terminal
            || !environment.stdout_is_terminal =>
        {
            run::piped(&arguments, environment)
        }
        None => repl::run(&arguments, environment),
        Some(Subcommands::Ask(ref ask)) => ask::run(ask, &arguments, environment),
        Some(Subcommands::Run(ref run)) => run::file(run, &arguments, environment),
        Some(Subcommands::Sessions(ref sessions)) => {
            sessions::run(sessions, &arguments, environment)
        }
        Some(Subcommands::Search(ref search)) => search::run(search, &arguments, environment),
        Some(Subcommands::Export(ref export)) => export::run(export, &arguments, environment),
        Some(Subcommands::Notebook(ref notebook)) => {
            notebook::run(notebook, &arguments, environment)
        }
        Some(Subcommands::Skills(ref skills)) => skills::run(skills, &arguments, environment),
        Some(Subcommands::Doctor(ref doctor)) => doctor::run(doctor, &arguments, environment),
        Some(Subcommands::Setup(ref setup)) => setup::run(setup, &arguments, environment),
        Some(Subcommands::Mcp(ref mcp)) => mcp::run(mcp, &arguments, environment),
        Some(Subcommands::Kernel(ref kernel)) => kernel::run(kernel, &arguments, environment),
        Some(Subcommands::Completions { shell }) => about::completions(shell, environment),
        Some(Subcommands::Man { ref command }) => about::manual(command, environment),
        Some(Subcommands::Demo { .. }) => {
            crate::agent::demo::acp::serve(std::io::stdin().lock(), std::io::stdout())
                .map(|()| 0)
                .map_err(Report::from)
        }
        Some(Subcommands::KeepGateway {
            folder,
            python,
            idle,
        }) => Ok(keep_gateway(
            folder,
            &python,
            environment.variables.clone(),
            Duration::from_secs(idle),
        )),
        Some(Subcommands::DemoAgent { .. }) => {
            crate::agent::demo::serve(std::io::stdin().lock(), std::io::stdout())
                .map(|()| 0)
                .map_err(Report::from)
        }
    }
}
