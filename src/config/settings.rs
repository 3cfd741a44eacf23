//! The settings, a row each: whoever reads, sets, lists, completes or explains one uses its row.
//!
//! A new setting is a field of [`Choices`] with its default, and a row here.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::choice::{ChoiceSetting, WrongValue};
use super::{AgentChoice, Choices, RuntimeChoice};
use crate::agent::AgentCapabilities;
use crate::markdown::Theme;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name: a key of `config.json`, and what a command calls it.
    pub name: &'static str,
    /// What it is, as what follows "show or set".
    pub help: &'static str,
    /// When a new value counts.
    pub when: When,
    get: fn(&Choices) -> Value,
    set: fn(&mut Choices, &str) -> Result<(), WrongValue>,
    values: fn() -> SettingValues,
    able: fn(&AgentCapabilities) -> bool,
}

/// When a new value of a setting counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// From the next start on.
    NextStart,
    /// From the next start on, and only the file is to be changed.
    InFile,
}

/// The largest number a setting takes.
pub const MOST_COUNTED: u32 = 100;

/// What a setting takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValues {
    /// One of these words.
    Words(Vec<&'static str>),
    /// Yes or no.
    Truth,
    /// A theme for code.
    Themes,
    /// A model the agent has.
    Models,
    /// A number, not too large.
    Count,
    /// Any text.
    Text,
}

impl SettingValues {
    /// The words there are; none for text.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            SettingValues::Words(words) => words,
            SettingValues::Truth => vec!["true", "false"],
            SettingValues::Themes => Theme::names().collect(),
            SettingValues::Count => vec!["0", "10"],
            SettingValues::Models | SettingValues::Text => Vec::new(),
        }
    }
}

impl Setting {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|row| row.name == name)
    }

    /// The value in force, as the file has it.
    pub fn get(&self, choices: &Choices) -> Value {
        (self.get)(choices)
    }

    /// Sets it to what was written.
    ///
    /// # Errors
    /// When that is no value of it; nothing has changed then.
    pub fn set(&self, choices: &mut Choices, written: &str) -> Result<(), WrongValue> {
        (self.set)(choices, written)
    }

    /// Sets it to what the file says.
    ///
    /// # Errors
    /// As [`Setting::set`]; also when it is no text where text is wanted.
    pub fn set_from(&self, choices: &mut Choices, value: &Value) -> Result<(), WrongValue> {
        match (value, self.values()) {
            (Value::Null, _) => Ok(()),
            (Value::String(text), _) => self.set(choices, text),
            (Value::Bool(truth), SettingValues::Truth) => self.set(choices, &truth.to_string()),
            (Value::Number(number), SettingValues::Count) => self.set(choices, &number.to_string()),
            (_, SettingValues::Count) => Err(not_a_count()),
            (_, values) => Err(match values.words() {
                words if words.is_empty() => WrongValue {
                    allowed: "a string".into(),
                },
                words => WrongValue::among("", words.into_iter()),
            }),
        }
    }

    /// True when it means something to such an agent.
    pub fn counts_for(&self, able: &AgentCapabilities) -> bool {
        (self.able)(able)
    }

    /// What it takes.
    pub fn values(&self) -> SettingValues {
        (self.values)()
    }
}

/// A setting whose name is that of its field.
macro_rules! row {
    ($field:ident, $when:ident, $help:literal) => {
        Setting {
            name: stringify!($field),
            help: $help,
            when: When::$when,
            get: |choices| choices.$field.written(),
            set: |choices, text| {
                choices.$field = Written::read(text)?;
                Ok(())
            },
            values: || values(|choices| &choices.$field),
            able: |_| true,
        }
    };
}

/// Every setting, in the order they are told. `keys`, which is no one value, is beside them.
pub const SETTINGS: &[Setting] = &[
    Setting {
        values: || SettingValues::Models,
        able: |able| able.models,
        ..row!(
            model,
            Now,
            "the model ('' is the agent's own); alone it lists those there are"
        )
    },
    Setting {
        values: || SettingValues::Models,
        able: |able| able.suggestions && able.models,
        ..row!(completion_model, Now, "the model of completions")
    },
    Setting {
        able: |able| able.effort,
        ..row!(think, Now, "how much the model thinks")
    },
    Setting {
        able: |able| able.search,
        ..row!(search, Now, "how much the agent searches the web")
    },
    Setting {
        set: set_theme,
        values: || SettingValues::Themes,
        ..row!(
            code_theme,
            Now,
            "the theme of code; alone it shows those there are"
        )
    },
    row!(log_exact, Now, "whether raw prompts and answers are logged"),
    row!(threads, Now, "how the agent keeps the conversation"),
    Setting {
        able: |able| able.approvals,
        ..row!(
            approvals,
            Now,
            "whether you are asked before commands and edits"
        )
    },
    Setting {
        able: |able| able.sandbox,
        ..row!(sandbox, Now, "what commands of the agent may touch")
    },
    Setting {
        able: |able| able.tools.is_some(),
        ..row!(run_cells, Now, "whether the agent may run cells here")
    },
    row!(
        agent_tools,
        Now,
        "what the agent works with: Python here, a shell of its own, or both"
    ),
    Setting {
        able: |able| able.tools.is_some(),
        ..row!(
            kernel_mode,
            Now,
            "whether the agent's own kernel is kept or lives for one call"
        )
    },
    row!(
        checkpoints,
        Now,
        "how many cells you can take the interpreter back (0: none)"
    ),
    row!(images, Now, "how pictures are drawn"),
    row!(
        fit_plots,
        Now,
        "whether plots are shown light on a dark terminal"
    ),
    row!(
        history_hint,
        Now,
        "whether earlier inputs are suggested in grey"
    ),
    row!(
        agent,
        Now,
        "the agent that answers; the conversation goes with it"
    ),
    row!(
        prompt_mode,
        NextStart,
        "whether the REPL starts in prompt mode"
    ),
    row!(
        greeting,
        NextStart,
        "whether the REPL begins with a greeting"
    ),
    row!(edit_mode, NextStart, "the keys of the line editor"),
    row!(python, NextStart, "the interpreter that runs cells"),
    row!(
        ipython_profile,
        NextStart,
        "the profile of IPython that is loaded ('' is none)"
    ),
    row!(runtime, InFile, "what runs cells"),
];

