//! Random notebooks and edits, against a model that shares no code with documents: JSON values, changed as values.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::*;
use crate::properties;

/// How a file is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    pub(super) indent: Option<&'static str>,
    pub(super) crlf: bool,
    pub(super) ascii: bool,
    pub(super) mark: bool,
    pub(super) newline: bool,
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

/// JSON that `serde_json` does not write, by its placeholder.
const BEYOND: [(&str, &str); 4] = [
    ("\"@NAN\"", "NaN"),
    ("\"@BIG\"", "12345678901234567890123456789"),
    ("\"@EXP\"", "1.50E+400"),
    ("@LONE", "\\ud800"),
];

impl Style {
    /// Checks that `changed`, a file of this style with changes, is as if it had been written at once. A file that
    /// escapes no character does not say that it would.
    pub(super) fn check(&self, text: &str, changed: &str) {
        let plain = Style {
            ascii: false,
            ..self.clone()
        };
        let style = if plain.write(&value_of(text)) == text {
            &plain
        } else {
            self
        };
        assert_eq!(changed, style.write(&value_of(changed)));
    }

    pub(super) fn write(&self, value: &Value) -> String {
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

/// The value of a file; JSON that `serde_json` does not read becomes its placeholder.
pub(super) fn value_of(text: &str) -> Value {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    for (stands_for, it) in BEYOND {
        text = text.replace(it, stands_for);
    }
    serde_json::from_str(&text).unwrap()
}

/// Sources as one string, whatever their form.
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

/// The source as the marked text shows it.
fn seen(source: &str) -> String {
    source.replace("@LONE", "\u{fffd}")
}

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

/// Checks generated ids and removes them.
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
                CellAction::Insert { cell: Some(place), kind, source: source.clone() }
            }
            _ if count == 0 => return Ok(()),
            1 => {
                cells.remove(at.index(count));
                CellAction::Delete { cell: at.index(count) }
            }
            2 => {
                let cell = cells.remove(at.index(count));
                cells.insert(to.index(count), cell);
                CellAction::Move { cell: at.index(count), to: to.index(count) }
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
                CellAction::Edit { cell: at.index(count), kind: Some(kind), source: Some(source.clone()), clear: false }
            }
        };
        let changed = acted(&text, &action).unwrap();
        let read = without_new_ids(joined(value_of(&changed)), minor);
        let mut expected = joined(model);
        if what == 3 {
            // A kept part of a source keeps its lone surrogates.
            let cell = at.index(count);
            let now = read["cells"][cell]["source"].as_str().unwrap();
            prop_assert_eq!(seen(now), seen(expected["cells"][cell]["source"].as_str().unwrap()));
            expected["cells"][cell]["source"] = now.into();
        }
        prop_assert_eq!(read, expected);
        // The bytes of all other cells are kept, and so is the text around the list.
        let (old, new) = (parse(&text), parse(&changed));
        let meant = match &action {
            CellAction::Edit { cell, .. } | CellAction::Delete { cell } => Some(*cell),
            _ => None,
        };
        let raws: Vec<&str> = new.cells().map(|cell| cell.raw()).collect();
        for (number, cell) in old.cells().enumerate() {
            prop_assert!(Some(number) == meant || raws.contains(&cell.raw()), "{}", cell.raw());
        }
        let list = |document: &Document| document.list().unwrap();
        prop_assert_eq!(&text[..list(&old).start as usize], &changed[..list(&new).start as usize]);
        prop_assert_eq!(&text[list(&old).end as usize..], &changed[list(&new).end as usize..]);
        style.check(&text, &changed);
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
        style.check(&text, &changed);
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
            if let Ok(draft) = apply_marked_text(&document, &edited) {
                draft.render(&document).ok();
            }
            let insert = CellAction::Insert { cell: None, kind: CellKind::Code, source: edited.clone() };
            if let Ok(outcome) = apply_action(&document, &insert)
                && let Ok(written) = outcome.draft.render(&document)
            {
                let again = Document::parse(written.text()).unwrap();
                prop_assert_eq!(again.len(), document.len() + 1);
                prop_assert_eq!(again.cell(document.len()).unwrap().source(), edited);
            }
        } else {
            // A text that another reader accepts as a notebook is accepted here.
            let value: Result<Value, _> = serde_json::from_str(&text);
            let is_one = value.is_ok_and(|value| value.get("cells").is_some_and(Value::is_array));
            prop_assert!(!is_one, "{}", text);
        }
    }
}
