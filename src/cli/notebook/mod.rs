//! `notebook`: shows a notebook file as text, changes single cells, compares two files.
//!
//! Needs neither Python nor an agent, and writes only the changed file and extracted pictures.

mod args;
mod change;
mod opening;
mod show;

use crate::cli::args::Arguments;
use crate::config::resolve;
use crate::environment::Environment;
use crate::screen::Screen;
use crate::text::report::Report;

pub(super) use args::Notebook;
use args::NotebookCommand;

pub(super) fn run(
    notebook: &Notebook,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let terminal = environment.stdout_is_terminal;
    let code = match &notebook.command {
        NotebookCommand::Show(show) => show::show(show, &screen, terminal)?,
        NotebookCommand::Diff(options) => show::show_diff(options, &screen, terminal)?,
        NotebookCommand::Edit(edit) => change::edit(edit, &screen)?,
        NotebookCommand::Insert(insert) => change::insert(insert, &screen)?,
        NotebookCommand::Delete(delete) => change::delete(delete, &screen)?,
        NotebookCommand::Move(moved) => change::moved(moved, &screen)?,
        NotebookCommand::Apply(apply) => change::apply_text(apply, &screen)?,
    };
    screen.flush()?;
    Ok(code)
}
