//! Changes the source of the first code cell of a notebook, and shows that every other byte stays.
//!
//! `cargo run -p ipycodex-notebook --example edit -- FILE`. In: a notebook file. Out: what stays and what changes;
//! nothing is written.

use std::error::Error;
use std::io::Write;

use ipycodex_notebook::document::{CellChanges, CellKind, Document, Draft, DraftCell};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: edit FILE")?;
    let document = Document::parse(std::fs::read_to_string(&path)?)?;
    let mut cells = document.cells();
    let code = cells.position(|cell| cell.kind() == Some(CellKind::Code));
    let number = code.ok_or("the notebook has no code cell")?;
    let changes = CellChanges {
        source: Some("print('changed')\n".to_owned()),
        ..CellChanges::default()
    };
    let mut draft = Draft::unchanged(&document);
    draft.cells[number] = DraftCell::Changed(number, changes);

    let (old, new) = (document.text(), draft.render(&document)?.text());
    let before = common(old.bytes(), new.bytes());
    let room = old.len().min(new.len()) - before;
    let after = common(old.bytes().rev(), new.bytes().rev()).min(room);
    let changed = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[before..text.len() - after]).into_owned()
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{path}: {} cells, {} bytes", document.len(), old.len())?;
    writeln!(out, "the first {before} and the last {after} bytes stay")?;
    writeln!(out, "- {}\n+ {}", changed(old), changed(&new))?;
    Ok(())
}

/// How many bytes are the same from the start.
fn common(one: impl Iterator<Item = u8>, other: impl Iterator<Item = u8>) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).count()
}
