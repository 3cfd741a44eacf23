//! `-c CODE`, piped text, and `run FILE`: cells without an editor.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::assemble::{Assembly, Wanted, assemble};
use crate::batch;
use crate::cli::args::{Arguments, Run};
use crate::cli::{load, resume};
use crate::environment::Environment;
use crate::input::split_piped;
use crate::notebook::read_script;
use crate::report::Report;
use crate::runtime::Stdin;
use crate::session::Submission;

/// How long the end of a session may take.
const LEAVE: Duration = Duration::from_secs(4);

/// The largest notebook that is read, in bytes.
const LARGEST_NOTEBOOK: u64 = 256 << 20;

/// Runs `-c CODE`, or what standard input holds.
pub(super) fn piped(arguments: &Arguments, environment: &Environment) -> Result<i32, Report> {
    match &arguments.code {
        Some(code) => work(
            vec![code.clone()],
            Manner {
                stop: true,
                stdin_is_free: true,
            },
            arguments,
            environment,
        ),
        None => {
            let cells = split_piped(&batch::standard_input()?);
            work(
                cells,
                Manner {
                    stop: false,
                    stdin_is_free: false,
                },
                arguments,
                environment,
            )
        }
    }
}

/// Runs a file of cells.
pub(super) fn file(
    run: &Run,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let from_stdin = run.file == Path::new("-");
    let cells = if from_stdin {
        split_piped(&batch::standard_input()?)
    } else {
        cells_of(&run.file)?
    };
    work(
        cells,
        Manner {
            stop: !run.allow_errors,
            stdin_is_free: !from_stdin,
        },
        arguments,
        environment,
    )
}

struct Manner {
    stop: bool,
    stdin_is_free: bool,
}

fn work(
    cells: Vec<String>,
    manner: Manner,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let load = load::files(arguments, environment)?;
    let wanted = Wanted {
        flags: arguments.common.flags(arguments.prompt_mode)?,
        resume: resume::named(arguments, environment)?,
        cells_own_a_terminal: false,
        stdin: if manner.stdin_is_free {
            Stdin::Ask
        } else {
            Stdin::Refuse
        },
        python_at_once: true,
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
    reports
        .iter()
        .try_for_each(|report| screen.report(report))?;
    let options = batch::Options {
        screen,
        appearance,
        pictures,
        terminal: environment.stdout_is_terminal,
        stop: manner.stop,
        load,
        stdin_is_free: manner.stdin_is_free,
    };
    let prompt_mode = settings.prompt_mode;
    if prompt_mode || cells.iter().any(|cell| cell.starts_with('.')) {
        session.warm_agent();
    }
    let inputs = cells.into_iter().map(|text| Submission {
        text,
        prompt_mode,
        ..Submission::default()
    });
    let status = batch::run(&session, &background, inputs, &options);
    session.close(LEAVE);
    // What at-exit functions printed.
    batch::drain(&background, &options)?;
    options.screen.flush()?;
    status
}

/// The cells of a `.py` or `.ipynb` file.
fn cells_of(path: &Path) -> Result<Vec<String>, Report> {
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
        return notebook_cells(&text, &name);
    }
    Ok(read_script(&text))
}

/// The sources of a notebook's code cells.
fn notebook_cells(text: &str, name: &str) -> Result<Vec<String>, Report> {
    let notebook: Value = serde_json::from_str(text).map_err(|error| {
        Report::failure(format!("`{name}` is not a notebook: invalid JSON")).because(error)
    })?;
    let cells = notebook
        .get("cells")
        .and_then(Value::as_array)
        .ok_or_else(|| {
            Report::failure(format!(
                "`{name}` is not a notebook of format 4: it has no list of cells"
            ))
        })?;
    let source = |cell: &Value| match &cell["source"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    };
    Ok(cells
        .iter()
        .filter(|cell| cell["cell_type"] == "code")
        .map(source)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notebooks_give_their_code() {
        let text = r#"{"cells": [{"cell_type": "code", "source": ["a = 1\n", "a"]},
                       {"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": "b"}]}"#;
        assert_eq!(notebook_cells(text, "n").unwrap(), ["a = 1\na", "b"]);
        assert!(
            notebook_cells("{", "n")
                .unwrap_err()
                .message
                .contains("invalid JSON")
        );
        assert!(
            notebook_cells("{}", "n")
                .unwrap_err()
                .message
                .contains("no list of cells")
        );
    }
}
