//! Calls a function of the user in the live interpreter, by its name.

use serde_json::Value;

use super::{BeginResult, Tool, ToolContext, ToolEffect, ToolEvent};
use crate::agent::{InputPart, ToolCall};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::pictures::Pictures;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::tool_return::ToolReturn;

struct FunctionCall;

pub(super) fn begin(call: ToolCall, context: &mut ToolContext<'_>) -> BeginResult {
    let request = RuntimeRequest::CallTool {
        name: call.name,
        arguments: call.arguments,
        stdin: context.stdin,
    };
    Ok((Box::new(FunctionCall), ToolEffect::Submit(request)))
}

impl Tool for FunctionCall {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match event {
            ToolEvent::RuntimeAnswered(RuntimeReply::ToolResult(result)) => {
                context.finish(to_tool_return(result))
            }
            ToolEvent::RuntimeAnswered(
                RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why),
            ) => ToolEffect::failed(&why),
            ToolEvent::RuntimeAnswered(_) => ToolEffect::failed("the interpreter gave no result"),
            _ => ToolEffect::Wait,
        }
    }
}

/// The whole text of a result, and its pictures.
fn to_tool_return(result: Result<MimeBundle, CellError>) -> ToolReturn {
    let mut pictures = Pictures::default();
    let (text, success) = match result {
        Ok(bundle) => {
            for (mime, base64) in bundle.images() {
                pictures.add(format!("data:{mime};base64,{base64}"));
            }
            (text_of(&bundle), true)
        }
        Err(error) => (format!("Error: {}: {}", error.name, error.value), false),
    };
    // Models cannot read NUL, and some services refuse it.
    let mut text = text.replace('\0', "\u{fffd}");
    if let Some(missing) = pictures.missing() {
        text = format!("{text}\n{missing}");
    }
    let mut content: Vec<InputPart> = pictures.into_parts().collect();
    let only_names_it = text.starts_with("[image/") && !text.contains('\n');
    if content.is_empty() || !only_names_it {
        content.insert(0, InputPart::Text(text.clone()));
    }
    ToolReturn {
        text,
        content,
        success,
        denied: false,
    }
}

/// The text of a result: a string as it is, JSON on one line, `[image/png]` for a picture.
fn text_of(bundle: &MimeBundle) -> String {
    if bundle.image().is_some() {
        return bundle.for_model();
    }
    bundle
        .text("text/plain")
        .or_else(|| bundle.get("application/json").map(Value::to_string))
        .unwrap_or_else(|| bundle.for_model())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Text and pictures the model gets, and the text of the record.
    fn told(result: Result<MimeBundle, CellError>) -> (Vec<String>, String, bool) {
        let returned = to_tool_return(result);
        let parts = returned.content.into_iter().map(|part| match part {
            InputPart::Text(text) => text,
            InputPart::Image(url) => format!("<{url}>"),
            InputPart::File { path, .. } => path,
        });
        (parts.collect(), returned.text, returned.success)
    }

    #[test]
    fn the_result_of_a_call_is_its_text_and_its_pictures() {
        let check = |entries: &[(&str, Value)], parts: &[&str], text: &str| {
            let entries = entries
                .iter()
                .map(|(mime, data)| ((*mime).to_owned(), data.clone()));
            let bundle = MimeBundle::new(entries.collect());
            let told = told(Ok(bundle.clone()));
            assert_eq!(
                (told.0, told.1.as_str(), told.2),
                (
                    parts.iter().map(|part| (*part).to_owned()).collect(),
                    text,
                    true
                ),
                "{bundle:?}"
            );
        };
        check(&[("text/plain", json!("a\n"))], &["a\n"], "a\n");
        check(&[("text/plain", json!(""))], &[""], "");
        check(
            &[("text/plain", json!("a\0b"))],
            &["a\u{fffd}b"],
            "a\u{fffd}b",
        );
        check(
            &[("application/json", json!({"a": [1, "é"]}))],
            &["{\"a\":[1,\"é\"]}"],
            "{\"a\":[1,\"é\"]}",
        );
        check(&[("text/markdown", json!("# T"))], &["# T"], "# T");
        check(&[], &[""], "");
        check(
            &[
                ("image/png", json!("iVBORw0KGgo=")),
                ("text/plain", json!("[image/png]")),
            ],
            &["<data:image/png;base64,iVBORw0KGgo=>"],
            "[image/png]",
        );
        check(
            &[
                ("text/plain", json!("a cat")),
                ("image/jpeg", json!(["/9j/A", "/9j/B"])),
            ],
            &[
                "a cat\n[image/jpeg]",
                "<data:image/jpeg;base64,/9j/A>",
                "<data:image/jpeg;base64,/9j/B>",
            ],
            "a cat\n[image/jpeg]",
        );
    }

    #[test]
    fn an_exception_is_a_failed_result_without_a_traceback() {
        let error = CellError {
            name: "ValueError".into(),
            value: "no\0".into(),
            traceback: vec!["secret path".into()],
            leaves: None,
        };
        let text = "Error: ValueError: no\u{fffd}";
        assert_eq!(
            told(Err(error)),
            (vec![text.to_owned()], text.to_owned(), false)
        );
    }
}
