//! Commands about settings: `think m` sets one for this session, `set think m` in `config.json` too, `%ipycodex` alone
//! lists them with the files, `%ipycodex --json` for programs.
//!
//! Everything is derived from the rows of [`SETTINGS`]. Values are checked here; the session writes the file. Absent on
//! purpose: `keys`, which is not a single value.

use std::path::Path;

use serde_json::{Value, json};

use super::magic::{CommandUsage, Magic, MagicContext, MagicEffect, Run, unquoted};
use super::page::{Page, Section};
use crate::agent::AgentCapabilities;
use crate::config::{Choices, SETTINGS, Setting, SettingValues, TakesEffect};
use crate::text::similar::did_you_mean;

/// Most characters of the possible values in a usage line; longer lists are only on the setting's page.
const IN_USAGE: usize = 12;

const HOW_TO_SET: &str = "`%ipycodex think h` sets for this session, `%ipycodex set think h` for good; `%ipycodex help \
                          think` explains.";

pub(super) const SET: Magic = Magic {
    name: "set",
    arguments: "NAME [VALUE]",
    help: "keep the value of a setting in `config.json`",
    more: "It applies from now on, in this session too. Without VALUE, it shows the value in the file.",
    run: Run::With(set),
};

/// Returns the settings that have a command of their own.
pub(super) fn commands() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|row| row.when == TakesEffect::Now)
}

/// Returns the settings that `set` takes.
pub(super) fn settable() -> impl Iterator<Item = &'static Setting> {
    SETTINGS
        .iter()
        .filter(|row| row.when != TakesEffect::InFile)
}

pub(super) fn usage(row: &Setting) -> CommandUsage {
    let arguments = match row.values() {
        SettingValues::Models | SettingValues::Themes => "[NAME]".to_owned(),
        SettingValues::Count(_) => "[NUMBER]".to_owned(),
        SettingValues::Text => "[VALUE]".to_owned(),
        values => match values.words().join("|") {
            words if words.len() <= IN_USAGE => format!("[{words}]"),
            _ => "[VALUE]".to_owned(),
        },
    };
    let before = match row.when {
        TakesEffect::Now => "",
        TakesEffect::NextStart | TakesEffect::InFile => "set ",
    };
    CommandUsage {
        name: format!("{before}{}", row.name),
        arguments,
        help: row.help.to_owned(),
    }
}

pub(super) fn show_or_set(
    row: &Setting,
    value: &str,
    view: &MagicContext<'_>,
) -> Result<Vec<MagicEffect>, String> {
    let mut choices = view.choices.clone();
    if value.is_empty() {
        let current = text(&row.get(&choices));
        let more = match row.values() {
            SettingValues::Models => Some(MagicEffect::ListModels(current)),
            SettingValues::Themes => Some(MagicEffect::ListThemes(current)),
            _ if row.name == "agent" => Some(MagicEffect::DescribeAgent),
            _ => None,
        };
        let say = MagicEffect::Print(shown(row, &choices));
        return Ok([say].into_iter().chain(more).collect());
    }
    let typed = unquoted(value);
    row.set(&mut choices, typed)
        .map_err(|_| wrong(row, typed))?;
    if row.name == "agent" {
        return Ok(vec![MagicEffect::UseAgent(choices.agent)]);
    }
    let say = MagicEffect::Print(shown(row, &choices));
    let model = text(&row.get(&choices));
    let mut orders = vec![
        MagicEffect::ApplyChoices(Box::new(choices)),
        say,
        MagicEffect::Note(format_session_value(row.name, value)),
    ];
    if !row.is_supported_by(view.agent) {
        orders.push(MagicEffect::Note(format_no_effect(row, view.agent)));
    } else if row.values() == SettingValues::Models && !model.is_empty() {
        orders.push(MagicEffect::CheckModel(model));
    }
    Ok(orders)
}

/// Returns the note for a setting that the agent does not support.
pub fn format_no_effect(row: &Setting, able: &AgentCapabilities) -> String {
    format!(
        "`{}` has no effect with the agent `{}`",
        row.name, able.name
    )
}

