//! `export`: a session of the record as a notebook, a page, a document or a script.
//!
//! Needs neither Python nor an agent, and writes only the output file. On a terminal long work shows its progress.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::cli::args::{Arguments, Export};
use crate::cli::resume::archive;
use crate::config::resolve;
use crate::environment::Environment;
use crate::screen::Screen;
use crate::session::{FileForm, SaveTarget, write_file};
use crate::text::report::Report;

/// Time before the first progress notice, and between two of them.
const PATIENT: Duration = Duration::from_secs(2);

pub(super) fn run(
    export: &Export,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let shown = export.output.display().to_string();
    let Some(form) = FileForm::of(&export.output) else {
        return Err(
            Report::usage(format!("cannot tell the format from the name `{shown}`"))
                .hint("name a .ipynb, .md, .html or .py file"),
        );
    };
    let (settings, reports) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    let found = match archive(&settings)? {
        Some(mut archive) => archive.read_session(export.id)?,
        None => None,
    };
    let Some(saved) = found else {
        return Err(Report::failure(format!("Session {} not found", export.id))
            .hint("`ipycodex sessions --all` lists the newest"));
    };
    let target = SaveTarget {
        path: export.output.clone(),
        form,
        force: export.force,
        private: false,
        forcing: format!("ipycodex export {} --force -o {shown}", export.id),
    };
    let (of, mut told) = (saved.entries().len(), Instant::now());
    let shows = std::io::stderr().is_terminal();
    let unkept = write_file(&saved, &format!("Session {}", export.id), &target, |done| {
        if shows && told.elapsed() >= PATIENT {
            told = Instant::now();
            // A failed progress notice is ignored.
            let _ = screen.print_notice(&format!("writing `{shown}`: {done} of {of}"));
        }
    })?;
    screen.write_untrusted(&format!("Exported {} to {shown}.\n", saved.summary()))?;
    unkept
        .iter()
        .try_for_each(|line| screen.print_notice(line))?;
    screen.flush()?;
    Ok(0)
}
