//! Notebooks of well-known packages: shown and applied byte for byte, and changed as an independent model changes them.
//!
//! In: the notebooks of pinned wheels (`holoviews`, `hvplot`, `nbdime`, `geoviews`: BSD-3). The model is Python's
//! `json`; what `nbformat` took before it takes afterwards.

use std::path::Path;

use ipycodex::notebook::Document;
use ipycodex::notebook::document::{
    CellAction, CellKind, ShownPart, apply_action, apply_marked_text, show,
};
use serde_json::{Value, json};

use super::reference::ask_python;
use crate::support::home::Home;
use crate::support::peers;

/// Fewer would be too few to say anything.
const LEAST: usize = 200;

fn files() -> Option<Vec<std::path::PathBuf>> {
    let files = peers::strangers()?;
    assert!(files.len() >= LEAST, "{} notebooks", files.len());
    Some(files)
}

fn document(path: &Path) -> Document {
    let text = std::fs::read_to_string(path).unwrap();
    Document::parse(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(document: &Document) -> String {
    show(document, &ShownPart::default(), |_, _| String::new())
        .unwrap()
        .unwrap()
}

#[test]
fn strangers_notebooks_come_back_byte_for_byte() {
    let Some(files) = files() else { return };
    for path in files {
        let document = document(&path);
        let text = shown(&document);
        let draft = apply_marked_text(&document, &text).unwrap();
        assert!(
            draft.render(&document).unwrap().text() == document.text(),
            "{}",
            path.display()
        );
        // The same by way of all cells written anew in their places.
        let mut turned: Vec<_> = draft.cells.clone();
        turned.reverse();
        let turned = ipycodex::notebook::document::Draft {
            cells: turned,
            metadata: Vec::new(),
        };
        let there = Document::parse(turned.render(&document).unwrap().text()).unwrap();
        let mut back: Vec<_> = apply_marked_text(&there, &shown(&there)).unwrap().cells;
        back.reverse();
        let back = ipycodex::notebook::document::Draft {
            cells: back,
            metadata: Vec::new(),
        };
        assert!(
            back.render(&there).unwrap().text() == document.text(),
            "{}",
            path.display()
        );
    }
}

/// One change of each notebook, another for each: what it is, for the model.
fn change(document: &Document, number: usize) -> (CellAction, Value) {
    let kinds = [CellKind::Code, CellKind::Markdown, CellKind::Raw];
    let (kind, count) = (kinds[number / 4 % 3], document.len());
    let cell = number * 7 % count.max(1);
    let source = format!("# %% [code]\n\"é😀\\{number}\"\r\n\ttail");
    match number % 4 {
        0 if count > 0 => {
            let old = document.cell(cell).unwrap().source();
            let source = match number % 3 {
                0 => source,
                1 => format!("{old}\n{source}"),
                _ => old.replacen('e', "EE", 1),
            };
            let told = json!({"do": "edit", "cell": cell, "kind": kind.name(), "source": source});
            let action = CellAction::Edit {
                cell,
                kind: Some(kind),
                source: Some(source),
                clear: false,
            };
            (action, told)
        }
        1 if count > 0 => (
            CellAction::Delete { cell },
            json!({"do": "delete", "cell": cell}),
        ),
        2 if count > 0 => {
            let to = number * 3 % count;
            (
                CellAction::Move { cell, to },
                json!({"do": "move", "cell": cell, "to": to}),
            )
        }
        _ => {
            let cell = number * 5 % (count + 1);
            let told = json!({"do": "insert", "cell": cell, "kind": kind.name(), "source": source});
            (
                CellAction::Insert {
                    cell: Some(cell),
                    kind,
                    source,
                },
                told,
            )
        }
    }
}

const MODEL: &str = r#"
import json, pathlib, sys, warnings, nbformat
warnings.simplefilter('ignore')
def joined(book):
    for cell in book['cells']:
        if isinstance(cell['source'], list): cell['source'] = ''.join(cell['source'])
    return book
def turn(cell, kind):
    was, cell['cell_type'] = cell['cell_type'], kind
    if kind == 'code':
        cell.setdefault('execution_count', None); cell.setdefault('outputs', [])
        if was != kind: cell.pop('attachments', None)
    else:
        cell.pop('execution_count', None); cell.pop('outputs', None)
def valid(book):
    try: nbformat.validate(book)
    except Exception: return False
    return True
count = 0
for line in open(sys.argv[1]):
    told = json.loads(line)
    read = lambda name: open(told[name], newline='', encoding='utf-8').read()
    old, new = read('old'), read('new')
    book, made = joined(json.loads(old)), joined(json.loads(new))
    was_valid = valid(json.loads(old))
    cells, place = book['cells'], told['cell']
    if told['do'] == 'delete': del cells[place]
    elif told['do'] == 'move': cells.insert(told['to'], cells.pop(place))
    elif told['do'] == 'insert':
        cell = dict(cell_type=None, metadata={}, source=told['source']); turn(cell, told['kind'])
        cells.insert(place, cell)
        if book['nbformat_minor'] >= 5: cell['id'] = made['cells'][place]['id']
    elif cells[place]['source'] != told['source'] or cells[place]['cell_type'] != told['kind']:
        cells[place]['source'] = told['source']; turn(cells[place], told['kind'])
    assert book == made, told
    assert not was_valid or valid(json.loads(new)), told
    count += 1
assert count >= 200, count
print('fine')
"#;

#[test]
fn strangers_notebooks_are_changed_as_the_model_says() {
    let Some(files) = files() else { return };
    let home = Home::new();
    let mut changes = String::new();
    for (number, path) in files.iter().enumerate() {
        let document = document(path);
        let (action, mut told) = change(&document, number);
        let outcome = apply_action(&document, &action).unwrap();
        let new = home.work().join(format!("{number}.ipynb"));
        std::fs::write(&new, outcome.draft.render(&document).unwrap().text()).unwrap();
        told["old"] = path.to_str().unwrap().into();
        told["new"] = new.to_str().unwrap().into();
        changes.push_str(&format!("{told}\n"));
    }
    let list = home.work().join("changes");
    std::fs::write(&list, changes).unwrap();
    ask_python(&home, &list, MODEL);
}
