//! What the agent reports of itself outside of turns: commands, modes, options, and its title of the conversation.
//!
//! In: [`AgentUpdate`]s. Out: the line shown at once for each, and the listing for `%ipycodex agent`. Pure.

use crate::agent::{AgentUpdate, ConfigOption, Descriptor};

#[derive(Debug, Default)]
pub(super) struct AgentProfile {
    title: Option<String>,
    modes: Option<ConfigOption>,
    options: Vec<ConfigOption>,
    commands: Vec<Descriptor>,
}

impl AgentProfile {
    /// Stores an update; returns the line that reports it to the user.
    pub(super) fn take(&mut self, news: AgentUpdate) -> Option<String> {
        match news {
            AgentUpdate::Commands(commands) => self.commands = commands,
            AgentUpdate::Title(title) => self.title = Some(title),
            AgentUpdate::Options(options) => self.options = options,
            AgentUpdate::Modes(modes) => {
                let mode = modes.current.clone();
                let before = self.modes.replace(modes)?;
                return (before.current != mode)
                    .then(|| format!("the agent's mode is now `{mode}`"));
            }
        }
        None
    }

    pub(super) fn commands(&self) -> &[Descriptor] {
        &self.commands
    }

    /// Returns the modes and options, the mode first.
    pub(super) fn selections(&self) -> impl Iterator<Item = &ConfigOption> {
        self.modes.iter().chain(&self.options)
    }

    /// Stores a value that the user chose, so that the agent's confirmation is not reported as news.
    pub(super) fn choose(&mut self, option: &str, value: &str) {
        let mut all = self.modes.iter_mut().chain(&mut self.options);
        if let Some(selection) = all.find(|selection| selection.descriptor.id == option) {
            value.clone_into(&mut selection.current);
        }
    }

    /// Returns a line per command and option; empty when the agent has reported nothing.
    pub(super) fn listing(&self) -> String {
        let mut lines = Vec::new();
        lines.extend(self.title.iter().map(|title| format!("title: {title}")));
        lines.extend(self.selections().map(ConfigOption::line));
        let commands = self.commands.iter();
        lines.extend(commands.map(|command| {
            let line = format!("./{}  {}", command.id, command.description_line());
            line.trim_end().to_owned()
        }));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offering(id: &str) -> Descriptor {
        Descriptor {
            id: id.into(),
            ..Descriptor::default()
        }
    }

    fn modes(current: &str) -> AgentUpdate {
        AgentUpdate::Modes(ConfigOption {
            descriptor: offering("mode"),
            current: current.into(),
            values: vec![offering("code"), offering("plan")],
        })
    }

    #[test]
    fn a_change_of_mode_is_said_and_the_rest_is_there_for_whoever_asks() {
        let mut offers = AgentProfile::default();
        assert_eq!(offers.listing(), "");
        assert_eq!(offers.take(modes("code")), None);
        assert_eq!(offers.take(modes("code")), None);
        assert_eq!(
            offers.take(modes("plan")).as_deref(),
            Some("the agent's mode is now `plan`")
        );
        offers.take(AgentUpdate::Title("Sums".into()));
        let compact = Descriptor {
            name: "Compact".into(),
            description: "shorten it".into(),
            ..offering("compact")
        };
        offers.take(AgentUpdate::Commands(vec![offering("review"), compact]));
        assert_eq!(
            offers.listing(),
            "title: Sums\nmode: plan (one of code, plan)\n./review\n./compact  Compact: shorten it"
        );
    }
}
