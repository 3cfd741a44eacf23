//! A hundred types and schemas written by hand, held against the published rules of strict outputs and a validator.

use serde_json::{Map, Value, json};

use super::*;

/// A hundred types with their schemas, values that fit and values that do not; `test_schemas.py` makes them.
const TYPES: &str = include_str!("../../tests/data/answer_schemas.jsonl");

/// What a schema breaks of the published rules, apart from its size.
fn broken(schema: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    if schema["type"] != "object" || schema.get("anyOf").is_some() {
        broken.push("the root is no object".to_owned());
    }
    look(schema, schema, "", &mut broken);
    broken
}

fn look(part: &Value, root: &Value, place: &str, broken: &mut Vec<String>) {
    const KNOWN: [&str; 19] = [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "type",
    ];
    const FORMATS: [&str; 9] = [
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ];
    let mut wrong = |what: &str| broken.push(format!("{place}: {what}"));
    let Some(fields) = part.as_object() else {
        return wrong("no object");
    };
    for key in fields.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        wrong(&format!("`{key}` is not permitted"));
    }
    if let Some(reference) = part.get("$ref") {
        let target = reference
            .as_str()
            .and_then(|it| root.pointer(it.strip_prefix('#')?));
        if fields.len() != 1 || target.is_none_or(|target| !target.is_object()) {
            wrong("a reference with more beside it, or to nothing");
        }
        return;
    }
    if !fields.contains_key("type") && !fields.contains_key("anyOf") {
        wrong("neither type nor anyOf");
    }
    if part
        .get("format")
        .is_some_and(|it| !FORMATS.contains(&it.as_str().unwrap()))
    {
        wrong("an unknown format");
    }
    let kinds = match &part["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    if kinds.contains(&json!("array")) && !part["items"].is_object() {
        wrong("a list without items");
    }
    if kinds.contains(&json!("object")) {
        let names: Vec<Value> = part["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|it| json!(it.0))
            .collect();
        if part["additionalProperties"] != json!(false) || !part["properties"].is_object() {
            wrong("an open object");
        }
        let required = part["required"].as_array().cloned().unwrap_or_default();
        if names.iter().any(|name| !required.contains(name)) || required.len() != names.len() {
            wrong("a field that is not required");
        }
    }
    for key in ["properties", "$defs"] {
        for (name, inner) in part
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            look(inner, root, &format!("{place}/{name}"), broken);
        }
    }
    for inner in part
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        look(inner, root, &format!("{place}/anyOf"), broken);
    }
    part.get("items")
        .into_iter()
        .for_each(|it| look(it, root, &format!("{place}/items"), broken));
}

