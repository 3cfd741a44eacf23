//! Documents against a model that shares nothing with them: JSON values, changed as values.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::*;
use crate::properties;

fn parse(text: &str) -> Document {
    Document::parse(text.to_owned()).unwrap()
}

fn shown(document: &Document) -> String {
    show(document, &Part::default(), |_, _| String::new())
        .unwrap()
        .unwrap()
}

fn applied(text: &str, edited: &str) -> String {
    let document = parse(text);
    let draft = apply(&document, edited).unwrap();
    draft.written(&document).unwrap().text()
}

fn acted(text: &str, action: &Action) -> Result<String, ActionError> {
    let document = parse(text);
    let outcome = act(&document, action)?;
    Ok(outcome.draft.written(&document).unwrap().text())
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
    let edit = |cell, kind| Action::Edit {
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
    let insert = |cell| Action::Insert {
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
    let made = apply(&empty, "# %% [markdown]\nx")
        .unwrap()
        .written(&empty)
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
    let with = show(&document, &Part::default(), |number, _| {
        output_mark(number) + "\n1\n"
    })
    .unwrap()
    .unwrap();
    assert_eq!(
        apply(&document, &with)
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
        let part = Part {
            lines: LineRange::parse_list(ranges).unwrap(),
            ..Part::default()
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
    let check = |action: &Action, expected: &str| {
        assert_eq!(act(&document, action).unwrap_err().to_string(), expected);
    };
    let source = String::new();
    check(
        &Action::Insert {
            cell: Some(3),
            kind: CellKind::Code,
            source,
        },
        "Cell index 3 out of range for insert (0-2)",
    );
    check(
        &Action::Delete { cell: 2 },
        "Cell index 2 out of range (0-1)",
    );
    check(
        &Action::Move { cell: 0, to: 2 },
        "Cell index 2 out of range (0-1)",
    );
    let nothing = Action::Edit {
        cell: 0,
        kind: None,
        source: None,
        clear: false,
    };
    check(&nothing, "Content is required for edit action");
    let outcome = act(&document, &Action::Delete { cell: 1 }).unwrap();
    assert_eq!(
        (outcome.total, outcome.source.as_str()),
        (1, "# T\r\n# %% [code]")
    );
    assert_eq!(
        outcome.told("a.ipynb"),
        "Deleted markdown cell 1 from a.ipynb: 1 cell."
    );
    let edit = Action::Edit {
        cell: 0,
        kind: None,
        source: Some("b".into()),
        clear: false,
    };
    assert!(act(&document, &edit).unwrap().stale);
    let same = Action::Edit {
        cell: 0,
        kind: None,
        source: Some("a = 1\na".into()),
        clear: false,
    };
    assert_eq!(acted(SMALL, &same).unwrap(), SMALL);
    let clear = Action::Edit {
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
fn old_formats_are_shown_and_not_changed() {
    let text = r#"{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "T"},
        {"cell_type": "code", "input": ["a\n", "b"], "outputs": []}]}]}"#;
    let document = parse(text);
    assert_eq!(
        shown(&document),
        "# %% [markdown] cell:0\n## T\n# %% [code] cell:1\na\nb\n"
    );
    assert_eq!(applied(text, &shown(&document)), text);
    let draft = apply(&document, "").unwrap();
    assert_eq!(
        draft.written(&document).unwrap_err(),
        NotebookError::Format(3)
    );
}

#[test]
fn differences_do_not_count_numbers() {
    let old = "# %% [code] cell:0\na\n# %% [code] cell:1\nb\n";
    let new = "# %% [raw] cell:0\nr\n# %% [code] cell:1\na\n# %% [code] cell:2\nc\n";
    let lines: Vec<String> = difference(old, new).iter().map(Difference::text).collect();
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
    assert!(difference(old, old).is_empty());
}

/// How a generated file is laid out.
#[derive(Debug, Clone)]
struct Style {
    indent: Option<&'static str>,
    crlf: bool,
    ascii: bool,
    mark: bool,
    newline: bool,
}

fn styles() -> impl Strategy<Value = Style> {
    let indent = prop_oneof![
        Just(None),
        Just(Some(" ")),
        Just(Some("  ")),
        Just(Some("\t"))
    ];
    (
        indent,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(indent, crlf, ascii, mark, newline)| Style {
            indent,
            crlf,
            ascii,
            mark,
            newline,
        })
}

/// Things `serde_json` does not write, by what stands for them.
const BEYOND: [(&str, &str); 4] = [
    ("\"@NAN\"", "NaN"),
    ("\"@BIG\"", "12345678901234567890123456789"),
    ("\"@EXP\"", "1.50E+400"),
    ("@LONE", "\\ud800"),
];

impl Style {
    fn write(&self, value: &Value) -> String {
        let mut text = match self.indent {
            None => value.to_string(),
            Some(indent) => {
                let mut bytes = Vec::new();
                let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
                let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
                serde::Serialize::serialize(value, &mut writer).unwrap();
                String::from_utf8(bytes).unwrap()
            }
        };
        if self.ascii {
            text = text
                .chars()
                .map(|c| match c.is_ascii() {
                    true => c.to_string(),
                    false => c
                        .encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|unit| format!("\\u{unit:04x}"))
                        .collect(),
                })
                .collect();
        }
        for (stands_for, it) in BEYOND {
            text = text.replace(stands_for, it);
        }
        if self.newline {
            text.push('\n');
        }
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.mark {
            format!("\u{feff}{text}")
        } else {
            text
        }
    }
}

/// The value of a file, what `serde_json` does not read replaced by what stands for it.
fn value_of(text: &str) -> Value {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    for (stands_for, it) in BEYOND {
        text = text.replace(it, stands_for);
    }
    serde_json::from_str(&text).unwrap()
}

/// Sources are texts here, whatever their form.
fn joined(mut value: Value) -> Value {
    for cell in value["cells"].as_array_mut().unwrap() {
        if let Value::Array(lines) = &cell["source"] {
            cell["source"] = lines
                .iter()
                .filter_map(Value::as_str)
                .collect::<String>()
                .into();
        }
    }
    value
}

const SOURCE: &str = "([ab\"\\\\é😀\t]|\n|\r\n|# %% \\[code\\]|\n# %%% \\[raw\\] cell:1\n|@LONE|\u{fffd}|\u{2028}){0,8}";

prop_compose! {
    fn cells()(
        kind in 0usize..3, source in SOURCE, form in 0usize..3, at in any::<Index>(),
        extra in 0usize..4, turned in any::<bool>(), outputs in any::<bool>(),
    ) -> Value {
        let mut members: Vec<(&str, Value)> = vec![("cell_type", ["code", "markdown", "raw"][kind].into())];
        let metadata = [json!({}), json!({"é": [1.0, "@BIG"]}), json!({"deep": {"x": {}}}), json!({"t": "@NAN"})];
        members.push(("metadata", metadata[extra].clone()));
        members.push(("source", match form {
            0 => source.clone().into(),
            1 => source.split_inclusive('\n').collect::<Vec<_>>().into(),
            _ => {
                let cut = source.floor_char_boundary(at.index(source.len() + 1));
                let cut = if source[..cut].ends_with(['@', 'L', 'O', 'N', '\r']) { 0 } else { cut };
                json!([source[..cut], source[cut..]])
            }
        }));
        if kind == 0 && outputs {
            let text = ["@LONE", "\u{1b}[0m"];
            members.push(("outputs", json!([{"output_type": "stream", "name": "stdout", "text": text}])));
            members.push(("execution_count", json!(1)));
        }
        if extra == 3 {
            members.push(("later", json!(["@EXP", null])));
        }
        if turned {
            members.reverse();
        }
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
    }
}

prop_compose! {
    fn notebooks()(
        mut cells in proptest::collection::vec(cells(), 0..6), minor in 0u32..7, turned: bool, ids: bool,
    ) -> Value {
        if minor >= 5 && ids {
            for (number, cell) in cells.iter_mut().enumerate() {
                cell["id"] = format!("id-{number}").into();
            }
        }
        let mut members = vec![
            ("cells", Value::from(cells)),
            ("metadata", json!({"kernelspec": {"name": "x"}})),
            ("nbformat", json!(4)),
            ("nbformat_minor", json!(minor)),
        ];
        if turned {
            members.reverse();
        }
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
    }
}

/// What the text view shows of a source.
fn seen(source: &str) -> String {
    source.replace("@LONE", "\u{fffd}")
}

/// The kind a cell becomes, as the format has it.
fn turn(cell: &mut Value, kind: &str) {
    cell["cell_type"] = kind.into();
    let members = cell.as_object_mut().unwrap();
    if kind == "code" {
        members.entry("execution_count").or_insert(Value::Null);
        members.entry("outputs").or_insert(json!([]));
    } else {
        members.remove("execution_count");
        members.remove("outputs");
    }
}

fn new_cell(kind: &str, source: &str) -> Value {
    let mut cell = json!({"cell_type": kind, "metadata": {}, "source": source});
    turn(&mut cell, kind);
    cell
}

/// Ids that were made are checked and left out.
fn without_new_ids(mut value: Value, minor: u32) -> Value {
    let mut known = std::collections::HashSet::new();
    for cell in value["cells"].as_array_mut().unwrap() {
        let Some(id) = cell.get("id").and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        assert!(known.insert(id.clone()), "{id} twice");
        if !id.starts_with("id-") {
            assert!(
                minor >= 5 && id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{id}"
            );
            cell.as_object_mut().unwrap().remove("id");
        }
    }
    value
}

proptest! {
    #![proptest_config(properties::cases(4 * properties::USUAL))]

    #[test]
    fn what_is_shown_and_applied_is_the_same(notebook in notebooks(), style in styles()) {
        let text = style.write(&notebook);
        let document = parse(&text);
        prop_assert_eq!(document.text(), &text);
        let view = shown(&document);
        prop_assert_eq!(&applied(&text, &view), &text);
    }

    #[test]
    fn edits_are_those_of_the_model(
        notebook in notebooks(), style in styles(), what in 0usize..4, at in any::<Index>(), to in any::<Index>(),
        kind in 0usize..3, source in SOURCE,
    ) {
        let source = seen(&source);
        let kind = [CellKind::Code, CellKind::Markdown, CellKind::Raw][kind];
        let text = style.write(&notebook);
        let minor = u32::try_from(notebook["nbformat_minor"].as_u64().unwrap()).unwrap();
        let mut model = notebook.clone();
        let count = model["cells"].as_array().unwrap().len();
        let cells = model["cells"].as_array_mut().unwrap();
        let action = match what {
            0 => {
                let place = at.index(count + 1);
                cells.insert(place, new_cell(kind.name(), &source));
                Action::Insert { cell: Some(place), kind, source: source.clone() }
            }
            _ if count == 0 => return Ok(()),
            1 => {
                cells.remove(at.index(count));
                Action::Delete { cell: at.index(count) }
            }
            2 => {
                let cell = cells.remove(at.index(count));
                cells.insert(to.index(count), cell);
                Action::Move { cell: at.index(count), to: to.index(count) }
            }
            _ => {
                let cell = &mut cells[at.index(count)];
                let was = joined(json!({"cells": [cell.clone()]}))["cells"][0]["source"].as_str().unwrap().to_owned();
                if seen(&was) != source || cell["cell_type"] != kind.name() {
                    turn(cell, kind.name());
                }
                if seen(&was) != source {
                    cell["source"] = source.clone().into();
                }
                Action::Edit { cell: at.index(count), kind: Some(kind), source: Some(source.clone()), clear: false }
            }
        };
        let changed = acted(&text, &action).unwrap();
        let read = without_new_ids(joined(value_of(&changed)), minor);
        let mut expected = joined(model);
        if what == 3 {
            // What stays of a source keeps its halves of pairs.
            let cell = at.index(count);
            let now = read["cells"][cell]["source"].as_str().unwrap();
            prop_assert_eq!(seen(now), seen(expected["cells"][cell]["source"].as_str().unwrap()));
            expected["cells"][cell]["source"] = now.into();
        }
        prop_assert_eq!(read, expected);
        // The bytes of every cell that is not meant are there, and so is what stands around the list.
        let (old, new) = (parse(&text), parse(&changed));
        let meant = match &action {
            Action::Edit { cell, .. } | Action::Delete { cell } => Some(*cell),
            _ => None,
        };
        let raws: Vec<&str> = new.cells().map(|cell| cell.raw()).collect();
        for (number, cell) in old.cells().enumerate() {
            prop_assert!(Some(number) == meant || raws.contains(&cell.raw()), "{}", cell.raw());
        }
        let list = |document: &Document| document.list().unwrap();
        prop_assert_eq!(&text[..list(&old).start as usize], &changed[..list(&new).start as usize]);
        prop_assert_eq!(&text[list(&old).end as usize..], &changed[list(&new).end as usize..]);
    }

    #[test]
    fn texts_are_those_of_the_model(
        notebook in notebooks(), style in styles(),
        rows in proptest::collection::vec(
            (0usize..3, prop_oneof![Just(None), (0usize..8).prop_map(Some)], SOURCE), 0..6,
        ),
    ) {
        let text = style.write(&notebook);
        let minor = u32::try_from(notebook["nbformat_minor"].as_u64().unwrap()).unwrap();
        let old = joined(notebook.clone());
        let (mut edited, mut model, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for (kind, number, source) in rows {
            let kind = ["code", "markdown", "raw"][kind];
            let source = seen(&source);
            let mark = number.map_or(format!("# %% [{kind}]"), |number| format!("# %% [{kind}] cell:{number}"));
            let masked = source.split('\n').map(|line| match line {
                "# %% [code]" | "# %%% [raw] cell:1" => line.replacen("%%", "%%%", 1),
                _ => line.to_owned(),
            });
            let masked: Vec<String> = masked.collect();
            edited.push(if source.is_empty() { mark } else { format!("{mark}\n{}", masked.join("\n")) });
            let known = number.filter(|number| !used.contains(number)).and_then(|number| {
                used.push(number);
                old["cells"].get(number)
            });
            model.push(match known {
                None => new_cell(kind, &source),
                Some(cell) => {
                    let mut cell = cell.clone();
                    if seen(cell["source"].as_str().unwrap()) != source {
                        cell["source"] = source.into();
                        turn(&mut cell, kind);
                    } else if cell["cell_type"] != kind {
                        turn(&mut cell, kind);
                    }
                    cell
                }
            });
        }
        let changed = applied(&text, &(edited.join("\n") + "\n"));
        let mut read = without_new_ids(joined(value_of(&changed)), minor);
        for (cell, expected) in read["cells"].as_array_mut().unwrap().iter_mut().zip(&mut model) {
            let (now, then) = (cell["source"].as_str().unwrap(), expected["source"].as_str().unwrap());
            prop_assert_eq!(seen(now), seen(then));
            cell["source"] = then.into();
        }
        let mut expected = old;
        expected["cells"] = model.into();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_text_is_read_or_refused(
        text in r#"([\[\]{},: 0-9]|"(cells|cell_type|code|source|nbformat|metadata|id|a)"|null|\n){0,40}"#,
        edited in "(# %% \\[code\\]|# %%|\n|cell:| |[a-z0]){0,20}",
    ) {
        if let Ok(document) = Document::parse(text.clone()) {
            for cell in document.cells() {
                cell.source();
                cell.outputs();
                cell.id();
            }
            if let Ok(draft) = apply(&document, &edited) {
                draft.written(&document).ok();
            }
            let insert = Action::Insert { cell: None, kind: CellKind::Code, source: edited.clone() };
            if let Ok(outcome) = act(&document, &insert)
                && let Ok(written) = outcome.draft.written(&document)
            {
                let again = Document::parse(written.text()).unwrap();
                prop_assert_eq!(again.len(), document.len() + 1);
                prop_assert_eq!(again.cell(document.len()).unwrap().source(), edited);
            }
        } else {
            // What another reader takes as a notebook, this one takes.
            let value: Result<Value, _> = serde_json::from_str(&text);
            let is_one = value.is_ok_and(|value| value.get("cells").is_some_and(Value::is_array));
            prop_assert!(!is_one, "{}", text);
        }
    }
}
