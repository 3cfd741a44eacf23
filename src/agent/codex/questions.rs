//! Requests of the app-server as questions to the user, and the user's answers as it takes them.
//!
//! Pure. A request is shown whole or not at all: one without its essential part is an error, never an empty
//! question. Measured with 0.169.0: `decline` and `acceptForSession` are accepted for commands although
//! `availableDecisions` does not list them; for a connection only the listed ones are.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use super::turn::{Edits, shell_script};
use super::wire::request::{
    CommandExecutionRequestApprovalParams, FileChangeRequestApprovalParams,
    McpServerElicitationRequestParams, PermissionsRequestApprovalParams, RequestPermissionProfile,
    ToolRequestUserInputAnswer, ToolRequestUserInputParams, ToolRequestUserInputQuestion,
    ToolRequestUserInputResponse,
};
use crate::agent_process::to_wire;
use crate::form::Form;
use crate::rpc::RpcError;
use crate::{Decision, FormField, QuestionAnswer, Subject};

/// Form of the answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerFormat {
    /// A command; `lasting`: a yes may hold for the session.
    Command { lasting: bool },
    /// Changes of files.
    Edit,
    /// The requested permissions, as received.
    Permissions(Value),
    /// Questions of the model.
    Input,
    /// A call of an MCP server's tool; `lasting`: a yes may hold for the session.
    Tool { lasting: bool },
    /// A form of an MCP server, and the message above it.
    Form(Form, String),
    /// A page that an MCP server asks to open.
    Link,
}

#[derive(Debug, PartialEq)]
pub(super) enum AnswerOutcome {
    /// Send this answer to the app-server.
    Answer(Value),
    /// The input does not fit: ask again, with this reason.
    AskAgain(String),
}

/// Parses a request: the question, and the form of its answer.
///
/// # Errors
/// The response to a request that is unknown or lacks an essential part.
pub(super) fn parse(
    method: &str,
    params: Value,
    edits: &Edits,
) -> Result<(Subject, AnswerFormat), RpcError> {
    match method {
        "item/commandExecution/requestApproval" => command(typed(params)?),
        "item/fileChange/requestApproval" => edit(typed(params)?, edits),
        "item/permissions/requestApproval" => permissions(typed(params)?),
        "item/tool/requestUserInput" => input(typed(params)?),
        "mcpServer/elicitation/request" => elicitation(typed(params)?),
        _ => Err(RpcError::unknown_method(method)),
    }
}

fn typed<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

fn command(
    params: CommandExecutionRequestApprovalParams,
) -> Result<(Subject, AnswerFormat), RpcError> {
    let listed = params
        .available_decisions
        .iter()
        .any(|decision| decision == "acceptForSession");
    let reason = non_empty(params.reason);
    if let Some(network) = params.network_approval_context {
        let mut wanted = vec![format!("network: {} {}", network.protocol, network.host)];
        wanted.extend(
            params
                .command
                .map(|command| format!("for: {}", shell_script(command))),
        );
        let subject = Subject::Permissions {
            requested: wanted,
            cwd: params.cwd,
            reason,
        };
        return Ok((subject, AnswerFormat::Command { lasting: listed }));
    }
    let Some(command) = params.command.filter(|command| !command.is_empty()) else {
        return Err(RpcError::invalid_params(
            "an approval request without its command",
        ));
    };
    if params.kind == "writeStdin" {
        let subject = Subject::Input {
            program: params.item_id,
            text: command,
            cwd: params.cwd,
            reason,
        };
        return Ok((subject, AnswerFormat::Command { lasting: listed }));
    }
    let plain = params.kind.is_empty() || params.kind == "command";
    let command = if plain {
        shell_script(command)
    } else {
        command
    };
    let lasting = plain || listed;
    let more = params
        .additional_permissions
        .map(permission_lines)
        .unwrap_or_default();
    let subject = if more.is_empty() {
        Subject::Command {
            command,
            cwd: params.cwd,
            reason,
        }
    } else {
        Subject::Permissions {
            requested: std::iter::once(format!("run: {command}"))
                .chain(more)
                .collect(),
            cwd: params.cwd,
            reason,
        }
    };
    Ok((subject, AnswerFormat::Command { lasting }))
}

