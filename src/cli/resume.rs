//! `-r`: finds the session to resume, by number, by name, or from a picker.
//!
//! In: the command line and the record. Out: the number of a session. Invariant: the record is only read.

use std::path::PathBuf;

use crate::cli::args::Arguments;
use crate::config::{Settings, resolve};
use crate::environment::Environment;
use crate::record::Archive;
use crate::screen::Screen;
use crate::terminal::picker::{PickerOutcome, pick_at_startup};
use crate::text::report::Report;

const LIST: &str = "`ipycodex sessions --all` lists what can be resumed";

/// Returns the session to resume, picked by the user where none is named; `None`: start a fresh one.
///
/// # Errors
/// The session does not exist, or the terminal or the record is not usable.
pub(super) fn chosen(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Option<i64>, Report> {
    let Some(None) = &arguments.resume else {
        return named(arguments, environment);
    };
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let cwd = environment
        .cwd
        .clone()
        .unwrap_or_else(|| PathBuf::from("/"));
    let picked = match archive(&settings)? {
        Some(mut archive) => pick_at_startup(&screen, &mut archive, &cwd)?,
        None => PickerOutcome::Nothing,
    };
    match picked {
        PickerOutcome::Session(id) => Ok(Some(id)),
        PickerOutcome::Cancelled => Ok(None),
        PickerOutcome::Nothing => {
            screen.write_trusted(b"No sessions found for this directory.\n")?;
            screen.flush()?;
            Ok(None)
        }
    }
}

/// Returns the session named on the command line; `None` without `-r`.
///
/// # Errors
/// The session does not exist, or `-r` has no value.
pub(super) fn named(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Option<i64>, Report> {
    let name = match &arguments.resume {
        None => return Ok(None),
        Some(None) => {
            return Err(Report::usage(
                "`-r` needs the number or name of a session here: there is no list to pick it from",
            )
            .hint("name the session: `-r ID` or `-r NAME`")
            .hint(LIST));
        }
        Some(Some(name)) => name,
    };
    number(name, arguments, environment).map(Some)
}

/// Returns the number of the session with this number or name.
///
/// # Errors
/// There is no such session, or there are several.
pub(super) fn number(
    name: &str,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i64, Report> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let named = match archive(&settings)? {
        Some(mut archive) => archive.named(name)?,
        None => Vec::new(),
    };
    match named[..] {
        [only] => Ok(only),
        [] => Err(Report::failure(format!("Session {name} not found")).hint(LIST)),
        [newest, ..] => {
            let numbers: Vec<String> = named.iter().map(i64::to_string).collect();
            Err(Report::failure(format!(
                "several sessions are named `{name}`: {}",
                numbers.join(", ")
            ))
            .hint(format!("name it by its number: `ipycodex -r {newest}`")))
        }
    }
}

pub(super) fn archive(settings: &Settings) -> Result<Option<Archive>, Report> {
    Archive::open(&settings.paths.history, &settings.paths.artifacts)
}
