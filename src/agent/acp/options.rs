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

    fn selections(&mut self) -> impl Iterator<Item = &mut ConfigOption> {
        let config = self.config.iter_mut().map(|(selection, _)| selection);
        config.chain(&mut self.modes).chain(&mut self.models)
    }

    fn news(&self) -> Vec<AgentUpdate> {
        let is_mode = |(it, of): &&(ConfigOption, String)| of == MODE || it.descriptor.id == MODE;
        let of_config = self.config.iter().find(is_mode).map(|(it, _)| it);
        let mode = of_config.or(self.modes.as_ref());
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
