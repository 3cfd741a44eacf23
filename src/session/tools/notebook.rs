//! `notebook`: lists, reads and edits notebook files cell by cell, and runs single cells, writing their outputs back.
//!
//! Files are read and written on another thread ([`NotebookJob`]). Invariants: a file outside the working directory is
//! changed only after the user's approval; a file that changed on disk since the agent read it is not changed; the user
//! sees each change as a diff; a cell runs in the live session under the same rules as `run_cells`.

use std::path::Path;

use chrono::Utc;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::tool::is_yes;
use super::{BeginResult, CodeDisplay, Tool, ToolCode, ToolContext, ToolEffect, ToolEvent, specs};
use crate::agent::{InputPart, Subject};
use crate::approvals::Verdict;
use crate::cell::CellResult;
use crate::input::is_ipycodex_input;
use crate::notebook::document::{CellAction, CellChanges, CellKind, Draft, DraftCell, LineRange};
use crate::notebook::{TIMES, output_value, times};
use crate::notebook_file::NotebookFile;
use crate::question::{ProposedCell, QuestionChoice, QuestionSubject, Reply};
use crate::runtime::Ending;
use crate::tool_return::ToolReturn;

mod job;

use job::{
    MAX_IMAGES, MAX_TEXT_BYTES, NotebookRequest, PreparedChange, PreparedRequest, RequestedAction,
};
pub(crate) use job::{NotebookJob, NotebookJobResult, SeenFiles};

/// Longest output of a cell in the result, in characters.
const OUTPUT_CHARACTERS: usize = 18_000;

enum NotebookCall {
    /// The file is being read, and the action prepared.
    Preparing {
        asks: bool,
    },
    Asking(Box<PreparedChange>),
    /// The file is being written; `result` follows.
    Writing {
        result: ToolReturn,
        /// The In number of the cell in the result.
        line: Option<u32>,
    },
    AskingCell(Box<PendingCell>),
    Running(Box<PendingCell>),
    Over(Option<u32>),
}

struct PendingCell {
    opened: Box<NotebookFile>,
    cell: usize,
    source: String,
    line: u32,
}

pub(super) fn begin(arguments: &Value, context: &mut ToolContext<'_>) -> BeginResult {
    let request = parse(arguments, context)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::NOTEBOOK)))?;
    // The user approves each change if the settings say so, or allow no writing, and any change outside the working
    // directory.
    let asks = context.approve_changes || !is_inside(&request.path, context.cwd);
    let job = NotebookJob::Prepare(Box::new(request));
    let call = NotebookCall::Preparing { asks };
    Ok((Box::new(call), ToolEffect::Notebook(job)))
}

/// Returns true for a file below the working directory, after links are resolved.
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

fn parse(arguments: &Value, context: &ToolContext<'_>) -> Result<NotebookRequest, String> {
    let texts = arguments.as_object().into_iter().flatten();
    let size: usize = texts
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_TEXT_BYTES {
        return Err(format!(
            "the call holds more than {} MiB of text: make the change in several calls",
            MAX_TEXT_BYTES >> 20
        ));
    }
    let arguments = Arguments::parse(arguments, "", &NAMES)?;
    let name = arguments
        .text("path", "the path of an .ipynb file")?
        .to_owned();
    let path = context.notebooks.file(&name, context.cwd);
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
            CellKind::from_name(kind)
                .ok_or_else(|| format!("`type`: expected code, markdown or raw, not `{kind}`"))?,
        ),
    };
    let content = match arguments.get("content") {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => return Err(arguments.wrong("content", "a text", other)),
    };
    let content_of = |action: &str| {
        content
            .clone()
            .ok_or_else(|| format!("Content is required for {action} action"))
    };
    let action = match arguments.text(
        "action",
        "one of list, read, edit, insert, delete, move, apply, run",
    )? {
        "list" => RequestedAction::List,
        "read" => RequestedAction::Read {
            cells: cell.into_iter().collect(),
            lines: match arguments.text_or_empty("lines")? {
                "" => Vec::new(),
                lines => LineRange::parse_list(lines).map_err(|why| format!("`lines`: {why}"))?,
            },
            outputs: arguments.flag("outputs")?,
        },
        "edit" => RequestedAction::Change(CellAction::Edit {
            cell: needed()?,
            kind,
            source: content,
            clear: arguments.flag("clear_outputs")?,
        }),
        "insert" => RequestedAction::Change(CellAction::Insert {
            cell,
            kind: kind.unwrap_or(CellKind::Code),
            source: content_of("insert")?,
        }),
        "delete" => RequestedAction::Change(CellAction::Delete { cell: needed()? }),
        "move" => RequestedAction::Change(CellAction::Move {
            cell: needed()?,
            to: index(&arguments, "to")?
                .ok_or("`to` is missing: expected the number the cell gets, from 0")?,
        }),
        "apply" => RequestedAction::Apply(content_of("apply")?),
        "run" => RequestedAction::Run(needed()?),
        other => {
            return Err(format!(
                "`action`: expected list, read, edit, insert, delete, move, apply or run, not `{other}`"
            ));
        }
    };
    let language = context.runtime.language.clone();
    Ok(NotebookRequest {
        path,
        name,
        action,
        language,
    })
}

