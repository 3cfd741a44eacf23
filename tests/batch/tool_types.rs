//! Functions lent to the real Codex: what the model is told of their types, and the values they get.

use serde_json::{Value, json};

use super::host_calls::last_input;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::responses::{Endpoint, Reply};

/// Parts of a schema that the app-server has made up: an array of strings where anything was meant.
fn strings(schema: &Value, place: &str, found: &mut Vec<String>) {
    if schema["items"]["type"] == "string" {
        found.push(place.to_owned());
    }
    let parts = match schema {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, part)| (name.clone(), part))
            .collect(),
        Value::Array(parts) => parts.iter().map(|part| (String::new(), part)).collect(),
        _ => Vec::new(),
    };
    for (name, part) in parts {
        strings(part, &format!("{place}/{name}"), found);
    }
}

#[test]
fn the_model_is_told_of_types_as_they_are_and_called_with_values_of_them() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let calls = [
        json!({"a": "[1, 2.5]", "b": ["1", 2], "c": [[1]], "flag": "false",
            "tree": "{\"kids\": [{\"kids\": []}]}"}),
        json!({"a": "x", "b": [1, 2], "c": [], "tree": {}, "flag": true}),
        json!([1]),
        json!("x"),
        json!(3),
    ];
    let calls: Vec<(String, Value)> = calls
        .into_iter()
        .enumerate()
        .map(|(n, given)| (format!("c{n}"), given))
        .collect();
    let expected = calls.len();
    let endpoint = Endpoint::answering(move |index, _| match calls.get(index) {
        Some((id, given)) => Reply::calls(&[(id, "f", given.clone())]),
        None => Reply::text("at last"),
    });
    let home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", &codex);
    let cells = "# %%
import dataclasses, typing
from typing import List, Tuple
@dataclasses.dataclass
class Tree:
    kids: List['Tree']
    of: list = None
def f(a: list, b: Tuple[float, float], c: typing.Sequence[list], tree: Tree, flag: bool, *rest):
    return repr([a, b, c, tree, flag])
# %%
.call &`f`
";
    let ran = home.run(&["--agent", "codex"], cells);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let seen = endpoint.requests();
    assert_eq!(seen.len(), expected + 1);
    let tools = seen[0]["tools"].as_array().unwrap();
    let parameters = &tools.iter().find(|tool| tool["name"] == "f").unwrap()["parameters"];
    let mut found = Vec::new();
    strings(parameters, "", &mut found);
    assert_eq!(found, Vec::<String>::new(), "{parameters}");
    let reference = parameters["properties"]["tree"]["$ref"].as_str().unwrap();
    assert!(
        parameters.pointer(&reference[1..]).is_some(),
        "{parameters}"
    );
    let told: Vec<String> = seen[1..].iter().map(last_input).collect();
    for (told, part) in told.iter().zip([
        "[[1, 2.5], (1.0, 2.0), [[1]], Tree(kids=[Tree(kids=[], of=None)], of=None), False]",
        "TypeError: argument 'a': expected list, got 'x'",
        "expected a JSON object with the names a, b, c, tree, flag, rest, got [1]",
        "expected a JSON object with the names a, b, c, tree, flag, rest, got 'x'",
        "expected a JSON object with the names a, b, c, tree, flag, rest, got 3",
    ]) {
        assert!(told.contains(part), "{part}: {told}");
    }
}
