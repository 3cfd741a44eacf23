//! A function of the user: called in the live interpreter, by its name.

use super::{Begun, Desk, Tool, ToolEvent, ToolStep};
use crate::agent::ToolCall;
use crate::runtime::{RuntimeAnswer, RuntimeRequest};
use crate::session::prompt::returned;

struct Function;

pub(super) fn begin(call: ToolCall, desk: &mut Desk<'_>) -> Begun {
    let request = RuntimeRequest::CallTool {
        name: call.name,
        arguments: call.arguments,
        stdin: desk.stdin,
    };
    Ok((Box::new(Function), ToolStep::Submit(request)))
}

impl Tool for Function {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        match event {
            ToolEvent::Answered(RuntimeAnswer::ToolResult(result)) => desk.done(returned(result)),
            ToolEvent::Answered(RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why)) => {
                ToolStep::failed(&why)
            }
            ToolEvent::Answered(_) => ToolStep::failed("the interpreter gave no result"),
            _ => ToolStep::Wait,
        }
    }
}
