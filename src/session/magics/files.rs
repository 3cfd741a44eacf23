//! Commands that name a file: `save`, `load`, `open` with its cells, `export`.
//!
//! The name is the rest of the line, without quotes around it; `-f` before it replaces an existing file.

use super::magic::{Magic, MagicContext, MagicEffect, Run, unquoted};

pub(super) const SAVE: Magic = Magic {
    name: "save",
    arguments: "[-f] [FILE]",
    help: "save the session as a Jupyter notebook",
    more: "Saves cells with their outputs, notes and exchanges. Without FILE, it writes the startup notebook, which \
           each new shell replays. A file with contents that are not in this session is replaced only with -f.",
    run: Run::With(save),
};

pub(super) const LOAD: Magic = Magic {
    name: "load",
    arguments: "FILE",
    help: "run a notebook or script in this session",
    more: "Saved exchanges join the conversation; nothing is sent to the agent.",
    run: Run::With(load),
};

pub(super) const OPEN: Magic = Magic {
    name: "open",
    arguments: "[FILE]",
    help: "work on a notebook in place",
    more: "Each cell you run is written into the notebook with its outputs. Without FILE, the cells of the open \
           notebook are listed. `cell 3` brings one into the editor, `close` ends it.",
    run: Run::With(|_, rest, _| {
        Ok(vec![MagicEffect::OpenNotebook(
            unquoted(rest).trim().to_owned(),
        )])
    }),
};

pub(super) const CELL: Magic = Magic {
    name: "cell",
    arguments: "N",
    help: "edit a cell of the open notebook",
    more: "The cell is put into the editor; once run, it is written back in its place.",
    run: Run::With(|_, rest, _| match rest.trim().parse() {
        Ok(number) => Ok(vec![MagicEffect::EditCell(number)]),
        Err(_) => Err(
            "Usage: %ipycodex cell N, where N is a number that `%ipycodex open` lists".to_owned(),
        ),
    }),
};

pub(super) const EXPORT: Magic = Magic {
    name: "export",
    arguments: "[-f] FILE",
    help: "write the session as .ipynb, .md, .html or .py",
    more: "An existing file that ipycodex did not write, or that holds other cells, is replaced only with -f.",
    run: Run::With(export),
};

fn save(_: &Magic, rest: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let (force, name) = forced(rest);
    let file = (!name.is_empty()).then(|| with_suffix(name));
    Ok(vec![MagicEffect::Save { file, force }])
}

fn load(_: &Magic, rest: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    match unquoted(rest).trim() {
        "" => Err("Usage: %ipycodex load <filename>".to_owned()),
        name => Ok(vec![MagicEffect::LoadFile(name.to_owned())]),
    }
}

fn export(_: &Magic, rest: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let (force, name) = forced(rest);
    if name.is_empty() {
        return Err(
            "Usage: %ipycodex export FILE, where FILE ends in .ipynb, .md, .html or .py".to_owned(),
        );
    }
    Ok(vec![MagicEffect::Export {
        file: name.to_owned(),
        force,
    }])
}

/// Splits off a leading `-f`; returns whether it was there, and the name.
fn forced(rest: &str) -> (bool, &str) {
    match rest.strip_prefix("-f") {
        Some(name) if name.is_empty() || name.starts_with(char::is_whitespace) => {
            (true, unquoted(name.trim()).trim())
        }
        _ => (false, unquoted(rest).trim()),
    }
}

/// Returns the name of a notebook: `a` and `a.v2` get the suffix, `a.ipynb` has it.
fn with_suffix(name: &str) -> String {
    let has = name
        .rsplit_once('.')
        .is_some_and(|(_, suffix)| suffix.eq_ignore_ascii_case("ipynb"));
    if has {
        name.to_owned()
    } else {
        format!("{name}.ipynb")
    }
}
