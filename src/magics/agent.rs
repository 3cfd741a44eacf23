//! `%ipycodex agent`: which agent answers.

use crate::config::AgentChoice;
use crate::magics::settings::shown;
use crate::magics::{Magic, Order, View, unquoted};

/// The row of the table.
pub(super) const ROW: Magic = Magic {
    name: "agent",
    arguments: "[codex|demo]",
    help: "show or set the agent that answers; the conversation goes with it",
    run,
};

fn run(_: &Magic, value: &str, view: &View<'_>) -> Result<Vec<Order>, String> {
    if value.is_empty() {
        return Ok(vec![Order::Say(shown("agent", view.choices))]);
    }
    let value = unquoted(value);
    let choice: AgentChoice = value
        .parse()
        .map_err(|_| format!("agent must be one of codex/demo, got '{value}'"))?;
    Ok(vec![Order::UseAgent(choice)])
}
