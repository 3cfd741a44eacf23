//! `notebook`: files of cells, listed, read, changed cell by cell, and run a cell at a time with its outputs written
//! back.
//!
//! Reading and writing go to another thread ([`NotebookJob`]). Invariants: nothing outside the working directory is
//! changed before the user said yes; what was changed on disk since the agent looked is not changed by number; the
//! user sees each change as a diff; a cell runs in the live session under the same rules as `run_cells`.

use std::path::Path;

use chrono::Utc;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{Begun, Code, Desk, ShownAs, Tool, ToolEvent, ToolStep, specs};
use crate::agent::{InputPart, Subject};
use crate::config::RunCells;
use crate::input::is_ours;
use crate::notebook::document::{Action, CellKind, Draft, LineRange, Revision, Slot};
use crate::notebook::{TIMES, output_value, times};
use crate::runtime::Ending;
use crate::session::cell::Remains;
use crate::session::opened::OpenedNotebook;
use crate::session::question::{About, ProposedCell, QuestionChoice, Reply};
use crate::session::tool_return::ToolReturn;

mod job;

use job::{MOST_IMAGES, MOST_TEXT, Prepared, Ready, Request, Wanted};
pub(in crate::session) use job::{NotebookJob, NotebookNews, Seen};

/// Characters of a cell's output in the result.
const OUTPUT_CHARACTERS: usize = 18_000;

/// A call on its way.
enum Working {
    /// The file is being read, and what is wanted of it made ready.
    Preparing { asks: bool },
    /// The user is asked about the change.
    Asking(Box<Ready>),
    /// The file is being written; then this is said.
    Writing {
        result: ToolReturn,
        /// The In number of the cell it tells of.
        line: Option<u32>,
    },
    /// The user is asked about the cell.
    AskingCell(Box<Pending>),
    /// The cell runs.
    Running(Box<Pending>),
    /// Nothing is left to do; the cell of this In number was told of.
    Over(Option<u32>),
}

/// A cell that is to be run.
struct Pending {
    opened: Box<OpenedNotebook>,
    cell: usize,
    source: String,
    line: u32,
}

pub(super) fn begin(arguments: &Value, desk: &mut Desk<'_>) -> Begun {
    let request = read(arguments, desk)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::NOTEBOOK)))?;
    // Where the user wants to see each change first, and wherever it is not the project's own.
    let asks = desk.approvals || !is_inside(&request.path, desk.cwd);
    let job = NotebookJob::Prepare(Box::new(request));
    let working = Working::Preparing { asks };
    Ok((Box::new(working), ToolStep::Notebook(job)))
}

/// True for a file of the working directory, links followed.
fn is_inside(path: &Path, cwd: &Path) -> bool {
    let real = |path: &Path| path.canonicalize();
    let parent = path.parent().and_then(|parent| real(parent).ok());
    let target = match real(path) {
        Ok(path) => Some(path),
        Err(_) => parent.and_then(|parent| Some(parent.join(path.file_name()?))),
    };
    let cwd = real(cwd).unwrap_or_else(|_| cwd.to_owned());
    target.is_some_and(|target| target.starts_with(cwd))
}

const NAMES: [&str; 9] = [
    "action",
    "path",
    "cell",
    "to",
    "type",
    "content",
    "lines",
    "outputs",
    "clear_outputs",
];