fn index(arguments: &Arguments<'_>, name: &str) -> Result<Option<usize>, String> {
    let Some(value) = arguments.get(name) else {
        return Ok(None);
    };
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number
        .map(Some)
        .ok_or_else(|| arguments.wrong(name, "the number of a cell, from 0", value))
}

impl Tool for NotebookCall {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match (std::mem::replace(self, NotebookCall::Over(None)), event) {
            (
                NotebookCall::Preparing { asks },
                ToolEvent::NotebookJobDone(NotebookJobResult::Prepared(prepared)),
            ) => self.prepared(*prepared, asks, context),
            (NotebookCall::Asking(ready), ToolEvent::UserReplied(reply)) => match is_yes(&reply) {
                true => self.write(*ready),
                false => ToolEffect::Done(ToolReturn::denied(
                    "the user said no; nothing was written",
                    &reply,
                )),
            },
            (
                NotebookCall::Writing { result, line },
                ToolEvent::NotebookJobDone(NotebookJobResult::Written(written)),
            ) => {
                *self = NotebookCall::Over(line);
                match written {
                    Ok(unkept) => {
                        let mut result = result;
                        if let Some(unkept) = unkept {
                            result.text = format!("{}\n{unkept}", result.text);
                            result.content.push(InputPart::Text(unkept));
                        }
                        context.finish(result)
                    }
                    Err(why) => ToolEffect::failed(&why),
                }
            }
            (NotebookCall::AskingCell(pending), ToolEvent::UserReplied(reply)) => {
                if !is_yes(&reply) {
                    return ToolEffect::Done(ToolReturn::denied(
                        "the user said no; the cell was not run",
                        &reply,
                    ));
                }
                if reply == Reply::Chosen(QuestionChoice::Session) {
                    context.policy.grant_cells();
                }
                self.run(pending)
            }
            (NotebookCall::Running(mut pending), ToolEvent::CodeEnded { line, remains }) => {
                pending.line = line;
                self.ran(*pending, &remains, context)
            }
            (call, _) => {
                *self = call;
                ToolEffect::Wait
            }
        }
    }

    fn reported_cells(&self) -> Vec<u32> {
        match self {
            NotebookCall::Over(line) => line.iter().copied().collect(),
            _ => Vec::new(),
        }
    }
}

