//! Checks the arguments of a call: the model's JSON in; values, or one line that names the error, out.

use serde_json::{Map, Value};

pub(super) struct Arguments<'a> {
    values: &'a Map<String, Value>,
    /// Prefix of names in errors, like `cells[0].`.
    path: String,
}

impl<'a> Arguments<'a> {
    /// The object at `path` (empty for the call itself), with none but the `known` names.
    ///
    /// # Errors
    /// `value` is no object, or it has an unknown name.
    pub(super) fn parse(value: &'a Value, path: &str, known: &[&str]) -> Result<Self, String> {
        let Value::Object(values) = value else {
            let what = if path.is_empty() { "arguments" } else { path };
            return Err(expected(what, "an object", value));
        };
        let path = match path {
            "" => String::new(),
            path => format!("{path}."),
        };
        match values.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!(
                "`{path}{name}` is not an argument; there are: {}",
                known.join(", ")
            )),
            None => Ok(Arguments { values, path }),
        }
    }

    /// Null counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// # Errors
    /// The value is missing or null.
    pub(super) fn required(&self, name: &str, what: &str) -> Result<&'a Value, String> {
        self.get(name)
            .ok_or_else(|| format!("`{}{name}` is missing: expected {what}", self.path))
    }

    /// A text that is not blank.
    ///
    /// # Errors
    /// The value is missing, blank, or no text.
    pub(super) fn text(&self, name: &str, what: &str) -> Result<&'a str, String> {
        match self.required(name, what)? {
            Value::String(text) if text.trim().is_empty() => {
                Err(format!("`{}{name}` is empty: expected {what}", self.path))
            }
            Value::String(text) => Ok(text),
            other => Err(self.wrong(name, what, other)),
        }
    }

    /// A text; empty when missing.
    ///
    /// # Errors
    /// The value is no text.
    pub(super) fn text_or_empty(&self, name: &str) -> Result<&'a str, String> {
        match self.get(name) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(name, "a text", other)),
        }
    }

    /// True or false; false when missing.
    ///
    /// # Errors
    /// The value is neither.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    /// A number from `least` to `most`; `None` when missing.
    ///
    /// # Errors
    /// The value is no number, or out of range.
    pub(super) fn number(&self, name: &str, least: f64, most: f64) -> Result<Option<f64>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let what = format!("a number from {least} to {most}");
                Err(self.wrong(name, &what, value))
            }
        }
    }

    /// A whole number of at least `least`; `None` when missing.
    ///
    /// # Errors
    /// The value is none.
    pub(super) fn whole_number(&self, name: &str, least: u32) -> Result<Option<u32>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| *number >= least) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, &format!("a whole number from {least}"), value)),
        }
    }

    /// The error for a value that is not the expected `what`.
    pub(super) fn wrong(&self, name: &str, what: &str, value: &Value) -> String {
        expected(&format!("{}{name}", self.path), what, value)
    }
}

fn expected(name: &str, what: &str, value: &Value) -> String {
    let given = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    };
    format!("`{name}`: expected {what}, not {given}")
}
