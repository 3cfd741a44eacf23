//! `notebook show` and `notebook diff`: text of notebooks on standard output.
//!
//! In: one or two files. Out: text, extracted pictures, and 1 as the exit code of a difference.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use nu_ansi_term::{Color, Style};
use serde_json::{Value, json};

use super::args::{Diff, Show};
use super::opening::opened;
use crate::files::{FileMode, TrackedFile, write_whole};
use crate::notebook::document::{
    Cell, DiffLine, Document, LineRange, ShownPart, TextError, diff, lines_of, outline, output_mark,
};
use crate::notebook::{LARGEST, outputs_text, pictures_of, read_outputs};
use crate::screen::Screen;
use crate::session::{IfMissing, NotebookFile, notebook_report};
use crate::text::MARKED;
use crate::text::report::Report;

/// Bytes read and printed at once of a file that is printed unchanged.
const PIECE: usize = 1 << 20;

/// Smaller files, in bytes, are read whole.
const OUTLINED: u64 = 4 << 20;

pub(super) fn show(show: &Show, screen: &Screen, terminal: bool) -> Result<i32, Report> {
    if show.textconv {
        textconv(show, screen, terminal)?;
        return Ok(0);
    }
    let lines = show.lines.as_deref().map(LineRange::parse_list);
    let lines = lines
        .transpose()
        .map_err(|why| Report::usage(why.to_string()))?;
    if let Some(file) = raw(&show.file) {
        let (text, _) = TrackedFile::read(&file, LARGEST)?;
        let missing = || Report::failure(format!("Notebook not found: {}", file.display()));
        let text = text.ok_or_else(missing)?;
        let told = |why: TextError| Report::failure(why.to_string());
        let text = match lines {
            Some(lines) => lines_of(&text, &lines).map_err(told)?,
            None => text,
        };
        put(&text, screen, terminal)?;
        return Ok(0);
    }
    let document = match outlined(show) {
        Some(document) => document,
        None => opened(&show.file, IfMissing::Refused)?.document,
    };
    let (document, name) = (&document, show.file.display().to_string());
    let part = ShownPart {
        cells: show.cells.clone(),
        lines: lines.unwrap_or_default(),
        unnumbered: false,
    };
    if let Some(outside) = part.cells.iter().find(|cell| **cell >= document.len()) {
        return Err(Report::failure(match document.len() {
            0 => format!("Cell index {outside} out of range: the notebook has no cells"),
            count => format!("Cell index {outside} out of range (0-{})", count - 1),
        }));
    }
    if let Some(folder) = &show.images {
        extract(document, &part, folder, screen)?;
    }
    if show.json {
        let value = as_json(document, &name, &part)?;
        screen.write_trusted(format!("{value}\n").as_bytes())?;
        return Ok(0);
    }
    let text = text(document, &part, show.outputs, &name)?;
    put(&text, screen, terminal)?;
    Ok(0)
}

/// Prints a file for a line-by-line diff: a notebook without cell numbers, any other file unchanged.
fn textconv(show: &Show, screen: &Screen, terminal: bool) -> Result<(), Report> {
    let name = show.file.display().to_string();
    let read = || {
        let document = match outlined(show) {
            Some(document) => document,
            None => opened(&show.file, IfMissing::Refused)?.document,
        };
        let part = ShownPart {
            unnumbered: true,
            ..ShownPart::default()
        };
        let below = |_, cell: Cell<'_>| match show.outputs {
            true => unnumbered_outputs(cell),
            false => String::new(),
        };
        let shown = crate::notebook::document::show(&document, &part, below);
        let shown = shown.map_err(|error| notebook_report(&error, &name))?;
        shown.map_err(|why: TextError| Report::failure(why.to_string()))
    };
    if let Ok::<_, Report>(text) = read() {
        return put(&text, screen, terminal);
    }
    let unread = |error| Report::failure(format!("cannot read `{name}`")).because(error);
    let mut file = File::open(&show.file).map_err(unread)?;
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece).map_err(unread)? {
            0 => return Ok(()),
            count if terminal => {
                screen.write_untrusted(&String::from_utf8_lossy(&piece[..count]))?
            }
            count => screen.write_trusted(&piece[..count])?,
        }
    }
}

/// Returns a cell's outputs as text, with pictures as their types and sizes.
fn unnumbered_outputs(cell: Cell<'_>) -> String {
    let pictures = pictures_of(0, cell);
    let mut text = outputs_of(0, cell);
    for picture in pictures {
        let size = format!("{} bytes", picture.bytes.len());
        text = text.replacen(&picture.name, &size, 1);
    }
    let mark = output_mark(0);
    match text.strip_prefix(&mark) {
        Some(rest) => format!("{}{rest}", mark.trim_end_matches(" cell:0")),
        None => text,
    }
}

/// Returns a large notebook without its outputs, where they are not shown; `None`: read the file whole.
fn outlined(show: &Show) -> Option<Document> {
    let path = &show.file;
    let size = std::fs::metadata(path)
        .ok()
        .filter(Metadata::is_file)?
        .len();
    let wanted = show.outputs || show.json || show.images.is_some();
    let is_large = (OUTLINED..=LARGEST).contains(&size);
    (is_large && !wanted).then(|| outline(File::open(path).ok()?))?
}

fn raw(file: &Path) -> Option<PathBuf> {
    let name = file.to_str()?.strip_suffix(":raw")?;
    (!file.exists()).then(|| PathBuf::from(name))
}

