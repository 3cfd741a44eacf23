//! Converts a schema to the form that strict structured outputs take.
//!
//! Objects are closed and all their fields required: an optional field may be null instead. An object with arbitrary
//! names becomes a list of entries, a list whose items differ becomes an object of items, and "any value" a recursive
//! definition; a root that is not an object is wrapped in one. Unsupported keywords are left out, since the answer is
//! checked against the given schema. Absent on purpose: references to other documents; a schema with such is not made
//! strict.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::form::{self, Field, Form, Forms, REST, is_type, item_name};
use super::limits;
use super::part::{
    OF_NUMBERS, VALUE, closed, definition_ref, entries, kind_of, kinds, list, or_null, plain,
    wrap_entries,
};

/// Supported formats of strings.
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
/// The depth to which schemas are followed.
const DEEPEST: usize = 100;

#[derive(Debug)]
pub(super) struct StrictSchema {
    /// The schema to hold the model to.
    pub(super) sent: Value,
    form: Form,
    forms: Forms,
    /// The value is wrapped in an object.
    wrapped: bool,
}

impl StrictSchema {
    /// The strict form; `None` where there is none.
    pub(super) fn new(given: &Value) -> Option<StrictSchema> {
        let mut builder = StrictBuilder {
            root: given,
            defs: Map::new(),
            forms: Forms::new(),
            names: HashMap::new(),
        };
        let (part, form) = builder.part(given, 0)?;
        let wrapped = part.get("type") != Some(&json!("object"));
        let mut sent = match wrapped {
            true => closed([(VALUE.to_owned(), part)].into_iter().collect()),
            false => part,
        };
        if !builder.defs.is_empty() {
            sent["$defs"] = Value::Object(builder.defs);
        }
        let forms = builder.forms;
        limits::is_within(&sent).then_some(StrictSchema {
            sent,
            form,
            forms,
            wrapped,
        })
    }

    /// True when the value is wrapped in an object that is not part of the given schema.
    #[cfg(test)]
    pub(super) fn wrapped(&self) -> bool {
        self.wrapped
    }

    /// Decodes a value of the strict form; a value of another form is returned as it came.
    pub(super) fn decoded(&self, mut value: Value) -> Value {
        if self.wrapped {
            let fields = value.as_object_mut().filter(|fields| fields.len() == 1);
            match fields.and_then(|fields| fields.remove(VALUE)) {
                Some(inner) => value = inner,
                None => return value,
            }
        }
        form::decoded(value, &self.form, &self.forms).unwrap_or_else(|same| same)
    }
}

/// Builds the strict form of the parts of one schema.
struct StrictBuilder<'a> {
    root: &'a Value,
    defs: Map<String, Value>,
    forms: Forms,
    names: HashMap<String, String>,
}

/// The strict form of a part, and the form of its values.
type Part = Option<(Value, Form)>;

