//! `elicitation/create`: forms and pages of the agent as questions to the user, and the answers.
//!
//! Pure. Schema: the stable one of version 1 (`CreateElicitationRequest`). A form that cannot be shown is an error
//! for the agent, never an empty question. The protocol does not name the MCP server that a form or a page belongs
//! to.

use serde_json::{Value, json};

use crate::form::Form;
use crate::rpc::RpcError;
use crate::{Decision, QuestionAnswer, Subject};

/// Form of the response to an elicitation.
#[derive(Debug)]
pub(super) enum Elicitation {
    /// A form, and the message above it.
    Form(Form, String),
    Link,
}

impl Elicitation {
    /// Parses a request: the question, and the form of its response.
    ///
    /// # Errors
    /// The response to a request that cannot be shown.
    pub(super) fn parse(params: &Value) -> Result<(Subject, Elicitation), RpcError> {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let (server, message) = (String::new(), text("message"));
        match params["mode"].as_str() {
            Some("form") => {
                let form = Form::parse(&params["requestedSchema"])
                    .ok_or_else(|| RpcError::invalid_params("a form that cannot be filled in"))?;
                let fields = form.fields();
                let subject = Subject::Form {
                    server,
                    message: message.clone(),
                    fields,
                };
                Ok((subject, Elicitation::Form(form, message)))
            }
            Some("url") if !text("url").is_empty() => {
                let url = text("url");
                let subject = Subject::Link {
                    server,
                    message,
                    url,
                };
                Ok((subject, Elicitation::Link))
            }
            Some("url") => Err(RpcError::invalid_params("`url` is missing")),
            _ => Err(RpcError::invalid_params(
                "`mode` is neither `form` nor `url`",
            )),
        }
    }

    /// The response for the agent.
    ///
    /// # Errors
    /// One line for each field whose value does not fit.
    pub(super) fn answer(&self, answer: &QuestionAnswer) -> Result<Value, String> {
        Ok(match (self, answer) {
            (Elicitation::Form(form, _), QuestionAnswer::Filled(fields)) => {
                match form.fill(fields)? {
                    Some(content) => json!({"action": "accept", "content": content}),
                    None => declined(),
                }
            }
            (Elicitation::Link, answer) if answer.decision().is_some_and(Decision::allows) => {
                json!({"action": "accept"})
            }
            _ => declined(),
        })
    }

    /// Changes the question to state why it is asked again.
    pub(super) fn ask_again(&self, subject: &mut Subject, why: &str) {
        if let (Elicitation::Form(_, own), Subject::Form { message, .. }) = (self, subject) {
            *message = match own.as_str() {
                "" => why.to_owned(),
                own => format!("{why}\n\n{own}"),
            };
        }
    }
}

pub(super) fn declined() -> Value {
    json!({"action": "decline"})
}

/// The response when the turn has ended first.
pub(super) fn cancelled() -> Value {
    json!({"action": "cancel"})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decision;

    fn form(schema: Value) -> (Subject, Elicitation) {
        Elicitation::parse(&json!({"mode": "form", "message": "Which?", "requestedSchema": schema}))
            .expect("a form")
    }

    #[test]
    fn questions_of_claude_are_fields_and_get_their_answers() {
        // As claude-agent-acp 0.49.0 sends them for its tool AskUserQuestion.
        let (subject, elicitation) = form(json!({"type": "object", "properties": {
            "question_0": {"type": "string", "title": "Colour", "oneOf": [
                {"const": "Red", "title": "Red — warm", "_meta": {}}, {"const": "Blue", "title": "Blue"}]},
            "question_0_custom": {"type": "string", "title": "Other", "description": "Type your own answer"},
            "question_1": {"type": "array", "title": "Sizes", "items": {"anyOf": [
                {"const": "S", "title": "S"}, {"const": "L", "title": "L"}]}},
        }}));
        let Subject::Form {
            fields, message, ..
        } = &subject
        else {
            panic!("{subject:?}");
        };
        assert_eq!(message, "Which?");
        assert!(fields.iter().all(|field| field.optional), "{fields:?}");
        assert_eq!(fields[0].options.len(), 2);
        assert!(fields[1].free_text && fields[2].multiple);
        let given = |values: &[(&str, &[&str])]| {
            let filled = values.iter().map(|(id, values)| {
                let values = values.iter().map(|it| (*it).to_owned());
                ((*id).to_owned(), values.collect())
            });
            elicitation.answer(&QuestionAnswer::Filled(filled.collect()))
        };
        assert_eq!(
            given(&[("question_0", &["Red"]), ("question_1", &["S", "L"])]),
            Ok(
                json!({"action": "accept", "content": {"question_0": "Red", "question_1": ["S", "L"]}})
            )
        );
        assert_eq!(
            given(&[("question_0_custom", &["Mauve"])]),
            Ok(json!({"action": "accept", "content": {"question_0_custom": "Mauve"}}))
        );
        assert!(given(&[("question_0", &["Green"])]).is_err());
        assert_eq!(
            elicitation.answer(&QuestionAnswer::Declined),
            Ok(json!({"action": "decline"}))
        );
    }

    #[test]
    fn what_does_not_fit_is_asked_again_above_what_was_asked() {
        let (mut subject, elicitation) = form(json!({"properties": {"n": {"type": "integer"}}}));
        elicitation.ask_again(&mut subject, "n: a whole number");
        elicitation.ask_again(&mut subject, "n: a whole number");
        let Subject::Form { message, .. } = &subject else {
            panic!("{subject:?}");
        };
        assert_eq!(message, "n: a whole number\n\nWhich?");
    }

    #[test]
    fn a_page_is_opened_or_not_and_nonsense_is_refused() {
        let (subject, elicitation) = Elicitation::parse(
            &json!({"mode": "url", "url": "https://a/", "message": "Log in", "elicitationId": "1"}),
        )
        .expect("a page");
        assert!(matches!(subject, Subject::Link { url, .. } if url == "https://a/"));
        let of = |kind| elicitation.answer(&QuestionAnswer::from_decision(kind));
        assert_eq!(of(Decision::AllowOnce), Ok(json!({"action": "accept"})));
        assert_eq!(of(Decision::RejectOnce), Ok(json!({"action": "decline"})));
        for params in [
            json!({}),
            json!({"mode": "telepathy"}),
            json!({"mode": "url"}),
            json!({"mode": "form"}),
            json!({"mode": "form", "requestedSchema": {"required": ["x"], "properties": {"x": {"type": "object"}}}}),
        ] {
            let error = Elicitation::parse(&params).map(|_| ()).unwrap_err();
            assert_eq!(error.code, -32602, "{params}");
        }
    }
}
