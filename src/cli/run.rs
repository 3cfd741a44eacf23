//! `-c CODE`, piped text, and `run FILE`: cells without an editor.

use std::path::Path;
use std::time::Duration;

use crate::assemble::{Assembly, Wanted, assemble};
use crate::batch;
use crate::cli::args::{Arguments, Run};
use crate::cli::{load, resume};
use crate::environment::Environment;
use crate::input::Mode;
use crate::input::split_piped;
use crate::notebook::{Notebook, broken_cells, code_cells, read_script};
use crate::report::Report;
use crate::runtime::connect::ScriptRun;
use crate::runtime::{Place, Stdin};
use crate::session::{Loading, Submission};

/// How long the end of a session may take.
const LEAVE: Duration = Duration::from_secs(4);

/// The largest notebook that is read, in bytes.
const LARGEST_NOTEBOOK: u64 = 256 << 20;

/// Runs `-c CODE`, or what standard input holds.
pub(super) fn piped(arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    let (cells, stop) = match &arguments.code {
        Some(code) => (vec![code.clone()], true),
        None => (split_piped(&batch::standard_input()?), false),
    };
    let load = load::files(arguments, environment)?;
    let work = Work {
        stop,
        stdin_is_free: stop,
        once: true,
        script: load::script(&load),
        load,
        ..Work::of(cells)
    };
    run(work, arguments, environment)
}

/// Runs a file of cells.
pub(super) fn file(
    what: &Run,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let mut work = if what.file == Path::new("-") {
        Work {
            once: true,
            ..Work::of(split_piped(&batch::standard_input()?))
        }
    } else {
        Work {
            stdin_is_free: true,
            ..work_of(&what.file)?
        }
    };
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
    let work = Work {
        stop: !what.allow_errors,
        load: load::files(arguments, environment)?,
        ..work
    };
    run(work, arguments, environment)
}

/// What is to be run, and how.
#[derive(Default)]
struct Work {
    cells: Vec<Submission>,
    /// Parts of a file that were left out.
    left_out: Vec<String>,
    load: Vec<Loading>,
    script: Option<ScriptRun>,
    stop: bool,
    stdin_is_free: bool,
    /// A command line or a text that is nowhere else.
    once: bool,
}

impl Work {
    fn of(cells: Vec<String>) -> Self {
        let cells = cells.into_iter().map(|text| Submission {
            text,
            ..Submission::default()
        });
        Work {
            cells: cells.collect(),
            ..Work::default()
        }
    }
}

fn run(work: Work, arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    let wanted = Wanted {
        flags: arguments.common.flags(arguments.prompt_mode)?,
        resume: resume::named(arguments, environment)?,
        once: work.once,
        cells_own_a_terminal: false,
        stdin: if work.stdin_is_free {
            Stdin::Ask
        } else {
            Stdin::Refuse
        },
        runtime_at_once: true,
        script: work.script,
    };
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
    work.left_out
        .iter()
        .try_for_each(|line| screen.notice(line))?;
    reports
        .iter()
        .try_for_each(|report| screen.report(report))?;
    let options = batch::Options {
        screen,
        appearance,
        pictures,
        terminal: environment.stdout_is_terminal,
        stop: work.stop,
        load: work.load,
        stdin_is_free: work.stdin_is_free,
    };
    let prompt_mode = settings.choices.prompt_mode;
    if prompt_mode || work.cells.iter().any(|cell| cell.text.starts_with('.')) {
        session.warm_agent();
    }
    let inputs = work.cells.into_iter().map(|cell| Submission {
        mode: if prompt_mode {
            Mode::Prompts
        } else {
            Mode::Cells
        },
        ..cell
    });
    let status = batch::run(&session, &background, inputs, &options);
    session.close(LEAVE);
    // What at-exit functions printed.
    batch::drain(&background, &options)?;
    options.screen.flush()?;
    status
}

/// The cells of a `.py` or `.ipynb` file.
fn work_of(path: &Path) -> Result<Work, Report> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| {
        Report::failure(format!("cannot read `{name}`"))
            .because(error)
            .hint("name a `.py` or `.ipynb` file, or `-`")
    };
    if std::fs::metadata(path).map_err(failed)?.len() > LARGEST_NOTEBOOK {
        return Err(Report::failure(format!("`{name}` is larger than 256 MiB")));
    }
    let text = batch::as_text(std::fs::read(path).map_err(failed)?, &format!("`{name}`"))?;
    if path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
    {
        return of_notebook(&text, &name);
    }
    let file = std::path::absolute(path).map_err(failed)?;
    Ok(of_script(&text, path, &file))
}

fn of_script(text: &str, named: &Path, file: &Path) -> Work {
    let cells = read_script(text);
    let last = cells.len();
    let cells = (1..).zip(cells).map(|(number, cell)| Submission {
        text: cell.source,
        place: Some(Place {
            file: file.to_owned(),
            line: cell.line,
            last: number == last,
        }),
        ..Submission::default()
    });
    Work {
        cells: cells.collect(),
        script: Some(ScriptRun {
            file: named.to_owned(),
            arguments: Vec::new(),
            alone: true,
        }),
        ..Work::default()
    }
}

fn of_notebook(text: &str, name: &str) -> Result<Work, Report> {
    let notebook =
        Notebook::parse(text).map_err(|error| Report::failure(format!("`{name}` {error}")))?;
    let left_out = broken_cells(&notebook).into_iter();
    let left_out = left_out.map(|fault| format!("`{name}`: {fault}; it was left out"));
    Ok(Work {
        left_out: left_out.collect(),
        ..Work::of(code_cells(&notebook))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notebooks_give_their_code() {
        let text = r#"{"cells": [{"cell_type": "code", "source": ["a = 1\n", "a"]}, {"cell_type": "code"},
                       {"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": "b"}]}"#;
        let work = of_notebook(text, "n").unwrap();
        let texts: Vec<&str> = work.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["a = 1\na", "b"]);
        assert_eq!(
            work.left_out[0],
            "`n`: cell 2 of 4 has no `source`; it was left out"
        );
        for (text, said) in [("{", "is not valid JSON"), ("{}", "no list of cells")] {
            let report = of_notebook(text, "n").err().unwrap();
            assert!(report.message.contains(said), "{report}");
        }
    }
}
