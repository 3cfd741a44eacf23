//! Documents by example: the bytes that an edit changes, marks, refusals. `model.rs` has the random tests, `drafts.rs`
//! whole drafts, `reading.rs` what is read.

use serde_json::{Value, json};

use super::*;

mod drafts;
mod model;
mod reading;

fn parse(text: &str) -> Document {
    Document::parse(text.to_owned()).unwrap()
}

fn shown(document: &Document) -> String {
    show(document, &ShownPart::default(), |_, _| String::new())
        .unwrap()
        .unwrap()
}

fn applied(text: &str, edited: &str) -> String {
    let document = parse(text);
    let draft = apply_marked_text(&document, edited).unwrap();
    draft.render(&document).unwrap().text()
}

fn acted(text: &str, action: &CellAction) -> Result<String, CellActionError> {
    let document = parse(text);
    let outcome = apply_action(&document, action)?;
    Ok(outcome.draft.render(&document).unwrap().text())
}

const SMALL: &str = r##"{
  "cells": [
    {
      "source": ["a = 1\n", "\u0061"],
      "cell_type": "code",
      "x": 12345678901234567890123,
      "metadata": {"k": [1.0, 1e5]},
      "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\ud800"}],
      "execution_count": 3,
      "id": "one"
    },
    {"cell_type": "markdown", "metadata": {}, "id": "two", "source": "# T\r\n# %% [code]"}
  ],
  "nbformat": 4, "nbformat_minor": 5,
  "metadata": {}
}"##;

#[test]
fn a_notebook_is_its_marked_text() {
    let text = shown(&parse(SMALL));
    assert_eq!(
        text,
        "# %% [code] cell:0\na = 1\na\n# %% [markdown] cell:1\n# T\r\n# %%% [code]\n"
    );
    assert_eq!(applied(SMALL, &text), SMALL);
    assert_eq!(applied(SMALL, text.trim_end_matches('\n')), SMALL);
}

#[test]
fn an_edit_touches_its_cell_only() {
    let edited = applied(
        SMALL,
        "# %% [code] cell:0\na = 1\nb\na\n# %% [markdown] cell:1\n# T\r\n# %%% [code]",
    );
    let expected = SMALL.replace(
        r#"["a = 1\n", "\u0061"]"#,
        r#"["a = 1\n", "b\n", "\u0061"]"#,
    );
    assert_eq!(edited, expected);
    let edited = applied(
        SMALL,
        "# %% [raw] cell:1\n# U\r\n# %%% [code]\n# %% [code] cell:0\na = 1\na\n",
    );
    let second =
        r##"{"cell_type": "raw", "metadata": {}, "id": "two", "source": "# U\r\n# %% [code]"}"##;
    assert!(
        edited.contains(&format!("[\n    {second},\n    {{\n      \"source\"")),
        "{edited}"
    );
    assert!(
        edited.ends_with(&SMALL[SMALL.find("\n  ],").unwrap()..]),
        "{edited}"
    );
}

#[test]
fn kinds_bring_and_lose_what_belongs_to_them() {
    let edit = |cell, kind| CellAction::Edit {
        cell,
        kind: Some(kind),
        source: None,
        clear: false,
    };
    let edited = acted(SMALL, &edit(0, CellKind::Markdown)).unwrap();
    assert!(
        !edited.contains("outputs") && !edited.contains("execution_count"),
        "{edited}"
    );
    assert!(edited.contains("\"cell_type\": \"markdown\",\n      \"x\": 12345678901234567890123"));
    let edited = acted(SMALL, &edit(1, CellKind::Code)).unwrap();
    let cell = concat!(
        r##"{"cell_type": "code", "execution_count": null, "metadata": {}, "id": "two", "##,
        r##""outputs": [], "source": "# T"##
    );
    assert!(edited.contains(cell), "{edited}");
}

