//! The table of settings, a row each. Code that reads, sets, lists, completes or explains a setting uses its row.
//!
//! A new setting is a field of [`Choices`] with its default, and a row here.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::choice::{ChoiceSetting, InvalidValue};
use super::{AgentChoice, Choices, RuntimeChoice, Seconds};
use crate::agent::AgentCapabilities;
use crate::markdown::Theme;

#[derive(Debug)]
pub struct Setting {
    /// The name, as a key of `config.json` and in commands.
    pub name: &'static str,
    /// One short line.
    pub help: &'static str,
    /// Values with their meanings, where those are not obvious.
    pub meanings: &'static [(&'static str, &'static str)],
    pub when: TakesEffect,
    get: fn(&Choices) -> Value,
    set: fn(&mut Choices, &str) -> Result<(), InvalidValue>,
    values: fn() -> SettingValues,
    able: fn(&AgentCapabilities) -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakesEffect {
    Now,
    NextStart,
    /// At the next start, and only the file can change it.
    InFile,
}

/// The maximum of most settings that are numbers.
const MOST_COUNTED: u32 = 100;

/// The maximum of settings in seconds.
const MOST_SECONDS: u32 = 3600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValues {
    Words(Vec<&'static str>),
    /// `true` or `false`.
    Truth,
    Themes,
    Models,
    /// A number from 0 to this.
    Count(u32),
    Text,
}

impl SettingValues {
    /// The words to offer in completion; empty for free text.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            SettingValues::Words(words) => words,
            SettingValues::Truth => vec!["true", "false"],
            SettingValues::Themes => Theme::names().collect(),
            SettingValues::Count(_) => vec!["0", "10"],
            SettingValues::Models | SettingValues::Text => Vec::new(),
        }
    }
}

impl Setting {
    pub fn from_name(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|row| row.name == name)
    }

    /// The value in force, in the form of the file.
    pub fn get(&self, choices: &Choices) -> Value {
        (self.get)(choices)
    }

    /// Sets the value from a text.
    ///
    /// # Errors
    /// The setting does not take this value; it is unchanged then.
    pub fn set(&self, choices: &mut Choices, written: &str) -> Result<(), InvalidValue> {
        (self.set)(choices, written)
    }

    /// Sets the value from the JSON of the file.
    ///
    /// # Errors
    /// As [`Setting::set`]; also when the JSON is of the wrong type.
    pub fn set_from(&self, choices: &mut Choices, value: &Value) -> Result<(), InvalidValue> {
        match (value, self.values()) {
            (Value::Null, _) => Ok(()),
            (Value::String(text), _) => self.set(choices, text),
            (Value::Bool(truth), SettingValues::Truth) => self.set(choices, &truth.to_string()),
            (Value::Number(number), SettingValues::Count(_)) => {
                self.set(choices, &number.to_string())
            }
            (_, SettingValues::Count(most)) => Err(not_a_count(most)),
            (_, values) => Err(match values.words() {
                words if words.is_empty() => InvalidValue {
                    allowed: "a string".into(),
                },
                words => InvalidValue::among("", words.into_iter()),
            }),
        }
    }

    /// True when the setting has an effect on an agent with these capabilities.
    pub fn is_supported_by(&self, able: &AgentCapabilities) -> bool {
        (self.able)(able)
    }

    pub fn values(&self) -> SettingValues {
        (self.values)()
    }
}

/// A row whose name is that of the field.
macro_rules! row {
    ($field:ident, $when:ident, $help:literal) => {
        Setting {
            name: stringify!($field),
            help: $help,
            meanings: &[],
            when: TakesEffect::$when,
            get: |choices| choices.$field.written(),
            set: |choices, text| {
                choices.$field = SettingValue::read(text)?;
                Ok(())
            },
            values: || values(|choices| &choices.$field),
            able: |_| true,
        }
    };
}