/// An empty name is none: the theme follows the terminal's background.
fn set_theme(choices: &mut Choices, name: &str) -> Result<(), WrongValue> {
    choices.code_theme_chosen = match name.trim() {
        "" => false,
        _ if Theme::named(name).is_ok() => {
            name.clone_into(&mut choices.code_theme);
            true
        }
        _ => return Err(WrongValue::among(name, Theme::names())),
    };
    Ok(())
}

/// What a field takes.
fn values<T: Written>(_field: fn(&Choices) -> &T) -> SettingValues {
    T::values()
}

/// A value as people write it and as the file has it.
trait Written: Sized {
    fn read(text: &str) -> Result<Self, WrongValue>;
    fn written(&self) -> Value;
    fn values() -> SettingValues;
}

impl<C: ChoiceSetting> Written for C {
    fn read(text: &str) -> Result<Self, WrongValue> {
        C::parse(text)
    }

    fn written(&self) -> Value {
        json!(self.word())
    }

    fn values() -> SettingValues {
        SettingValues::Words(C::WORDS.iter().map(|(word, _)| *word).collect())
    }
}

impl Written for bool {
    fn read(text: &str) -> Result<Self, WrongValue> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(WrongValue::among(
                text,
                SettingValues::Truth.words().into_iter(),
            )),
        }
    }

    fn written(&self) -> Value {
        json!(self)
    }

    fn values() -> SettingValues {
        SettingValues::Truth
    }
}

impl Written for u32 {
    fn read(text: &str) -> Result<Self, WrongValue> {
        let number = text.trim().parse().ok();
        number
            .filter(|it| *it <= MOST_COUNTED)
            .ok_or_else(not_a_count)
    }

    fn written(&self) -> Value {
        json!(self)
    }

    fn values() -> SettingValues {
        SettingValues::Count
    }
}

fn not_a_count() -> WrongValue {
    WrongValue {
        allowed: format!("a number from 0 to {MOST_COUNTED}"),
    }
}

impl Written for String {
    fn read(text: &str) -> Result<Self, WrongValue> {
        Ok(match text.trim() {
            "" => String::new(),
            _ => text.to_owned(),
        })
    }

    fn written(&self) -> Value {
        json!(self)
    }

    fn values() -> SettingValues {
        SettingValues::Text
    }
}

impl Written for Option<PathBuf> {
    fn read(text: &str) -> Result<Self, WrongValue> {
        Ok((!text.trim().is_empty()).then(|| text.into()))
    }

    fn written(&self) -> Value {
        json!(
            self.as_deref()
                .map(|path| path.to_string_lossy())
                .unwrap_or_default()
        )
    }

    fn values() -> SettingValues {
        SettingValues::Text
    }
}

impl Written for AgentChoice {
    fn read(text: &str) -> Result<Self, WrongValue> {
        text.parse()
    }

    fn written(&self) -> Value {
        json!(self.to_string())
    }

    fn values() -> SettingValues {
        SettingValues::Words(AgentChoice::WORDS.to_vec())
    }
}

impl Written for RuntimeChoice {
    fn read(text: &str) -> Result<Self, WrongValue> {
        text.parse()
    }

    fn written(&self) -> Value {
        json!(self.to_string())
    }

    fn values() -> SettingValues {
        SettingValues::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_sets_what_it_gets_and_nothing_else() {
        for row in SETTINGS {
            let mut words = row.values().words();
            if words.is_empty() {
                words = vec!["gateway:x"];
            }
            for word in words {
                let mut choices = Choices::default();
                row.set(&mut choices, word).unwrap();
                let value = row.get(&choices);
                let mut again = Choices::default();
                row.set_from(&mut again, &value).unwrap();
                assert_eq!(again, choices, "{}: {value}", row.name);
                for other in SETTINGS.iter().filter(|other| other.name != row.name) {
                    assert_eq!(other.get(&choices), other.get(&Choices::default()));
                }
            }
        }
    }

    #[test]
    fn no_wrong_value_changes_anything() {
        for row in SETTINGS {
            let mut choices = Choices::default();
            if row.set(&mut choices, "no such thing").is_err() {
                assert_eq!(choices, Choices::default(), "{}", row.name);
            }
            row.set_from(&mut choices, &json!(["x"])).unwrap_err();
        }
    }
}
