//! The options of a session: modes, models and others, commands, and the agent's title for the session.
//!
//! Pure. In: the answers that open a session, and updates. Out: updates for the session, and the request that sets
//! an option. `configOptions` lists all of them; `modes` and `models` are read for agents without it.

use serde_json::{Value, json};

use crate::failure::one_line;
use crate::{AgentUpdate, ConfigOption, Descriptor, Model};

/// The ids of mode and model in `%ipycodex option`.
const MODE: &str = "mode";
const MODEL: &str = "model";

/// Words in the values of an option that is fit for plan mode, the best first.
const PLAN_WORDS: [&[&str]; 3] = [&["plan", "planning"], &["ask"], &["read-only", "readonly"]];

/// The values that an option has before plan mode, as far as nothing is known of that.
const USUAL_VALUES: [&str; 4] = ["default", "agent", "code", "build"];

#[derive(Debug, Default)]
pub(super) struct Options {
    /// Each option with its category.
    config: Vec<(ConfigOption, String)>,
    modes: Option<ConfigOption>,
    models: Option<ConfigOption>,
}

impl Options {
    /// Reads the answer that opened a session.
    pub(super) fn open(&mut self, answer: &Value) -> Vec<AgentUpdate> {
        *self = Options {
            config: config(&answer["configOptions"]),
            modes: listed(
                &answer["modes"],
                MODE,
                ["availableModes", "currentModeId", "id"],
            ),
            models: listed(
                &answer["models"],
                MODEL,
                ["availableModels", "currentModelId", "modelId"],
            ),
        };
        self.news()
    }

    /// Reads an update; empty for kinds that concern no option.
    pub(super) fn update(&mut self, kind: &str, update: &Value) -> Vec<AgentUpdate> {
        match (kind, &mut self.modes) {
            ("available_commands_update", _) => return vec![commands(update)],
            ("session_info_update", _) => {
                let title = update["title"].as_str();
                let title = title.map(|title| AgentUpdate::Title(one_line(title)));
                return title.into_iter().collect();
            }
            ("config_option_update", _) => self.config = config(&update["configOptions"]),
            ("current_mode_update", Some(modes)) => {
                if let Some(mode) = update["currentModeId"].as_str() {
                    mode.clone_into(&mut modes.current);
                }
            }
            _ => return Vec::new(),
        }
        self.news()
    }

    /// Reads the answer to a request that set an option.
    pub(super) fn set(&mut self, option: &str, value: &str, answer: &Value) -> Vec<AgentUpdate> {
        if answer["configOptions"].is_array() {
            self.config = config(&answer["configOptions"]);
        } else if let Some(selection) = self.selections().find(|it| it.descriptor.id == option) {
            value.clone_into(&mut selection.current);
        }
        self.news()
    }

    /// The request that sets an option in `session`; `None` if the session has no such option.
    pub(super) fn setter(
        &self,
        session: &str,
        option: &str,
        value: &str,
    ) -> Option<(&'static str, Value)> {
        if self.config.iter().any(|(it, _)| it.descriptor.id == option) {
            let params = json!({"sessionId": session, "configId": option, "value": value});
            return Some(("session/set_config_option", params));
        }
        match option {
            MODE if self.modes.is_some() => Some((
                "session/set_mode",
                json!({"sessionId": session, "modeId": value}),
            )),
            MODEL if self.models.is_some() => Some((
                "session/set_model",
                json!({"sessionId": session, "modelId": value}),
            )),
            _ => None,
        }
    }

    pub(super) fn model(&self) -> Option<&ConfigOption> {
        let config = self.config.iter();
        let config = config.map(|(it, of)| (it, of.as_str()));
        let mut of_config = config.filter(|(it, of)| *of == MODEL || it.descriptor.id == MODEL);
        of_config
            .next()
            .map(|(selection, _)| selection)
            .or(self.models.as_ref())
    }

    /// Returns the options with a value for plan mode, and that value: of each option one that says `plan`, else of
    /// the mode one that only asks or only reads.
    pub(super) fn plan_values(&self) -> Vec<(&ConfigOption, &str)> {
        let config = self.config.iter().map(|(it, of)| (it, of == MODE));
        // `configOptions` lists the modes, too, where an agent has both.
        let has_mode = self.config.iter().any(is_mode);
        let modes = self.modes.as_ref().filter(|_| !has_mode);
        let all = config.chain(modes.map(|it| (it, true)));
        let planned = all.filter_map(|(option, is_mode)| {
            let ranks = if is_mode || option.descriptor.id == MODE {
                &PLAN_WORDS[..]
            } else {
                &PLAN_WORDS[..1]
            };
            let mut values = ranks.iter().filter_map(|rank| {
                let mut values = option.values.iter();
                values.find(|value| says(value, rank))
            });
            Some((option, values.next()?.id.as_str()))
        });
        planned.collect()
    }

