//! What a prompt wants and the agent cannot do.
//!
//! Pure. What is said of it is said once for each agent; that is the session's to know.

use super::asked::Asked;
use super::request::Surroundings;
use crate::agent::{AgentCapabilities, InputPart, Sandbox, ToolSpec, TurnRequest};
use crate::config::{AgentTools, Choices, SETTINGS};
use crate::dialog::Dialog;
use crate::magics::without_effect;

/// What is left out or has no effect: a name for it and the line to say. `functions` are the user's.
pub(super) fn lacking(
    prompt: &Asked,
    dialog: &Dialog,
    functions: &[ToolSpec],
    around: &Surroundings<'_>,
) -> Vec<(&'static str, String)> {
    let (able, choices) = (&around.able, around.choices);
    let name = &able.name;
    let mut lines: Vec<(&str, String)> = SETTINGS
        .iter()
        .filter(|row| !row.counts_for(able))
        .filter(|row| match row.name {
            // Whoever relies on the default has to know, too.
            "sandbox" => choices.sandbox != Sandbox::FullAccess,
            _ => row.get(choices) != row.get(&Choices::default()),
        })
        .map(|row| (row.name, without_effect(row, able)))
        .collect();
    if able.tools.is_none() && !functions.is_empty() {
        let names = functions.iter().map(|tool| format!("`{}`", tool.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let line =
            format!("the agent `{name}` does not support tools, so it is not offered {names}");
        lines.push(("tools", line));
    }
    if !able.mcp_servers && !choices.mcp_servers.is_empty() {
        let line = format!(
            "the agent `{name}` does not support MCP servers, so it gets none of those that `%ipycodex mcp` lists"
        );
        lines.push(("mcp servers", line));
    }
    if able.own_tools && choices.sandbox != Sandbox::FullAccess {
        let line =
            format!("the agent `{name}` has tools of its own, which `sandbox` does not confine");
        lines.push(("own tools", line));
    }
    if !able.without_shell && choices.agent_tools == AgentTools::Python {
        let line = format!("the agent `{name}` keeps its shell: `agent_tools` cannot take it away");
        lines.push(("shell", line));
    }
    if around.no_interpreter {
        let line = "there is no interpreter: the agent cannot use Python here, only its own tools";
        lines.push(("interpreter", line.to_owned()));
    }
    if !able.images
        && prompt.own_pictures() == 0
        && !dialog.next_pictures(&prompt.expansion).is_empty()
    {
        let line = format!("{}: they are left out", blind(able));
        lines.push(("images", line));
    }
    lines
}

/// Why pictures do not go to such an agent.
pub(super) fn blind(able: &AgentCapabilities) -> String {
    format!("the agent `{}` cannot see pictures", able.name)
}

/// Instructions for an agent that has no place for them stand before the first input of a thread, but behind a command
/// of the agent's own, which is known by its place.
pub(super) fn place_instructions(
    request: &mut TurnRequest,
    able: &AgentCapabilities,
    commanded: bool,
) {
    if able.system_prompt {
        return;
    }
    let instructions = std::mem::take(&mut request.instructions);
    if request.thread.is_none() && !instructions.is_empty() {
        let part = InputPart::Text(format!("{instructions}\n\n"));
        request.input.insert(usize::from(commanded), part);
    }
}
