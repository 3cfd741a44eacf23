//! Drafts that change every part of a cell: the values that are written, in the style of the file.

use serde_json::{Value, json};

use super::model::{Style, value_of};
use super::*;

fn set(members: &[(&str, Value)]) -> Vec<(String, Value)> {
    let members = members.iter();
    members
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect()
}

#[test]
fn new_parts_are_in_the_style_of_the_file() {
    let outputs = || {
        let values = [
            json!({"name": "stdout", "output_type": "stream", "text": "1\né\n"}),
            json!({"data": {"text/plain": "a\nb", "x": [1, {"y": []}]}, "output_type": "display_data", "text": "c\nd"}),
        ];
        values.to_vec()
    };
    let written_outputs = json!([
        {"name": "stdout", "output_type": "stream", "text": ["1\n", "é\n"]},
        {"data": {"text/plain": "a\nb", "x": [1, {"y": []}]}, "output_type": "display_data", "text": "c\nd"}
    ]);
    let notebook = json!({
        "cells": [
            {"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {"é": {"b": 1}, "t": 0}, "outputs": [],
             "source": ["x\n", "y"]},
            {"cell_type": "code", "execution_count": 1, "id": "b", "metadata": {}, "outputs": [{"old": 1}],
             "source": []},
            {"cell_type": "markdown", "id": "c", "source": null},
            {"attachments": {}, "cell_type": "markdown", "id": "d", "metadata": {}, "source": ["t"]}
        ],
        "metadata": {"kernelspec": {"name": "x"}}, "nbformat": 4, "nbformat_minor": 5
    });
    let new = |kind, source: &str, id: Option<&str>| NewCell {
        id: id.map(str::to_owned),
        ..NewCell::new(kind, source)
    };
    let cells = vec![
        DraftCell::Changed(
            0,
            CellChanges {
                source: Some("x\nnew é\ny".into()),
                outputs: Some(outputs()),
                execution_count: Some(Some(7)),
                metadata: set(&[("t", json!([1, {"a": 2}])), ("s", json!({"b": [{}]}))]),
                ..CellChanges::default()
            },
        ),
        DraftCell::Changed(
            1,
            CellChanges {
                source: Some("p\nq".into()),
                execution_count: Some(None),
                metadata: set(&[("m", json!([1]))]),
                ..CellChanges::default()
            },
        ),
        DraftCell::Changed(
            2,
            CellChanges {
                source: Some("r\ns".into()),
                metadata: set(&[("m", json!({"n": [1]}))]),
                ..CellChanges::default()
            },
        ),
        DraftCell::Changed(
            3,
            CellChanges {
                kind: Some(CellKind::Code),
                ..CellChanges::default()
            },
        ),
        DraftCell::New(NewCell {
            metadata: set(&[("m", json!({"n": [1]}))]),
            outputs: outputs(),
            execution_count: Some(3),
            ..new(CellKind::Code, "u\nv", Some("e"))
        }),
        DraftCell::New(new(CellKind::Raw, "", Some("f"))),
    ];
    let draft = Draft {
        cells,
        metadata: set(&[("ipycodex", json!({"cells": [1, {"x": []}]}))]),
    };
    let expected = json!({
        "cells": [
            {"cell_type": "code", "execution_count": 7, "id": "a",
             "metadata": {"é": {"b": 1}, "s": {"b": [{}]}, "t": [1, {"a": 2}]}, "outputs": written_outputs,
             "source": ["x\n", "new é\n", "y"]},
            {"cell_type": "code", "execution_count": null, "id": "b", "metadata": {"m": [1]}, "outputs": [{"old": 1}],
             "source": ["p\n", "q"]},
            {"cell_type": "markdown", "id": "c", "metadata": {"m": {"n": [1]}}, "source": ["r\n", "s"]},
            {"cell_type": "code", "execution_count": null, "id": "d", "metadata": {}, "outputs": [], "source": ["t"]},
            {"cell_type": "code", "execution_count": 3, "id": "e", "metadata": {"m": {"n": [1]}},
             "outputs": written_outputs, "source": ["u\n", "v"]},
            {"cell_type": "raw", "id": "f", "metadata": {}, "source": []}
        ],
        "metadata": {"ipycodex": {"cells": [1, {"x": []}]}, "kernelspec": {"name": "x"}},
        "nbformat": 4, "nbformat_minor": 5
    });
    for indent in [None, Some(" "), Some("  "), Some("\t")] {
        for (crlf, ascii) in [(false, false), (false, true), (true, false)] {
            let style = Style {
                indent,
                crlf,
                ascii,
                ..Style::default()
            };
            let text = style.write(&notebook);
            let document = parse(&text);
            let rendered = draft.render(&document).unwrap();
            assert_eq!(value_of(&rendered.text()), expected);
            style.check(&text, &rendered.text());
            let parts: Vec<&[u8]> = rendered.parts().collect();
            assert_eq!(parts.concat(), rendered.text().as_bytes());
        }
    }
}