/// Returns the note for a value that holds for this session only.
pub fn format_session_value(name: &str, value: &str) -> String {
    format!("for this session; `%ipycodex set {name} {value}` keeps it")
}

/// Returns every setting with value, source and help, and the settings files.
pub(super) fn listing(view: &MagicContext<'_>) -> Page {
    let rows = SETTINGS.iter().map(|row| {
        let value = text(&row.get(view.choices));
        let origin = view.provenance.origin(row, view.choices).word();
        let value = if value.is_empty() { "-" } else { &value };
        [row.name, value, origin, row.help]
            .map(str::to_owned)
            .to_vec()
    });
    let settings = Section {
        head: ["setting", "value", "from", "what it does"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        ..Section::default()
    };
    let files = view.provenance.files();
    let files = files.map(|(what, path)| vec![what.to_owned(), view.provenance.display_path(path)]);
    let files = Section {
        rows: files.collect(),
        paragraphs: vec![HOW_TO_SET.to_owned()],
        ..Section::default()
    };
    Page {
        sections: vec![settings, files],
    }
}

/// Returns the listing for programs, as one line of JSON.
pub(super) fn listing_as_json(view: &MagicContext<'_>) -> String {
    let settings = SETTINGS.iter().map(|row| {
        json!({
            "name": row.name,
            "value": row.get(view.choices),
            "from": view.provenance.origin(row, view.choices).word(),
            "help": row.help,
        })
    });
    let files = view.provenance.files();
    let files = files.map(|(what, path)| (what.to_owned(), json!(path.to_string_lossy())));
    json!({
        "settings": settings.collect::<Vec<_>>(),
        "files": files.collect::<serde_json::Map<_, _>>(),
    })
    .to_string()
}

/// Returns a setting as it is shown: `think is l`.
fn shown(row: &Setting, choices: &Choices) -> String {
    match text(&row.get(choices)) {
        value if value.is_empty() => format!("{} is not set", row.name),
        value => format!("{} is {value}", row.name),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn wrong(row: &Setting, typed: &str) -> String {
    let (name, values) = (row.name, row.values());
    if values == SettingValues::Truth {
        return format!("{name} must be a boolean, got '{typed}'");
    }
    if let SettingValues::Count(most) = values {
        return format!("{name} must be a number from 0 to {most}, got '{typed}'");
    }
    let mut words = values.words();
    words.sort_unstable();
    let meant = did_you_mean(typed, words.iter().copied());
    let words = words.join("/");
    format!("{name} must be one of {words}, got '{typed}'{meant}")
}

fn set(_: &Magic, rest: &str, view: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let (name, typed) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let known: Vec<&str> = settable().map(|row| row.name).collect();
    if name.is_empty() {
        return Err(format!(
            "Usage: %ipycodex set NAME VALUE (names: {})",
            known.join(", ")
        ));
    }
    if name == "keys" {
        return Err("set keys in config.json; `%ipycodex help keys` lists their names".to_owned());
    }
    let Some(row) = settable().find(|row| row.name == name) else {
        let meant = did_you_mean(name, known.iter().copied());
        return Err(format!(
            "there is no setting `{name}`{meant}; the settings are {}",
            known.join(", ")
        ));
    };
    let value = match typed.trim() {
        "" => None,
        typed => {
            let (mut choices, typed) = (view.choices.clone(), unquoted(typed));
            let set = row.set(&mut choices, typed);
            let value = row.get(&choices);
            if set.is_err() {
                return Err(wrong(row, typed));
            }
            Some(value)
        }
    };
    let unable = value.is_some() && !row.is_supported_by(view.agent);
    let note = unable.then(|| MagicEffect::Note(format_no_effect(row, view.agent)));
    let keep = MagicEffect::SaveSetting {
        name: row.name,
        value,
    };
    Ok([keep].into_iter().chain(note).collect())
}

/// Returns the line that shows a value in the settings file.
pub fn format_saved_value(name: &str, value: Option<&Value>, file: &Path) -> String {
    let file = file.display();
    match value {
        Some(value) => format!("{name} is {value} in {file}"),
        None => format!("{name} is not set in {file}"),
    }
}
