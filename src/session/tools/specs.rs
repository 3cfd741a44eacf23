//! Names, descriptions and schemas of the built-in tools.
//!
//! Descriptions are written for the model: purpose, limits, when another tool is better. Models in code mode see them
//! as comments above TypeScript declarations.

use serde_json::{Value, json};

use crate::agent::ToolSpec;
use crate::runtime::RuntimeCapabilities;

pub(super) const PYRUN: &str = "pyrun";
/// Error returned when the agent's code calls a tool that runs cells.
pub(crate) const NESTED_CELLS: &str =
    "no cell can be run for a cell that waits for it: run the code here";
pub(crate) const RUN_CELLS: &str = "run_cells";
pub(super) const LOOK_BACK: &str = "look_back";
pub(super) const LOAD_SKILL: &str = "load_skill";
pub(super) const NOTEBOOK: &str = "notebook";

const ABOUT_PYRUN: &str = "\
Look at the user's live {language} session: runs code in a throw-away copy of it and returns what the code printed and \
the \
value of its last expression. Every variable and import of the session is there: use it to inspect data, types, docs \
and sources before you answer. Nothing it does lasts: assignments are lost, and it cannot write files, use the network \
or touch other processes. The user is not asked and sees one line. For what must stay or be seen use run_cells.";

const ABOUT_LOOK_BACK: &str = "\
Ask the past of the user's {language} session: the value of an expression after each earlier cell, and which cell \
changed it. Use it for questions like when did the rows vanish, or which cell broke this: it finds the cell instead \
of guessing. Each value is computed in a throw-away copy of the state after that cell, under the rules of pyrun. Not \
every cell has such a copy: where cells lie between two values that differ, one of them changed it; read their \
sources, or ask about parts. The user is not asked and sees one line.";

const ABOUT_RUN_CELLS: &str = "\
Run {language} cells, in order. kernel \"live\" (the default): in the user's live {language} session, as if the user \
had typed them: they are numbered, recorded and shown with their output, and what they define stays. Use it for \
results \
the user shall keep or see (variables, functions, plots), not to look around: pyrun does that unasked. The user is \
usually asked first and may say no. {copy}kernel \"scratch\": in an interpreter of your own, without the user's \
variables, kept for the session: for work the user need not keep. It is not asked for, and confined as your commands \
are: it writes where they may, and has no network. kernel \"fresh\": one for this call alone. The first cell that \
fails stops the rest. {cells}Returns each cell's output; pictures come after the text (in JavaScript as data URLs on \
lines of their own: pass each to image()).";

/// For runtimes that can copy themselves.
const ABOUT_COPY: &str = "\
kernel \"copy\": in a confined copy of that session, made for the first such cell of this turn and kept to its end: \
all variables are there, nothing done in it reaches the session, and it writes no files and has no network. Try ways \
on the user's own data there (`reset` makes a new copy), then ask for the best in \"live\". It is not asked for. ";

const ABOUT_LOAD_SKILL: &str = "\
Read a skill of the list in <skills>: its SKILL.md, the instructions for one kind of work. Load it before you begin \
work \
it describes; one that was loaded earlier in this conversation need not be loaded again. Code the skill marks for it \
runs in the user's session first, if the user allows it; the result tells what ran.";

const ABOUT_NOTEBOOK: &str = "\
Work on Jupyter notebook files (.ipynb) cell by cell: all that is not changed stays as it is, outputs, ids and \
metadata included. Never write an .ipynb in any other way. Cells are counted from 0. Actions: `list` (a line for \
each cell); `read` (each cell under a mark, `# %% [code] cell:0`; `cell` or `lines` for a part, `outputs` for what \
cells showed, pictures included); `edit` (content, type, clear_outputs), `insert` (content, type; without cell at \
the end), `delete`, `move` (to); `apply` (content: the whole text as read gives it, edited: moved marks move cells, \
a mark left out deletes its cell, a mark without a number is a new cell); `run` (runs the code cell in the user's \
live {language} session, as run_cells does, and writes its outputs into the file). The user sees each change and is \
asked first outside the working directory.";

