//! Mismatches in words: place, expected, found.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::part::NAMED;

/// Code points of a value that are quoted.
const SHOWN: usize = 60;

const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

pub(super) fn describe(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path().as_str());
    let value = error.instance();
    let expected = match error.kind() {
        Kind::Type { kind } => match kind {
            TypeKind::Single(kind) => kind.to_string(),
            TypeKind::Multiple(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
                kinds.join(" or ")
            }
        },
        Kind::Enum { options } => format!("one of {}", shown(options)),
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            return format!("{place}: `{name}` is missing");
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = unexpected.iter().map(|name| format!("`{name}`"));
            let names = names.collect::<Vec<_>>().join(", ");
            return format!("{place}: {names} is not among its properties");
        }
        Kind::MinLength { limit } => return at_least(&place, limit, "characters", length(value)),
        Kind::MaxLength { limit } => return at_most(&place, limit, "characters", length(value)),
        Kind::MinItems { limit } => return at_least(&place, limit, "items", length(value)),
        Kind::MaxItems { limit } => return at_most(&place, limit, "items", length(value)),
        Kind::AdditionalItems { limit } => {
            return at_most(&place, limit, "items", length(value));
        }
        Kind::MinProperties { limit } => {
            return at_least(&place, limit, "properties", length(value));
        }
        Kind::MaxProperties { limit } => {
            return at_most(&place, limit, "properties", length(value));
        }
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::Pattern { pattern } => format!("a text like {pattern}"),
        Kind::Format { format } => format!("a text in the format {format}"),
        Kind::UniqueItems => "items that differ".to_owned(),
        Kind::AnyOf { context } => {
            let value = shown(value);
            return format!(
                "{place}: fits none of the {} forms allowed, got {value}",
                context.len()
            );
        }
        _ => return format!("{place}: {error}"),
    };
    format!("{place}: expected {expected}, got {}", shown(value))
}

fn at_least(place: &str, limit: impl std::fmt::Display, what: &str, got: usize) -> String {
    format!("{place}: expected at least {limit} {what}, got {got}")
}

fn at_most(place: &str, limit: impl std::fmt::Display, what: &str, got: usize) -> String {
    format!("{place}: expected at most {limit} {what}, got {got}")
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

/// A JSON pointer as `answer.a[0]`.
fn place(pointer: &str) -> String {
    let mut place = String::from("answer");
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        match step.parse::<usize>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) => place.push_str(&format!(".{step}")),
        }
    }
    place
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn describe_schema_error(error: &ValidationError<'_>) -> String {
    let place = match error.instance_path().as_str() {
        "" => String::new(),
        pointer => format!("{}: ", pointer.trim_start_matches('/').replace('/', ".")),
    };
    format!("schema: {place}{error}")
}

/// The message about the first unknown `type`.
pub(super) fn unknown_type(schema: &Value) -> Option<String> {
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Bool(_) => None,
            other => Some(format!("schema: expected an object, got {}", shown(other))),
        };
    };
    let kinds = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().collect(),
        kind => Vec::from_iter(kind),
    };
    let wrong = |kind: &&&Value| !kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    if let Some(kind) = kinds.iter().find(wrong) {
        let kind = kind
            .as_str()
            .map_or(shown(kind), |kind| format!("'{kind}'"));
        return Some(format!(
            "schema: expected a JSON type ({}), got {kind}",
            TYPES.join(", ")
        ));
    }
    let named = NAMED.iter().filter_map(|key| fields.get(*key)?.as_object());
    let parts = named.flat_map(|parts| parts.values());
    let items = fields.get("items").filter(|items| items.is_object());
    parts
        .chain(items)
        .filter(|it| it.is_object())
        .find_map(unknown_type)
}

/// A date and a time, also without an offset, as Python and most models write it.
pub(super) fn is_date_time(text: &str) -> bool {
    let (date, time) = text.split_at_checked(10).unwrap_or_default();
    date.parse::<chrono::NaiveDate>().is_ok()
        && time.starts_with(['T', 't', ' '])
        && is_time(&time[1..])
}

/// A time, also without an offset.
pub(super) fn is_time(text: &str) -> bool {
    let clock = text.trim_end_matches(['Z', 'z']);
    let clock = match clock.rfind(['+', '-']) {
        Some(at) => {
            let offset = clock[at + 1..].split_once(':');
            let in_range = |part: &str, most: u8| {
                part.len() == 2 && part.parse().is_ok_and(|it: u8| it < most)
            };
            if !offset.is_some_and(|(hours, minutes)| in_range(hours, 24) && in_range(minutes, 60))
            {
                return false;
            }
            &clock[..at]
        }
        None => clock,
    };
    clock.parse::<chrono::NaiveTime>().is_ok()
}
