//! What is read of a notebook: its parts, the faults of files, and the parts of it that are shown.

use serde_json::json;

use super::*;

#[test]
fn the_format_says_whether_cells_have_ids() {
    for (format, expected, ids) in [
        (r#""nbformat": 4, "nbformat_minor": 5"#, (4, Some(5)), true),
        (r#""nbformat": 4, "nbformat_minor": 4"#, (4, Some(4)), false),
        (r#""nbformat": 4"#, (4, None), false),
        (r#""nbformat": 5"#, (5, None), true),
        (r#""nbformat": 3, "nbformat_minor": 0"#, (3, Some(0)), false),
        (r#""x": 1"#, (4, None), false),
    ] {
        let document = parse(&format!(r#"{{"cells": [], {format}}}"#));
        assert_eq!(
            (document.format(), document.has_ids()),
            (expected, ids),
            "{format}"
        );
    }
    let old = parse(
        r#"{"worksheets": [7, {"name": "a"}, {"cells": 7}, {"cells": [{"cell_type": "raw"}]}]}"#,
    );
    assert_eq!((old.format(), old.len()), ((3, None), 1));
}

/// A notebook with this cell, whose metadata is the notebook's, too.
fn with_metadata(metadata: &str) -> Document {
    let cell = format!(r#"{{"cell_type": "code", "source": "", "metadata": {metadata}}}"#);
    parse(&format!(
        r#"{{"cells": [{cell}], "metadata": {metadata}, "nbformat": 4}}"#
    ))
}

#[test]
fn metadata_is_read_where_it_is_an_object() {
    for (metadata, key, expected) in [
        (r#"{"a": {"b": 1}}"#, "a", Some(json!({"b": 1}))),
        (r#"{"a": 1, "a": NaN}"#, "a", Some(json!(null))),
        (r#"{"a": 1}"#, "b", None),
        (r#"["a"]"#, "a", None),
        ("7", "a", None),
    ] {
        let document = with_metadata(metadata);
        assert_eq!(document.metadata(key), expected, "{metadata}");
        assert_eq!(
            document.cell(0).unwrap().metadata(key),
            expected,
            "{metadata}"
        );
    }
    for (metadata, language, kernel) in [
        (
            r#"{"kernelspec": {"language": "R", "name": "ir"}, "language_info": {"name": "x"}}"#,
            Some("R"),
            Some("ir"),
        ),
        (
            r#"{"kernelspec": {"name": "ir"}, "language_info": {"name": "r"}}"#,
            Some("r"),
            Some("ir"),
        ),
        (
            r#"{"kernelspec": {"name": 7}, "language_info": []}"#,
            None,
            None,
        ),
        ("{}", None, None),
    ] {
        let document = with_metadata(metadata);
        assert_eq!(document.language().as_deref(), language, "{metadata}");
        assert_eq!(document.kernel().as_deref(), kernel, "{metadata}");
    }
    for (metadata, tagged) in [
        (r#"{"tags": ["y", "x"]}"#, true),
        (r#"{"tags": ["xy"]}"#, false),
        (r#"{"tags": "x"}"#, false),
        ("{}", false),
    ] {
        let document = with_metadata(metadata);
        assert_eq!(document.cell(0).unwrap().has_tag("x"), tagged, "{metadata}");
    }
}

#[test]
fn parts_of_cells_are_read_or_missing() {
    let text = r#"{"cells": [
        {"cell_type": "code", "id": "a", "n": [1], "outputs": [{"x": NaN}, 2], "source": "s"},
        {"cell_type": "code", "id": 7, "outputs": "none", "source": {}},
        {"cell_type": 7, "source": ["a", 1]}, [{"id": "b", "source": "t"}], {},
        {"cell_type": "heading", "level": 9, "source": "t"}, {"cell_type": "heading", "source": "t"},
        {"cell_type": "markdown", "level": 2, "source": "t", "input": "old"}, {"cell_type": "raw", "input": "old"}],
        "nbformat": 4}"#;
    let document = parse(text);
    type Parts<'a> = (
        Option<&'a str>,
        Option<CellKind>,
        &'a str,
        usize,
        Option<Value>,
    );
    let expected: [Parts<'_>; 9] = [
        (Some("a"), Some(CellKind::Code), "s", 2, Some(json!([1]))),
        (None, Some(CellKind::Code), "", 0, None),
        (None, None, "", 0, None),
        (None, None, "", 0, None),
        (None, None, "", 0, None),
        (None, Some(CellKind::Markdown), "###### t", 0, None),
        (None, Some(CellKind::Markdown), "t", 0, None),
        (None, Some(CellKind::Markdown), "t", 0, None),
        (None, Some(CellKind::Raw), "old", 0, None),
    ];
    assert_eq!(document.len(), expected.len());
    for (cell, expected) in document.cells().zip(expected) {
        let id = cell.id();
        let (source, outputs) = (cell.source(), cell.outputs().len());
        let parts = (
            id.as_deref(),
            cell.kind(),
            &*source,
            outputs,
            cell.value("n"),
        );
        assert_eq!(parts, expected, "{}", cell.raw());
    }
    let outputs = document.cell(0).unwrap().outputs();
    assert_eq!(outputs, [json!({"x": null}), json!(2)]);
    let faults: Vec<Option<String>> = document.cells().map(|cell| cell.fault()).collect();
    let expected = [
        None,
        Some("has a `source` that is neither text nor a list of lines"),
        Some("has the unknown `cell_type` 7"),
        Some("is not a JSON object"),
        Some("has no `cell_type`"),
        None,
        None,
        None,
        None,
    ];
    assert_eq!(faults, expected.map(|fault| fault.map(str::to_owned)));
    assert!(document.cell(9).is_none());
}

#[test]
fn the_last_of_two_members_counts() {
    let refused = "is not a notebook: it has no list of cells";
    for (members, expected) in [
        (r#""cells": [1, 2], "cells": [3]"#, Ok(1)),
        (r#""cells": [1, 2], "cells": 7"#, Err(refused)),
        (r#""cells": 7, "cells": [1, 2]"#, Ok(2)),
        (
            r#""worksheets": [{"cells": [1]}], "worksheets": [{"cells": [1, 2]}]"#,
            Ok(2),
        ),
        (
            r#""worksheets": [{"cells": [1]}], "cells": [1, 2, 3]"#,
            Ok(3),
        ),
        (r#""worksheets": 7"#, Err(refused)),
        (r#""cells": {"cells": []}"#, Err(refused)),
        (r#""other": []"#, Err(refused)),
    ] {
        let read = Document::parse(format!("{{{members}}}"));
        let read = read
            .map(|document| document.len())
            .map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{members}");
    }
}

#[test]
fn faults_have_a_place_and_a_sentence() {
    for (text, expected) in [
        (
            "{\"cells\": [],\n\n  \"é\" 1}",
            "Invalid JSON in notebook: `a`, line 3, column 8: expected `:`",
        ),
        (
            "x",
            "Invalid JSON in notebook: `a`, line 1, column 1: expected value",
        ),
        (
            "{\n",
            "Invalid JSON in notebook: `a`, line 2, column 1: it ends too early",
        ),
        (
            "{} 7",
            "Invalid JSON in notebook: `a`, line 1, column 4: trailing characters",
        ),
        (
            "7",
            "Invalid notebook structure (missing cells array): `a` holds no object",
        ),
    ] {
        assert_eq!(
            Document::parse(text.to_owned()).unwrap_err().sentence("a"),
            expected
        );
    }
    let sentence = "`a` is a notebook of format 3, which is shown but not changed";
    assert_eq!(NotebookError::Format(3).sentence("a"), sentence);
    let error = serde_json::from_str::<Value>("[\n1 2]").unwrap_err();
    assert_eq!(
        NotebookError::from(error).to_string(),
        "is not valid JSON: line 2, column 3: expected `,` or `]`"
    );
}

#[test]
fn a_part_is_shown_by_cells_and_lines() {
    let text = r##"{"cells": [{"cell_type": "code", "source": "a = 1\n# cell:5"}, {"cell_type": "raw", "source": ""},
        {"cell_type": "markdown", "source": "# T\n# %% [code]"}], "nbformat": 4}"##;
    let document = parse(text);
    let shown = |cells: &[usize], lines: &str, unnumbered| {
        let lines = if lines.is_empty() {
            Vec::new()
        } else {
            LineRange::parse_list(lines).unwrap()
        };
        let part = ShownPart {
            cells: cells.to_vec(),
            lines,
            unnumbered,
        };
        show(&document, &part, |number, _| format!("<{number}>\n")).unwrap()
    };
    for (cells, lines, expected) in [
        (
            &[2][..],
            "",
            "# %% [markdown] cell:2\n# T\n# %%% [code]\n<2>\n",
        ),
        (
            &[0, 1],
            "",
            "# %% [code] cell:0\na = 1\n# cell:5\n<0>\n# %% [raw] cell:1\n<1>\n",
        ),
        (&[9], "", ""),
        (&[], "3-4", "# cell:5\n<0>\n# %% [raw] cell:1\n<1>\n"),
        (&[0], "2-6", "a = 1\n# cell:5\n<0>\n"),
        (&[2], "2-6", "# %% [markdown] cell:2\n# T\n"),
        (&[2], "7", "# %%% [code]\n<2>\n"),
    ] {
        assert_eq!(
            shown(cells, lines, false).unwrap(),
            expected,
            "{cells:?} {lines}"
        );
    }
    assert_eq!(shown(&[], "8,1", false), Err(TextError::Behind(8, 7)));
    let unnumbered = "# %% [code]\na = 1\n# cell:5\n<0>\n# %% [raw]\n<1>\n# %% [markdown]\n# T\n# %%% [code]\n<2>\n";
    assert_eq!(shown(&[], "", true).unwrap(), unnumbered);
    assert_eq!(
        lines_of("a\nb", &LineRange::parse_list("2").unwrap()).unwrap(),
        "b"
    );
    assert_eq!(output_mark(3), "# %% [output] cell:3");
}

#[test]
fn a_broken_cell_is_in_the_way_only_where_it_is_shown() {
    let document = parse(r#"{"cells": [7, {"cell_type": "raw", "source": "a"}], "nbformat": 4}"#);
    let shown = |cell| {
        let part = ShownPart {
            cells: vec![cell],
            ..ShownPart::default()
        };
        show(&document, &part, |_, _| String::new())
    };
    let broken = NotebookError::Cell(0, "is not a JSON object".into());
    assert_eq!(shown(0), Err(broken.clone()));
    assert_eq!(shown(1), Ok(Ok("# %% [raw] cell:1\na\n".into())));
    assert_eq!(
        apply_marked_text(&document, "# %% [raw]").unwrap_err(),
        ApplyError::Notebook(broken)
    );
}
