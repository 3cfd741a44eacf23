//! Warnings about features of a prompt that the agent does not support.
//!
//! Pure. The session remembers which warnings it has shown, since each is shown once per agent.

use super::input::PromptInput;
use super::request::RequestContext;
use crate::agent::{AgentCapabilities, Sandbox, ToolSpec};
use crate::config::{AgentTools, Choices, SETTINGS};
use crate::dialog::Dialog;
use crate::magics::format_no_effect;

/// Features that are left out or have no effect: a key that identifies the warning, and its text. `functions` are the
/// user's.
pub(super) fn warnings(
    input: &PromptInput,
    dialog: &Dialog,
    functions: &[ToolSpec],
    around: &RequestContext<'_>,
) -> Vec<(&'static str, String)> {
    let (able, choices) = (&around.agent, around.choices);
    let name = &able.name;
    let mut lines: Vec<(&str, String)> = SETTINGS
        .iter()
        .filter(|row| !row.is_supported_by(able))
        .filter(|row| match row.name {
            // The default confines as well, so a user who relies on the default is warned, too.
            "sandbox" => choices.sandbox != Sandbox::FullAccess,
            _ => row.get(choices) != row.get(&Choices::default()),
        })
        .map(|row| (row.name, format_no_effect(row, able)))
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
    if able.unsandboxed_tools && choices.sandbox != Sandbox::FullAccess {
        let line =
            format!("the agent `{name}` has tools of its own, which `sandbox` does not confine");
        lines.push(("own tools", line));
    }
    if !able.optional_shell && choices.agent_tools == AgentTools::Python {
        let line = format!("the agent `{name}` keeps its shell: `agent_tools` cannot take it away");
        lines.push(("shell", line));
    }
    if around.no_interpreter {
        let line = "there is no interpreter: the agent cannot use Python here, only its own tools";
        lines.push(("interpreter", line.to_owned()));
    }
    if !able.images
        && input.picture_count() == 0
        && !dialog.next_pictures(&input.expansion).is_empty()
    {
        let line = format!("{}: they are left out", no_image_input(able));
        lines.push(("images", line));
    }
    lines
}

/// The reason why pictures are not sent to an agent without image input.
pub(super) fn no_image_input(able: &AgentCapabilities) -> String {
    format!("the agent `{}` cannot see pictures", able.name)
}