fn read(arguments: &Value, desk: &Desk<'_>) -> Result<Request, String> {
    let texts = arguments.as_object().into_iter().flatten();
    let size: usize = texts
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MOST_TEXT {
        return Err(format!(
            "the call holds more than {} MiB of text: make the change in several calls",
            MOST_TEXT >> 20
        ));
    }
    let arguments = Arguments::of(arguments, "", &NAMES)?;
    let name = arguments
        .text("path", "the path of an .ipynb file")?
        .to_owned();
    let path = desk.places.file(&name, desk.cwd);
    if !path
        .extension()
        .is_some_and(|suffix| suffix.eq_ignore_ascii_case("ipynb"))
    {
        return Err(format!("`path`: expected an .ipynb file, not `{name}`"));
    }
    let cell = index(&arguments, "cell")?;
    let needed = || {
        cell.ok_or_else(|| "`cell` is missing: expected the number of a cell, from 0".to_owned())
    };
    let kind = match arguments.text_or_empty("type")? {
        "" => None,
        kind => Some(
            CellKind::named(kind)
                .ok_or_else(|| format!("`type`: expected code, markdown or raw, not `{kind}`"))?,
        ),
    };
    let content = match arguments.given("content") {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => return Err(arguments.wrong("content", "a text", other)),
    };
    let content_of = |action: &str| {
        content
            .clone()
            .ok_or_else(|| format!("Content is required for {action} action"))
    };
    let wanted = match arguments.text(
        "action",
        "one of list, read, edit, insert, delete, move, apply, run",
    )? {
        "list" => Wanted::List,
        "read" => Wanted::Read {
            cells: cell.into_iter().collect(),
            lines: match arguments.text_or_empty("lines")? {
                "" => Vec::new(),
                lines => LineRange::parse_list(lines).map_err(|why| format!("`lines`: {why}"))?,
            },
            outputs: arguments.flag("outputs")?,
        },
        "edit" => Wanted::Change(Action::Edit {
            cell: needed()?,
            kind,
            source: content,
            clear: arguments.flag("clear_outputs")?,
        }),
        "insert" => Wanted::Change(Action::Insert {
            cell,
            kind: kind.unwrap_or(CellKind::Code),
            source: content_of("insert")?,
        }),
        "delete" => Wanted::Change(Action::Delete { cell: needed()? }),
        "move" => Wanted::Change(Action::Move {
            cell: needed()?,
            to: index(&arguments, "to")?
                .ok_or("`to` is missing: expected the number the cell gets, from 0")?,
        }),
        "apply" => Wanted::Apply(content_of("apply")?),
        "run" => Wanted::Run(needed()?),
        other => {
            return Err(format!(
                "`action`: expected list, read, edit, insert, delete, move, apply or run, not `{other}`"
            ));
        }
    };
    let language = desk.able.language.clone();
    Ok(Request {
        path,
        name,
        wanted,
        language,
    })
}

fn index(arguments: &Arguments<'_>, name: &str) -> Result<Option<usize>, String> {
    let Some(value) = arguments.given(name) else {
        return Ok(None);
    };
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number
        .map(Some)
        .ok_or_else(|| arguments.wrong(name, "the number of a cell, from 0", value))
}

impl Tool for Working {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        match (std::mem::replace(self, Working::Over(None)), event) {
            (
                Working::Preparing { asks },
                ToolEvent::Notebook(NotebookNews::Prepared(prepared)),
            ) => self.prepared(*prepared, asks, desk),
            (Working::Asking(ready), ToolEvent::Replied(reply)) => match is_yes(&reply) {
                true => self.write(*ready),
                false => ToolStep::Done(ToolReturn::denied(
                    "the user said no; nothing was written",
                    &reply,
                )),
            },
            (
                Working::Writing { result, line },
                ToolEvent::Notebook(NotebookNews::Written(written)),
            ) => {
                *self = Working::Over(line);
                match written {
                    Ok(unkept) => {
                        let mut result = result;
                        if let Some(unkept) = unkept {
                            result.text = format!("{}\n{unkept}", result.text);
                            result.content.push(InputPart::Text(unkept));
                        }
                        desk.done(result)
                    }
                    Err(why) => ToolStep::failed(&why),
                }
            }
            (Working::AskingCell(pending), ToolEvent::Replied(reply)) => {
                if !is_yes(&reply) {
                    return ToolStep::Done(ToolReturn::denied(
                        "the user said no; the cell was not run",
                        &reply,
                    ));
                }
                if reply == Reply::Chosen(QuestionChoice::Session) {
                    *desk.run_cells = RunCells::Auto;
                    desk.allowed.resets_are_asked = true;
                }
                self.run(pending)
            }
            (Working::Running(mut pending), ToolEvent::CodeEnded { line, remains }) => {
                pending.line = line;
                self.ran(*pending, &remains, desk)
            }
            (working, _) => {
                *self = working;
                ToolStep::Wait
            }
        }
    }

    fn told_cells(&self) -> Vec<u32> {
        match self {
            Working::Over(line) => line.iter().copied().collect(),
            _ => Vec::new(),
        }
    }
}

fn is_yes(reply: &Reply) -> bool {
    let yes = [
        QuestionChoice::Once,
        QuestionChoice::Session,
        QuestionChoice::Remember,
    ];
    matches!(reply, Reply::Chosen(choice) if yes.contains(choice))
}