    pub(super) fn list_models(&self) -> Vec<Model> {
        let Some(selection) = self.model() else {
            return Vec::new();
        };
        let models = selection.values.iter().map(|value| Model {
            name: value.id.clone(),
            description: value.description_line(),
            efforts: Vec::new(),
            default_effort: String::new(),
            is_default: value.id == selection.current,
        });
        models.collect()
    }

    /// Returns the options that are still set for plan mode, with the value to go back to: as in `before`, else a
    /// usual one.
    pub(super) fn values_without_plan(&self, before: &[(String, String)]) -> Vec<(String, String)> {
        let planned = self.plan_values().into_iter();
        let planned = planned.filter(|(option, value)| option.current == *value);
        let usual = |option: &ConfigOption| {
            let mut usual = USUAL_VALUES.iter();
            let found = usual.find(|usual| option.values.iter().any(|it| it.id == **usual));
            found.map(|usual| (*usual).to_owned())
        };
        let back = planned.filter_map(|(option, _)| {
            let id = &option.descriptor.id;
            let known = before.iter().find(|(of, _)| of == id);
            let value = known.map(|(_, value)| value.clone());
            Some((id.clone(), value.or_else(|| usual(option))?))
        });
        back.collect()
    }

    fn selections(&mut self) -> impl Iterator<Item = &mut ConfigOption> {
        let config = self.config.iter_mut().map(|(selection, _)| selection);
        config.chain(&mut self.modes).chain(&mut self.models)
    }

    fn news(&self) -> Vec<AgentUpdate> {
        let of_config = self.config.iter().find(|it| is_mode(it));
        let mode = of_config.map(|(it, _)| it).or(self.modes.as_ref());
        let rest = self.config.iter().filter(|it| !is_mode(it));
        let rest = rest.map(|(it, _)| it);
        let has_model = self
            .model()
            .is_some_and(|it| self.models.as_ref() != Some(it));
        let models = self.models.as_ref().filter(|_| !has_model);
        let options: Vec<ConfigOption> = rest.chain(models).cloned().collect();
        let mut news: Vec<AgentUpdate> =
            mode.cloned().map(AgentUpdate::Modes).into_iter().collect();
        if !options.is_empty() {
            news.push(AgentUpdate::Options(options));
        }
        news
    }
}

fn is_mode((option, category): &(ConfigOption, String)) -> bool {
    category == MODE || option.descriptor.id == MODE
}

/// True when the id or the name of a value has one of these words.
fn says(value: &Descriptor, words: &[&str]) -> bool {
    let texts = [&value.id, &value.name].into_iter();
    texts.into_iter().any(|text| {
        let text = text.to_lowercase().replace(['_', ' '], "-");
        let mut parts = text.split(|c: char| !c.is_alphanumeric());
        words.contains(&text.as_str()) || parts.any(|part| words.contains(&part))
    })
}

fn config(options: &Value) -> Vec<(ConfigOption, String)> {
    let options = options.as_array().into_iter().flatten();
    let read = |option: &Value| {
        let mut values = Vec::new();
        for value in option["options"].as_array()? {
            // Values may come in groups.
            match value["options"].as_array() {
                Some(group) => values.extend(group.iter().filter_map(|it| offering(it, "value"))),
                None => values.extend(offering(value, "value")),
            }
        }
        let selection = ConfigOption {
            descriptor: offering(option, "id")?,
            current: text(&option["currentValue"]),
            values,
        };
        Some((selection, text(&option["category"])))
    };
    options.filter_map(read).collect()
}

/// Reads modes or models, given the names of the fields for the list, the current value and the id of each.
fn listed(told: &Value, name: &str, [all, current, id]: [&str; 3]) -> Option<ConfigOption> {
    let values = told[all].as_array()?;
    Some(ConfigOption {
        descriptor: Descriptor {
            id: name.to_owned(),
            ..Descriptor::default()
        },
        current: text(&told[current]),
        values: values.iter().filter_map(|it| offering(it, id)).collect(),
    })
}

fn offering(value: &Value, id: &str) -> Option<Descriptor> {
    Some(Descriptor {
        id: value[id].as_str()?.to_owned(),
        name: text(&value["name"]),
        description: text(&value["description"]),
    })
}

