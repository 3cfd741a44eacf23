//! Maps values between a schema and its strict form, to which a model is held.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The depth to which values are followed.
const DEEPEST: usize = 200;

/// The strict form of the values of a part of a schema.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// The value itself, of one of `kinds`, and one of `values` unless that is empty.
    Plain {
        kinds: Vec<String>,
        values: Vec<Value>,
    },
    /// A list, each item in its form.
    List(Box<Form>),
    /// A list of objects with `key` and `value`, for an object with arbitrary names.
    Entries(Box<Form>),
    /// An object with fields named by [`item_name`], for a list whose items differ; those after the first `needed`
    /// may be null.
    Items {
        forms: Vec<Form>,
        needed: usize,
        rest: Option<Box<Form>>,
    },
    /// An object: its fields, and the name and form of the field for all other members.
    Object {
        fields: Vec<Field>,
        rest: Option<(String, Box<Form>)>,
    },
    /// One of these forms.
    AnyOf(Vec<Form>),
    /// The form of this name.
    Named(String),
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) form: Form,
    /// Null stands for a missing field.
    pub(super) optional: bool,
}

pub(super) type Forms = HashMap<String, Form>;

/// The name of the item at this index, from 0, in a list whose items differ.
pub(super) fn item_name(index: usize) -> String {
    format!("item_{}", index + 1)
}

/// The name of the field for all further items.
pub(super) const REST: &str = "more_items";

/// Decodes a value of the strict form into the given schema's form; a value of another form is returned as it came.
pub(super) fn decoded(value: Value, form: &Form, forms: &Forms) -> Result<Value, Value> {
    decode_at(value, form, forms, 0)
}

fn decode_at(value: Value, form: &Form, forms: &Forms, depth: usize) -> Result<Value, Value> {
    if depth > DEEPEST {
        return Err(value);
    }
    let depth = depth + 1;
    match (form, value) {
        (Form::Plain { kinds, values }, value) => {
            let fits = (kinds.is_empty() || kinds.iter().any(|kind| is_type(&value, kind)))
                && (values.is_empty() || values.contains(&value));
            match fits {
                true => Ok(value),
                false => Err(value),
            }
        }
        (Form::Named(name), value) => match forms.get(name) {
            Some(form) => decode_at(value, form, forms, depth),
            None => Err(value),
        },
        (Form::AnyOf(options), value) => {
            let mut made = options.iter();
            let made = made.find_map(|form| decode_at(value.clone(), form, forms, depth).ok());
            made.ok_or(value)
        }
        (Form::List(form), Value::Array(items)) => {
            let mut fits = true;
            let items = items.into_iter().map(|item| {
                decode_at(item, form, forms, depth).unwrap_or_else(|same| {
                    fits = false;
                    same
                })
            });
            ok_if(Value::Array(items.collect()), &fits)
        }
        (Form::Entries(form), Value::Array(entries)) => from_entries(entries, form, forms, depth),
        (
            Form::Items {
                forms: items,
                needed,
                rest,
            },
            Value::Object(fields),
        ) => from_items(fields, (items, *needed, rest.as_deref()), forms, depth),
        (Form::Object { fields, rest }, Value::Object(given)) => {
            from_object(given, fields, rest.as_ref(), forms, depth)
        }
        (_, value) => Err(value),
    }
}

fn ok_if(value: Value, fits: &bool) -> Result<Value, Value> {
    match fits {
        true => Ok(value),
        false => Err(value),
    }
}

fn from_entries(
    entries: Vec<Value>,
    form: &Form,
    forms: &Forms,
    depth: usize,
) -> Result<Value, Value> {
    let is_entry = |entry: &Value| {
        let fields = entry.as_object();
        fields.is_some_and(|it| {
            it.len() == 2 && it.contains_key("value") && it.get("key").is_some_and(Value::is_string)
        })
    };
    if !entries.iter().all(is_entry) {
        return Err(Value::Array(entries));
    }
    let (mut fits, mut made) = (true, Map::new());
    for mut entry in entries {
        let value = decode_at(entry["value"].take(), form, forms, depth).unwrap_or_else(|same| {
            fits = false;
            same
        });
        made.insert(entry["key"].as_str().unwrap_or_default().to_owned(), value);
    }
    ok_if(Value::Object(made), &fits)
}

fn from_items(
    mut fields: Map<String, Value>,
    (items, needed, rest): (&[Form], usize, Option<&Form>),
    forms: &Forms,
    depth: usize,
) -> Result<Value, Value> {
    let known = |name: &String| {
        (0..items.len()).any(|index| *name == item_name(index)) || (rest.is_some() && name == REST)
    };
    if !fields.keys().all(known) || (0..needed).any(|index| !fields.contains_key(&item_name(index)))
    {
        return Err(Value::Object(fields));
    }
    let (mut fits, mut made) = (true, Vec::new());
    let mut take = |value: Value, form: &Form| {
        decode_at(value, form, forms, depth).unwrap_or_else(|same| {
            fits = false;
            same
        })
    };
    for (index, form) in items.iter().enumerate() {
        match fields.remove(&item_name(index)) {
            None | Some(Value::Null) if index >= needed => break,
            value => made.push(take(value.unwrap_or_default(), form)),
        }
    }
    if let (Some(form), Some(Value::Array(more))) = (rest, fields.remove(REST)) {
        made.extend(more.into_iter().map(|value| take(value, form)));
    }
    ok_if(Value::Array(made), &fits)
}

fn from_object(
    mut given: Map<String, Value>,
    fields: &[Field],
    rest: Option<&(String, Box<Form>)>,
    forms: &Forms,
    depth: usize,
) -> Result<Value, Value> {
    let (mut fits, mut made) = (true, Map::new());
    let more = rest.and_then(|(name, form)| Some((given.remove(name)?, form)));
    for field in fields {
        let Some(value) = given.remove(&field.name) else {
            fits &= field.optional;
            continue;
        };
        match decode_at(value, &field.form, forms, depth) {
            Ok(value) => drop(made.insert(field.name.clone(), value)),
            Err(Value::Null) if field.optional => {}
            Err(value) => {
                fits = false;
                made.insert(field.name.clone(), value);
            }
        }
    }
    if let Some((value, form)) = more {
        match decode_at(value, form, forms, depth) {
            Ok(Value::Object(more)) => more.into_iter().for_each(|(name, value)| {
                made.entry(name).or_insert(value);
            }),
            Ok(value) | Err(value) => {
                fits = false;
                made.extend(rest.map(|(name, _)| (name.clone(), value)));
            }
        }
    }
    // Unknown members stay in the value, so that the report names them.
    fits &= given.is_empty();
    made.extend(given);
    ok_if(Value::Object(made), &fits)
}

/// True when a value is of a type of JSON Schema.
pub(super) fn is_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