fn edit(
    params: FileChangeRequestApprovalParams,
    edits: &Edits,
) -> Result<(Subject, AnswerFormat), RpcError> {
    let changes = edits.get(&params.item_id).cloned().unwrap_or_default();
    let mut reasons: Vec<String> = non_empty(params.reason).into_iter().collect();
    if let Some(root) = non_empty(params.grant_root) {
        if changes.is_empty() {
            let subject = Subject::Permissions {
                requested: vec![format!("write {root}")],
                cwd: root,
                reason: reasons.pop(),
            };
            return Ok((subject, AnswerFormat::Edit));
        }
        reasons.push(format!("(it also wants: write {root})"));
    }
    if changes.is_empty() {
        return Err(RpcError::invalid_params(
            "an approval request that does not list the changes",
        ));
    }
    let reason = (!reasons.is_empty()).then(|| reasons.join(" "));
    Ok((Subject::Edit { changes, reason }, AnswerFormat::Edit))
}

fn permissions(
    params: PermissionsRequestApprovalParams,
) -> Result<(Subject, AnswerFormat), RpcError> {
    let wanted = permission_lines(typed(params.permissions.clone())?);
    if wanted.is_empty() {
        return Err(RpcError::invalid_params(
            "a permission request that names no permissions",
        ));
    }
    let subject = Subject::Permissions {
        requested: wanted,
        cwd: params.cwd,
        reason: non_empty(params.reason),
    };
    Ok((subject, AnswerFormat::Permissions(params.permissions)))
}