impl Working {
    fn prepared(&mut self, prepared: Prepared, asks: bool, desk: &mut Desk<'_>) -> ToolStep {
        match prepared {
            Prepared::Failed(why) => ToolStep::failed(&why),
            Prepared::Told { text, images } => desk.done(told(text, images)),
            Prepared::Change(ready) if !asks => self.write(*ready),
            Prepared::Change(ready) if desk.somebody => {
                let about = About::Agent(Subject::Edit {
                    changes: vec![ready.change.clone()],
                    reason: None,
                });
                *self = Working::Asking(ready);
                ToolStep::Ask(about)
            }
            Prepared::Change(_) => ToolStep::failed(
                "nothing was written: the file is not below the working directory, or each change is to be approved; \
                 the user has to allow it and there is nobody here to ask",
            ),
            Prepared::Cell {
                opened,
                cell,
                source,
            } => {
                if is_ours(&source) {
                    return ToolStep::failed(
                        "the cell is a prompt or a command of the shell, which only the user gives",
                    );
                }
                let line = 0;
                let pending = Box::new(Pending {
                    opened,
                    cell,
                    source,
                    line,
                });
                match desk.run_cells {
                    RunCells::Off => ToolStep::failed(
                        "the user has switched run_cells off; the cell was not run",
                    ),
                    RunCells::Auto => self.run(pending),
                    RunCells::Ask | RunCells::Preview if !desk.somebody => ToolStep::failed(
                        "the cell was not run: the user has to allow it and there is nobody here to ask",
                    ),
                    RunCells::Ask | RunCells::Preview => {
                        let proposed = ProposedCell {
                            code: pending.source.clone(),
                            title: pending.title(),
                            reset: false,
                        };
                        *self = Working::AskingCell(pending);
                        ToolStep::Ask(About::Cells(vec![proposed]))
                    }
                }
            }
        }
    }

    fn write(&mut self, ready: Ready) -> ToolStep {
        let Ready {
            opened,
            draft,
            told: text,
            change,
        } = ready;
        *self = Working::Writing {
            result: told(text, Vec::new()),
            line: None,
        };
        let opened = Box::new(opened);
        ToolStep::Notebook(NotebookJob::Write {
            opened,
            draft,
            change: Some(change),
        })
    }

    fn run(&mut self, pending: Box<Pending>) -> ToolStep {
        let code = Code {
            source: pending.source.clone(),
            shown_as: ShownAs::Cell {
                title: pending.title(),
            },
            directory: None,
        };
        *self = Working::Running(pending);
        ToolStep::Run(code)
    }

    /// The cell has run: what it showed goes into the file.
    fn ran(&mut self, pending: Pending, remains: &Remains, desk: &Desk<'_>) -> ToolStep {
        let Pending {
            opened, cell, line, ..
        } = pending;
        let outputs: Vec<Value> = remains
            .outputs
            .iter()
            .map(|output| output_value(output, Some(line)))
            .collect();
        let shown = desk
            .outputs
            .cut_cell(line, &remains.shown, OUTPUT_CHARACTERS);
        let became = match (&remains.ending, &remains.raised) {
            (Ending::Ok, _) => "ran".to_owned(),
            (_, Some(raised)) => format!("failed: {raised}"),
            (Ending::Interrupted, None) => "was interrupted".to_owned(),
            (ending, None) => format!("failed: {ending:?}"),
        };
        let details = json!({
            "action": "run",
            "cellIndex": cell,
            "cellType": "code",
            "totalCells": opened.document.len(),
            "executionCount": line,
        });
        let text = format!(
            "Cell {cell} of {} {became} as In[{line}]; its outputs are in the file.\n{details}\n{}",
            opened.name,
            shown.trim_end_matches('\n')
        );
        let images = remains.images.iter().take(MOST_IMAGES).cloned().collect();
        let mut result = told(text, images);
        result.success = remains.ending == Ending::Ok;
        let mut draft = Draft::of(&opened.document);
        let ended = Utc::now();
        let revision = Revision {
            outputs: Some(outputs),
            execution_count: Some(Some(line)),
            metadata: vec![(TIMES.to_owned(), times(ended - remains.took, Some(ended)))],
            ..Revision::default()
        };
        draft.cells[cell] = Slot::Changed(cell, revision);
        let line = Some(line);
        *self = Working::Writing { result, line };
        ToolStep::Notebook(NotebookJob::Write {
            opened,
            draft,
            change: None,
        })
    }
}

impl Pending {
    fn title(&self) -> String {
        format!("cell {} of {}", self.cell, self.opened.name)
    }
}

fn told(text: String, images: Vec<String>) -> ToolReturn {
    let images = images.into_iter().map(InputPart::Image);
    ToolReturn {
        content: std::iter::once(InputPart::Text(text.clone()))
            .chain(images)
            .collect(),
        ..ToolReturn::text(text)
    }
}