/// All settings, in the order in which they are listed. `keys`, which is not a single value, is not a row.
pub const SETTINGS: &[Setting] = &[
    Setting {
        values: || SettingValues::Models,
        able: |able| able.models,
        meanings: &[
            ("''", "the agent's own default"),
            ("NAME", "one of those that `%ipycodex model` lists"),
        ],
        ..row!(model, Now, "which model answers")
    },
    Setting {
        values: || SettingValues::Models,
        able: |able| able.suggestions && able.models,
        meanings: &[
            ("''", "the agent's own default"),
            ("NAME", "one of those that `%ipycodex model` lists"),
        ],
        ..row!(completion_model, Now, "which model completes (Alt-.)")
    },
    Setting {
        able: |able| able.effort,
        meanings: &[
            ("l", "low"),
            ("m", "medium"),
            ("h", "high"),
            ("x", "extra high"),
        ],
        ..row!(think, Now, "how much the model thinks")
    },
    Setting {
        able: |able| able.search,
        meanings: &[
            ("off", "not at all"),
            ("l", "little"),
            ("m", "medium"),
            ("h", "much"),
        ],
        ..row!(search, Now, "how much the agent searches the web")
    },
    Setting {
        set: set_theme,
        values: || SettingValues::Themes,
        meanings: &[
            ("''", "one that suits the terminal's background"),
            ("NAME", "one of those that `%ipycodex code_theme` shows"),
        ],
        ..row!(code_theme, Now, "the colours of code")
    },
    row!(log_exact, Now, "log raw prompts and answers"),
    Setting {
        meanings: &[
            ("session", "one thread of the agent for the whole session"),
            (
                "ephemeral",
                "a new thread for each prompt, told all that went before",
            ),
        ],
        ..row!(threads, Now, "how the agent keeps the conversation")
    },
    Setting {
        able: |able| able.approvals,
        meanings: &[
            ("never", "the agent does by itself what `sandbox` allows"),
            ("ask", "you see each command and each edit first"),
        ],
        ..row!(approvals, Now, "whether the agent asks before acting")
    },
    Setting {
        able: |able| able.sandbox,
        meanings: &[
            ("read-only", "reading files"),
            (
                "workspace-write",
                "reading, and writing in this directory and /tmp; no network",
            ),
            ("danger-full-access", "everything you can"),
        ],
        ..row!(sandbox, Now, "what the agent's commands may touch")
    },
    Setting {
        able: |able| able.tools.is_some(),
        meanings: &[
            ("ask", "you see the cells and say yes or no"),
            (
                "preview",
                "you first see what they would do, tried in a copy",
            ),
            ("auto", "they run without a question"),
            ("off", "the agent cannot run cells here"),
        ],
        ..row!(run_cells, Now, "whether the agent may run cells here")
    },
    Setting {
        meanings: &[
            ("both", "Python in your session, and commands"),
            ("python", "Python in your session, no shell of its own"),
            ("shell", "commands, no Python in your session"),
        ],
        ..row!(agent_tools, Now, "what the agent works with")
    },
    Setting {
        able: |able| able.tools.is_some(),
        meanings: &[
            ("session", "it keeps its variables for the session"),
            ("per-call", "each call gets a fresh one"),
        ],
        ..row!(kernel_mode, Now, "how long the agent's kernel lives")
    },
    row!(checkpoints, Now, "how many cells `back` can step back"),
    Setting {
        meanings: &[
            ("ask", "what would change is shown first"),
            ("always", "without a question"),
            ("off", "never; nothing is kept for it"),
        ],
        ..row!(rewind_files, Now, "whether `back` puts files back")
    },
    row!(keep_variables, Now, "keep variables for `resume`"),
    row!(notify_after, Now, "desktop notice after N s (0: none)"),
    Setting {
        meanings: &[
            ("auto", "as the terminal can"),
            ("kitty", "sharp, by kitty's protocol (Ghostty, Konsole)"),
            ("iterm2", "sharp, by iTerm2's protocol (WezTerm)"),
            ("sixel", "sharp, as sixels (foot, mlterm, xterm)"),
            ("blocks", "in half blocks, anywhere"),
            ("off", "not at all"),
        ],
        ..row!(images, Now, "how pictures are drawn")
    },
    row!(fit_plots, Now, "fit plots to a dark terminal"),
    row!(history_hint, Now, "suggest earlier inputs in grey"),
    Setting {
        meanings: &[
            ("codex", "OpenAI Codex"),
            ("demo", "a built-in one without AI, to try things offline"),
            (
                "acp:COMMAND",
                "a program that speaks the Agent Client Protocol",
            ),
            ("NAME", "one of `agents` in `config.json`"),
        ],
        ..row!(agent, Now, "who answers")
    },
    row!(agent_start, Now, "agents start within N s (0: any)"),
    row!(prompt_mode, NextStart, "start in prompt mode"),
    row!(greeting, NextStart, "greet at the start"),
    row!(edit_mode, NextStart, "key bindings: emacs or vi"),
    Setting {
        meanings: &[
            (
                "''",
                "the active virtual environment, else .venv, else python3",
            ),
            ("PATH", "this one"),
        ],
        ..row!(python, NextStart, "which Python runs cells")
    },
    Setting {
        meanings: &[
            ("''", "none"),
            ("NAME", "this one; `default` is IPython's own"),
        ],
        ..row!(
            ipython_profile,
            NextStart,
            "which profile of IPython is loaded"
        )
    },
    Setting {
        meanings: &[
            ("embedded", "a Python of our own"),
            (
                "jupyter:NAME",
                "an installed Jupyter kernel, or a connection file",
            ),
            ("gateway:URL", "a kernel behind a Jupyter gateway"),
        ],
        ..row!(runtime, InFile, "what runs cells")
    },
];

