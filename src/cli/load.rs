//! `-l FILE` and `ipycodex FILE`: the files to load before the first input.
//!
//! Invariant: the files are looked up here, so that a wrong name ends the program before anything starts.

use std::path::{Path, PathBuf};

use crate::cli::args::{self, Arguments};
use crate::config::Paths;
use crate::environment::Environment;
use crate::runtime::connect::ScriptRun;
use crate::session::{LoadRequest, not_found_message};
use crate::text::report::Report;

/// Returns the files in the order they are loaded.
///
/// # Errors
/// A file does not exist, or its name is neither a notebook's nor a script's.
pub(super) fn files(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Vec<LoadRequest>, Report> {
    // With `-i` the file is a script, and is run.
    let file = arguments.file.as_ref().filter(|_| !arguments.interactive);
    if let Some(file) = file
        && !loadable(file)
    {
        return Err(args::no_command(&file.to_string_lossy()));
    }
    let named = arguments.load.iter().map(|file| match loadable(file) {
        true => file.clone(),
        false => PathBuf::from(format!("{}.ipynb", file.display())),
    });
    let files = named.chain(file.cloned());
    files.map(|file| found(file, environment)).collect()
}

/// Returns the script for the interpreter's `__file__` and `sys.argv`: the last of several.
pub(super) fn script(files: &[LoadRequest]) -> Option<ScriptRun> {
    let is_script = |file: &&LoadRequest| {
        let suffix = file.path.extension();
        suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("py"))
    };
    files.iter().rfind(is_script).map(|file| ScriptRun {
        file: PathBuf::from(&file.shown),
        arguments: Vec::new(),
        alone: false,
    })
}

fn found(file: PathBuf, environment: &Environment) -> Result<LoadRequest, Report> {
    let shown = file.display().to_string();
    let path = match &environment.cwd {
        Some(cwd) => cwd.join(&file),
        None => file,
    };
    if !path.exists() {
        return Err(Report::failure(not_found_message(&path, &shown)));
    }
    Ok(LoadRequest {
        path,
        shown,
        startup: false,
    })
}

fn loadable(file: &Path) -> bool {
    let suffix = file.extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| {
        ["ipynb", "py"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(suffix))
    })
}

pub(super) fn startup(paths: &Paths) -> LoadRequest {
    LoadRequest {
        path: paths.startup_notebook.clone(),
        shown: "startup.ipynb".to_owned(),
        startup: true,
    }
}
