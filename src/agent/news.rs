//! What an agent reports outside of turns: commands, modes, options, a title. Each update replaces the one before.

/// Something an agent offers: a command, a mode, a value, a way to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offering {
    /// Names it.
    pub id: String,
    /// For people; may be empty.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
}

/// A piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Its commands: a prompt that begins with `/` and the id of one runs it.
    Commands(Vec<Offering>),
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
    pub of: Offering,
    /// The id of the value in force.
    pub current: String,
    /// The values.
    pub values: Vec<Offering>,
}

impl ConfigOption {
    /// `mode: plan (one of code, plan)`.
    pub fn line(&self) -> String {
        let values = self.values.iter().map(|value| value.id.as_str());
        let values = values.collect::<Vec<_>>().join(", ");
        format!("{}: {} (one of {values})", self.of.id, self.current)
    }
}

impl Offering {
    /// Name and description, as far as there are any.
    pub fn about(&self) -> String {
        let parts = [self.name.as_str(), &self.description].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    }
}