fn text(
    document: &Document,
    part: &ShownPart,
    outputs: bool,
    name: &str,
) -> Result<String, Report> {
    let below = |number: usize, cell: Cell<'_>| match outputs {
        true => outputs_of(number, cell),
        false => String::new(),
    };
    let shown = crate::notebook::document::show(document, part, below);
    let shown = shown.map_err(|error| notebook_report(&error, name))?;
    shown.map_err(|why: TextError| Report::failure(why.to_string()))
}

fn outputs_of(number: usize, cell: Cell<'_>) -> String {
    match outputs_text(number, &read_outputs(&cell.outputs())) {
        text if text.is_empty() => text,
        text => format!("{}\n{text}", output_mark(number)),
    }
}

/// Writes every byte to a file, and sanitised text to a terminal.
fn put(text: &str, screen: &Screen, terminal: bool) -> Result<(), Report> {
    match terminal {
        true => screen.write_untrusted(text)?,
        false => screen.write_trusted(text.as_bytes())?,
    }
    Ok(())
}

fn wanted<'a>(
    document: &'a Document,
    part: &'a ShownPart,
) -> impl Iterator<Item = (usize, Cell<'a>)> {
    let wanted = |number: &usize| part.cells.is_empty() || part.cells.contains(number);
    document
        .cells()
        .enumerate()
        .filter(move |(number, _)| wanted(number))
}

fn as_json(document: &Document, name: &str, part: &ShownPart) -> Result<Value, Report> {
    let mut cells = Vec::new();
    for (number, cell) in wanted(document, part) {
        if let Some(fault) = cell.fault() {
            cells.push(json!({"index": number, "broken": fault}));
            continue;
        }
        let outputs = read_outputs(&cell.outputs());
        let images: Vec<Value> = pictures_of(number, cell)
            .iter()
            .map(|picture| json!({"name": picture.name, "mime": picture.mime, "bytes": picture.bytes.len()}))
            .collect();
        cells.push(json!({
            "index": number,
            "id": cell.id(),
            "type": cell.kind().map(|kind| kind.name()),
            "source": cell.source(),
            "execution_count": cell.value("execution_count").unwrap_or_default(),
            "outputs": outputs_text(number, &outputs),
            "images": images,
        }));
    }
    let (major, minor) = document.format();
    Ok(json!({
        "path": name,
        "nbformat": major,
        "nbformat_minor": minor,
        "language": document.language(),
        "cells": cells,
    }))
}

/// Writes the pictures of outputs and attachments; existing files of the same names are not overwritten.
fn extract(
    document: &Document,
    part: &ShownPart,
    folder: &Path,
    screen: &Screen,
) -> Result<(), Report> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Report::failure(format!("cannot create `{}`", folder.display())).because(error)
    })?;
    let mut count = 0;
    for (number, cell) in wanted(document, part) {
        for picture in pictures_of(number, cell) {
            let path = folder.join(&picture.name);
            match std::fs::read(&path) {
                Ok(there) if there == picture.bytes => {}
                Ok(_) => {
                    return Err(Report::failure(format!(
                        "`{}` already exists and holds a different picture",
                        path.display()
                    ))
                    .hint("name another directory, or remove it"));
                }
                Err(_) => write_whole(&path, &picture.bytes, FileMode::Keep)?,
            }
            count += 1;
        }
    }
    let pictures = match count {
        1 => "1 picture".to_owned(),
        count => format!("{count} pictures"),
    };
    screen.print_notice(&format!("{pictures} in {}", folder.display()))?;
    Ok(())
}

/// Prints the difference between two notebooks; returns 1 when there is one.
pub(super) fn show_diff(options: &Diff, screen: &Screen, terminal: bool) -> Result<i32, Report> {
    let old = opened(&options.old, IfMissing::Refused)?;
    let new = opened(&options.new, IfMissing::Refused)?;
    let text = |opened: &NotebookFile| {
        text(
            &opened.document,
            &ShownPart::default(),
            options.outputs,
            &opened.name,
        )
    };
    let (old_text, new_text) = (text(&old)?, text(&new)?);
    let differences = diff(&old_text, &new_text);
    if differences.is_empty() {
        if old.document.text() != new.document.text() {
            let more = match options.outputs {
                true => "metadata or formatting",
                false => "outputs, metadata or formatting",
            };
            screen.print_notice(&format!(
                "the text of the cells is the same; they differ in {more}"
            ))?;
        }
        return Ok(0);
    }
    let mut out = format!("--- {}\n+++ {}\n", old.name, new.name);
    for line in &differences {
        out.push_str(&line.text());
        out.push('\n');
    }
    if !(terminal && screen.colour()) {
        put(&out, screen, terminal)?;
        return Ok(1);
    }
    screen.write_untrusted(&format!("--- {}\n+++ {}\n", old.name, new.name))?;
    for line in &differences {
        let style = match line {
            DiffLine::Place(_) => MARKED.normal(),
            DiffLine::Removed(_) => Color::Red.normal(),
            DiffLine::Added(_) => Color::Green.normal(),
            DiffLine::Same(_) => Style::new(),
        };
        screen.write_trusted(style.prefix().to_string().as_bytes())?;
        screen.write_untrusted(&line.text())?;
        screen.write_trusted(format!("{}\n", style.suffix()).as_bytes())?;
    }
    Ok(1)
}
