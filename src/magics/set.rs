//! `%ipycodex set NAME VALUE`: a setting in `config.json`, and in this session where it can change.
//!
//! The other commands change the session alone. What may be written is decided here, by the rules of the session's own
//! commands where there is one; the file is the session's to write. Absent on purpose: `keys`, which is no one value.

use std::path::Path;

use serde_json::{Value, json};

use crate::config::{AgentChoice, Choice, EditMode};
use crate::magics::choose;
use crate::magics::settings::NAMES;
use crate::magics::{Magic, Order, View, unquoted};
use crate::session::Choices;
use crate::text::similar::did_you_mean;

/// The row of the table.
pub(super) const ROW: Magic = Magic {
    name: "set",
    arguments: "NAME [VALUE]",
    help: "write a setting into `config.json`; without VALUE, show what stands there",
    run,
};

/// Settings that are read at the start alone.
const AT_START: [&str; 4] = ["prompt_mode", "greeting", "edit_mode", "python"];

/// Every name that may follow.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(AT_START)
}

/// The words a setting that is read at the start may have; none when it is free text or no such setting.
pub(super) fn words(name: &str) -> Vec<&'static str> {
    match name {
        "prompt_mode" | "greeting" => bool::WORDS.iter().map(|(word, _)| *word).collect(),
        "edit_mode" => EditMode::WORDS.iter().map(|(word, _)| *word).collect(),
        _ => Vec::new(),
    }
}

fn run(_: &Magic, rest: &str, view: &View<'_>) -> Result<Vec<Order>, String> {
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let known: Vec<&str> = names().collect();
    if name.is_empty() {
        return Err(format!(
            "Usage: %ipycodex set NAME VALUE (names: {})",
            known.join(", ")
        ));
    }
    if name == "keys" {
        return Err("keys are set in config.json; %ipycodex help keys names them".to_owned());
    }
    let Some(name) = names().find(|known| *known == name) else {
        let meant = did_you_mean(name, known.iter().copied());
        return Err(format!(
            "there is no setting '{name}'{meant}; there are {}",
            known.join(", ")
        ));
    };
    let value = match text.trim() {
        "" => None,
        text => Some(value(name, unquoted(text), view.choices)?),
    };
    Ok(vec![Order::Keep { name, value }])
}

/// The value as the file has it.
fn value(name: &str, text: &str, choices: &Choices) -> Result<Value, String> {
    Ok(match name {
        "prompt_mode" | "greeting" => json!(choose::truth(name, text)?),
        "edit_mode" => json!(choose::one_of::<EditMode>(name, text)?.word()),
        "python" => json!(text),
        "agent" => match text.parse() {
            Ok(agent @ (AgentChoice::Codex | AgentChoice::Demo)) => json!(agent.to_string()),
            _ => return Err(format!("agent must be one of codex/demo, got '{text}'")),
        },
        name => {
            let mut choices = choices.clone();
            choose::set(&mut choices, name, text)?;
            chosen(name, &choices)
        }
    })
}

/// A choice as the file has it.
fn chosen(name: &str, choices: &Choices) -> Value {
    match name {
        "model" => json!(choices.model),
        "completion_model" => json!(choices.completion_model),
        "think" => json!(choices.think.word()),
        "search" => json!(choices.search.word()),
        "code_theme" => json!(choices.code_theme),
        "log_exact" => json!(choices.log_exact),
        "history_hint" => json!(choices.history_hint),
        "threads" => json!(choices.threads.word()),
        "approvals" => json!(choices.approvals.word()),
        "images" => json!(choices.images.word()),
        "run_cells" => json!(choices.run_cells.word()),
        _ => json!(choices.sandbox.word()),
    }
}

/// Puts a value that was written into force; false when that takes a new start.
pub fn adopt(choices: &mut Choices, name: &str, value: &Value) -> bool {
    if AT_START.contains(&name) {
        return false;
    }
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // It was checked before it was written.
    name == "agent" || choose::set(choices, name, &text).is_ok()
}

/// What is said of a value in the file.
pub fn kept(name: &str, value: Option<&Value>, file: &Path) -> String {
    let file = file.display();
    match value {
        Some(value) => format!("{name} is {value} in {file}"),
        None => format!("{name} is not set in {file}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_kept_as_it_is_read() {
        for name in names() {
            assert!(crate::config::KEYS.contains(&name), "{name}");
        }
        for key in crate::config::KEYS {
            let settable = names().any(|name| name == key);
            assert_eq!(settable, !matches!(key, "keys" | "runtime"), "{key}");
        }
    }
}
