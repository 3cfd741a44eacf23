//! The plan of a `run`: the cells of a file, in order, and the notebook that stores their outputs.
//!
//! In: the file and the options. Out: a [`RunPlan`]. Absent on purpose: running it.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::assemble::is_connection_file;
use crate::batch::{self, PipedInput};
use crate::cli::args::Run;
use crate::config::RuntimeChoice;
use crate::files::TrackedFile;
use crate::input::split_piped;
use crate::kernel::KernelKind;
use crate::notebook::document::{CellKind, Document, Draft, DraftCell, NewCell, NotebookError};
use crate::notebook::{
    LARGEST, broken_cells, cell_fault, language_mismatch, python_language_info, read_script,
    saved_prompt, with_parameters,
};
use crate::runtime::SourceLocation;
use crate::runtime::connect::ScriptRun;
use crate::session::{LoadRequest, Submission};
use crate::text::report::Report;

/// Tag of a cell that is not run (as in nbclient).
const SKIPPED: &str = "skip-execution";

/// Tag of a cell whose exception does not end the run (as in nbclient).
const MAY_RAISE: &str = "raises-exception";

#[derive(Default)]
pub(super) struct RunPlan {
    pub cells: Vec<Submission>,
    /// Further inputs after `cells`, run as they are read.
    pub piped: Option<PipedInput>,
    /// Descriptions of parts of the file that cannot be run.
    pub left_out: Vec<String>,
    pub load: Vec<LoadRequest>,
    /// Run the user's start-up files, as before a prompt.
    pub at_home: bool,
    pub script: Option<ScriptRun>,
    pub stop: bool,
    pub stdin_is_free: bool,
    /// The inputs are a command line or piped text, which no file contains.
    pub once: bool,
    /// Report about the file's language, unless a kernel was chosen that may match it.
    pub foreign: Option<Report>,
    /// Numbers of cells, from 0, whose exceptions are no failures.
    pub may_raise: Vec<usize>,
    pub keep: Option<Keep>,
}

pub(super) struct Keep {
    /// `None`: a new one is made from the cells.
    pub document: Option<Document>,
    /// The notebook's cell of each input.
    pub cells: Vec<usize>,
    /// Cells that are not changed, with their outputs.
    pub untouched: Vec<usize>,
    pub output: Option<PathBuf>,
}

impl RunPlan {
    pub(super) fn piped() -> Result<Self, Report> {
        Ok(RunPlan {
            piped: Some(PipedInput::standard_input()?),
            ..RunPlan::default()
        })
    }

    pub(super) fn of(cells: Vec<String>) -> Self {
        let cells = cells.into_iter().map(|text| Submission {
            text,
            ..Submission::default()
        });
        RunPlan {
            cells: cells.collect(),
            ..RunPlan::default()
        }
    }

    /// Stores the outputs in a new notebook.
    fn kept(mut self, output: Option<PathBuf>) -> Self {
        self.keep = Some(Keep {
            document: None,
            cells: (0..self.cells.len()).collect(),
            untouched: Vec::new(),
            output,
        });
        self
    }
}

/// Returns a new notebook for these cells. Its metadata name the kernel, since Jupyter would ask for one otherwise,
/// unless the name is unknown: that of a running kernel, and of a gateway's default.
pub(super) fn new_notebook(
    cells: &[Submission],
    runtime: &RuntimeChoice,
    prompts: bool,
) -> Result<Document, Report> {
    let of_python = |name: &str, shown: &str| {
        let kernel = json!({"display_name": shown, "language": "python", "name": name});
        json!({"kernelspec": kernel, "language_info": python_language_info()})
    };
    let named = |name: &str| json!({"kernelspec": {"display_name": name, "name": name}});
    let ours = KernelKind::Cells;
    let metadata = match runtime {
        RuntimeChoice::Embedded if prompts => of_python(ours.name(), ours.labels().0),
        RuntimeChoice::Embedded => of_python("python3", "Python 3 (ipykernel)"),
        RuntimeChoice::Jupyter(name) if is_connection_file(name) => json!({}),
        RuntimeChoice::Jupyter(name) => named(name),
        RuntimeChoice::Gateway(address) => {
            let kernel = address.split_once('#').map(|(_, kernel)| kernel);
            kernel.map_or_else(|| json!({}), named)
        }
    };
    let sources = cells.iter().map(|cell| cell.text.as_str());
    let slots = sources.map(|text| DraftCell::New(NewCell::new(CellKind::Code, text)));
    let draft = Draft {
        cells: slots.collect(),
        metadata: Vec::new(),
    };
    redone(&Document::with_metadata(&metadata), &draft, "the notebook")
}