impl StrictBuilder<'_> {
    fn part(&mut self, given: &Value, depth: usize) -> Part {
        if depth > DEEPEST {
            return None;
        }
        let fields = match given {
            Value::Bool(true) => return Some(self.anything()),
            Value::Object(fields) => fields,
            _ => return None,
        };
        if let Some(reference) = fields.get("$ref") {
            return self.named(reference.as_str()?, depth);
        }
        if fields.get("allOf").is_some_and(Value::is_array) {
            let merged = self.merged(fields)?;
            return self.part(&merged, depth + 1);
        }
        let (mut part, form) = self.kind(fields, depth + 1)?;
        if let (Some(text), true) = (fields.get("description"), part.get("$ref").is_none()) {
            part["description"] = text.clone();
        }
        Some((part, form))
    }

    fn kind(&mut self, fields: &Map<String, Value>, depth: usize) -> Part {
        let values = match (fields.get("const"), fields.get("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, values) => values.and_then(Value::as_array).cloned(),
        };
        let kinds = kinds(fields);
        if let Some(values) = values {
            return self.values(values, &kinds);
        }
        let options = ["anyOf", "oneOf"]
            .iter()
            .find_map(|key| fields.get(*key)?.as_array());
        if let (Some(options), false) = (options, fields.contains_key("properties")) {
            return self.any_of(options, depth);
        }
        match &kinds[..] {
            [] => Some(self.anything()),
            [kind] => self.of(kind, fields, depth),
            kinds
                if kinds
                    .iter()
                    .any(|kind| *kind == "object" || *kind == "array") =>
            {
                let options = kinds.iter().map(|kind| {
                    let mut option = fields.clone();
                    option.insert("type".to_owned(), json!(kind));
                    option.remove("description");
                    Value::Object(option)
                });
                self.any_of(&options.collect::<Vec<_>>(), depth)
            }
            kinds => Some((json!({"type": kinds}), plain(kinds))),
        }
    }

    fn of(&mut self, kind: &str, fields: &Map<String, Value>, depth: usize) -> Part {
        let mut part = json!({"type": kind});
        let mut keep = |key: &str, fits: &dyn Fn(&Value) -> bool| {
            if let Some(value) = fields.get(key).filter(|value| fits(value)) {
                part[key] = value.clone();
            }
        };
        match kind {
            "object" => return self.object(fields, depth),
            "array" => return self.array(fields, depth),
            "string" => {
                keep("format", &|it| {
                    it.as_str().is_some_and(|it| FORMATS.contains(&it))
                });
                // A pattern that only some dialects support is checked, not sent.
                keep("pattern", &|it| {
                    it.as_str().is_some_and(|it| !it.contains("(?"))
                });
            }
            "number" | "integer" => {
                for key in OF_NUMBERS {
                    keep(key, &Value::is_number);
                }
            }
            _ => {}
        }
        Some((part, plain(&[kind])))
    }

    fn values(&mut self, values: Vec<Value>, kinds: &[&str]) -> Part {
        let fits =
            |value: &Value| kinds.is_empty() || kinds.iter().any(|kind| is_type(value, kind));
        let values: Vec<Value> = values.into_iter().filter(fits).collect();
        if values.is_empty() || values.iter().any(|it| it.is_object() || it.is_array()) {
            return Some(self.anything());
        }
        let mut kinds: Vec<&str> = values.iter().map(kind_of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kind = match &kinds[..] {
            [only] => json!(only),
            kinds => json!(kinds),
        };
        let kinds = Vec::new();
        Some((
            json!({"type": kind, "enum": values}),
            Form::Plain { kinds, values },
        ))
    }

    fn any_of(&mut self, options: &[Value], depth: usize) -> Part {
        let (mut parts, mut forms) = (Vec::new(), Vec::new());
        for option in options.iter().filter(|option| **option != json!(false)) {
            let (part, form) = self.part(option, depth)?;
            if !parts.contains(&part) {
                parts.push(part);
                forms.push(form);
            }
        }
        if parts.iter().filter(|part| part["type"] == "array").count() > 1 {
            let pairs = parts.into_iter().zip(forms).map(|(part, form)| match form {
                Form::Entries(_) => wrap_entries(part, form),
                form => (part, form),
            });
            (parts, forms) = pairs.unzip();
        }
        match parts.len() {
            0 => None,
            1 => parts.pop().zip(forms.pop()),
            _ => Some((json!({"anyOf": parts}), Form::AnyOf(forms))),
        }
    }

    fn array(&mut self, fields: &Map<String, Value>, depth: usize) -> Part {
        let all = Value::Bool(true);
        let (first, rest) = match (fields.get("prefixItems"), fields.get("items")) {
            (Some(Value::Array(first)), rest) => (&first[..], rest),
            (_, Some(Value::Array(first))) => (&first[..], fields.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let size = |key: &str| {
            fields
                .get(key)
                .and_then(Value::as_u64)
                .and_then(|it| usize::try_from(it).ok())
        };
        let (least, most) = (size("minItems"), size("maxItems"));
        let ends =
            rest == Some(&Value::Bool(false)) || most.is_some_and(|most| most <= first.len());
        let same = first.first().is_some_and(|one| {
            first.iter().all(|item| item == one) && (ends || rest.is_none_or(|it| it == one))
        });
        if first.is_empty() || same {
            let items = first.first().or(rest).unwrap_or(&all);
            let (part, form) = match *items == json!(false) {
                true => self.anything(), // an empty list
                false => self.part(items, depth)?,
            };
            let mut part = list(part);
            let most = match ends {
                true => Some(most.map_or(first.len(), |most| most.min(first.len()))),
                false => most,
            };
            for (key, size) in [("minItems", least), ("maxItems", most)] {
                if let Some(size) = size {
                    part[key] = json!(size);
                }
            }
            return Some((part, Form::List(Box::new(form))));
        }
        let needed = least.unwrap_or(first.len()).min(first.len());
        let (mut properties, mut forms) = (Map::new(), Vec::new());
        for (index, item) in first.iter().enumerate() {
            let (part, form) = self.part(item, depth)?;
            let part = if index < needed { part } else { or_null(part) };
            properties.insert(item_name(index), part);
            forms.push(form);
        }
        let rest = match ends {
            true => None,
            false => {
                let (part, form) = self.part(rest.unwrap_or(&all), depth)?;
                properties.insert(REST.to_owned(), list(part));
                Some(Box::new(form))
            }
        };
        Some((
            closed(properties),
            Form::Items {
                forms,
                needed,
                rest,
            },
        ))
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Part {
        let none = Map::new();
        let known = fields
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let required = fields.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let patterns = fields.get("patternProperties").and_then(Value::as_object);
        let patterns: Vec<&Value> = patterns.into_iter().flat_map(Map::values).collect();
        let rest = match (fields.get("additionalProperties"), &patterns[..]) {
            (None | Some(Value::Bool(false)), [only]) => Some((*only).clone()),
            (None | Some(Value::Bool(false)), [_, ..]) => Some(Value::Bool(true)),
            (None, []) => (known.is_empty() && required.is_empty()).then_some(Value::Bool(true)),
            (Some(Value::Bool(false)), []) => None,
            (Some(rest), _) => Some(rest.clone()),
        };
        let mut rest = match rest {
            Some(rest) => Some(self.part(&rest, depth)?),
            None => None,
        };
        let unknown = required.iter().filter(|name| !known.contains_key(**name));
        let all = Value::Bool(true);
        let unknown = unknown.map(|name| (*name, &all));
        let names: Vec<(&str, &Value)> = known
            .iter()
            .map(|(name, part)| (&**name, part))
            .chain(unknown)
            .collect();
        if names.is_empty()
            && let Some((part, form)) = rest.take()
        {
            let mut part = entries(part);
            for (key, of_list) in [("minProperties", "minItems"), ("maxProperties", "maxItems")] {
                if let Some(size) = fields.get(key).filter(|size| size.is_u64()) {
                    part[of_list] = size.clone();
                }
            }
            return Some((part, Form::Entries(Box::new(form))));
        }
        let (mut properties, mut made) = (Map::new(), Vec::new());
        for (name, part) in names {
            let optional = !required.contains(&name);
            let (part, form) = self.part(part, depth)?;
            properties.insert(name.to_owned(), if optional { or_null(part) } else { part });
            made.push(Field {
                name: name.to_owned(),
                form,
                optional,
            });
        }
        let rest = rest.map(|(part, form)| {
            let mut name = "more".to_owned();
            while properties.contains_key(&name) {
                name.push('_');
            }
            properties.insert(name.clone(), entries(part));
            (name, Box::new(Form::Entries(Box::new(form))))
        });
        Some((closed(properties), Form::Object { fields: made, rest }))
    }
}

impl StrictBuilder<'_> {
    /// The definition that a reference points to.
    fn named(&mut self, reference: &str, depth: usize) -> Part {
        if let Some(name) = self.names.get(reference) {
            return Some(definition_ref(name));
        }
        let target = self.root.pointer(reference.strip_prefix('#')?)?;
        let last = reference
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty() && *name != "#");
        let name = self.free(last.unwrap_or("root"));
        self.names.insert(reference.to_owned(), name.clone());
        self.defs.insert(name.clone(), Value::Null);
        let (part, form) = self.part(target, depth + 1)?;
        if part.get("$ref").and_then(Value::as_str) == Some(&format!("#/$defs/{name}")) {
            return None;
        }
        self.defs.insert(name.clone(), part);
        self.forms.insert(name.clone(), form);
        Some(definition_ref(&name))
    }

    fn anything(&mut self) -> (Value, Form) {
        const ANYTHING: &str = "\0";
        if let Some(name) = self.names.get(ANYTHING) {
            return definition_ref(name);
        }
        let name = self.free("anything");
        self.names.insert(ANYTHING.to_owned(), name.clone());
        let (itself, form) = definition_ref(&name);
        let of_object = Form::Entries(Box::new(form.clone()));
        let (object, of_object) = wrap_entries(entries(itself.clone()), of_object);
        let kinds = ["string", "number", "boolean", "null"];
        let part = json!({"anyOf": [{"type": kinds}, list(itself), object]});
        let forms = vec![plain(&kinds), Form::List(Box::new(form)), of_object];
        self.defs.insert(name.clone(), part);
        self.forms.insert(name.clone(), Form::AnyOf(forms));
        definition_ref(&name)
    }

    fn free(&self, wanted: &str) -> String {
        let fits = |c: char| {
            if c.is_ascii_alphanumeric() || "_-.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let mut name: String = wanted.chars().map(fits).collect();
        while self.defs.contains_key(&name) {
            name.push('_');
        }
        name
    }

    /// Merges a schema with all its `allOf` parts into one.
    fn merged(&self, fields: &Map<String, Value>) -> Option<Value> {
        let mut merged = fields.clone();
        let mut open = match merged.remove("allOf") {
            Some(Value::Array(parts)) => parts,
            _ => Vec::new(),
        };
        open.reverse();
        let mut count = 0;
        while let Some(part) = open.pop() {
            count += 1;
            if count > DEEPEST {
                return None;
            }
            if part == json!(true) {
                continue;
            }
            let Value::Object(mut part) = part else {
                return None;
            };
            if let Some(reference) = part.remove("$ref") {
                let reference = reference.as_str()?.strip_prefix('#')?;
                open.push(self.root.pointer(reference)?.clone());
            }
            if let Some(Value::Array(parts)) = part.remove("allOf") {
                open.extend(parts);
            }
            for (key, value) in part {
                match (key.as_str(), merged.get_mut(&key), value) {
                    ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                        for (name, part) in more {
                            known.entry(name).or_insert(part);
                        }
                    }
                    ("required", Some(Value::Array(known)), Value::Array(more)) => {
                        known.extend(more)
                    }
                    (_, Some(_), _) => {}
                    (_, None, value) => drop(merged.insert(key, value)),
                }
            }
        }
        Some(Value::Object(merged))
    }
}
