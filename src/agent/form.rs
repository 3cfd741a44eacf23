//! Forms of MCP servers and of agents: a flat JSON schema as fields, and the user's input as values that fit it.
//!
//! Pure. Schema: MCP 2025-11-25, `ElicitRequestFormParams` (strings, numbers, booleans, one of, some of); that of
//! the Agent Client Protocol (version 1, `ElicitationSchema`) is the same. An empty field takes its default; the
//! text of a field states its limits. Absent on purpose: checks of `format` (`email`, `uri`, …), which is shown to
//! the user and checked by the server.

use serde_json::{Map, Value, json};

use super::question::FormField;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    field: FormField,
    kind: FieldKind,
    default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldKind {
    Text {
        shortest: u64,
        longest: u64,
    },
    Number {
        whole: bool,
        least: f64,
        most: f64,
    },
    Boolean,
    OneOf,
    SomeOf {
        least: u64,
        most: u64,
    },
    /// A form without fields: yes or no to its message.
    Confirmation,
}

impl Form {
    /// Parses a schema; `None` when a required field is of an unknown kind.
    pub(super) fn parse(schema: &Value) -> Option<Form> {
        let properties = schema.get("properties")?.as_object()?;
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut entries = Vec::new();
        for (id, property) in properties {
            let required = required.contains(&id.as_str());
            match Entry::parse(id, property, required) {
                Some(entry) => entries.push(entry),
                None if required => return None,
                None => {}
            }
        }
        if properties.is_empty() {
            entries.push(Entry {
                field: FormField {
                    question: "Do you accept?".into(),
                    options: vec![untitled("yes"), untitled("no")],
                    ..FormField::default()
                },
                kind: FieldKind::Confirmation,
                default: None,
            });
        }
        (!entries.is_empty()).then_some(Form { entries })
    }

    pub(super) fn fields(&self) -> Vec<FormField> {
        self.entries.iter().map(|it| it.field.clone()).collect()
    }

    /// Converts the input, per field, to the object that the server expects; `None` when the answer is no.
    ///
    /// # Errors
    /// One line for each value that does not fit.
    pub(super) fn fill(&self, given: &[(String, Vec<String>)]) -> Result<Option<Value>, String> {
        let mut content = Map::new();
        let mut wrong = Vec::new();
        for entry in &self.entries {
            let values: Vec<&str> = given
                .iter()
                .filter(|(id, _)| *id == entry.field.id)
                .flat_map(|(_, values)| values)
                .map(String::as_str)
                .filter(|value| !value.is_empty())
                .collect();
            if entry.kind == FieldKind::Confirmation {
                return Ok((values == ["yes"]).then(|| json!({})));
            }
            match entry.value(&values) {
                Ok(Some(value)) => {
                    content.insert(entry.field.id.clone(), value);
                }
                Ok(None) => {}
                Err(why) => wrong.push(format!("{}: {why}", entry.field.header)),
            }
        }
        if wrong.is_empty() {
            Ok(Some(Value::Object(content)))
        } else {
            Err(wrong.join("\n"))
        }
    }
}

impl Entry {
    fn parse(id: &str, property: &Value, required: bool) -> Option<Entry> {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let count = |key: &str, other| property.get(key).and_then(Value::as_u64).unwrap_or(other);
        let limit = |key: &str, other| property.get(key).and_then(Value::as_f64).unwrap_or(other);
        let options = choices(property);
        let several = property.get("items").map(choices);
        let kind = match text("type")? {
            "string" if !options.is_empty() => FieldKind::OneOf,
            "string" => FieldKind::Text {
                shortest: count("minLength", 0),
                longest: count("maxLength", u64::MAX),
            },
            kind @ ("number" | "integer") => FieldKind::Number {
                whole: kind == "integer",
                least: limit("minimum", f64::NEG_INFINITY),
                most: limit("maximum", f64::INFINITY),
            },
            "boolean" => FieldKind::Boolean,
            "array" if several.as_ref().is_some_and(|it| !it.is_empty()) => FieldKind::SomeOf {
                least: count("minItems", 0),
                most: count("maxItems", u64::MAX),
            },
            _ => return None,
        };
        let default = property.get("default").filter(|it| !it.is_null()).cloned();
        let hints: Vec<String> = [
            kind.hint(),
            text("format").unwrap_or_default().to_owned(),
            default.as_ref().map_or(String::new(), |it| {
                format!("default {}", display_default(it))
            }),
        ]
        .into_iter()
        .filter(|hint| !hint.is_empty())
        .collect();
        let question = text("description").or(text("title")).unwrap_or(id);
        let field = FormField {
            id: id.to_owned(),
            header: text("title").unwrap_or(id).to_owned(),
            question: if hints.is_empty() {
                question.to_owned()
            } else {
                format!("{question} ({})", hints.join(", "))
            },
            options: match kind {
                FieldKind::Boolean => vec![untitled("yes"), untitled("no")],
                FieldKind::SomeOf { .. } => several.unwrap_or_default(),
                _ => options,
            },
            free_text: matches!(kind, FieldKind::Text { .. } | FieldKind::Number { .. }),
            multiple: matches!(kind, FieldKind::SomeOf { .. }),
            secret: false,
            optional: !required || default.is_some(),
        };
        Some(Entry {
            field,
            kind,
            default,
        })
    }

