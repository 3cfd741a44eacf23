//! Carries out external calls, as jobs of their own or inside the running turn.

use super::{ExternalCall, inside_id};
use crate::agent::{AgentEvent, ToolCall};
use crate::dialog::{call_line, tool_line};
use crate::effect::Event;
use crate::events::{AnswerEvent, EndEvent};
use crate::ids::ToolCaller;
use crate::prompt::PromptEvent;
use crate::run::RunSender;
use crate::scheduler::ActiveJob;
use crate::step::Step;
use crate::submission::QueuedJob;
use crate::tool_return::ToolReturn;

pub(crate) fn on_call(step: &mut Step<'_>, call: ExternalCall, out: RunSender) {
    match step.state.scheduler.active() {
        Some(ActiveJob::Prompt(_)) if call.caller.inside => call_inside(step, call, out),
        // The running job and its caller would wait for each other.
        Some(_) if call.caller.inside => refuse(
            step,
            &out,
            "what runs in the session started you, and has to end before you can work there",
        ),
        _ => step.raise(Event::Queued(QueuedJob::Call(call), out)),
    }
}

/// Hands the call to the running turn, as one of its agent's.
fn call_inside(step: &mut Step<'_>, call: ExternalCall, out: RunSender) {
    let Some(turn) = step.state.turns.running else {
        return refuse(step, &out, "the session is between two turns: try again");
    };
    let id = inside_id(call.id);
    let call = ToolCall {
        id: id.clone(),
        ..call.call
    };
    step.state.external_calls.inside_calls.insert(id, out);
    let called = AgentEvent::ToolCalled { turn, call };
    step.raise_prompt(PromptEvent::Agent(called));
}

pub(crate) fn refuse_inside(step: &mut Step<'_>) {
    for (_, out) in std::mem::take(&mut step.state.external_calls.inside_calls) {
        refuse(step, &out, "the turn is over");
    }
}

/// Cancels a call whose caller no longer wants the result.
pub(crate) fn on_left(step: &mut Step<'_>, id: u64) {
    let inside = inside_id(id);
    if let Some(out) = step.state.external_calls.inside_calls.remove(&inside) {
        refuse(step, &out, "cancelled");
        if let Some(turn) = step.state.turns.running {
            let withdrawn = AgentEvent::RequestWithdrawn { turn, id: inside };
            step.raise_prompt(PromptEvent::Agent(withdrawn));
        }
    } else if let Some(out) = step.state.scheduler.drop_call(id) {
        refuse(step, &out, "cancelled");
    } else if step.state.scheduler.abandon_call(id) {
        step.raise(Event::Interrupted);
    }
}

/// Begins the job of a call; a front-end that shows calls shows it.
pub(crate) fn begin(step: &mut Step<'_>, call: ExternalCall, out: RunSender) {
    let ExternalCall { id, call, caller } = call;
    let (name, arguments) = (call.name.clone(), call.arguments.clone());
    let (out, told, asks) = match step.ctx.host.announce(&caller.name) {
        Some(host) => {
            let call = call_line(&name, &arguments);
            step.send(&host, AnswerEvent::ToolStarted { call });
            (host, Some((out, name, arguments)), true)
        }
        None => (out, None, caller.asks),
    };
    step.state.scheduler.start(
        ActiveJob::Call {
            id,
            caller: caller.name,
            asks,
            stopped: false,
            left: false,
            told,
        },
        out,
    );
    step.raise(Event::BeginTool(ToolCaller::Turn, call));
}

/// Sends the result to the caller, and to the front-end that shows the call.
pub(crate) fn on_return(step: &mut Step<'_>, result: ToolReturn) {
    let Some(ActiveJob::Call { told, stopped, .. }) = step.state.scheduler.active() else {
        return;
    };
    if let Some(shown) = step.state.cell_calls.tool_returned(&result, *stopped) {
        step.show(shown);
        return step.raise(Event::JobOver);
    }
    let ended = EndEvent::Call {
        content: result.content,
        success: result.success,
    };
    if let Some((caller, name, arguments)) = told {
        let caller = caller.clone();
        let line = tool_line(name, arguments, &result.text);
        step.send(&caller, ended.clone());
        step.show(AnswerEvent::ToolRan {
            line,
            success: result.success,
        });
    }
    step.show(ended);
    step.raise(Event::JobOver);
}

fn refuse(step: &mut Step<'_>, out: &RunSender, why: &str) {
    let ToolReturn {
        content, success, ..
    } = ToolReturn::failed(why);
    step.send(out, EndEvent::Call { content, success });
}
