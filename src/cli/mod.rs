//! The command line: parses it and runs the front-end or subcommand it names.
//!
//! One file per subcommand; each is a function from arguments to an exit code or a report.

mod about;
mod args;
mod ask;
mod crash;
mod doctor;
mod export;
mod kernel;
mod load;
mod mcp;
mod notebook;
mod repl;
mod resume;
mod run;
mod run_plan;
mod script;
mod search;
mod session;
mod sessions;
mod setup;
mod skills;
mod version;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};

use crate::config::Paths;
use crate::environment::Environment;
use crate::process::share_heap;
use crate::runtime::connect::keep_gateway;
use crate::screen::{ColorChoice, Screen};
use crate::text::report::{Report, ReportKind};
use crate::text::trace::{STARTUP, VARIABLE};
use crate::trace;
use args::{Arguments, Subcommands};

/// Runs the program and prints its report, if it fails; returns the exit code.
pub fn main() -> i32 {
    let began = Instant::now();
    share_heap();
    let environment = Environment::capture();
    crash::report_panics(&environment);
    if let Some(wanted) = environment.variable(VARIABLE)
        && let Err(report) = traced(wanted, began, &environment)
    {
        return ended(&report, &environment);
    }
    let command = Arguments::command();
    let (typed, rest) = script::without_arguments(&command, std::env::args_os().collect());
    let (typed, traits) = args::without_traits(&command, typed.into_iter());
    let arguments = match parse(command, &typed) {
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
            // Clap shows arguments as they are.
            let said = error.to_string();
            if error.use_stderr() && said.contains(|c: char| c.is_control() && c != '\n') {
                let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end();
                return ended(&Report::usage(said), &environment);
            }
            // A closed pipe is no failure.
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

/// Parses the command line with `command`, which is [`Arguments::command`].
///
/// Copying the common options into every command takes longer than parsing the line. A line that names no command
/// is therefore parsed without the commands, unless it has an error or requests help.
fn parse(mut command: Command, typed: &[OsString]) -> Result<Arguments, clap::Error> {
    let names_command = |word: &OsString| word == "help" || command.find_subcommand(word).is_some();
    if !typed.iter().any(names_command) {
        let shell = Command::new("ipycodex")
            .args(command.get_arguments().cloned())
            .groups(command.get_groups().cloned());
        if let Ok(mut matches) = shell.try_get_matches_from(typed)
            && let Ok(arguments) = Arguments::from_arg_matches_mut(&mut matches)
        {
            return Ok(arguments);
        }
    }
    let mut matches = command.try_get_matches_from_mut(typed)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn traced(wanted: &str, began: Instant, environment: &Environment) -> Result<(), Report> {
    let folder = Paths::new(environment, None, None).state_dir;
    let path = trace::init(wanted, &folder, began)?;
    let said = format!("{} is written to {}", VARIABLE, path.display());
    Screen::open(environment, ColorChoice::Auto)?.print_notice(&said)?;
    log::trace!(target: STARTUP, "ipycodex {}", env!("CARGO_PKG_VERSION"));
    Ok(())
}

fn ended(report: &Report, environment: &Environment) -> i32 {
    if report.kind != ReportKind::BrokenPipe
        && let Ok(screen) = Screen::open(environment, ColorChoice::Auto)
    {
        // Without standard error only the exit code reports the failure.
        let _ = screen.print_report(report);
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_line_is_read_alike_with_and_without_the_commands() {
        for line in [
            "",
            "-pc 1+1",
            "--agent demo --no-record x.py",
            "-r",
            "-l a.ipynb -r 3",
            "--matplotlib --ext a --ext b",
            "-c 1 -m a",
            "--pdb run x.py",
            "--model run",
            "help run",
            "--profile p --no-profile",
            "--version",
            "sesions",
            "-- run",
        ] {
            let words = std::iter::once("ipycodex").chain(line.split_whitespace());
            let words: Vec<OsString> = words.map(OsString::from).collect();
            let shown = |read: Result<Arguments, clap::Error>| match read {
                Ok(arguments) => format!("{arguments:?}"),
                Err(error) => error.to_string(),
            };
            let read = parse(Arguments::command(), &words);
            assert_eq!(
                shown(read),
                shown(Arguments::try_parse_from(&words)),
                "{line}"
            );
        }
    }
}