impl NotebookCall {
    fn prepared(
        &mut self,
        prepared: PreparedRequest,
        asks: bool,
        context: &mut ToolContext<'_>,
    ) -> ToolEffect {
        match prepared {
            PreparedRequest::Failed(why) => ToolEffect::failed(&why),
            PreparedRequest::Reply { text, images } => context.finish(tool_return(text, images)),
            // The outputs of a cell are written into the file, too.
            PreparedRequest::Change(_) | PreparedRequest::Cell { .. }
                if asks && !context.policy.can_ask =>
            {
                ToolEffect::failed(
                    "nothing was written: the file is not below the working directory, or each change is to be \
                     approved; the user has to allow it and there is nobody here to ask",
                )
            }
            PreparedRequest::Change(ready) if !asks => self.write(*ready),
            PreparedRequest::Change(ready) => {
                let about = QuestionSubject::Agent(Subject::Edit {
                    changes: vec![ready.change.clone()],
                    reason: None,
                });
                *self = NotebookCall::Asking(ready);
                ToolEffect::Ask(about)
            }
            PreparedRequest::Cell {
                opened,
                cell,
                source,
            } => {
                if is_ipycodex_input(&source) {
                    return ToolEffect::failed(
                        "the cell is a prompt or a command of the shell, which only the user gives",
                    );
                }
                let line = 0;
                let pending = Box::new(PendingCell {
                    opened,
                    cell,
                    source,
                    line,
                });
                match context.policy.cells(true, false) {
                    Verdict::Off => ToolEffect::failed(
                        "the user has switched run_cells off; the cell was not run",
                    ),
                    Verdict::Allowed => self.run(pending),
                    Verdict::NobodyToAsk => ToolEffect::failed(
                        "the cell was not run: the user has to allow it and there is nobody here to ask",
                    ),
                    Verdict::Ask => {
                        let proposed = ProposedCell {
                            code: pending.source.clone(),
                            title: pending.title(),
                            reset: false,
                        };
                        *self = NotebookCall::AskingCell(pending);
                        ToolEffect::Ask(QuestionSubject::Cells(vec![proposed]))
                    }
                }
            }
        }
    }

    fn write(&mut self, ready: PreparedChange) -> ToolEffect {
        let PreparedChange {
            opened,
            draft,
            reply: text,
            change,
        } = ready;
        *self = NotebookCall::Writing {
            result: tool_return(text, Vec::new()),
            line: None,
        };
        let opened = Box::new(opened);
        ToolEffect::Notebook(NotebookJob::Write {
            opened,
            draft,
            change: Some(change),
        })
    }

    fn run(&mut self, pending: Box<PendingCell>) -> ToolEffect {
        let code = ToolCode {
            source: pending.source.clone(),
            display: CodeDisplay::Cell {
                title: pending.title(),
            },
            directory: None,
        };
        *self = NotebookCall::Running(pending);
        ToolEffect::Run(code)
    }

    fn ran(
        &mut self,
        pending: PendingCell,
        remains: &CellResult,
        context: &ToolContext<'_>,
    ) -> ToolEffect {
        let PendingCell {
            opened, cell, line, ..
        } = pending;
        let outputs: Vec<Value> = remains
            .outputs
            .iter()
            .map(|output| output_value(output, Some(line)))
            .collect();
        let shown = context
            .outputs
            .cut_cell(line, &remains.shown, OUTPUT_CHARACTERS);
        let outcome = match (&remains.ending, &remains.raised) {
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
            "Cell {cell} of {} {outcome} as In[{line}]; its outputs are in the file.\n{details}\n{}",
            opened.name,
            shown.trim_end_matches('\n')
        );
        let images = remains.images.iter().take(MAX_IMAGES).cloned().collect();
        let mut result = tool_return(text, images);
        result.success = remains.ending == Ending::Ok;
        let mut draft = Draft::unchanged(&opened.document);
        let ended = Utc::now();
        let revision = CellChanges {
            outputs: Some(outputs),
            execution_count: Some(Some(line)),
            metadata: vec![(TIMES.to_owned(), times(ended - remains.took, Some(ended)))],
            ..CellChanges::default()
        };
        draft.cells[cell] = DraftCell::Changed(cell, revision);
        let line = Some(line);
        *self = NotebookCall::Writing { result, line };
        ToolEffect::Notebook(NotebookJob::Write {
            opened,
            draft,
            change: None,
        })
    }
}

impl PendingCell {
    fn title(&self) -> String {
        format!("cell {} of {}", self.cell, self.opened.name)
    }
}

fn tool_return(text: String, images: Vec<String>) -> ToolReturn {
    let images = images.into_iter().map(InputPart::Image);
    ToolReturn {
        content: std::iter::once(InputPart::Text(text.clone()))
            .chain(images)
            .collect(),
        ..ToolReturn::text(text)
    }
}