fn permission_lines(profile: RequestPermissionProfile) -> Vec<String> {
    let network = profile.network.and_then(|network| network.enabled);
    let mut lines: Vec<String> = Vec::new();
    if network == Some(true) {
        lines.push("network".into());
    }
    let files = profile.file_system.unwrap_or_default();
    lines.extend(files.read.iter().map(|path| format!("read {path}")));
    lines.extend(files.write.iter().map(|path| format!("write {path}")));
    for entry in files.entries {
        let text = |key: &str| entry.path.get(key).and_then(Value::as_str);
        let place = match text("path").or_else(|| text("pattern")) {
            Some(place) => place.to_owned(),
            None => entry.path.to_string(),
        };
        let line = format!("{} {place}", entry.access);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn input(params: ToolRequestUserInputParams) -> Result<(Subject, AnswerFormat), RpcError> {
    if params.questions.is_empty() {
        return Err(RpcError::invalid_params("no question"));
    }
    let field = |question: ToolRequestUserInputQuestion| FormField {
        id: question.id,
        header: question.header,
        question: question.question,
        free_text: question.is_other || question.options.is_empty(),
        options: question
            .options
            .into_iter()
            .map(|option| (option.label, option.description))
            .collect(),
        multiple: false,
        secret: question.is_secret,
        optional: true,
    };
    let subject = Subject::Form {
        server: String::new(),
        message: String::new(),
        fields: params.questions.into_iter().map(field).collect(),
    };
    Ok((subject, AnswerFormat::Input))
}

fn elicitation(
    params: McpServerElicitationRequestParams,
) -> Result<(Subject, AnswerFormat), RpcError> {
    let (server, message) = (params.server_name, params.message);
    if params.mode == "url" {
        if params.url.is_empty() {
            return Err(RpcError::invalid_params("no address"));
        }
        let url = params.url;
        let subject = Subject::Link {
            server,
            message,
            url,
        };
        return Ok((subject, AnswerFormat::Link));
    }
    if params.meta.codex_approval_kind == "mcp_tool_call" {
        let meta = params.meta;
        let mut wanted = vec![format!(
            "call the tool {} of the MCP server {server}",
            meta.tool_name
        )];
        if meta
            .tool_params
            .as_object()
            .is_some_and(|it| !it.is_empty())
        {
            wanted.push(format!("with {}", meta.tool_params));
        }
        let lasting = meta.persist == "session"
            || meta
                .persist
                .as_array()
                .is_some_and(|it| it.iter().any(|it| it == "session"));
        let subject = Subject::Permissions {
            requested: wanted,
            cwd: String::new(),
            reason: non_empty(Some(message)),
        };
        return Ok((subject, AnswerFormat::Tool { lasting }));
    }
    if !["form", "openai/form", "openaiForm"].contains(&params.mode.as_str()) {
        return Err(RpcError::invalid_params("an unknown kind of question"));
    }
    let Some(form) = Form::parse(&params.requested_schema) else {
        return Err(RpcError::invalid_params("a form that cannot be filled in"));
    };
    let subject = Subject::Form {
        server,
        message: message.clone(),
        fields: form.fields(),
    };
    Ok((subject, AnswerFormat::Form(form, message)))
}

fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

impl AnswerFormat {
    /// True for an approval, which the choice of a sandbox decides where the user is never asked.
    pub(super) fn is_approval(&self) -> bool {
        match self {
            AnswerFormat::Command { .. }
            | AnswerFormat::Edit
            | AnswerFormat::Permissions(_)
            | AnswerFormat::Tool { .. } => true,
            AnswerFormat::Input | AnswerFormat::Form(..) | AnswerFormat::Link => false,
        }
    }

    /// The answer when there is no reply.
    pub(super) fn refusal(&self) -> Value {
        match self.answer(&QuestionAnswer::Declined) {
            AnswerOutcome::Answer(value) => value,
            AnswerOutcome::AskAgain(_) => Value::Null,
        }
    }

    /// The user's answer; one that does not fit the question counts as a rejection.
    pub(super) fn answer(&self, answer: &QuestionAnswer) -> AnswerOutcome {
        let decision = answer.decision().unwrap_or(Decision::RejectOnce);
        let value = match self {
            AnswerFormat::Command { lasting } => {
                json!({"decision": review_decision(decision, *lasting)})
            }
            AnswerFormat::Edit => json!({"decision": review_decision(decision, true)}),
            AnswerFormat::Permissions(wanted) => match decision {
                Decision::AllowOnce => {
                    json!({"permissions": granted_permissions(wanted), "scope": "turn"})
                }
                Decision::AllowAlways => {
                    json!({"permissions": granted_permissions(wanted), "scope": "session"})
                }
                Decision::RejectOnce | Decision::RejectAlways | Decision::Stop => {
                    json!({"permissions": {}, "scope": "turn"})
                }
            },
            AnswerFormat::Tool { lasting } => {
                let meta = match decision {
                    Decision::AllowAlways if *lasting => json!({"persist": "session"}),
                    _ => Value::Null,
                };
                elicitation_response(decision, json!({}), meta)
            }
            AnswerFormat::Link => elicitation_response(decision, json!({}), Value::Null),
            AnswerFormat::Input => {
                let mut response = ToolRequestUserInputResponse::default();
                if let QuestionAnswer::Filled(fields) = answer {
                    let non_empty: BTreeMap<_, _> = fields
                        .iter()
                        .filter(|(_, answers)| !answers.is_empty())
                        .map(|(id, answers)| {
                            let answers = answers.clone();
                            (id.clone(), ToolRequestUserInputAnswer { answers })
                        })
                        .collect();
                    response.answers = non_empty;
                }
                to_wire(&response)
            }
            AnswerFormat::Form(form, _) => {
                let QuestionAnswer::Filled(fields) = answer else {
                    return AnswerOutcome::Answer(elicitation_response(
                        decision,
                        Value::Null,
                        Value::Null,
                    ));
                };
                match form.fill(fields) {
                    Ok(Some(content)) => {
                        elicitation_response(Decision::AllowOnce, content, Value::Null)
                    }
                    Ok(None) => {
                        elicitation_response(Decision::RejectOnce, Value::Null, Value::Null)
                    }
                    Err(why) => return AnswerOutcome::AskAgain(why),
                }
            }
        };
        AnswerOutcome::Answer(value)
    }
}

fn review_decision(decision: Decision, lasting: bool) -> &'static str {
    match decision {
        Decision::AllowAlways if lasting => "acceptForSession",
        Decision::AllowOnce | Decision::AllowAlways => "accept",
        Decision::RejectOnce | Decision::RejectAlways => "decline",
        Decision::Stop => "cancel",
    }
}

fn elicitation_response(decision: Decision, content: Value, meta: Value) -> Value {
    let (action, content) = match decision {
        Decision::AllowOnce | Decision::AllowAlways => ("accept", content),
        Decision::RejectOnce | Decision::RejectAlways => ("decline", Value::Null),
        Decision::Stop => ("cancel", Value::Null),
    };
    json!({"action": action, "content": content, "_meta": meta})
}

/// The requested permissions as granted, without fields that are null.
fn granted_permissions(wanted: &Value) -> Value {
    let mut granted = wanted.clone();
    if let Value::Object(fields) = &mut granted {
        fields.retain(|_, value| !value.is_null());
    }
    granted
}

#[cfg(test)]
mod tests;
