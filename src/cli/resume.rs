//! `-r`: which session is meant, by number, by name, or picked from a list.

use std::path::PathBuf;

use crate::cli::args::Arguments;
use crate::config::{Settings, resolve};
use crate::environment::Environment;
use crate::record::Archive;
use crate::report::Report;
use crate::screen::Screen;
use crate::terminal::picker::{PickerOutcome, pick_at_startup};

/// Where a session can be looked up.
const LIST: &str = "`ipycodex sessions --all` lists what can be resumed";

/// The session to take up, picked by the user where none is named; `None`: a fresh one.
///
/// # Errors
/// There is no such session, or the terminal or the record cannot be used.
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

/// The session named on the command line; `None` when `-r` is not there.
///
/// # Errors
/// There is no such session, or `-r` names none.
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

/// The number of the session that is meant by `name`, its number or its name.
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

/// The record, to look sessions up in; nothing is written by that.
pub(super) fn archive(settings: &Settings) -> Result<Option<Archive>, Report> {
    Archive::open(&settings.paths.history, &settings.paths.artifacts)
}