/// Returns the plan for the arguments of `run`.
///
/// # Errors
/// The file is not readable or cannot be run, or an option does not apply to it.
pub(super) fn plan_run(what: &Run) -> Result<RunPlan, Report> {
    if let Some(output) = &what.output
        && !is_notebook(output)
    {
        let name = output.display();
        return Err(Report::usage(format!(
            "`--output {name}` is not a notebook: expected a .ipynb file"
        )));
    }
    if is_notebook(&what.file) {
        return notebook(what);
    }
    if !what.parameters.is_empty() {
        let name = what.file.display();
        return Err(Report::usage(format!(
            "`{name}` takes no parameters: they are for notebooks"
        ))
        .hint("pass arguments to a script: `ipycodex run FILE.py ARG…`"));
    }
    let kept = what.output.is_some() || what.json;
    let work = if what.file == Path::new("-") {
        // A notebook that stores outputs has all its cells before the first one runs.
        let work = match kept {
            true => RunPlan::of(split_piped(&batch::standard_input()?)),
            false => RunPlan::piped()?,
        };
        RunPlan { once: true, ..work }
    } else {
        RunPlan {
            stdin_is_free: true,
            ..script(&what.file)?
        }
    };
    Ok(match kept {
        true => work.kept(what.output.clone()),
        false => work,
    })
}

fn is_notebook(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

fn read(path: &Path) -> Result<String, Report> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| {
        Report::failure(format!("cannot read `{name}`"))
            .because(error)
            .hint("name a `.py` or `.ipynb` file, or `-`")
    };
    if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
        return Err(Report::failure(format!("`{name}` is larger than 256 MiB")));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    batch::as_text(bytes, &format!("`{name}`"))
}

fn script(path: &Path) -> Result<RunPlan, Report> {
    let text = read(path)?;
    let file = std::path::absolute(path).map_err(|error| {
        Report::failure(format!("cannot read `{}`", path.display())).because(error)
    })?;
    let cells = read_script(&text);
    let last = cells.len();
    let cells = (1..).zip(cells).map(|(number, cell)| Submission {
        text: cell.source,
        place: Some(SourceLocation {
            file: file.clone(),
            line: cell.line,
            last: number == last,
        }),
        ..Submission::default()
    });
    Ok(RunPlan {
        cells: cells.collect(),
        script: Some(ScriptRun {
            file: path.to_owned(),
            arguments: Vec::new(),
            alone: true,
        }),
        ..RunPlan::default()
    })
}

fn notebook(what: &Run) -> Result<RunPlan, Report> {
    let name = what.file.display().to_string();
    let (text, _) = TrackedFile::read(&what.file, LARGEST)?;
    let missing = || {
        Report::failure(format!("Notebook not found: {name}"))
            .hint("name a `.py` or `.ipynb` file, or `-`")
    };
    let (mut work, untagged) = of_notebook(text.ok_or_else(missing)?, &name, what)?;
    work.stdin_is_free = true;
    if untagged {
        let line = format!(
            "`{name}` has no cell tagged `parameters`, so the parameters of `-p` go into a new first \
                            cell"
        );
        work.left_out.push(line);
    }
    Ok(work)
}

