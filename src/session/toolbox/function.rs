//! A function of the user: called in the live interpreter, by its name.

use super::{Begun, Desk, Step, Tool, ToolEvent};
use crate::agent::ToolCall;
use crate::runtime::{Answer, RuntimeRequest};
use crate::session::prompt::returned;

struct Function;

pub(super) fn begin(call: ToolCall, desk: &mut Desk<'_>) -> Begun {
    let request = RuntimeRequest::CallTool {
        name: call.name,
        arguments: call.arguments,
        stdin: desk.stdin,
    };
    Ok((Box::new(Function), Step::Submit(request)))
}

impl Tool for Function {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> Step {
        match event {
            ToolEvent::Answered(Answer::ToolResult(result)) => desk.done(returned(result)),
            ToolEvent::Answered(Answer::Failed(why) | Answer::Unable(why)) => Step::failed(&why),
            ToolEvent::Answered(_) => Step::failed("the interpreter gave no result"),
            _ => Step::Wait,
        }
    }
}
