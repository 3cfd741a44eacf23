//! What is typed behind `ipycodex notebook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::notebook::document::CellKind;

/// `notebook`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Notebook {
    /// What is done.
    #[command(subcommand)]
    pub command: NotebookCommand,
}

/// What is done with a notebook file. Cells are counted from 0, as the shown text counts them.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum NotebookCommand {
    /// Print the cells as text, each under a mark: `# %% [code] cell:0`
    Show(Show),
    /// Replace the text of a cell; its metadata, id and outputs stay
    Edit(Edit),
    /// Insert a new cell; creates the file if there is none
    Insert(Insert),
    /// Delete a cell and print its text
    Delete(Delete),
    /// Move a cell
    Move(Move),
    /// Write the edited text of `show` (from standard input) back: the marks say which cells are changed, moved,
    /// removed or new
    Apply(Apply),
    /// Print what differs between two notebooks, in the text of `show`; exit code 1 when something does
    Diff(Diff),
}

/// `show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    /// The notebook; `FILE:raw` prints the file as it is
    pub file: PathBuf,
    /// Only these lines of the text, counted from 1
    #[arg(long, value_name = "A-B,C-D")]
    pub lines: Option<String>,
    /// Only this cell, counted from 0; may be repeated
    #[arg(long = "cell", value_name = "N")]
    pub cells: Vec<usize>,
    /// Show the outputs of each cell below it as text, pictures as their names
    #[arg(long)]
    pub outputs: bool,
    /// Write the pictures of outputs and attachments into this directory
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,
    /// Print JSON: path, nbformat, nbformat_minor, language, cells (index, id, type, source, outputs, images)
    #[arg(long)]
    pub json: bool,
    /// For `git diff`: marks without numbers, and a file that is no notebook as it is. Set up by
    /// `git config diff.ipynb.textconv "ipycodex notebook show --textconv"`, and the line `*.ipynb diff=ipynb` in
    /// `.gitattributes`
    #[arg(long, conflicts_with_all = ["lines", "cells", "images", "json"])]
    pub textconv: bool,
}

/// `edit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Edit {
    /// The notebook
    pub file: PathBuf,
    /// Which cell, from 0
    #[arg(long, value_name = "N")]
    pub cell: usize,
    /// Make it this kind of cell
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<Kind>,
    /// Its text; `-` reads standard input
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Remove its outputs and execution count
    #[arg(long)]
    pub clear_outputs: bool,
    /// Print JSON: action, cellIndex, cellType, totalCells, cellSource
    #[arg(long)]
    pub json: bool,
}

/// `insert`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Insert {
    /// The notebook
    pub file: PathBuf,
    /// The number the new cell gets, from 0; without it, the cell goes last
    #[arg(long, value_name = "N")]
    pub cell: Option<usize>,
    /// What kind of cell
    #[arg(long = "type", value_name = "TYPE", default_value = "code")]
    pub kind: Kind,
    /// Its text; `-` reads standard input
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Print JSON: action, cellIndex, cellType, totalCells, cellSource
    #[arg(long)]
    pub json: bool,
}

/// `delete`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Delete {
    /// The notebook
    pub file: PathBuf,
    /// Which cell, from 0
    #[arg(long, value_name = "N")]
    pub cell: usize,
    /// Print JSON: action, cellIndex, cellType, totalCells, cellSource
    #[arg(long)]
    pub json: bool,
}

/// `move`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Move {
    /// The notebook
    pub file: PathBuf,
    /// Which cell, from 0
    #[arg(long, value_name = "N")]
    pub cell: usize,
    /// The number it gets, from 0
    #[arg(long, value_name = "N")]
    pub to: usize,
    /// Print JSON: action, cellIndex, cellType, totalCells, cellSource
    #[arg(long)]
    pub json: bool,
}

/// `apply`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Apply {
    /// The notebook; made when there is none
    pub file: PathBuf,
}

/// `diff`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// The first notebook
    pub old: PathBuf,
    /// The second
    pub new: PathBuf,
    /// Compare what the cells showed, too
    #[arg(long)]
    pub outputs: bool,
}

/// A kind of cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Kind {
    /// Code.
    Code,
    /// Prose.
    Markdown,
    /// Passed on as it is.
    Raw,
}

impl From<Kind> for CellKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Code => CellKind::Code,
            Kind::Markdown => CellKind::Markdown,
            Kind::Raw => CellKind::Raw,
        }
    }
}
