//! `setup`: creates the Python environment with IPython for users without one, updates it, removes it.
//!
//! Output of pip or uv goes to the terminal unchanged. Invariant: nothing else is changed.

use std::path::Path;
use std::process::Command;

use crate::assemble::python_plan;
use crate::cli::args::{Arguments, Setup};
use crate::config::{Settings, resolve};
use crate::environment::Environment;
use crate::files::private_dir;
use crate::runtime::connect::{ManagedPython, ManagedState, PythonPlan, interpreters};
use crate::screen::Screen;
use crate::text::escape::visible;
use crate::text::report::Report;

const PACKAGES: [&str; 2] = ["ipython", "matplotlib-inline"];
const UNDO: &str = "`ipycodex setup --undo` removes it";

pub(super) fn run(
    setup: &Setup,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let managed = ManagedPython::below(&settings.paths.data_dir);
    let place = settings.provenance.display_path(managed.folder());
    let say = |line: &str| {
        screen.write_untrusted(&format!("{}\n", visible(line)))?;
        screen.flush()?;
        Ok(())
    };
    let state = managed.state();
    if state == ManagedState::Foreign {
        return Err(
            Report::failure(format!("`{place}` was not made by `ipycodex setup`"))
                .hint("move it away, then run `ipycodex setup` again"),
        );
    }
    if setup.undo {
        if state == ManagedState::Missing {
            say(&format!(
                "There is nothing to remove: {place} does not exist."
            ))?;
            return Ok(0);
        }
        managed
            .remove()
            .map_err(|error| not_written(&place, &error))?;
        say(&format!("Removed {place}."))?;
        return Ok(0);
    }
    let uv = uv(environment);
    if state == ManagedState::Ready {
        say(&format!("Updating {place}"))?;
        install(&managed, uv.as_deref(), environment)?;
    } else {
        if state == ManagedState::Broken {
            say(&format!("{place} is incomplete: making it again"))?;
            managed
                .remove()
                .map_err(|error| not_written(&place, &error))?;
        }
        make(
            &managed,
            uv.as_deref(),
            &place,
            environment,
            &settings,
            &say,
        )?;
    }
    say(&format!(
        "{place} is ready: cells run there wherever no other environment is active; {UNDO}."
    ))?;
    Ok(0)
}

fn make(
    managed: &ManagedPython,
    uv: Option<&Path>,
    place: &str,
    environment: &Environment,
    settings: &Settings,
    say: &dyn Fn(&str) -> Result<(), Report>,
) -> Result<(), Report> {
    let cwd = environment.cwd.clone().unwrap_or_else(|| "/".into());
    let plan = PythonPlan {
        managed: None,
        ..python_plan(environment, settings, cwd)
    };
    let found = interpreters(&plan);
    let Some(base) = found.candidates.first() else {
        let report = Report::failure("no Python was found to make an environment with");
        return Err(found
            .rejected
            .iter()
            .fold(report, |report, why| report.because(why))
            .hint("install python3 (3.8 or newer), or name one with --python PATH"));
    };
    let with = if uv.is_some() { "uv and " } else { "" };
    say(&format!(
        "Making {place} with {with}{}",
        base.program.display()
    ))?;
    private_dir(&settings.paths.data_dir)?;
    managed
        .begin()
        .map_err(|error| not_written(place, &error))?;
    let mut command = match uv {
        Some(uv) => {
            let mut command = Command::new(uv);
            command.args(["venv", "--python"]).arg(&base.program);
            command
        }
        None => {
            let mut command = Command::new(&base.program);
            command.args(["-m", "venv"]);
            command
        }
    };
    command.arg(managed.folder());
    let without_venv = "on Debian and Ubuntu, `apt install python3-venv` installs what is missing";
    done(&mut command, environment).map_err(|report| report.hint(without_venv))?;
    install(managed, uv, environment)?;
    managed.finish().map_err(|error| not_written(place, &error))
}

fn install(
    managed: &ManagedPython,
    uv: Option<&Path>,
    environment: &Environment,
) -> Result<(), Report> {
    let interpreter = managed.interpreter();
    let mut command = match uv {
        Some(uv) => {
            let mut command = Command::new(uv);
            command
                .args(["pip", "install", "--python"])
                .arg(interpreter);
            command
        }
        None => {
            let mut command = Command::new(interpreter);
            command.args(["-m", "pip", "install", "--disable-pip-version-check"]);
            command
        }
    };
    done(command.arg("--upgrade").args(PACKAGES), environment).map_err(|report| {
        report.hint(format!(
            "its output is above; run `ipycodex setup` to try again ({UNDO})"
        ))
    })
}

/// Runs a command to its end, on our terminal.
fn done(command: &mut Command, environment: &Environment) -> Result<(), Report> {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let failed = || Report::failure(format!("`{}` failed", words.join(" ")));
    let kept = environment.variables.iter();
    let ours = kept.filter(|(name, _)| *name != "VIRTUAL_ENV" && *name != "PYTHONHOME");
    let status = command
        .env_clear()
        .envs(ours)
        .status()
        .map_err(|error| failed().because(error))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed().because(status)),
    }
}

fn uv(environment: &Environment) -> Option<std::path::PathBuf> {
    environment.find_program("uv")
}

fn not_written(place: &str, error: &std::io::Error) -> Report {
    Report::failure(format!("`{place}` cannot be changed")).because(error)
}
