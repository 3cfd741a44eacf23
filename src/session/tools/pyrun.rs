//! `pyrun`: runs code in a copy of the interpreter that can change nothing; asks the user where no such copy is
//! possible.

use serde_json::Value;

use super::arguments::Arguments;
use super::{BeginResult, Tool, ToolContext, ToolEffect, ToolEvent, specs};
use crate::agent::InputPart;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::runtime::{RuntimeReply, RuntimeRequest, Snapshot};
use crate::tool_return::ToolReturn;

/// Last lines of a traceback that the model gets.
const TRACEBACK_LINES: usize = 30;

/// Result of code without output and value.
pub(super) const NO_OUTPUT: &str = "(nothing printed, no value)";

struct PyrunCall {
    code: String,
    /// The code may run where nothing protects files.
    unprotected: bool,
}

pub(super) fn begin(arguments: &Value, context: &mut ToolContext<'_>) -> BeginResult {
    let code = Arguments::parse(arguments, "", &["code"])
        .and_then(|arguments| {
            arguments
                .text("code", &context.runtime.language)
                .map(str::to_owned)
        })
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::PYRUN)))?;
    let call = PyrunCall {
        code,
        unprotected: context.policy.grants.unprotected && !context.plans,
    };
    let step = call.submit();
    Ok((Box::new(call), step))
}

impl PyrunCall {
    fn submit(&self) -> ToolEffect {
        ToolEffect::Submit(RuntimeRequest::Snapshot {
            code: self.code.clone(),
            unprotected: self.unprotected,
        })
    }
}

/// Nothing keeps the code of `tool` from changing files: asks the user, if there is one.
pub(super) fn ask_unprotected(
    tool: &str,
    code: &str,
    allowed: bool,
    why: String,
    context: &ToolContext<'_>,
) -> ToolEffect {
    if allowed {
        return ToolEffect::failed(&why);
    }
    if !context.policy.can_ask {
        return ToolEffect::failed(&format!(
            "{tool} did not run: {why}, and there is nobody here to allow it without that protection"
        ));
    }
    ToolEffect::Ask(QuestionSubject::Unprotected {
        code: code.to_owned(),
        why,
    })
}

/// Takes the user's reply to [`ask_unprotected`].
///
/// # Errors
/// The user said no; the result of the call.
pub(super) fn on_unprotected_reply(
    tool: &str,
    reply: &Reply,
    context: &mut ToolContext<'_>,
) -> Result<(), ToolReturn> {
    match reply {
        Reply::Chosen(
            choice @ (QuestionChoice::Once | QuestionChoice::Session | QuestionChoice::Remember),
        ) => {
            context.policy.grants.unprotected |= *choice != QuestionChoice::Once;
            Ok(())
        }
        reply => Err(ToolReturn::denied(
            &format!(
                "{tool} did not run: the user said no. Nothing here keeps it from changing files, and the user \
                 does not allow it without that protection; go on without it"
            ),
            reply,
        )),
    }
}

impl Tool for PyrunCall {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match event {
            ToolEvent::RuntimeAnswered(RuntimeReply::Snapshot(Snapshot::Ran {
                printed,
                result,
            })) => context.finish(to_tool_return(&printed, result)),
            ToolEvent::RuntimeAnswered(RuntimeReply::Snapshot(Snapshot::Unprotected(why))) => {
                ask_unprotected(specs::PYRUN, &self.code, self.unprotected, why, context)
            }
            ToolEvent::RuntimeAnswered(
                RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why),
            ) => ToolEffect::failed(&why),
            ToolEvent::RuntimeAnswered(_) => ToolEffect::failed("the interpreter gave no result"),
            ToolEvent::UserReplied(reply) => {
                match on_unprotected_reply(specs::PYRUN, &reply, context) {
                    Ok(()) => {
                        self.unprotected = true;
                        self.submit()
                    }
                    Err(denied) => ToolEffect::Done(denied),
                }
            }
            _ => ToolEffect::Wait,
        }
    }
}

/// The result for model and record: the printed text, then the value or the error.
pub(super) fn to_tool_return(printed: &str, result: Result<MimeBundle, CellError>) -> ToolReturn {
    let mut text = printed.trim_end_matches('\n').to_owned();
    let mut images = Vec::new();
    let success = result.is_ok();
    let rest = match result {
        Ok(bundle) => {
            let image = bundle.image();
            images.extend(image.map(|(mime, base64)| format!("data:{mime};base64,{base64}")));
            bundle.for_model()
        }
        Err(error) => error_text(&error),
    };
    if !rest.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&rest);
    }
    if text.is_empty() {
        text.push_str(NO_OUTPUT);
    }
    let content = std::iter::once(InputPart::Text(text.clone()));
    ToolReturn {
        content: content
            .chain(images.into_iter().map(InputPart::Image))
            .collect(),
        text,
        success,
        denied: false,
    }
}

/// `Error: Name: value`, and the last lines of the traceback when they say more.
fn error_text(error: &CellError) -> String {
    let (summary, traceback) = (error.summary(), error.plain());
    let mut lines: Vec<&str> = traceback.lines().collect();
    if lines.last().is_some_and(|last| summary.ends_with(last)) {
        lines.pop();
    }
    let from = lines.len().saturating_sub(TRACEBACK_LINES);
    let mut text = format!("Error: {summary}");
    for line in &lines[from..] {
        text.push('\n');
        text.push_str(line);
    }
    text
}
