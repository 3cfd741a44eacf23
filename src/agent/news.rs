//! Updates of an agent outside of turns: commands, modes, options, a title. Each update replaces the one before.

/// A choice that an agent offers: a command, a mode, a value, a login method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// The agent's id of the choice.
    pub id: String,
    /// Name for people; may be empty.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
}

/// An update that belongs to no turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentUpdate {
    /// The agent's commands: a prompt that begins with `/` and the id of one runs it.
    Commands(Vec<Descriptor>),
    /// The agent's modes.
    Modes(ConfigOption),
    /// The agent's title of the conversation.
    Title(String),
    /// Options besides the mode.
    Options(Vec<ConfigOption>),
}

/// A setting with a fixed set of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigOption {
    /// Id, name and description of the option.
    pub descriptor: Descriptor,
    /// Id of the current value.
    pub current: String,
    /// The values to choose from.
    pub values: Vec<Descriptor>,
}

impl ConfigOption {
    /// One line: `mode: plan (one of code, plan)`.
    pub fn line(&self) -> String {
        let values = self.values.iter().map(|value| value.id.as_str());
        let values = values.collect::<Vec<_>>().join(", ");
        format!("{}: {} (one of {values})", self.descriptor.id, self.current)
    }
}

impl Descriptor {
    /// Name and description, as far as they are not empty.
    pub fn description_line(&self) -> String {
        let parts = [self.name.as_str(), &self.description].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    }
}
