//! Failures of an agent of this protocol as a user reads them: one line each, and a hint.

use std::io::ErrorKind;
use std::time::Duration;

use super::initialize::VERSION;
use crate::failure::{AGAIN, one_line, rpc_error_text, timed_out};
use crate::rpc::{RpcError, SpawnFailure};
use crate::{AgentFailure, FailureKind, LoginMethod};

/// The error code of an agent that requires a login.
pub(super) const LOGIN_NEEDED: i64 = -32000;

pub(super) fn not_started(name: &str, error: &SpawnFailure) -> AgentFailure {
    let program = error.program.display();
    let (message, hints) = match error.source.kind() {
        ErrorKind::NotFound => (
            format!("the agent `{name}` is not installed: `{program}` was not found"),
            &["install it, or name another command: `%ipycodex agent acp:COMMAND ARGUMENTS`"][..],
        ),
        _ => (
            format!("`{name}` could not be started: {}", error.source),
            &["name another command: `%ipycodex agent acp:COMMAND ARGUMENTS`"][..],
        ),
    };
    AgentFailure::new(FailureKind::Missing, message, hints)
}

pub(super) fn starts_too_slowly(
    name: &str,
    method: &str,
    limit: Duration,
    junk: u64,
) -> AgentFailure {
    let mut failure = timed_out(name, method, limit, junk);
    failure
        .hints
        .push("`%ipycodex agent_start SECONDS` lets its start take longer".to_owned());
    failure
}

pub(super) fn another_version(name: &str, speaks: &str) -> AgentFailure {
    let message = format!(
        "`{name}` speaks {speaks} of the Agent Client Protocol; ipycodex speaks version {VERSION}"
    );
    let hint = "update the agent, or choose another";
    AgentFailure::new(FailureKind::Refused, message, &[hint])
}

pub(super) fn logged_out(name: &str, error: &RpcError, methods: &[LoginMethod]) -> AgentFailure {
    let why = rpc_error_text(error);
    let ways = methods.iter().map(|method| {
        let about = method.descriptor.description_line();
        let line = format!("log in with `%ipycodex login {}`", method.descriptor.id);
        match about.is_empty() {
            true => line,
            false => format!("{line} ({})", one_line(&about)),
        }
    });
    AgentFailure {
        kind: FailureKind::LoggedOut,
        message: format!("you are not logged in to `{name}`: {why}"),
        hints: ways.collect(),
    }
}

pub(super) fn refused(name: &str, method: &str, error: &RpcError) -> AgentFailure {
    let message = format!("`{name}` refused `{method}`: {}", rpc_error_text(error));
    AgentFailure::new(FailureKind::Refused, message, &[AGAIN])
}

pub(super) fn not_understood(name: &str, method: &str) -> AgentFailure {
    let message = format!("the answer of `{name}` to `{method}` was not understood");
    AgentFailure::new(FailureKind::Refused, message, &[AGAIN])
}
