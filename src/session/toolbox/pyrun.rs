//! `pyrun`: code in a copy of the interpreter that can change nothing; where that cannot be had, the user is asked.

use serde_json::Value;

use super::arguments::Arguments;
use super::{Begun, Desk, Tool, ToolEvent, ToolStep, specs};
use crate::agent::InputPart;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::runtime::{RuntimeAnswer, RuntimeRequest, Snapshot};
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::tool_return::ToolReturn;

/// Lines of a traceback a model gets, from its end.
const TRACEBACK_LINES: usize = 30;

/// What is told of code that leaves nothing to see.
pub(super) const NOTHING: &str = "(nothing printed, no value)";

/// A look that has not returned.
struct Look {
    code: String,
    /// It runs, or is to run, where nothing protects files.
    unprotected: bool,
}

pub(super) fn begin(arguments: &Value, desk: &mut Desk<'_>) -> Begun {
    let code = Arguments::of(arguments, "", &["code"])
        .and_then(|arguments| {
            arguments
                .text("code", &desk.able.language)
                .map(str::to_owned)
        })
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::PYRUN)))?;
    let look = Look {
        code,
        unprotected: desk.allowed.unprotected,
    };
    let step = look.submit();
    Ok((Box::new(look), step))
}

impl Look {
    fn submit(&self) -> ToolStep {
        ToolStep::Submit(RuntimeRequest::Snapshot {
            code: self.code.clone(),
            unprotected: self.unprotected,
        })
    }

    /// The copy cannot be kept from changing files.
    fn refused(&self, why: String, desk: &Desk<'_>) -> ToolStep {
        if self.unprotected {
            return ToolStep::failed(&why);
        }
        if !desk.somebody {
            return ToolStep::failed(&format!(
                "pyrun did not run: {why}, and there is nobody here to allow it without that protection"
            ));
        }
        ToolStep::Ask(About::Unprotected {
            code: self.code.clone(),
            why,
        })
    }
}

impl Tool for Look {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        match event {
            ToolEvent::Answered(RuntimeAnswer::Snapshot(Snapshot::Ran { printed, result })) => {
                desk.done(seen(&printed, result))
            }
            ToolEvent::Answered(RuntimeAnswer::Snapshot(Snapshot::Unprotected(why))) => {
                self.refused(why, desk)
            }
            ToolEvent::Answered(RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why)) => {
                ToolStep::failed(&why)
            }
            ToolEvent::Answered(_) => ToolStep::failed("the interpreter gave no result"),
            ToolEvent::Replied(Reply::Chosen(
                choice
                @ (QuestionChoice::Once | QuestionChoice::Session | QuestionChoice::Remember),
            )) => {
                desk.allowed.unprotected |= choice != QuestionChoice::Once;
                self.unprotected = true;
                self.submit()
            }
            ToolEvent::Replied(reply) => ToolStep::Done(ToolReturn::denied(
                "pyrun did not run: the user said no. Nothing here keeps it from changing files, and the user \
                 does not allow it without that protection; go on without it",
                &reply,
            )),
            _ => ToolStep::Wait,
        }
    }
}

/// Result for model and record: what was printed, then the value or the error.
pub(super) fn seen(printed: &str, result: Result<MimeBundle, CellError>) -> ToolReturn {
    let mut text = printed.trim_end_matches('\n').to_owned();
    let mut images = Vec::new();
    let success = result.is_ok();
    let rest = match result {
        Ok(bundle) => {
            let image = bundle.image();
            images.extend(image.map(|(mime, base64)| format!("data:{mime};base64,{base64}")));
            bundle.for_model()
        }
        Err(error) => raised(&error),
    };
    if !rest.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&rest);
    }
    if text.is_empty() {
        text.push_str(NOTHING);
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
fn raised(error: &CellError) -> String {
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
