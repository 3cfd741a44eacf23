//! Parameters of a notebook run, as papermill has them: a cell of assignments behind the one tagged `parameters`.
//!
//! In: names and values as typed. Out: a [`Draft`] with that cell, tagged `injected-parameters`; an existing one is
//! replaced. Values are read as papermill reads them: `True`, `False`, `None`, numbers, else text.

use serde_json::json;

use super::document::{Cell, CellChanges, CellKind, Document, Draft, DraftCell, NewCell};

/// The tag of the cell with the default values.
const DEFAULTS_TAG: &str = "parameters";

/// The tag of the inserted cell.
const INJECTED_TAG: &str = "injected-parameters";

#[derive(Debug, Clone, PartialEq)]
pub struct WithParameters {
    pub draft: Draft,
    /// True when no cell is tagged `parameters`: the inserted cell is the first.
    pub untagged: bool,
}

/// Inserts parameters into a Python notebook.
///
/// # Errors
/// A name is not a Python identifier.
pub fn with_parameters(
    document: &Document,
    parameters: &[(String, String)],
) -> Result<WithParameters, String> {
    let mut source = String::from("# Parameters\n");
    for (name, value) in parameters {
        if !crate::input::is_name(name) {
            return Err(format!(
                "`{name}` cannot name a parameter: expected letters, digits and `_`"
            ));
        }
        source.push_str(&format!("{name} = {}\n", python_literal(value)));
    }
    let mut draft = Draft::unchanged(document);
    let find = |tag: &str| {
        document
            .cells()
            .position(|cell| is_code(cell) && cell.has_tag(tag))
    };
    let (given, assumed) = (find(INJECTED_TAG), find(DEFAULTS_TAG));
    match (given, assumed) {
        (Some(given), _) => {
            let revision = CellChanges {
                source: Some(source),
                ..CellChanges::default()
            };
            draft.cells[given] = DraftCell::Changed(given, revision);
        }
        (None, assumed) => {
            let made = NewCell {
                metadata: vec![("tags".to_owned(), json!([INJECTED_TAG]))],
                ..NewCell::new(CellKind::Code, source)
            };
            let place = assumed.map_or(0, |assumed| assumed + 1);
            draft.cells.insert(place, DraftCell::New(made));
        }
    }
    Ok(WithParameters {
        draft,
        untagged: given.is_none() && assumed.is_none(),
    })
}

fn is_code(cell: Cell<'_>) -> bool {
    cell.kind() == Some(CellKind::Code)
}

fn python_literal(value: &str) -> String {
    let whole = value.strip_prefix('-').unwrap_or(value);
    let is_whole = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    if ["True", "False", "None"].contains(&value) {
        return value.to_owned();
    }
    if is_whole {
        let digits = whole.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        let minus = if value.starts_with('-') { "-" } else { "" };
        return format!("{minus}{digits}");
    }
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => value.to_owned(),
        Ok(_) => format!("float('{value}')"),
        Err(_) => text(value),
    }
}

/// The Python literal of a text.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(notebook: &str, parameters: &[(&str, &str)]) -> (Vec<String>, bool) {
        let document = Document::parse(notebook.to_owned()).unwrap();
        let owned: Vec<_> = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let with = with_parameters(&document, &owned).unwrap();
        let document = Document::parse(with.draft.render(&document).unwrap().text()).unwrap();
        (
            document.cells().map(|cell| cell.source()).collect(),
            with.untagged,
        )
    }

    #[test]
    fn parameters_follow_the_tagged_cell() {
        let cell = |tag: &str| {
            format!(
                r#"{{"cell_type": "code", "metadata": {{"tags": ["{tag}"]}}, "source": "{tag}"}}"#
            )
        };
        let notebook = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|tag| cell(tag)).collect();
            format!(
                r#"{{"cells": [{}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}"#,
                cells.join(",")
            )
        };
        let made = "# Parameters\na = 1\n";
        assert_eq!(
            given(&notebook(&["x", "parameters", "y"]), &[("a", "1")]),
            (
                vec!["x".into(), "parameters".into(), made.into(), "y".into()],
                false
            )
        );
        assert_eq!(
            given(
                &notebook(&["parameters", "injected-parameters"]),
                &[("a", "1")]
            ),
            (vec!["parameters".into(), made.into()], false)
        );
        assert_eq!(
            given(&notebook(&["x"]), &[("a", "1")]),
            (vec![made.into(), "x".into()], true)
        );
        assert!(with_parameters(&Document::empty(), &[("a b".into(), "1".into())]).is_err());
    }

    #[test]
    fn values_are_what_they_look_like() {
        for (value, expected) in [
            ("1", "1"),
            ("-07", "-7"),
            ("1.5e3", "1.5e3"),
            ("inf", "float('inf')"),
            ("True", "True"),
            ("None", "None"),
            ("true", "\"true\""),
            ("a \"b\"\\\n", "\"a \\\"b\\\"\\\\\\n\""),
            ("", "\"\""),
        ] {
            assert_eq!(python_literal(value), expected);
        }
    }
}
