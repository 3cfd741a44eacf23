//! The user's settings in the words of the app-server.

use serde_json::{Map, Value, json};

use crate::{Approvals, Effort, McpServer, PlanMode, Sandbox, TurnSettings, WebSearchUse};

/// Configuration of a thread. Skills are listed by us only; the model's tool for questions to the user is enabled;
/// web search needs both of its keys.
pub(super) fn config(settings: &TurnSettings) -> Value {
    let mut config = json!({
        "skills": {"include_instructions": false},
        "features": {"default_mode_request_user_input": true},
        "suppress_unstable_features_warning": true,
    });
    if !settings.shell {
        config["features"]["shell_tool"] = json!(false);
        config["features"]["unified_exec"] = json!(false);
    }
    if !settings.mcp_servers.is_empty() {
        let servers = settings.mcp_servers.iter();
        let asks = asks_about_servers(settings);
        let servers = servers.map(|it| (it.name.clone(), server(it, asks)));
        config["mcp_servers"] = servers.collect();
    }
    let size = match settings.search {
        WebSearchUse::Off => None,
        WebSearchUse::Low => Some("low"),
        WebSearchUse::Medium => Some("medium"),
        WebSearchUse::High => Some("high"),
    };
    match size {
        None => config["web_search"] = json!("disabled"),
        Some(size) => {
            config["web_search"] = json!("live");
            config["tools"] = json!({"web_search": {"context_size": size}});
        }
    }
    config
}

/// True when each call of an MCP server's tool is asked about. In plan mode the answer is no.
pub(super) fn asks_about_servers(settings: &TurnSettings) -> bool {
    settings.plan == PlanMode::On || settings.approvals == Approvals::Ask
}

/// A server as `config.toml` has it. Without approvals, calls that the app-server would ask about are allowed.
fn server(server: &McpServer, asks: bool) -> Value {
    let variables = server.variables.iter();
    let variables: Map<String, Value> = variables
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    json!({
        "command": server.command,
        "args": server.arguments,
        "env": variables,
        "default_tools_approval_mode": if asks { "prompt" } else { "approve" },
    })
}

/// The approval policy. Measured: with `on-request` the app-server asks about escalations and commands that look
/// dangerous only, with `untrusted` about every command (`ls` too) and every edit, in every sandbox; input for a
/// running program (`write_stdin`) is never asked about. In plan mode every approval is refused, so that commands which
/// only look must not need one: the read-only sandbox holds the others back.
pub(super) fn policy(settings: &TurnSettings) -> &'static str {
    match (settings.approvals, settings.plan) {
        (Approvals::Never, _) => "never",
        (Approvals::Ask, PlanMode::On) => "on-request",
        (Approvals::Ask, PlanMode::Off | PlanMode::Left) => "untrusted",
    }
}

/// The form for `turn/start`: the mode, with the built-in instructions of Codex. Measured with 0.169.0: the mode stays
/// until another one is sent, and sending the same one again adds nothing to the conversation.
pub(super) fn collaboration_mode(model: &str, settings: &TurnSettings) -> Option<Value> {
    let mode = match settings.plan {
        PlanMode::Off => return None,
        PlanMode::Left => "default",
        PlanMode::On => "plan",
    };
    Some(json!({
        "mode": mode,
        "settings": {
            "model": model,
            "reasoning_effort": effort(settings.effort),
            "developer_instructions": null,
        },
    }))
}

/// The form for `thread/start` and `thread/resume`.
pub(super) fn sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "read-only",
        Sandbox::WorkspaceWrite => "workspace-write",
        Sandbox::FullAccess => "danger-full-access",
    }
}

/// The form for `turn/start`.
pub(super) fn sandbox_policy(sandbox: Sandbox) -> Value {
    match sandbox {
        Sandbox::FullAccess => json!({"type": "dangerFullAccess"}),
        Sandbox::WorkspaceWrite => json!({
            "type": "workspaceWrite",
            "writableRoots": [],
            "networkAccess": false,
            "excludeTmpdirEnvVar": false,
            "excludeSlashTmp": false,
        }),
        Sandbox::ReadOnly => json!({"type": "readOnly", "networkAccess": false}),
    }
}

pub(super) fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::ExtraHigh => "xhigh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_configured_and_asked_about_as_the_rest_is() {
        let mut settings = crate::turn::tests::request().settings;
        assert!(config(&settings).get("mcp_servers").is_none());
        settings.mcp_servers.push(McpServer {
            name: "web".into(),
            command: "web-server".into(),
            arguments: vec!["-v".into()],
            variables: vec![("KEY".into(), "1".into())],
        });
        for (approvals, plan, mode) in [
            (Approvals::Never, PlanMode::Off, "approve"),
            (Approvals::Never, PlanMode::On, "prompt"),
            (Approvals::Ask, PlanMode::Left, "prompt"),
        ] {
            (settings.approvals, settings.plan) = (approvals, plan);
            assert_eq!(
                config(&settings)["mcp_servers"],
                json!({"web": {"command": "web-server", "args": ["-v"], "env": {"KEY": "1"},
                    "default_tools_approval_mode": mode}})
            );
        }
    }
}