    fn value(&self, given: &[&str]) -> Result<Option<Value>, String> {
        let Some(first) = given.first() else {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.field.optional => Ok(None),
                None => Err("is needed".into()),
            };
        };
        let value = match &self.kind {
            FieldKind::Text { shortest, longest } => {
                let length = first.chars().count() as u64;
                if !(*shortest..=*longest).contains(&length) {
                    return Err(self.kind.hint());
                }
                json!(first)
            }
            FieldKind::Number { whole, least, most } => {
                let text = first.trim();
                let number: f64 = text.parse().map_err(|_| self.kind.hint())?;
                if !number.is_finite() || number < *least || number > *most {
                    return Err(self.kind.hint());
                }
                match text.parse::<i64>() {
                    Ok(number) => json!(number),
                    Err(_) if *whole => return Err(self.kind.hint()),
                    Err(_) => json!(number),
                }
            }
            FieldKind::Boolean => match first.trim().to_lowercase().as_str() {
                "yes" | "y" | "true" => json!(true),
                "no" | "n" | "false" => json!(false),
                _ => return Err("yes or no".into()),
            },
            FieldKind::OneOf => json!(self.chosen(first)?),
            FieldKind::SomeOf { least, most } => {
                if !(*least..=*most).contains(&(given.len() as u64)) {
                    return Err(self.kind.hint());
                }
                let chosen: Result<Vec<&str>, String> =
                    given.iter().map(|value| self.chosen(value)).collect();
                json!(chosen?)
            }
            FieldKind::Confirmation => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The value of the option that `given` names by value or by title.
    fn chosen(&self, given: &str) -> Result<&str, String> {
        let options = &self.field.options;
        options
            .iter()
            .find(|(value, _)| value == given)
            .or_else(|| options.iter().find(|(_, title)| title == given))
            .map(|(value, _)| value.as_str())
            .ok_or_else(|| {
                let values: Vec<&str> = options.iter().map(|(value, _)| value.as_str()).collect();
                format!("one of {}", values.join(", "))
            })
    }
}

impl FieldKind {
    /// The field's limits in words; empty when there are none.
    fn hint(&self) -> String {
        match self {
            FieldKind::Text { shortest, longest } => match (*shortest, *longest) {
                (0, u64::MAX) => String::new(),
                (least, u64::MAX) => format!("at least {least} characters"),
                (0, most) => format!("at most {most} characters"),
                (least, most) => format!("{least} to {most} characters"),
            },
            FieldKind::Number { whole, least, most } => {
                let noun = if *whole { "a whole number" } else { "a number" };
                match (least.is_finite(), most.is_finite()) {
                    (false, false) => noun.to_owned(),
                    (true, false) => format!("{noun}, at least {least}"),
                    (false, true) => format!("{noun}, at most {most}"),
                    (true, true) => format!("{noun} from {least} to {most}"),
                }
            }
            FieldKind::SomeOf { least, most } => match (*least, *most) {
                (0, u64::MAX) => String::new(),
                (least, u64::MAX) => format!("at least {least}"),
                (0, most) => format!("at most {most}"),
                (least, most) => format!("{least} to {most} of them"),
            },
            FieldKind::Boolean | FieldKind::OneOf | FieldKind::Confirmation => String::new(),
        }
    }
}

/// Values and their titles, from `enum` (with or without `enumNames`), `oneOf` or `anyOf`.
fn choices(property: &Value) -> Vec<(String, String)> {
    let list = |key: &str| property.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        let titles = list("enumNames");
        let title = |at: usize| titles?.get(at)?.as_str().map(str::to_owned);
        return values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| {
                Some((value.as_str()?.to_owned(), title(at).unwrap_or_default()))
            })
            .collect();
    }
    list("oneOf")
        .or_else(|| list("anyOf"))
        .into_iter()
        .flatten()
        .filter_map(|choice| {
            let title = choice.get("title").and_then(Value::as_str);
            Some((
                choice.get("const")?.as_str()?.to_owned(),
                title.unwrap_or_default().to_owned(),
            ))
        })
        .collect()
}

/// A default as the user would type it.
fn display_default(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Array(values) => values
            .iter()
            .map(display_default)
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

fn untitled(value: &str) -> (String, String) {
    (value.to_owned(), String::new())
}

#[cfg(test)]
mod tests;
