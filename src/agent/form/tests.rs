//! Tests of forms: the fields shown, the input accepted, the values sent.

use super::Form;
use crate::FormField;
use crate::properties;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};
use serde_json::{Value, json};

fn survey() -> Form {
    Form::parse(&json!({"type": "object", "required": ["name", "color"], "properties": {
        "name": {"type": "string", "title": "Name", "description": "your name", "minLength": 1, "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "height": {"type": "number", "default": 1.5},
        "sure": {"type": "boolean", "default": true},
        "color": {"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "parts": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}},
        "kinds": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "Ex"}]}},
        "odd": {"type": "object"},
    }}))
    .expect("a form")
}

fn check(given: &[(&str, &[&str])], expected: Result<Value, &str>) {
    let given: Vec<_> = given
        .iter()
        .map(|(id, values)| {
            let values = values.iter().map(|it| (*it).to_owned()).collect();
            ((*id).to_owned(), values)
        })
        .collect();
    let filled = survey().fill(&given);
    assert_eq!(
        filled,
        expected.map(Some).map_err(str::to_owned),
        "{given:?}"
    );
}

#[test]
fn fields_say_what_fits() {
    let fields = survey().fields();
    let questions: Vec<_> = fields.iter().map(|it| it.question.as_str()).collect();
    assert_eq!(
        questions,
        [
            "your name (1 to 5 characters)",
            "age (a whole number from 0 to 150)",
            "height (a number, default 1.5)",
            "sure (default yes)",
            "color",
            "size",
            "parts (at most 2)",
            "kinds",
        ],
        "a field of a kind not known here is left out"
    );
    let words = |field: &FormField| (field.free_text, field.multiple, field.optional);
    assert_eq!(words(&fields[0]), (true, false, false));
    assert_eq!(words(&fields[2]), (true, false, true));
    assert_eq!(words(&fields[4]), (false, false, false));
    assert_eq!(words(&fields[6]), (false, true, true));
    assert_eq!(fields[4].options[0], ("r".to_owned(), "Red".to_owned()));
}

#[test]
fn values_have_the_type_of_the_schema() {
    check(
        &[("name", &["Ada"]), ("color", &["b"])],
        Ok(json!({"name": "Ada", "height": 1.5, "sure": true, "color": "b"})),
    );
    check(
        &[
            ("name", &["Ada"]),
            ("age", &[" 36 "]),
            ("height", &["2"]),
            ("sure", &["no"]),
            ("color", &["Red"]),
            ("size", &["Large"]),
            ("parts", &["a", "c"]),
            ("kinds", &["x"]),
            ("unknown", &["x"]),
        ],
        Ok(
            json!({"name": "Ada", "age": 36, "height": 2, "sure": false, "color": "r", "size": "l", "parts": ["a", "c"],
                "kinds": ["x"]}),
        ),
    );
}

#[test]
fn what_does_not_fit_is_said_by_field() {
    check(&[("color", &["b"])], Err("Name: is needed"));
    check(
        &[
            ("name", &["Augusta"]),
            ("age", &["1.5"]),
            ("height", &["tall"]),
            ("sure", &["maybe"]),
            ("color", &["green"]),
            ("parts", &["a", "b", "c"]),
        ],
        Err(
            "Name: 1 to 5 characters\nage: a whole number from 0 to 150\nheight: a number\nsure: yes or no\n\
             color: one of r, b\nparts: at most 2",
        ),
    );
    for number in ["-1", "151", "NaN", "inf", "99999999999999999999", ""] {
        let filled = survey().fill(&[
            ("name".into(), vec!["a".into()]),
            ("color".into(), vec!["r".into()]),
            ("age".into(), vec![number.into()]),
        ]);
        assert_eq!(filled.is_ok(), number.is_empty(), "{number}");
    }
}

#[test]
fn a_form_without_fields_is_a_yes_or_no() {
    let form = Form::parse(&json!({"type": "object", "properties": {}})).expect("a form");
    assert_eq!(form.fields().len(), 1);
    let fill = |answer: &str| form.fill(&[(String::new(), vec![answer.to_owned()])]);
    assert_eq!(fill("yes"), Ok(Some(json!({}))));
    assert_eq!(fill("no"), Ok(None));
    assert_eq!(form.fill(&[]), Ok(None));
}

#[test]
fn a_schema_that_cannot_be_filled_in_is_no_form() {
    for schema in [
        json!(null),
        json!({}),
        json!({"properties": 7}),
        json!({"properties": {"a": {"type": "object"}}}),
        json!({"required": ["a"], "properties": {"a": {"type": "tuple"}, "b": {"type": "string"}}}),
        json!({"required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
    ] {
        assert_eq!(Form::parse(&schema), None, "{schema}");
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn whatever_is_typed_fits_or_is_refused(values in vec((0..9_usize, vec(any::<String>(), 0..3)), 0..9)) {
        let ids = ["name", "age", "height", "sure", "color", "size", "parts", "kinds", "odd"];
        let given: Vec<_> = values.into_iter().map(|(at, values)| (ids[at].to_owned(), values)).collect();
        if let Ok(content) = survey().fill(&given) {
            let content = content.expect("no confirmation");
            prop_assert!(content["name"].as_str().is_some_and(|it| (1..=5).contains(&it.chars().count())));
            prop_assert!(content["height"].is_number() && content["sure"].is_boolean());
            prop_assert!(content.get("age").is_none_or(|it| it.as_i64().is_some_and(|it| (0..=150).contains(&it))));
        }
    }
}
