//! `pyrun`: code in a copy of the interpreter that can change nothing; where that cannot be had, the user is asked.

use serde_json::Value;

use super::arguments::Arguments;
use super::{Job, specs};
use crate::agent::InputPart;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::runtime::{Answer, RequestId, RuntimeRequest, Snapshot};
use crate::session::asking::Asker;
use crate::session::question::{About, Choice, Reply};
use crate::session::task::Session;
use crate::session::turn::ToolReturn;

/// Lines of a traceback a model gets, from its end.
const TRACEBACK_LINES: usize = 30;

/// A look that has not returned.
pub(super) struct Look {
    code: String,
    /// The request that runs, and whether it runs without protection; `None` while the user is asked.
    running: Option<(RequestId, bool)>,
}

impl Look {
    pub(super) fn waits_for(&self, id: RequestId) -> bool {
        self.running.is_some_and(|(running, _)| running == id)
    }

    pub(super) fn runs(&self) -> bool {
        self.running.is_some()
    }
}

impl Session {
    pub(super) fn pyrun(&mut self, arguments: &Value) -> Option<ToolReturn> {
        let code = Arguments::of(arguments, "", &["code"])
            .and_then(|arguments| arguments.text("code", "Python"));
        match code {
            Ok(code) => self.look(code.to_owned(), self.asking.unprotected_allowed),
            Err(why) => return Some(ToolReturn::failed(&format!("{}: {why}", specs::PYRUN))),
        }
        None
    }

    fn look(&mut self, code: String, unprotected: bool) {
        let request = RuntimeRequest::Snapshot {
            code: code.clone(),
            unprotected,
        };
        let id = self.connected_runtime().submit(request);
        self.toolbox.job = Some(Job::Look(Look {
            code,
            running: Some((id, unprotected)),
        }));
    }

    /// What came of it.
    pub(super) fn looked(&mut self, answer: Answer) -> Option<ToolReturn> {
        let Some(Job::Look(look)) = &mut self.toolbox.job else {
            return None;
        };
        match answer {
            Answer::Snapshot(Snapshot::Ran { printed, result }) => {
                let seen = seen(&printed, result);
                Some(self.cut_result(seen))
            }
            Answer::Snapshot(Snapshot::Unprotected(why)) => {
                let unprotected = look.running.take().is_some_and(|(_, it)| it);
                if unprotected {
                    return Some(ToolReturn::failed(&why));
                }
                if !self.asking.somebody() {
                    return Some(ToolReturn::failed(&format!(
                        "pyrun did not run: {why}, and there is nobody here to allow it without that protection"
                    )));
                }
                let about = About::Unprotected {
                    code: look.code.clone(),
                    why,
                };
                self.ask_user(about, Asker::Tool);
                None
            }
            Answer::Failed(why) => Some(ToolReturn::failed(&why)),
            _ => Some(ToolReturn::failed("the interpreter gave no result")),
        }
    }

    /// The user answered whether it may run without protection.
    pub(super) fn look_allowed(&mut self, look: Look, reply: &Reply) -> Option<ToolReturn> {
        match reply {
            Reply::Chosen(Choice::Once) => {}
            Reply::Chosen(Choice::Session | Choice::Remember) => {
                self.asking.unprotected_allowed = true;
            }
            _ => {
                return Some(ToolReturn::denied(
                    "pyrun did not run: the user said no. Nothing here keeps it from changing files, and the user \
                     does not allow it without that protection; go on without it",
                    reply,
                ));
            }
        }
        self.look(look.code, true);
        None
    }
}

/// Result for model and record: what was printed, then the value or the error.
fn seen(printed: &str, result: Result<MimeBundle, CellError>) -> ToolReturn {
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
        text.push_str("(nothing printed, no value)");
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