#[test]
fn only_cells_of_old_kinds_become_what_they_are_shown_as() {
    let text = r#"{"cells": [{"cell_type": "html", "level": 1, "source": "<b>"},
        {"cell_type": "markdown", "level": 2, "source": "a"}], "nbformat": 4}"#;
    let none = CellChanges::default;
    let meta = || CellChanges {
        metadata: set(&[("a", json!(1))]),
        ..none()
    };
    for (cell, changes, expected) in [
        (
            0,
            CellChanges {
                source: Some("<i>".into()),
                ..none()
            },
            r#"{"cell_type": "markdown", "source": "<i>"}"#,
        ),
        (
            0,
            CellChanges {
                kind: Some(CellKind::Raw),
                ..none()
            },
            r#"{"cell_type": "raw", "source": "<b>"}"#,
        ),
        (
            0,
            meta(),
            r#"{"cell_type": "html", "level": 1, "metadata": {"a": 1}, "source": "<b>"}"#,
        ),
        (
            1,
            CellChanges {
                source: Some("b".into()),
                ..none()
            },
            r#"{"cell_type": "markdown", "level": 2, "source": "b"}"#,
        ),
        (
            1,
            CellChanges {
                kind: Some(CellKind::Raw),
                ..none()
            },
            r#"{"cell_type": "raw", "level": 2, "source": "a"}"#,
        ),
        (
            1,
            meta(),
            r#"{"cell_type": "markdown", "level": 2, "metadata": {"a": 1}, "source": "a"}"#,
        ),
    ] {
        let document = parse(text);
        let mut draft = Draft::unchanged(&document);
        draft.cells[cell] = DraftCell::Changed(cell, changes);
        let changed = draft.render(&document).unwrap().text();
        assert!(changed.contains(expected), "{changed}");
    }
}

#[test]
fn what_is_no_cell_is_kept_by_any_draft() {
    let document = parse(r#"{"cells": [7, {"cell_type": "raw", "source": "a"}], "nbformat": 4}"#);
    let mut draft = Draft::unchanged(&document);
    let changes = CellChanges {
        source: Some("b".into()),
        ..CellChanges::default()
    };
    for cell in [0, 1] {
        draft.cells[cell] = DraftCell::Changed(cell, changes.clone());
    }
    let changed = draft.render(&document).unwrap().text();
    assert_eq!(changed, document.text().replace("\"a\"", "\"b\""));
}

#[test]
fn new_ids_are_those_of_nobody_else() {
    let new = || DraftCell::New(NewCell::new(CellKind::Raw, "x"));
    let ids = |document: &Document| -> Vec<String> {
        let mut draft = Draft::unchanged(document);
        draft.cells.insert(0, new());
        let changed = parse(&draft.render(document).unwrap().text());
        changed.cells().map(|cell| cell.id().unwrap()).collect()
    };
    let first = ids(&Document::empty());
    let taken = json!({"cells": [{"cell_type": "raw", "id": first[0], "metadata": {}, "source": "y"}], "metadata": {},
        "nbformat": 4, "nbformat_minor": 5});
    let both = ids(&parse(&taken.to_string()));
    assert_eq!(both[1], first[0]);
    assert_ne!(both[0], first[0]);
    assert!(
        both[0].len() == 8 && both[0].bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{both:?}"
    );
}
