//! Permission requests as questions to the user, and the user's answers as the agent takes them.
//!
//! Pure. A question shows the whole request; parts that the request leaves out come from its tool call. Options are
//! chosen by their ids; the meaning of each comes from its kind, never from its position.

use serde_json::{Value, json};

use super::tool_calls::ToolCallState;
use crate::rpc::RpcError;
use crate::{AgentQuestion, Decision, QuestionAnswer, QuestionOption, Subject};

/// Reads a request about the tool call `call`.
///
/// # Errors
/// The response to a request without options.
pub(super) fn question(
    id: String,
    params: &Value,
    call: &ToolCallState,
    cwd: &str,
) -> Result<AgentQuestion, RpcError> {
    let options = params["options"].as_array().into_iter().flatten();
    let options: Vec<QuestionOption> = options.filter_map(option).collect();
    if options.is_empty() {
        return Err(RpcError::invalid_params(
            "a permission request without options",
        ));
    }
    let cwd = match call.cwd() {
        "" => cwd.to_owned(),
        cwd => cwd.to_owned(),
    };
    let changes = call.changes();
    let reads = call.reads() && changes.is_empty();
    let subject = match call.command() {
        Some(command) => Subject::Command {
            command,
            cwd,
            reason: None,
        },
        None if !changes.is_empty() => Subject::Edit {
            changes,
            reason: None,
        },
        None => Subject::Permissions {
            requested: vec![call.display_title()],
            cwd,
            reason: None,
        },
    };
    Ok(AgentQuestion {
        id,
        subject,
        options,
        accepts_reason: false,
        reads,
    })
}

fn option(option: &Value) -> Option<QuestionOption> {
    let id = option["optionId"].as_str()?.to_owned();
    let name = option["name"].as_str().unwrap_or(&id).to_owned();
    let kind = match option["kind"].as_str().unwrap_or_default() {
        "allow_once" => Decision::AllowOnce,
        "reject_once" => Decision::RejectOnce,
        "reject_always" => Decision::RejectAlways,
        // An unknown kind may reach far: it is chosen by its name only.
        _ => Decision::AllowAlways,
    };
    Some(QuestionOption { id, name, kind })
}

/// The response for the agent, and whether it allows the request.
pub(super) fn answer(question: &AgentQuestion, answer: &QuestionAnswer) -> (Value, bool) {
    let chosen = match answer {
        QuestionAnswer::Chosen(id) => question.options.iter().find(|option| option.id == *id),
        // The protocol has no field for the user's reason.
        QuestionAnswer::RejectedWithReason(_) => {
            let mut options = question.options.iter();
            options.find(|option| option.kind == Decision::RejectOnce)
        }
        QuestionAnswer::Filled(_) | QuestionAnswer::Declined => None,
    };
    match chosen {
        Some(option) => (
            json!({"outcome": {"outcome": "selected", "optionId": option.id}}),
            option.kind.allows(),
        ),
        None => (refusal(), false),
    }
}

/// The response when the user cannot be asked.
pub(super) fn refusal() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// The response to a request that the agent has cancelled.
pub(super) fn cancelled() -> RpcError {
    RpcError::new(-32800, "cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::tool_calls::ToolCalls;

    fn ask(call: Value, options: Value) -> Result<AgentQuestion, RpcError> {
        let mut tool_calls = ToolCalls::default();
        let mut told = call;
        told["toolCallId"] = json!("c");
        let params = json!({"toolCall": told, "options": options});
        question("1".into(), &params, tool_calls.merge(&told), "/w")
    }

    fn usual() -> Value {
        // As gemini-cli lists them: the lasting one first.
        json!([{"optionId": "always", "name": "Allow for this session", "kind": "allow_always"},
            {"optionId": "once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "new", "kind": "from_the_future"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"}])
    }

    #[test]
    fn what_is_asked_is_what_the_call_says() {
        let subject = |call: Value| ask(call, usual()).expect("a question").subject;
        assert_eq!(
            subject(json!({"kind": "execute", "title": "touch x", "rawInput": {"cwd": "/q"}})),
            Subject::Command {
                command: "touch x".into(),
                cwd: "/q".into(),
                reason: None
            }
        );
        let diff = json!([{"type": "diff", "path": "/w/a", "newText": "1"}]);
        assert!(matches!(subject(json!({"kind": "edit", "content": diff})),
                Subject::Edit { changes, .. } if changes.len() == 1));
        let mcp = json!({"kind": "execute", "rawInput": {"server": "ns", "tool": "run"}});
        assert!(
            matches!(subject(mcp), Subject::Permissions { requested, .. } if requested == ["ns.run()"])
        );
        assert!(
            matches!(subject(json!({})), Subject::Permissions { requested, .. } if requested == ["a tool"])
        );
        for nothing in [json!([]), json!(null), json!([{"name": "x"}])] {
            assert!(ask(json!({}), nothing).is_err());
        }
    }

    #[test]
    fn options_keep_their_number_and_are_named_in_the_answer() {
        let question = ask(json!({}), usual()).expect("a question");
        assert_eq!(question.options.len(), 4);
        let check = |given: QuestionAnswer, expected: Option<&str>, yes: bool| {
            let outcome = match expected {
                Some(id) => json!({"outcome": {"outcome": "selected", "optionId": id}}),
                None => refusal(),
            };
            assert_eq!(answer(&question, &given), (outcome, yes));
        };
        check(QuestionAnswer::Chosen("once".into()), Some("once"), true);
        check(QuestionAnswer::Chosen("no".into()), Some("no"), false);
        check(QuestionAnswer::Chosen("invented".into()), None, false);
        check(
            QuestionAnswer::RejectedWithReason("x".into()),
            Some("no"),
            false,
        );
        check(QuestionAnswer::Declined, None, false);
    }
}