fn commands(update: &Value) -> AgentUpdate {
    let commands = update["availableCommands"].as_array();
    let commands = commands.into_iter().flatten();
    AgentUpdate::Commands(
        commands
            .filter_map(|it| {
                let mut command = offering(it, "name")?;
                command.name = text(&it["input"]["hint"]);
                Some(command)
            })
            .collect(),
    )
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(news: &[AgentUpdate]) -> Vec<String> {
        let lines = news.iter().flat_map(|news| match news {
            AgentUpdate::Modes(modes) => vec![modes.line()],
            AgentUpdate::Options(options) => options.iter().map(ConfigOption::line).collect(),
            other => vec![format!("{other:?}")],
        });
        lines.collect()
    }

    #[test]
    fn plan_mode_is_found_by_what_the_values_say() {
        let planned = |answer: Value| {
            let mut options = Options::default();
            options.open(&answer);
            let found = options.plan_values();
            let found = found
                .iter()
                .map(|(it, value)| format!("{}={value}", it.descriptor.id));
            (found.collect::<Vec<_>>().join(" "), options)
        };
        let modes = |ids: &[&str]| {
            let all: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
            json!({"modes": {"currentModeId": ids[0], "availableModes": all}})
        };
        for (ids, expected) in [
            (&["default", "acceptEdits", "plan"][..], "mode=plan"),
            (&["code", "ask", "architect"], "mode=ask"),
            (&["agent", "read-only", "full"], "mode=read-only"),
            (&["agent", "explanatory", "task"], ""),
        ] {
            assert_eq!(planned(modes(ids)).0, expected);
        }
        // As codex-acp has it.
        let config = json!({"configOptions": [
            {"id": "mode", "category": "mode", "currentValue": "agent",
                "options": [{"value": "read-only", "name": "Read-only"}, {"value": "agent"}]},
            {"id": "collaboration_mode", "currentValue": "default",
                "options": [{"value": "default"}, {"value": "plan"}]},
            {"id": "model", "currentValue": "m", "options": [{"value": "read-only"}]},
        ]});
        let (found, mut options) = planned(config);
        assert_eq!(found, "mode=read-only collaboration_mode=plan");
        assert!(options.values_without_plan(&[]).is_empty());
        options.set("mode", "read-only", &json!({}));
        options.set("collaboration_mode", "plan", &json!({}));
        let back = |before: &[(&str, &str)]| {
            let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
            let before: Vec<_> = before.iter().map(own).collect();
            let back = options.values_without_plan(&before).into_iter();
            back.map(|(a, b)| format!("{a}={b}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(back(&[]), "mode=agent collaboration_mode=default");
        assert_eq!(
            back(&[("mode", "own")]),
            "mode=own collaboration_mode=default"
        );
    }

    #[test]
    fn config_options_come_before_modes_and_models() {
        let modes = json!({"currentModeId": "a", "availableModes": [{"id": "a"}, {"id": "b"}]});
        let models = json!({"currentModelId": "m", "availableModels": [{"modelId": "m"}]});
        let mut options = Options::default();
        let news = options.open(&json!({"modes": modes, "models": models}));
        assert_eq!(
            lines(&news),
            ["mode: a (one of a, b)", "model: m (one of m)"]
        );
        let setter =
            |options: &Options, option: &str| options.setter("S", option, "b").map(|it| it.0);
        assert_eq!(setter(&options, "mode"), Some("session/set_mode"));
        assert_eq!(setter(&options, "model"), Some("session/set_model"));
        assert_eq!(setter(&options, "effort"), None);
        let news = options.update("current_mode_update", &json!({"currentModeId": "b"}));
        assert_eq!(lines(&news)[0], "mode: b (one of a, b)");
        let config = json!([
            {"id": "how", "category": "mode", "currentValue": "x",
                "options": [{"options": [{"value": "x"}]}, {"value": "y"}]},
            {"id": "model", "currentValue": "n", "options": [{"value": "n", "name": "N"}]},
            {"id": "no values"},
        ]);
        let news =
            options.open(&json!({"modes": modes, "models": models, "configOptions": config}));
        assert_eq!(
            lines(&news),
            ["how: x (one of x, y)", "model: n (one of n)"]
        );
        assert_eq!(options.list_models()[0].name, "n");
        assert_eq!(setter(&options, "how"), Some("session/set_config_option"));
        let news = options.set("how", "y", &json!({}));
        assert_eq!(lines(&news)[0], "how: y (one of x, y)");
        assert!(
            options
                .open(&json!({"modes": 3, "configOptions": "?"}))
                .is_empty()
        );
    }
}
