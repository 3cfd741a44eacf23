//! `notebook edit`, `insert`, `delete`, `move` and `apply`: change one file, and keep the rest of it byte for byte.
//!
//! In: the arguments, and text from standard input. Out: the changed file, and a line about it.

use serde_json::json;

use super::args::{Apply, Delete, Edit, Insert, Move};
use super::opening::opened;
use crate::batch;
use crate::notebook::document::{
    ApplyError, CellAction, CellActionError, CellActionOutcome, DraftCell, TextError, apply_action,
    apply_marked_text,
};
use crate::screen::Screen;
use crate::session::{IfMissing, NotebookFile, notebook_report};
use crate::text::report::Report;

pub(super) fn edit(edit: &Edit, screen: &Screen) -> Result<i32, Report> {
    let mut opened = opened(&edit.file, IfMissing::Refused)?;
    let action = CellAction::Edit {
        cell: edit.cell,
        kind: edit.kind.map(Into::into),
        source: content(edit.content.as_deref())?,
        clear: edit.clear_outputs,
    };
    let outcome = done(&mut opened, &action, edit.json, screen)?;
    if outcome.stale {
        screen.print_notice(
            "its outputs are still those of the old text; `--clear-outputs` removes them",
        )?;
    }
    Ok(0)
}

pub(super) fn insert(insert: &Insert, screen: &Screen) -> Result<i32, Report> {
    let mut opened = opened(&insert.file, IfMissing::Empty)?;
    let Some(source) = content(insert.content.as_deref())? else {
        return Err(Report::usage("Content is required for insert action")
            .hint("`--content TEXT`, or `--content -` for standard input"));
    };
    let action = CellAction::Insert {
        cell: insert.cell,
        kind: insert.kind.into(),
        source,
    };
    done(&mut opened, &action, insert.json, screen)?;
    Ok(0)
}

pub(super) fn delete(delete: &Delete, screen: &Screen) -> Result<i32, Report> {
    let mut opened = opened(&delete.file, IfMissing::Refused)?;
    let action = CellAction::Delete { cell: delete.cell };
    let outcome = done(&mut opened, &action, delete.json, screen)?;
    if !delete.json && !outcome.source.is_empty() {
        screen.write_untrusted(&format!("{}\n", outcome.source))?;
    }
    Ok(0)
}

pub(super) fn moved(moved: &Move, screen: &Screen) -> Result<i32, Report> {
    let mut opened = opened(&moved.file, IfMissing::Refused)?;
    let action = CellAction::Move {
        cell: moved.cell,
        to: moved.to,
    };
    done(&mut opened, &action, moved.json, screen)?;
    Ok(0)
}

/// Applies the change, writes the file, and prints a line about it.
fn done(
    opened: &mut NotebookFile,
    action: &CellAction,
    json: bool,
    screen: &Screen,
) -> Result<CellActionOutcome, Report> {
    let outcome = apply_action(&opened.document, action).map_err(|why| {
        let report = Report::failure(why.to_string());
        match why {
            CellActionError::NoContent => Report::usage(why.to_string())
                .hint("`--content TEXT`, or `--content -` for standard input"),
            _ => report.hint(format!(
                "`ipycodex notebook show {}` numbers the cells",
                opened.name
            )),
        }
    })?;
    let changed = opened.write(&outcome.draft)?;
    if json {
        let details = json!({
            "action": outcome.action,
            "cellIndex": outcome.cell,
            "cellType": outcome.kind.name(),
            "totalCells": outcome.total,
            "cellSource": outcome.source,
        });
        screen.write_trusted(format!("{details}\n").as_bytes())?;
    } else if changed {
        screen.write_untrusted(&format!("{}\n", outcome.summary(&opened.name)))?;
    } else {
        screen.write_untrusted(&format!("{} is unchanged.\n", opened.name))?;
    }
    say_unkept(opened, screen)?;
    Ok(outcome)
}

/// Returns the given text, or that of standard input without its last newline.
fn content(given: Option<&str>) -> Result<Option<String>, Report> {
    match given {
        Some("-") => {
            let mut text = batch::standard_input()?;
            if text.ends_with('\n') {
                text.pop();
            }
            Ok(Some(text))
        }
        given => Ok(given.map(str::to_owned)),
    }
}

pub(super) fn apply_text(wanted: &Apply, screen: &Screen) -> Result<i32, Report> {
    let mut opened = opened(&wanted.file, IfMissing::Empty)?;
    let text = batch::standard_input()?;
    let draft = apply_marked_text(&opened.document, &text).map_err(|error| match error {
        ApplyError::Notebook(error) => notebook_report(&error, &opened.name),
        ApplyError::Text(why) => {
            let report = Report::failure(why.to_string()).hint("nothing was written");
            match why {
                TextError::Output(_) => report.hint(format!(
                    "`ipycodex notebook show {}` prints the text without them",
                    opened.name
                )),
                _ => report,
            }
        }
    })?;
    let before = opened.document.len();
    let told = match opened.write(&draft)? {
        false => format!("{} is unchanged.\n", opened.name),
        true => {
            let count =
                |is: fn(&DraftCell) -> bool| draft.cells.iter().filter(|slot| is(slot)).count();
            let made = count(|slot| matches!(slot, DraftCell::New(_)));
            let changed = count(|slot| matches!(slot, DraftCell::Changed(..)));
            let gone = before + made - draft.cells.len();
            let cells = match draft.cells.len() {
                1 => "1 cell".to_owned(),
                total => format!("{total} cells"),
            };
            format!(
                "Applied to {}: {cells} ({changed} changed, {made} new, {gone} removed).\n",
                opened.name
            )
        }
    };
    screen.write_untrusted(&told)?;
    say_unkept(&opened, screen)?;
    Ok(0)
}

fn say_unkept(opened: &NotebookFile, screen: &Screen) -> Result<(), Report> {
    let unkept = opened.file.lost_attributes();
    unkept
        .iter()
        .try_for_each(|line| screen.print_notice(line))?;
    Ok(())
}
