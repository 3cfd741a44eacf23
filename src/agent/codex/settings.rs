//! The user's settings in the words of the app-server.

use serde_json::{Map, Value, json};

use crate::{Approvals, Effort, McpServer, Sandbox, TurnSettings, WebSearchUse};

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
        let servers = servers.map(|it| (it.name.clone(), server(it, settings.approvals)));
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

/// A server as `config.toml` has it. Without approvals, calls that the app-server would ask about are allowed.
fn server(server: &McpServer, approvals: Approvals) -> Value {
    let variables = server.variables.iter();
    let variables: Map<String, Value> = variables
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    json!({
        "command": server.command,
        "args": server.arguments,
        "env": variables,
        "default_tools_approval_mode": match approvals {
            Approvals::Never => "approve",
            Approvals::Ask => "prompt",
        },
    })
}

/// The approval policy. Measured: with `on-request` the app-server asks about escalations and commands that look
/// dangerous only, with `untrusted` about every command (`ls` too) and every edit, in every sandbox; input for a
/// running program (`write_stdin`) is never asked about.
pub(super) fn policy(approvals: Approvals) -> &'static str {
    match approvals {
        Approvals::Never => "never",
        Approvals::Ask => "untrusted",
    }
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
        for (approvals, mode) in [(Approvals::Never, "approve"), (Approvals::Ask, "prompt")] {
            settings.approvals = approvals;
            assert_eq!(
                config(&settings)["mcp_servers"],
                json!({"web": {"command": "web-server", "args": ["-v"], "env": {"KEY": "1"},
                    "default_tools_approval_mode": mode}})
            );
        }
    }
}