#[test]
fn new_cells_look_like_the_file_and_have_ids() {
    let insert = |cell| CellAction::Insert {
        cell,
        kind: CellKind::Code,
        source: "é\n1".into(),
    };
    let made = acted(SMALL, &insert(Some(1))).unwrap();
    let cell =
        "    {\n      \"cell_type\": \"code\",\n      \"execution_count\": null,\n      \"id\": \"";
    assert!(made.contains(cell), "{made}");
    let source = "\"source\": [\n        \"é\\n\",\n        \"1\"\n      ]\n    },\n    {\"cell_type\": \"markdown\"";
    assert!(made.contains(source), "{made}");
    let old = SMALL.replace("\"nbformat_minor\": 5", "\"nbformat_minor\": 4");
    assert!(
        !acted(&old, &insert(None)).unwrap().contains("\"id\": \"e"),
        "no ids before 4.5"
    );
    let line = r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":2}"#;
    assert_eq!(
        acted(line, &insert(None)).unwrap(),
        concat!(
            r#"{"cells":[{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"#,
            r#""source":["é\n","1"]}],"metadata":{},"nbformat":4,"nbformat_minor":2}"#
        )
    );
    let ascii = r#"{"cells":[],"metadata":{"t":"\u00e9"},"nbformat":4,"nbformat_minor":2}"#;
    assert!(
        acted(ascii, &insert(None))
            .unwrap()
            .contains(r#"["\u00e9\n","1"]"#)
    );
    let empty = Document::empty();
    let made = apply_marked_text(&empty, "# %% [markdown]\nx")
        .unwrap()
        .render(&empty)
        .unwrap()
        .text();
    assert!(
        made.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \""),
        "{made}"
    );
    let end = concat!(
        "   \"metadata\": {},\n   \"source\": [\n    \"x\"\n   ]\n  }\n ],\n",
        " \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
    );
    assert!(made.ends_with(end), "{made}");
}

#[test]
fn what_marks_are() {
    let check = |text: &str, expected: &[(Option<usize>, &str)]| {
        let cells = read_marked(text).unwrap();
        let read: Vec<_> = cells
            .iter()
            .map(|cell| (cell.number, cell.source.as_ref()))
            .collect();
        assert_eq!(read, expected, "{text:?}");
    };
    check("", &[]);
    check("# %% [code]", &[(None, "")]);
    check("# %% [code] cell:07\n\n", &[(Some(7), "")]);
    check(
        "# %% [code]\n\n\n\n# %% [raw] cell:1\nx\n",
        &[(None, "\n\n"), (Some(1), "x")],
    );
    check(
        "# %% [code]\n# %% [code] cell:\n# %% [sql]\n# %% [code] x",
        &[(None, "# %% [code] cell:\n# %% [sql]\n# %% [code] x")],
    );
    check(
        "# %% [code] cell:99999999999999999999999\na",
        &[(None, "a")],
    );
    check(
        "# %% [code]\n# %%% [code] cell:3\n# %%%% [raw]\n#%% [code]",
        &[(None, "# %% [code] cell:3\n# %%% [raw]\n#%% [code]")],
    );
    for text in [
        "\n# %% [code]",
        "x",
        "# %%% [code]",
        " # %% [code]",
        "#%% [code]",
    ] {
        assert_eq!(read_marked(text), Err(TextError::NoMark), "{text:?}");
    }
    assert_eq!(read_marked("# %% [code]\r\nx"), Err(TextError::LineEnds));
}

