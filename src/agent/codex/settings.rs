//! The user's settings in the words of the app-server.

use serde_json::{Value, json};

use crate::agent::{Approvals, Effort, Sandbox, WebSearchUse};

/// Skills are told by us, once; the model's tool for questions to the user works; searching needs both keys.
pub(super) fn config(search: WebSearchUse) -> Value {
    let mut config = json!({
        "skills": {"include_instructions": false},
        "features": {"default_mode_request_user_input": true},
        "suppress_unstable_features_warning": true,
    });
    let size = match search {
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

/// What the app-server asks about. Measured: with `on-request` it asks about escalations and what looks dangerous only,
/// with `untrusted` about every command (`ls` too) and every edit, in every sandbox; input for a program that already
/// runs (`write_stdin`) is never asked about.
pub(super) fn policy(approvals: Approvals) -> &'static str {
    match approvals {
        Approvals::Never => "never",
        Approvals::Ask => "untrusted",
    }
}

/// As `thread/start` and `thread/resume` take it.
pub(super) fn sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "read-only",
        Sandbox::WorkspaceWrite => "workspace-write",
        Sandbox::FullAccess => "danger-full-access",
    }
}

/// The form `turn/start` takes.
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

/// As the app-server calls it.
pub(super) fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::ExtraHigh => "xhigh",
    }
}
