//! `look_back`: the value of an expression after each earlier cell, computed in copies that can change nothing; asks
//! the user where no such copy is possible.

use serde_json::Value;

use super::arguments::Arguments;
use super::{BeginResult, Tool, ToolContext, ToolEffect, ToolEvent, pyrun, specs};
use crate::look_back::{self, FOR_MODEL};
use crate::runtime::{LookBack, LookBackRequest, RuntimeReply, RuntimeRequest};
use crate::tool_return::ToolReturn;

struct LookBackCall(LookBackRequest);

pub(super) fn begin(arguments: &Value, context: &mut ToolContext<'_>) -> BeginResult {
    let request = parse(arguments, context)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::LOOK_BACK)))?;
    let call = LookBackCall(request);
    let step = call.submit();
    Ok((Box::new(call), step))
}

fn parse(arguments: &Value, context: &ToolContext<'_>) -> Result<LookBackRequest, String> {
    let arguments = Arguments::parse(arguments, "", &["code", "from", "to"])?;
    let code = arguments.text("code", &context.runtime.language)?;
    let from = arguments.whole_number("from", 1)?;
    let to = arguments.whole_number("to", 1)?;
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(format!(
            "`from` is {from} and `to` is {to}: expected `from` not after `to`"
        ));
    }
    Ok(LookBackRequest {
        unprotected: context.policy.grants.unprotected && !context.plans,
        ..context.sessions.look_back(code.to_owned(), from, to)
    })
}

impl LookBackCall {
    fn submit(&self) -> ToolEffect {
        ToolEffect::Submit(RuntimeRequest::LookBack(self.0.clone()))
    }
}

impl Tool for LookBackCall {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match event {
            ToolEvent::RuntimeAnswered(RuntimeReply::LookedBack(LookBack::Looked(states))) => {
                let said = look_back::listed(&states, context.sessions, FOR_MODEL);
                context.finish(ToolReturn::text(said))
            }
            ToolEvent::RuntimeAnswered(RuntimeReply::LookedBack(LookBack::Unprotected(why))) => {
                pyrun::ask_unprotected(
                    specs::LOOK_BACK,
                    &self.0.code,
                    self.0.unprotected,
                    why,
                    context,
                )
            }
            ToolEvent::RuntimeAnswered(
                RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why),
            ) => ToolEffect::failed(&why),
            ToolEvent::RuntimeAnswered(_) => ToolEffect::failed("the interpreter gave no result"),
            ToolEvent::UserReplied(reply) => {
                match pyrun::on_unprotected_reply(specs::LOOK_BACK, &reply, context) {
                    Ok(()) => {
                        self.0.unprotected = true;
                        self.submit()
                    }
                    Err(denied) => ToolEffect::Done(denied),
                }
            }
            _ => ToolEffect::Wait,
        }
    }
}