/// A value of the strict schema for this one: what a model that is held to it says. It follows the strict schema alone.
fn encoded(value: &Value, part: &Value, root: &Value) -> Option<Value> {
    if let Some(reference) = part["$ref"].as_str() {
        return encoded(value, root.pointer(&reference[1..])?, root);
    }
    if let Some(options) = part["anyOf"].as_array() {
        return options
            .iter()
            .find_map(|option| encoded(value, option, root));
    }
    let kinds = match &part["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let is = |kind: &str| kinds.contains(&json!(kind));
    let listed = part.get("enum").and_then(Value::as_array);
    if listed.is_some_and(|listed| !listed.contains(value)) {
        return None;
    }
    let fields = part["properties"].as_object();
    match value {
        Value::Null => is("null").then_some(Value::Null),
        Value::Bool(_) => is("boolean").then(|| value.clone()),
        Value::Number(number) => (is("number")
            || (is("integer") && number.as_f64()?.fract() == 0.0))
            .then(|| value.clone()),
        Value::String(_) => is("string").then(|| value.clone()),
        Value::Array(items) if is("array") => {
            let items = items.iter().map(|item| encoded(item, &part["items"], root));
            items.collect::<Option<Vec<_>>>().map(Value::Array)
        }
        // The items of a tuple.
        Value::Array(items) => {
            let mut made = Map::new();
            for (index, (name, part)) in
                fields?.iter().filter(|it| it.0 != "more_items").enumerate()
            {
                name.strip_prefix("item_")?;
                let item = items.get(index).unwrap_or(&Value::Null);
                made.insert(name.clone(), encoded(item, part, root)?);
            }
            if let Some(rest) = fields?.get("more_items") {
                let more = items.get(made.len()..).unwrap_or_default().to_vec();
                made.insert("more_items".into(), encoded(&json!(more), rest, root)?);
            } else if items.len() > made.len() {
                return None;
            }
            Some(Value::Object(made))
        }
        Value::Object(given) if is("array") => {
            let part = &part["items"]["properties"];
            part.get("key")?;
            let entries = given.iter().map(|(key, value)| {
                Some(json!({"key": key, "value": encoded(value, &part["value"], root)?}))
            });
            entries.collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Value::Object(given) => {
            let (mut made, mut given) = (Map::new(), given.clone());
            let of_more = |name: &str| name == "more" || name == "entries";
            for (name, part) in fields?.iter().filter(|it| !of_more(it.0)) {
                let value = given.shift_remove(name).unwrap_or_default();
                made.insert(name.clone(), encoded(&value, part, root)?);
            }
            for (name, part) in fields?.iter().filter(|it| of_more(it.0)) {
                let more = Value::Object(std::mem::take(&mut given));
                made.insert(name.clone(), encoded(&more, part, root)?);
            }
            given.is_empty().then_some(Value::Object(made))
        }
    }
}

#[test]
fn a_hundred_types_are_strict_and_their_values_come_back() {
    let rows: Vec<Value> = TYPES
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    assert!(rows.len() > 100);
    for row in rows {
        let (name, given) = (&row["type"], &row["schema"]);
        let schema = AnswerSchema::new(given).unwrap_or_else(|why| panic!("{name}: {why}"));
        let (sent, said) = for_agent(given, true);
        let sent = sent.unwrap_or_else(|| panic!("{name}: it is not strict"));
        assert_eq!((broken(&sent), said), (Vec::new(), None), "{name}: {sent}");
        let of_strict = jsonschema::validator_for(&sent).unwrap();
        for value in row["fit"].as_array().unwrap() {
            let value_part = match sent["properties"].get("value") {
                Some(part) if schema.strict.as_ref().unwrap().wrapped() => part,
                _ => &sent,
            };
            let strict = encoded(value, value_part, &sent)
                .unwrap_or_else(|| panic!("{name}: {value}: {sent}"));
            let strict = match std::ptr::eq(value_part, &sent) {
                true => strict,
                false => json!({ "value": strict }),
            };
            assert!(of_strict.is_valid(&strict), "{name}: {strict}: {sent}");
            let read = schema
                .parse_answer(&strict.to_string())
                .unwrap_or_else(|why| panic!("{name}: {strict}: {why:?}"));
            let read: Value = serde_json::from_str(&read).unwrap();
            assert_eq!(without_null(&read), without_null(value), "{name}: {strict}");
            // Whoever is held to nothing answers in the form that was given.
            let fenced = format!("```json\n{value}\n```");
            assert_eq!(
                schema.parse_answer(&fenced),
                Ok(value.to_string()),
                "{name}: {value}"
            );
        }
        for value in row["misfit"].as_array().unwrap() {
            let problems = schema
                .parse_answer(&value.to_string())
                .expect_err(&format!("{name}: {value}"));
            assert!(
                problems.iter().all(|it| it.starts_with("answer")),
                "{name}: {problems:?}"
            );
        }
    }
}

/// A field that is null and one that is not there are one to most types.
fn without_null(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (name.clone(), without_null(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_null).collect(),
        value => value.clone(),
    }
}

#[test]
fn schemas_that_are_written_by_hand_are_strict_too() {
    for given in [
        json!({}),
        json!(true),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"type": "object", "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}),
        json!({"type": "object", "properties": {"more": {}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false}),
        json!({"type": ["object", "null"], "properties": {"a": {"const": 1}}, "required": ["a"]}),
        json!({"type": ["string", "array"], "items": {"type": "string", "minLength": 1}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
            "items": [{"type": "string"}, {}], "additionalItems": {"type": "integer"}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "minItems": 0}),
        json!({"allOf": [{"$ref": "#/definitions/A"}, {"properties": {"b": {}}}],
            "definitions": {"A": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}}}),
        json!({"anyOf": [{"type": "string", "format": "uri"}, {"enum": [1, null, "x"]}, false]}),
        json!({"oneOf": [{"const": 1}, {"properties": {"a": {"type": "string", "pattern": "(?i)a"}}}]}),
        json!({"type": "array", "uniqueItems": true, "contains": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
        json!({"if": {"type": "string"}, "then": {"minLength": 3}, "not": {"const": 1}}),
        json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer", "minimum": 1, "title": "x"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "title": "t", "type": "integer"}),
    ] {
        let (sent, _) = for_agent(&given, true);
        let sent = sent.unwrap_or_else(|| panic!("{given}"));
        assert_eq!(broken(&sent), Vec::<String>::new(), "{given}: {sent}");
        assert!(AnswerSchema::new(&given).is_ok(), "{given}");
    }
}

#[test]
fn what_cannot_be_strict_is_said_in_words() {
    let deep = (0..12).fold(
        json!({"type": "integer"}),
        |part, _| json!({"properties": {"a": part}}),
    );
    let wide: Map<String, Value> = (0..6000)
        .map(|n| (format!("a{n}"), json!({"type": "null"})))
        .collect();
    let many: Vec<usize> = (0..1001).collect();
    for given in [
        json!(false),
        deep,
        json!({"properties": wide}),
        json!({"enum": many}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "https://example.org/schema"}),
        json!({"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}),
    ] {
        let (sent, said) = for_agent(&given, true);
        assert_eq!(sent, None, "{given}");
        assert!(said.is_some_and(|said| said.ends_with(&given.to_string())));
    }
    let (sent, said) = for_agent(&json!({"type": "integer"}), false);
    assert_eq!(sent, None);
    assert!(said.is_some_and(|said| said.starts_with(HELD)));
}

#[test]
fn what_does_not_fit_is_named() {
    let given = json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 1},
        "b": {"enum": ["x", "y"]}, "c": {"type": "string", "minLength": 3, "format": "date"},
        "d": {"anyOf": [{"type": "null"}, {"type": "integer", "maximum": 3}]}},
        "required": ["a"], "additionalProperties": false});
    let schema = AnswerSchema::new(&given).unwrap();
    for (answer, expected) in [
        (
            json!({"a": [1, "x"]}),
            "answer.a[1]: expected null or integer, got \"x\"",
        ),
        (
            json!({"a": []}),
            "answer.a: expected at least 1 items, got 0",
        ),
        (
            json!({"a": [1], "b": "z"}),
            "answer.b: expected one of [\"x\",\"y\"], got \"z\"",
        ),
        (
            json!({"a": [1], "c": "zz"}),
            "answer.c: expected at least 3 characters, got 2",
        ),
        (
            json!({"a": [1], "c": "soon"}),
            "answer.c: expected a text in the format date, got \"soon\"",
        ),
        (
            json!({"a": [1], "d": 5}),
            "answer.d: fits none of the 2 forms allowed, got 5",
        ),
        (json!({}), "answer: `a` is missing"),
        (
            json!({"a": [1], "e": 1}),
            "answer: `e` is not among its properties",
        ),
        (json!([1]), "answer: expected object, got [1]"),
    ] {
        let problems = schema.parse_answer(&answer.to_string()).unwrap_err();
        assert!(
            problems.contains(&expected.to_owned()),
            "{answer}: {problems:?}"
        );
    }
    for text in ["", "nonsense", "{\"a\": [1]} and more", "{\"a\": [1]"] {
        assert!(
            schema.parse_answer(text).unwrap_err()[0].starts_with("answer: it is not JSON"),
            "{text}"
        );
    }
    // Numbers are not rounded where nothing has to be decoded.
    let huge = "{\"a\": [12345678901234567890123456789]}";
    assert_eq!(
        AnswerSchema::new(&json!({"required": ["a"]}))
            .unwrap()
            .parse_answer(huge),
        Ok(huge.to_owned())
    );
}

#[test]
fn what_is_no_schema_is_told() {
    for (given, part) in [
        (json!({"type": "int"}), "expected a JSON type"),
        (
            json!({"properties": {"a": {"type": 3}}}),
            "expected a JSON type",
        ),
        (json!({"properties": []}), "properties"),
        (json!({"required": "a"}), "required"),
        (json!({"minimum": "a"}), "minimum"),
        (json!({"pattern": "("}), "("),
        (json!({"$ref": "#/$defs/none"}), "none"),
        (json!({"$ref": "https://example.org/schema"}), "example.org"),
        (json!([]), "expected an object"),
    ] {
        let why = AnswerSchema::new(&given).unwrap_err();
        assert!(
            why.starts_with("schema: ") && why.contains(part),
            "{given}: {why}"
        );
    }
}
