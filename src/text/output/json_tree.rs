//! A JSON value as a tree of lines for people: names before values, children indented, small lists and objects on
//! one line. Children beyond a limit are replaced by their count.
//!
//! Pure. Strings of the value are untrusted; control characters in them stay escaped as in JSON.

use serde_json::Value;

use crate::{columns, cut};

const ROWS: usize = 60;
const CHILDREN: usize = 20;
/// Deepest level shown.
const DEPTH: usize = 10;
/// A list or object of at most so many columns is written on the line of its name.
const INLINE: usize = 60;

pub(super) fn json_tree(value: &Value, width: usize) -> String {
    let mut tree = Tree {
        lines: Vec::new(),
        width,
    };
    tree.thing("", "", "", value, 0);
    tree.lines.join("\n")
}

struct Tree {
    lines: Vec<String>,
    width: usize,
}

impl Tree {
    fn line(&mut self, text: &str) {
        self.lines.push(cut(text, self.width).into_owned());
    }

    /// Writes a value after its name, then its children; `lead` is written before its line, `below` before those of
    /// its children.
    fn thing(&mut self, lead: &str, below: &str, name: &str, value: &Value, depth: usize) {
        let head = format!("{lead}{name}");
        let (children, count) = match on_one_line(value, self.width, columns(&head)) {
            Some(text) => return self.line(&format!("{head}{text}")),
            None => children(value),
        };
        let brackets = if value.is_array() { "[]" } else { "{}" };
        let (open, close) = brackets.split_at(1);
        self.line(&format!("{head}{open}{count}{close}"));
        if depth >= DEPTH {
            return;
        }
        let mut shown = 0;
        for (at, (name, value)) in children.enumerate() {
            if at == CHILDREN || self.lines.len() >= ROWS {
                break;
            }
            let (branch, further) = match at + 1 == count {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            let (lead, below) = (format!("{below}{branch}"), format!("{below}{further}"));
            self.thing(&lead, &below, &name, value, depth + 1);
            shown = at + 1;
        }
        if shown < count {
            self.line(&format!("{below}└─ … {} more", count - shown));
        }
    }
}

/// Returns the text that is written on the line of the name: anything but lists and objects that are long or nested.
fn on_one_line(value: &Value, width: usize, used: usize) -> Option<String> {
    let holds = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    let small = match value {
        Value::Array(items) => items.len() <= INLINE && !items.iter().any(holds),
        Value::Object(fields) => fields.len() <= INLINE && !fields.values().any(holds),
        _ => return Some(value.to_string()),
    };
    if !small {
        return None;
    }
    let parts: Vec<String> = children(value)
        .0
        .map(|(name, value)| format!("{name}{value}"))
        .collect();
    let (open, close) = if value.is_array() {
        ("[", "]")
    } else {
        ("{", "}")
    };
    let text = format!("{open}{}{close}", parts.join(", "));
    (columns(&text) <= INLINE.min(width.saturating_sub(used))).then_some(text)
}

/// The named children of a list or object, and how many there are.
fn children(value: &Value) -> (Box<dyn Iterator<Item = (String, &Value)> + '_>, usize) {
    match value {
        Value::Object(fields) => {
            let named = fields.iter().map(|(name, value)| (named(name), value));
            (Box::new(named), fields.len())
        }
        Value::Array(items) => {
            let items: &[Value] = items;
            (
                Box::new(items.iter().map(|value| (String::new(), value))),
                items.len(),
            )
        }
        _ => (Box::new(std::iter::empty()), 0),
    }
}

/// A name before its value; quoted where it could be mistaken for something else.
fn named(name: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-.$@/".contains(letter);
    match !name.is_empty() && name.chars().all(plain) {
        true => format!("{name}: "),
        false => format!("{}: ", Value::from(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_things_stand_on_one_line_and_others_further_in() {
        let value = json!({
            "name": "ada\n",
            "tags": ["x", 1, null, {}],
            "a b": {"deep": [[1, 2], {"k": []}]},
            "last": {"id": true},
        });
        let expected = "\
{4}
├─ name: \"ada\\n\"
├─ tags: [\"x\", 1, null, {}]
├─ \"a b\": {1}
│  └─ deep: [2]
│     ├─ [1, 2]
│     └─ {k: []}
└─ last: {id: true}";
        assert_eq!(json_tree(&value, 80), expected);
        for (value, line) in [
            (json!([]), "[]"),
            (json!("é"), "\"é\""),
            (json!(1.5), "1.5"),
            (json!({"a": [1, 2]}), "{1}\n└─ a: [1, 2]"),
        ] {
            assert_eq!(json_tree(&value, 80), line);
        }
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let many: Vec<Value> = (0..1000).map(|n| json!([[n]])).collect();
        let tree = json_tree(&json!(many), 80);
        let lines: Vec<&str> = tree.lines().collect();
        assert_eq!((lines[0], lines.len()), ("[1000]", 2 * CHILDREN + 2));
        assert_eq!(lines[1..3], ["├─ [1]", "│  └─ [0]"]);
        assert_eq!(*lines.last().unwrap(), "└─ … 980 more");
        let wide = json!({"a": many, "b": many, "c": many});
        let tree = json_tree(&wide, 20);
        assert!(tree.lines().count() < ROWS + 4, "{tree}");
        assert!(tree.ends_with("└─ … 1 more"), "{tree}");
        assert!(json_tree(&json!("x".repeat(100)), 20).chars().count() <= 20);
        let mut deep = json!([[1]]);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert_eq!(json_tree(&deep, 80).lines().count(), DEPTH + 1);
    }
}
