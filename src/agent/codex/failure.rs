//! Failures as a user reads them: one line each, and hints.
//!
//! Chosen by kind (`codexErrorInfo`, HTTP status, the operating system's error), never by matching the peer's
//! texts, which are shown and not interpreted.

use std::io;

use serde_json::Value;

use super::wire::error::TurnError;
use crate::failure::{AGAIN, one_line};
use crate::rpc::{RpcError, SpawnFailure};
use crate::{AgentFailure, FailureKind};

const NO_REASON: &str = "Codex says that the turn failed, and no reason was given";

const DEMO: &str = "or try without Codex: `--agent demo`, in the shell `%ipycodex agent demo`";

pub(super) fn not_started(name: &str, error: &SpawnFailure) -> AgentFailure {
    let program = error.program.display();
    if name == "demo" {
        let message = format!(
            "the offline agent could not be started: `{program}`: {}",
            error.source
        );
        return AgentFailure::new(FailureKind::Missing, message, &[]);
    }
    if error.source.kind() == io::ErrorKind::NotFound {
        return AgentFailure::new(
            FailureKind::Missing,
            format!("the AI agent is not installed: `{program}` was not found"),
            &[
                "install it with `npm install -g @openai/codex`, then log in with `codex login`",
                DEMO,
            ],
        );
    }
    AgentFailure::new(
        FailureKind::Missing,
        format!("`{name}` could not be started: {}", error.source),
        &[DEMO],
    )
}

pub(super) fn logged_out() -> AgentFailure {
    AgentFailure::new(
        FailureKind::LoggedOut,
        "Codex is not logged in".into(),
        &["log in with `codex login`", DEMO],
    )
}

pub(super) fn refused(name: &str, method: &str, error: &RpcError) -> AgentFailure {
    if error.data.get("input_error_code").and_then(Value::as_str) == Some("input_too_large") {
        let count = |key: &str| error.data.get(key).and_then(Value::as_u64).unwrap_or(0);
        return AgentFailure::new(
            FailureKind::Refused,
            format!(
                "the prompt with its context has {} characters; {name} accepts at most {}",
                count("actual_chars"),
                count("max_chars")
            ),
            &[
                "see it with `%ipycodex context`, shorten it with `%ipycodex hide N` or `%ipycodex reset`",
            ],
        );
    }
    AgentFailure::new(
        FailureKind::Refused,
        format!(
            "`{name}` refused `{method}`: {}",
            one_line(&without_body(&error.message))
        ),
        &[AGAIN],
    )
}

pub(super) fn not_understood(name: &str, method: &str) -> AgentFailure {
    AgentFailure::new(
        FailureKind::Refused,
        format!("the answer of `{name}` to `{method}` was not understood"),
        &["ipycodex may not know this version of Codex: see `codex --version`"],
    )
}

pub(super) fn upstream(error: Option<&TurnError>) -> AgentFailure {
    let Some(error) = error else {
        return AgentFailure::new(FailureKind::Upstream, NO_REASON.into(), &[AGAIN]);
    };
    let text = one_line(&without_body(&error.message));
    let with = |lead: &str| {
        if text.is_empty() {
            lead.to_owned()
        } else {
            format!("{lead}: {text}")
        }
    };
    let upstream = FailureKind::Upstream;
    match (error.name(), error.http_status()) {
        ("unauthorized", _) | (_, Some(401)) => AgentFailure::new(
            FailureKind::LoggedOut,
            with("the model's service did not accept the login (HTTP 401)"),
            &["log in again with `codex login`"],
        ),
        (_, Some(403)) => AgentFailure::new(
            upstream,
            with("the model's service refused access (HTTP 403)"),
            &[
                "log in again with `codex login`, or choose another model with `%ipycodex model NAME`",
            ],
        ),
        ("usageLimitExceeded" | "sessionBudgetExceeded", _) => AgentFailure::new(
            upstream,
            with("the usage limit is reached"),
            &["wait for the reset, or choose another model with `%ipycodex model NAME`"],
        ),
        ("rateLimitExceeded", _) | (_, Some(429)) => AgentFailure::new(
            upstream,
            with("too many requests (HTTP 429)"),
            &["wait a moment, then send the prompt again"],
        ),
        ("contextWindowExceeded", _) => AgentFailure::new(
            upstream,
            with("the conversation is too long for the model"),
            &[
                "shorten it with `%ipycodex compact` or `%ipycodex hide N`, or begin anew with `%ipycodex reset`",
            ],
        ),
        ("modelNotFound", _) => AgentFailure::new(
            upstream,
            with("the model is not available"),
            &["choose another with `%ipycodex model NAME`"],
        ),
        ("serverOverloaded" | "internalServerError", _) | (_, Some(500..)) => AgentFailure::new(
            upstream,
            with("the model's service has a problem"),
            &["wait a moment, then send the prompt again"],
        ),
        (
            "httpConnectionFailed"
            | "responseStreamConnectionFailed"
            | "responseStreamDisconnected",
            _,
        ) => AgentFailure::new(
            upstream,
            with("the connection to the model's service failed"),
            &["check the network, then send the prompt again"],
        ),
        _ => AgentFailure::new(
            upstream,
            if text.is_empty() {
                NO_REASON.into()
            } else {
                text
            },
            &[AGAIN],
        ),
    }
}

/// The message in an error body of the model's service; any other text unchanged.
fn without_body(text: &str) -> String {
    serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|body| Some(body.get("error")?.get("message")?.as_str()?.to_owned()))
        .unwrap_or_else(|| text.to_owned())
}
