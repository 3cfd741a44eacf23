//! The pieces that strict schemas are built from, and queries on given schemas.

use serde_json::{Map, Value, json};

use super::form::Form;

/// Keywords whose value is a schema.
pub(super) const ONE: [&str; 2] = ["items", "additionalProperties"];
/// Keywords whose value is a list of schemas.
pub(super) const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is schemas by name.
pub(super) const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];

/// Keywords for numbers that strict schemas may contain.
pub(super) const OF_NUMBERS: [&str; 5] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
/// The field for a value that is not an object, in the object that wraps it.
pub(super) const VALUE: &str = "value";
/// An object with these fields and no others.
pub(super) fn closed(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

pub(super) fn entries(value: Value) -> Value {
    let entry = [
        ("key".to_owned(), json!({"type": "string"})),
        (VALUE.to_owned(), value),
    ];
    list(closed(entry.into_iter().collect()))
}

/// Wraps entries in an object of their own: a bare list of them could be taken for another list.
pub(super) fn wrap_entries(part: Value, form: Form) -> (Value, Form) {
    const ENTRIES: &str = "entries";
    let fields = [(ENTRIES.to_owned(), part)].into_iter().collect();
    let rest = Some((ENTRIES.to_owned(), Box::new(form)));
    let fields_known = Vec::new();
    (
        closed(fields),
        Form::Object {
            fields: fields_known,
            rest,
        },
    )
}

pub(super) fn definition_ref(name: &str) -> (Value, Form) {
    (
        json!({"$ref": format!("#/$defs/{name}")}),
        Form::Named(name.to_owned()),
    )
}

pub(super) fn plain(kinds: &[&str]) -> Form {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    Form::Plain {
        kinds,
        values: Vec::new(),
    }
}

/// The types that a schema names or that its keywords imply.
pub(super) fn kinds(fields: &Map<String, Value>) -> Vec<&str> {
    const ABOUT: [(&str, &[&str]); 4] = [
        (
            "object",
            &[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
            ],
        ),
        (
            "array",
            &[
                "items",
                "prefixItems",
                "minItems",
                "maxItems",
                "uniqueItems",
            ],
        ),
        ("string", &["pattern", "format", "minLength", "maxLength"]),
        ("number", &OF_NUMBERS),
    ];
    match fields.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => {
            let about = ABOUT
                .iter()
                .filter(|(_, keys)| keys.iter().any(|key| fields.contains_key(*key)));
            about.map(|(kind, _)| *kind).collect()
        }
    }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(super) fn or_null(part: Value) -> Value {
    let null = json!({"type": "null"});
    let kind = part.get("type");
    let admits = |kind: &Value| {
        kind == "null"
            || kind
                .as_array()
                .is_some_and(|it| it.contains(&json!("null")))
    };
    if kind.is_some_and(admits) {
        return part;
    }
    if let Some(options) = part.get("anyOf").and_then(Value::as_array) {
        let known = options
            .iter()
            .any(|option| option.get("type").is_some_and(admits));
        let mut part = part.clone();
        if !known && let Some(options) = part["anyOf"].as_array_mut() {
            options.push(null);
        }
        return part;
    }
    let scalar = |kind: &&Value| {
        kind.as_str()
            .is_some_and(|it| it != "object" && it != "array")
    };
    match kind.filter(scalar) {
        Some(kind) if part.get("enum").is_none() => {
            let kinds = json!([kind, "null"]);
            let mut part = part;
            part["type"] = kinds;
            part
        }
        // `null` inside the macro would be a JSON literal.
        _ => json!({ "anyOf": Value::Array(vec![part, null]) }),
    }
}