#[test]
fn numbers_say_which_cell_is_meant() {
    let text = concat!(
        r#"{"cells": [{"cell_type": "code", "metadata": {"a": 1}, "source": "x"}], "#,
        r#""nbformat": 4, "nbformat_minor": 4}"#
    );
    let edited = applied(
        text,
        "# %% [code] cell:1\nnew\n# %% [code] cell:0\nx\n# %% [code] cell:0\nx\n# %% [raw]\ny",
    );
    let value: Value = serde_json::from_str(&edited).unwrap();
    let told: Vec<_> = value["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| (&cell["metadata"], &cell["cell_type"]))
        .collect();
    let (none, kept) = (json!({}), json!({"a": 1}));
    assert_eq!(
        told,
        [
            (&none, &json!("code")),
            (&kept, &json!("code")),
            (&none, &json!("code")),
            (&none, &json!("raw"))
        ]
    );
    assert_eq!(
        applied(text, ""),
        r#"{"cells": [], "nbformat": 4, "nbformat_minor": 4}"#
    );
}

#[test]
fn a_text_with_outputs_is_not_applied() {
    let document = parse(SMALL);
    let with = show(&document, &ShownPart::default(), |number, _| {
        output_mark(number) + "\n1\n"
    })
    .unwrap()
    .unwrap();
    assert_eq!(
        apply_marked_text(&document, &with)
            .unwrap_err()
            .to_string()
            .split(':')
            .next(),
        Some("line 4 is an output, not part of a cell")
    );
    let text = "{\"cells\": [{\"cell_type\": \"raw\", \"source\": \"# %% [output] cell:1\"}], \"nbformat\": 4}";
    assert_eq!(applied(text, &shown(&parse(text))), text);
}

#[test]
fn lines_of_the_text() {
    let document = parse(SMALL);
    let lines = |ranges: &str| {
        let part = ShownPart {
            lines: LineRange::parse_list(ranges).unwrap(),
            ..ShownPart::default()
        };
        show(&document, &part, |number, _| format!("<{number}>\n")).unwrap()
    };
    assert_eq!(lines("2").unwrap(), "a = 1\n");
    assert_eq!(
        lines("1-3,6-").unwrap(),
        "# %% [code] cell:0\na = 1\na\n<0>\n# %%% [code]\n<1>\n"
    );
    assert_eq!(lines("9-").unwrap_err(), TextError::Behind(9, 6));
    for wrong in ["", "0", "3-2", "a", "1,", "1-2-3"] {
        assert!(LineRange::parse_list(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn actions_say_what_is_out_of_range() {
    let document = parse(SMALL);
    let check = |action: &CellAction, expected: &str| {
        assert_eq!(
            apply_action(&document, action).unwrap_err().to_string(),
            expected
        );
    };
    let source = String::new();
    check(
        &CellAction::Insert {
            cell: Some(3),
            kind: CellKind::Code,
            source,
        },
        "Cell index 3 out of range for insert (0-2)",
    );
    check(
        &CellAction::Delete { cell: 2 },
        "Cell index 2 out of range (0-1)",
    );
    check(
        &CellAction::Move { cell: 0, to: 2 },
        "Cell index 2 out of range (0-1)",
    );
    let nothing = CellAction::Edit {
        cell: 0,
        kind: None,
        source: None,
        clear: false,
    };
    check(&nothing, "Content is required for edit action");
    let outcome = apply_action(&document, &CellAction::Delete { cell: 1 }).unwrap();
    assert_eq!(
        (outcome.total, outcome.source.as_str()),
        (1, "# T\r\n# %% [code]")
    );
    assert_eq!(
        outcome.summary("a.ipynb"),
        "Deleted markdown cell 1 from a.ipynb: 1 cell."
    );
    let edit = CellAction::Edit {
        cell: 0,
        kind: None,
        source: Some("b".into()),
        clear: false,
    };
    assert!(apply_action(&document, &edit).unwrap().stale);
    let same = CellAction::Edit {
        cell: 0,
        kind: None,
        source: Some("a = 1\na".into()),
        clear: false,
    };
    assert_eq!(acted(SMALL, &same).unwrap(), SMALL);
    let clear = CellAction::Edit {
        cell: 0,
        kind: None,
        source: None,
        clear: true,
    };
    let cleared = acted(SMALL, &clear).unwrap();
    assert!(
        cleared.contains("\"outputs\": [],\n      \"execution_count\": null,\n      \"id\""),
        "{cleared}"
    );
}

#[test]
fn an_edit_says_whether_outputs_are_of_another_text() {
    let document = parse(SMALL);
    let (text, new) = ("a = 1\na", "b");
    for (cell, kind, source, clear, stale) in [
        (0, None, Some(new), false, true),
        (0, Some(CellKind::Code), Some(new), false, true),
        (0, None, Some(new), true, false),
        (0, Some(CellKind::Raw), Some(new), false, false),
        (0, Some(CellKind::Raw), None, false, false),
        (0, None, Some(text), false, false),
        (1, None, Some(new), false, false),
    ] {
        let action = CellAction::Edit {
            cell,
            kind,
            source: source.map(str::to_owned),
            clear,
        };
        let outcome = apply_action(&document, &action).unwrap();
        assert_eq!(outcome.stale, stale, "{action:?}");
        let was = document.cell(cell).unwrap();
        let now = (outcome.kind, outcome.source.as_str());
        let expected = (kind.or(was.kind()).unwrap(), source.unwrap_or(text));
        assert_eq!(now, expected, "{action:?}");
        assert_eq!(outcome.before, Some(was.source()), "{action:?}");
    }
    // What has no outputs has none to remove.
    let clear = CellAction::Edit {
        cell: 1,
        kind: None,
        source: None,
        clear: true,
    };
    assert_eq!(acted(SMALL, &clear).unwrap(), SMALL);
}

#[test]
fn summaries_of_actions() {
    let insert = |cell| CellAction::Insert {
        cell,
        kind: CellKind::Raw,
        source: "x".into(),
    };
    let kind = Some(CellKind::Raw);
    for (action, expected) in [
        (insert(None), "Inserted raw cell 2 into a: 3 cells."),
        (insert(Some(2)), "Inserted raw cell 2 into a: 3 cells."),
        (insert(Some(0)), "Inserted raw cell 0 into a: 3 cells."),
        (
            CellAction::Delete { cell: 0 },
            "Deleted code cell 0 from a: 1 cell.",
        ),
        (
            CellAction::Move { cell: 0, to: 1 },
            "Moved code cell to 1 in a: 2 cells.",
        ),
        (
            CellAction::Edit {
                cell: 1,
                kind,
                source: None,
                clear: false,
            },
            "Edited raw cell 1 in a: 2 cells.",
        ),
    ] {
        let outcome = apply_action(&parse(SMALL), &action).unwrap();
        assert_eq!(outcome.summary("a"), expected);
    }
    let none = apply_action(&Document::empty(), &CellAction::Delete { cell: 0 });
    assert_eq!(none, Err(CellActionError::NoCells(0)));
}

#[test]
fn old_formats_are_shown_and_not_changed() {
    let text = r#"{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "T"},
        {"cell_type": "code", "input": ["a\n", "b"], "outputs": []}]}]}"#;
    let document = parse(text);
    assert_eq!(
        shown(&document),
        "# %% [markdown] cell:0\n## T\n# %% [code] cell:1\na\nb\n"
    );
    assert_eq!(applied(text, &shown(&document)), text);
    let draft = apply_marked_text(&document, "").unwrap();
    assert_eq!(
        draft.render(&document).unwrap_err(),
        NotebookError::Format(3)
    );
}

#[test]
fn a_heading_that_is_changed_is_what_it_is_shown_as() {
    let text = r#"{"nbformat": 4, "cells": [{"cell_type": "heading", "level": 2, "source": "T"}]}"#;
    let edit = |kind, source: Option<&str>| CellAction::Edit {
        cell: 0,
        kind,
        source: source.map(str::to_owned),
        clear: false,
    };
    let changed = acted(text, &edit(None, Some("## New"))).unwrap();
    assert_eq!(shown(&parse(&changed)), "# %% [markdown] cell:0\n## New\n");
    let changed = acted(text, &edit(Some(CellKind::Raw), None)).unwrap();
    assert_eq!(shown(&parse(&changed)), "# %% [raw] cell:0\n## T\n");
    assert!(!changed.contains("level"), "{changed}");
}

#[test]
fn differences_do_not_count_numbers() {
    let old = "# %% [code] cell:0\na\n# %% [code] cell:1\nb\n";
    let new = "# %% [raw] cell:0\nr\n# %% [code] cell:1\na\n# %% [code] cell:2\nc\n";
    let lines: Vec<String> = diff(old, new).iter().map(DiffLine::text).collect();
    assert_eq!(
        lines,
        [
            "@@ -1,4 +1,6 @@",
            "+# %% [raw] cell:0",
            "+r",
            " # %% [code] cell:1",
            " a",
            " # %% [code] cell:2",
            "-b",
            "+c"
        ]
    );
    assert!(diff(old, old).is_empty());
}

#[test]
fn what_is_no_cell_can_go_but_not_be_edited() {
    let text =
        r#"{"cells": [7, {"cell_type": "new", "outputs": [1], "source": "a"}], "nbformat": 4}"#;
    let edit = |cell| CellAction::Edit {
        cell,
        kind: None,
        source: Some("b".into()),
        clear: false,
    };
    assert_eq!(acted(text, &edit(0)), Err(CellActionError::NoObject(0)));
    let deleted = acted(text, &CellAction::Delete { cell: 0 }).unwrap();
    assert_eq!(parse(&deleted).len(), 1);
    let edited = acted(text, &edit(1)).unwrap();
    assert_eq!(edited, text.replace("\"a\"", "\"b\""));
}

#[test]
fn lines_of_the_file_itself() {
    let part = |ranges: &str| lines_of("a\nb\r\nc", &LineRange::parse_list(ranges).unwrap());
    assert_eq!(part("2-").unwrap(), "b\r\nc");
    assert_eq!(part("3,1").unwrap(), "a\nc");
    assert_eq!(part("4"), Err(TextError::Behind(4, 3)));
}

#[test]
fn what_a_document_says_of_itself() {
    let document = parse(SMALL);
    assert!(!document.is_empty());
    assert_eq!(document.format(), (4, Some(5)));
    let cell = document.cell(1).unwrap();
    assert_eq!(cell.id().as_deref(), Some("two"));
    assert!(cell.raw().starts_with(r#"{"cell_type": "markdown""#) && cell.raw().ends_with('}'));
    let empty = parse(r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#);
    assert!(empty.is_empty());
    assert_eq!(empty.format(), (4, Some(4)));
    let error = Document::parse("[]".to_owned()).unwrap_err();
    assert!(error.sentence("a.ipynb").contains("`a.ipynb`"), "{error}");
}

#[test]
fn a_file_that_stays_is_said_to_be_the_same() {
    let document = parse(SMALL);
    let same = Draft::unchanged(&document).render(&document).unwrap();
    assert!(same.is_same());
    assert_eq!(same.text(), SMALL);
    let mut draft = Draft::unchanged(&document);
    draft.cells.pop();
    assert!(!draft.render(&document).unwrap().is_same());
}

#[test]
fn metadata_is_changed_before_and_behind_the_cells() {
    let before = r#"{"metadata": {"a": 1}, "cells": [], "nbformat": 4, "nbformat_minor": 4}"#;
    let behind = r#"{"cells": [], "metadata": {"a": 1}, "nbformat": 4, "nbformat_minor": 4}"#;
    for text in [before, behind] {
        let document = parse(text);
        let mut draft = Draft::unchanged(&document);
        draft.metadata.push(("a".into(), json!(2)));
        let changed = draft.render(&document).unwrap().text();
        assert_eq!(changed, text.replace("\"a\": 1", "\"a\": 2"));
    }
}

#[test]
fn marks_in_the_middle_of_a_line_are_text() {
    let cell = json!([{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null,
        "source": "x = 1 # %% [code]\n# %% [code]"}]);
    let text = json!({"cells": cell, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
    let text = text.to_string();
    let marked = shown(&parse(&text));
    assert_eq!(
        marked,
        "# %% [code] cell:0\nx = 1 # %% [code]\n# %%% [code]\n"
    );
    assert_eq!(applied(&text, &marked), text);
    let error = |text: &str| read_marked(text).unwrap_err();
    assert_eq!(error("x\r\n# %% [code]\r\n"), TextError::NoMark);
    assert_eq!(error("# %% [code]\r\nx\r\n"), TextError::LineEnds);
}
