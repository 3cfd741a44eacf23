//! What an agent reports outside of turns: commands, modes, options, a title. Each update replaces the one before.

/// Something an agent offers: a command, a mode, a value, a way to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Names it.
    pub id: String,
    /// For people; may be empty.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
}

/// A piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentUpdate {
    /// Its commands: a prompt that begins with `/` and the id of one runs it.
    Commands(Vec<Descriptor>),
    /// Its modes.
    Modes(ConfigOption),
    /// What it calls the conversation.
    Title(String),
    /// What can be chosen beside.
    Options(Vec<ConfigOption>),
}

/// One of several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigOption {
    /// What is chosen.
    pub descriptor: Descriptor,
    /// The id of the value in force.
    pub current: String,
    /// The values.
    pub values: Vec<Descriptor>,
}

impl ConfigOption {
    /// `mode: plan (one of code, plan)`.
    pub fn line(&self) -> String {
        let values = self.values.iter().map(|value| value.id.as_str());
        let values = values.collect::<Vec<_>>().join(", ");
        format!("{}: {} (one of {values})", self.descriptor.id, self.current)
    }
}

impl Descriptor {
    /// Name and description, as far as there are any.
    pub fn description_line(&self) -> String {
        let parts = [self.name.as_str(), &self.description].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    }
}