pub(super) fn pyrun_spec(able: &RuntimeCapabilities) -> ToolSpec {
    let language = &able.language;
    spec(
        PYRUN,
        &about(ABOUT_PYRUN, able),
        json!({"code": {"type": "string",
            "description": format!("{language}; the value of a last expression is returned.")}}),
        &["code"],
    )
}

pub(super) fn look_back_spec(able: &RuntimeCapabilities) -> ToolSpec {
    let language = &able.language;
    let number = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    spec(
        LOOK_BACK,
        &about(ABOUT_LOOK_BACK, able),
        json!({
            "code": {"type": "string", "description": format!("{language} expression, as `len(df)` or `df.dtypes`.")},
            "from": number("In number of the first cell; left out: from before the first one."),
            "to": number("In number of the last cell; left out: up to now."),
        }),
        &["code"],
    )
}

pub(super) fn run_cells_spec(able: &RuntimeCapabilities) -> ToolSpec {
    let language = &able.language;
    let mut cell = json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": format!("{language} source of the cell.")},
            "title": {"type": "string", "description": "What it is for, in a few words, for the user."},
            "reset": {"type": "boolean",
                "description": "Start the interpreter anew before this cell: all its variables are lost, in the live \
                                session the user's."},
            "language": {"type": "string", "description": format!("{language}, which is all there is.")},
        },
        "required": ["code"],
        "additionalProperties": false,
    });
    if !able.restart
        && let Some(properties) = cell["properties"].as_object_mut()
    {
        properties.remove("reset");
    }
    let kernels: &[&str] = match able.snapshot {
        true => &["live", "copy", "scratch", "fresh"],
        false => &["live", "scratch", "fresh"],
    };
    spec(
        RUN_CELLS,
        &about(ABOUT_RUN_CELLS, able),
        json!({
            "cells": {"type": "array", "items": cell, "minItems": 1},
            "kernel": {"type": "string", "enum": kernels},
            "timeout": {"type": "number",
                "description": "Seconds a cell may take before it is interrupted, 1 to 600. Left out: 30, in the live \
                                session as long as it takes."},
            "cwd": {"type": "string",
                "description": "Directory the cells run in; the live session goes there and stays. Left out: where the \
                                session is."},
        }),
        &["cells"],
    )
}

pub(super) fn notebook_spec(able: &RuntimeCapabilities) -> ToolSpec {
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let flag = |what: &str| json!({"type": "boolean", "description": what});
    spec(
        NOTEBOOK,
        &about(ABOUT_NOTEBOOK, able),
        json!({
            "action": {"type": "string", "enum": ["list", "read", "edit", "insert", "delete", "move", "apply", "run"]},
            "path": {"type": "string", "description": "The .ipynb file, from the working directory."},
            "cell": number("Which cell, from 0."),
            "to": number("move: the number the cell gets."),
            "type": {"type": "string", "enum": ["code", "markdown", "raw"]},
            "content": {"type": "string", "description": "The text of the cell; apply: of the whole notebook."},
            "lines": {"type": "string", "description": "read: these lines of the text only, as `1-20,40-`."},
            "outputs": flag("read: what the cells showed, too."),
            "clear_outputs": flag("edit: drop what the cell showed."),
        }),
        &["action", "path"],
    )
}

pub(super) fn load_skill_spec(_: &RuntimeCapabilities) -> ToolSpec {
    spec(
        LOAD_SKILL,
        ABOUT_LOAD_SKILL,
        json!({"path": {"type": "string", "description": "Its path from the list, or a name that is there once."}}),
        &["path"],
    )
}

/// Fills the placeholders of a description for this runtime.
fn about(text: &str, able: &RuntimeCapabilities) -> String {
    let cells = match able.cells.as_str() {
        "" => String::new(),
        cells => format!("{cells} "),
    };
    let copy = if able.snapshot { ABOUT_COPY } else { "" };
    text.replace("{language}", &able.language)
        .replace("{copy}", copy)
        .replace("{cells}", &cells)
}

fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}