/// An empty name makes the theme follow the terminal's background.
fn set_theme(choices: &mut Choices, name: &str) -> Result<(), InvalidValue> {
    choices.code_theme_chosen = match name.trim() {
        "" => false,
        _ if Theme::named(name).is_ok() => {
            name.clone_into(&mut choices.code_theme);
            true
        }
        _ => return Err(InvalidValue::among(name, Theme::names())),
    };
    Ok(())
}

fn values<T: SettingValue>(_field: fn(&Choices) -> &T) -> SettingValues {
    T::values()
}

/// A value with its text form and its JSON form in the file.
trait SettingValue: Sized {
    fn read(text: &str) -> Result<Self, InvalidValue>;
    fn written(&self) -> Value;
    fn values() -> SettingValues;
}

impl<C: ChoiceSetting> SettingValue for C {
    fn read(text: &str) -> Result<Self, InvalidValue> {
        C::parse(text)
    }

    fn written(&self) -> Value {
        json!(self.word())
    }

    fn values() -> SettingValues {
        SettingValues::Words(C::WORDS.iter().map(|(word, _)| *word).collect())
    }
}

impl SettingValue for bool {
    fn read(text: &str) -> Result<Self, InvalidValue> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(InvalidValue::among(
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

impl SettingValue for u32 {
    fn read(text: &str) -> Result<Self, InvalidValue> {
        let number = text.trim().parse().ok();
        number
            .filter(|it| *it <= MOST_COUNTED)
            .ok_or_else(|| not_a_count(MOST_COUNTED))
    }

    fn written(&self) -> Value {
        json!(self)
    }

    fn values() -> SettingValues {
        SettingValues::Count(MOST_COUNTED)
    }
}

impl SettingValue for Seconds {
    fn read(text: &str) -> Result<Self, InvalidValue> {
        let number = text.trim().parse().ok().filter(|it| *it <= MOST_SECONDS);
        number.map(Seconds).ok_or_else(|| not_a_count(MOST_SECONDS))
    }

    fn written(&self) -> Value {
        json!(self.0)
    }

    fn values() -> SettingValues {
        SettingValues::Count(MOST_SECONDS)
    }
}

fn not_a_count(most: u32) -> InvalidValue {
    InvalidValue {
        allowed: format!("a number from 0 to {most}"),
    }
}

impl SettingValue for String {
    fn read(text: &str) -> Result<Self, InvalidValue> {
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

impl SettingValue for Option<PathBuf> {
    fn read(text: &str) -> Result<Self, InvalidValue> {
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

impl SettingValue for AgentChoice {
    fn read(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
    }

    fn written(&self) -> Value {
        json!(self.to_string())
    }

    fn values() -> SettingValues {
        SettingValues::Words(AgentChoice::WORDS.to_vec())
    }
}

impl SettingValue for RuntimeChoice {
    fn read(text: &str) -> Result<Self, InvalidValue> {
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
    fn each_word_with_a_meaning_is_a_value() {
        for row in SETTINGS.iter().filter(|row| !row.meanings.is_empty()) {
            let meant: Vec<&str> = row.meanings.iter().map(|(word, _)| *word).collect();
            if let SettingValues::Words(words) = row.values()
                && row.name != "agent"
            {
                assert_eq!(meant, words, "{}", row.name);
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