fn of_notebook(text: String, name: &str, what: &Run) -> Result<(RunPlan, bool), Report> {
    let wrong = |error: NotebookError| Report::failure(format!("`{name}` {error}"));
    let mut document = Document::parse(text).map_err(wrong)?;
    let foreign = language_mismatch(&document, name, "Python");
    let mut untagged = false;
    if !what.parameters.is_empty() {
        let pairs = what.parameters.chunks(2);
        let pairs: Vec<_> = pairs
            .filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone())))
            .collect();
        let with = with_parameters(&document, &pairs).map_err(Report::usage)?;
        document = redone(&document, &with.draft, name)?;
        untagged = with.untagged;
    }
    let left_out = broken_cells(&document).into_iter();
    let left_out = left_out.map(|fault| format!("`{name}`: {fault}; it was left out"));
    let left_out = left_out.collect();
    let (mut texts, mut cells) = (Vec::new(), Vec::new());
    let (mut untouched, mut may_raise) = (Vec::new(), Vec::new());
    for (number, cell) in document.cells().enumerate() {
        if cell_fault(cell).is_some() {
            continue;
        }
        if cell.has_tag(SKIPPED) {
            untouched.push(number);
            continue;
        }
        let text = match cell.kind() {
            Some(CellKind::Code) => cell.source(),
            Some(CellKind::Markdown) if what.prompts => match saved_prompt(cell) {
                Some(prompt) => format!(".{prompt}"),
                None => continue,
            },
            _ => continue,
        };
        if cell.has_tag(MAY_RAISE) {
            may_raise.push(texts.len());
        }
        texts.push(text);
        cells.push(number);
    }
    let keep = (what.output.is_some() || what.json).then(|| Keep {
        document: Some(document),
        cells,
        untouched,
        output: what.output.clone(),
    });
    let work = RunPlan {
        may_raise,
        left_out,
        keep,
        foreign,
        ..RunPlan::of(texts)
    };
    Ok((work, untagged))
}

fn redone(document: &Document, draft: &Draft, name: &str) -> Result<Document, Report> {
    let wrong = |error: NotebookError| Report::failure(format!("`{name}` {error}"));
    let text = draft.render(document).map_err(wrong)?.text();
    Document::parse(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notebooks_give_their_code() {
        let run = Run {
            file: "n.ipynb".into(),
            arguments: Vec::new(),
            output: None,
            allow_errors: false,
            timeout: None,
            parameters: Vec::new(),
            prompts: false,
            json: false,
        };
        let work = |text: &str| of_notebook(text.to_owned(), "n", &run).map(|(work, _)| work);
        let text = r#"{"cells": [{"cell_type": "code", "source": ["a = 1\n", "a"]}, {"cell_type": "code"},
                       {"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": "b"}]}"#;
        let found = work(text).unwrap();
        let texts: Vec<&str> = found.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["a = 1\na", "b"]);
        assert_eq!(
            found.left_out[0],
            "`n`: cell 2 of 4 has no `source`; it was left out"
        );
        let tagged = |tag: &str| {
            format!(
                r#"{{"cell_type": "code", "source": "{tag}", "metadata": {{"tags": ["x", "{tag}"]}}}}"#
            )
        };
        let tags = ["skip-execution", "y", "raises-exception"]
            .map(tagged)
            .join(",");
        let found = work(&format!(r#"{{"cells": [{tags}]}}"#)).unwrap();
        let texts: Vec<&str> = found.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["y", "raises-exception"]);
        assert_eq!(found.may_raise, [1]);
        for (text, said) in [("{", "is not valid JSON"), ("{}", "no list of cells")] {
            let report = work(text).err().unwrap();
            assert!(report.message.contains(said), "{report}");
        }
    }

    #[test]
    fn a_new_notebook_names_its_kernel() {
        for (runtime, named) in [
            ("embedded", "\"name\": \"python3\""),
            ("jupyter:bash", "\"name\": \"bash\""),
            ("gateway:http://host:1#ir", "\"name\": \"ir\""),
        ] {
            let runtime = runtime.parse().unwrap();
            let text = new_notebook(&[], &runtime, false)
                .unwrap()
                .text()
                .to_owned();
            assert!(text.contains(named), "{text}");
        }
        for runtime in ["jupyter:/tmp/kernel.json", "gateway:http://host:1"] {
            let runtime = runtime.parse().unwrap();
            let text = new_notebook(&[], &runtime, false)
                .unwrap()
                .text()
                .to_owned();
            assert!(!text.contains("kernelspec"), "{text}");
        }
    }
}
