//! The published size limits of strict structured outputs.

use serde_json::Value;

use super::part::{LISTS, NAMED, ONE};

const MOST_PROPERTIES: usize = 5000;
/// Depth of nested objects and lists.
const DEEPEST: usize = 10;
/// Values of all enumerations.
const MOST_VALUES: usize = 1000;
/// Code points of all names and values.
const LONGEST: usize = 120_000;
/// Code points of the values of one enumeration that has more than [`MANY_VALUES`].
const LONGEST_VALUES: usize = 15_000;
const MANY_VALUES: usize = 250;

#[derive(Default)]
struct SchemaSize {
    properties: usize,
    values: usize,
    characters: usize,
    too_many: bool,
}

pub(super) fn is_within(schema: &Value) -> bool {
    let mut size = SchemaSize::default();
    size.count(schema, 0);
    !size.too_many
        && size.properties <= MOST_PROPERTIES
        && size.values <= MOST_VALUES
        && size.characters <= LONGEST
}

impl SchemaSize {
    fn count(&mut self, part: &Value, depth: usize) {
        let nests = part.get("properties").is_some() || part.get("items").is_some();
        let depth = depth + usize::from(nests);
        self.too_many |= depth > DEEPEST;
        if let Some(values) = part.get("enum").and_then(Value::as_array) {
            let texts = values.iter().filter_map(Value::as_str);
            let characters: usize = texts.map(|text| text.chars().count()).sum();
            self.values += values.len();
            self.characters += characters;
            self.too_many |= values.len() > MANY_VALUES && characters > LONGEST_VALUES;
        }
        for key in NAMED {
            let parts = part.get(key).and_then(Value::as_object);
            for (name, part) in parts.into_iter().flatten() {
                self.characters += name.chars().count();
                self.properties += usize::from(key == "properties");
                self.count(part, if key == "properties" { depth } else { 0 });
            }
        }
        for key in LISTS {
            let parts = part.get(key).and_then(Value::as_array);
            parts
                .into_iter()
                .flatten()
                .for_each(|part| self.count(part, depth));
        }
        for key in ONE {
            part.get(key)
                .into_iter()
                .for_each(|part| self.count(part, depth));
        }
    }
}
