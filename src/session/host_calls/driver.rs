//! Carries out host calls: of the user's cells, each as a job while its cell is suspended, and of the agent's code, as
//! a question beside the turn or a tool in a runner of its own.

use serde_json::Value;
use tokio::sync::oneshot;

use super::{ActiveAgentCall, answered, schema_error};
use crate::agent::{
    Activity, AgentEvent, AgentFailure, ConsultReply, ConsultRequest, FailureKind, SuggestRequest,
    ToolCall, WorkStatus,
};
use crate::approvals::{ApprovalEvent, ApprovalRequester};
use crate::dialog::call_line;
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::events::{AnswerEvent, BeginEvent};
use crate::ids::ToolCaller;
use crate::input::prompt_source;
use crate::jobs;
use crate::prompt::{Prompt, PromptEvent};
use crate::run::RunSender;
use crate::runtime::{HostCall, HostReply, HostRequest, RequestId, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::ActiveJob;
use crate::schema::{self, AnswerSchema};
use crate::step::Step;
use crate::tool_return::ToolReturn;
use crate::tools::{NESTED_CELLS, RUN_CELLS, ToolOffer};

const INSTRUCTIONS: &str = "\
A program asks you for one answer, which it goes on with. You have no tools and see nothing but the question. Answer \
with what was asked for and nothing else.";

/// Takes a call of a cell of the user.
pub(crate) fn on_cell_call(step: &mut Step<'_>, call: HostCall) {
    if let Some(why) = schema_error(&call.request) {
        return reply_to(step, RuntimeRole::User, call.call, HostReply::Refused(why));
    }
    step.state.cell_calls.enqueue(call);
    step.state.skill_registry.begin();
    // Which tools there are depends on the skills: calls begin when these are found.
    if !step.state.skill_registry.is_incomplete() {
        begin_next_cell_call(step);
    }
}

/// Cancels a call that code in the user's interpreter no longer waits for.
pub(crate) fn on_call_cancelled(step: &mut Step<'_>, call: u64) {
    if step.state.cell_calls.drop_waiting(call) {
        return;
    }
    match step.state.cell_calls.cancel(Some(call)) {
        true => step.raise(Event::Interrupted),
        false => on_agent_call_cancelled(step, RuntimeRole::User, call),
    }
}

/// Ends what still runs for a cell that has ended, where an interrupt has not.
pub(crate) fn on_abandoned(step: &mut Step<'_>) {
    if !step.state.scheduler.has_suspended() {
        return;
    }
    // The code of its tools was interrupted: nothing waits for it.
    end_agent_calls(step);
    step.state.tool_runner.abandon();
    match step.state.scheduler.active() {
        Some(ActiveJob::Prompt(_)) => step.raise_prompt(PromptEvent::ToolsStopped),
        _ => {
            let failed = ToolReturn::failed("the cell has ended");
            step.raise(Event::CallReturned(failed));
        }
    }
}

/// Replies to the cell that is active again, its call over; its next call begins.
pub(crate) fn resume_cell(step: &mut Step<'_>) {
    step.push(Effect::ToolsChanged);
    step.push(Effect::SaveOutputs(To::Job));
    let Some(over) = step.state.cell_calls.finish() else {
        return;
    };
    if let Some(told) = over.told {
        step.show(told);
    }
    for (call, reply) in over.replies {
        reply_to(step, RuntimeRole::User, call, reply);
    }
    if over.interrupts {
        let (role, to) = (RuntimeRole::User, Some(To::Job));
        step.push(Effect::Interrupt { role, to });
    }
    begin_next_cell_call(step);
}

/// Begins the next call of the cell that runs, if none is active.
pub(crate) fn begin_next_cell_call(step: &mut Step<'_>) {
    let Some(call) = step.state.cell_calls.next() else {
        return;
    };
    let Some(out) = step.state.scheduler.out().cloned() else {
        return;
    };
    step.state.scheduler.suspend();
    match call.request {
        HostRequest::Ask {
            prompt,
            schema,
            tools,
        } => {
            let line = step.state.numbering.take();
            let source = prompt_source(&prompt);
            let input = RecordWrite::Input {
                line,
                source: source.clone(),
            };
            let begun = BeginEvent::Asked {
                line,
                prompt: prompt.clone(),
            };
            step.extend_for([Effect::Record(input), Effect::show(begun)], &out);
            let prompt = Prompt::new(line, prompt, source, step.ctx.now)
                .with_attachments(Vec::new(), schema)
                .verbatim(tools);
            jobs::begin_prompt(step, prompt, &out);
        }
        HostRequest::Tool { name, arguments } => begin_cell_tool(step, name, arguments, out),
    }
}

fn begin_cell_tool(step: &mut Step<'_>, name: String, arguments: Value, out: RunSender) {
    let call = call_line(&name, &arguments);
    step.send(&out, AnswerEvent::ToolStarted { call });
    let holder = ActiveJob::Call {
        id: 0,
        caller: "the cell that runs".to_owned(),
        asks: step.ctx.deps.asks,
        stopped: false,
        left: false,
        told: None,
    };
    step.state.scheduler.start(holder, out);
    // The user calls this, by code: restrictions on the agent's tools do not apply.
    let offer = ToolOffer {
        python: true,
        run_cells: true,
        load_skill: !step.state.skill_registry.is_empty(),
        able: step.ctx.user().able(),
    };
    let names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
    if !names.contains(&name) {
        let names = names.join(", ");
        let why = format!("there is no tool `{name}` in this session: it has {names}");
        return step.raise(Event::CallReturned(ToolReturn::failed(&why)));
    }
    let call = unnamed_call(name, arguments);
    step.raise(Event::BeginTool(ToolCaller::Turn, call));
}

/// Takes a call of code that the agent runs.
pub(crate) fn on_agent_call(
    step: &mut Step<'_>,
    role: RuntimeRole,
    id: Option<RequestId>,
    call: HostCall,
) {
    let runs = id.is_some_and(|id| step.state.tool_runner.is_running_request(role, id));
    let why = match schema_error(&call.request) {
        None if runs => {
            step.state.agent_calls.enqueue(role, call);
            return step.raise(Event::NextAgentCall);
        }
        None => "only a cell that runs can ask the session for something".to_owned(),
        Some(why) => why,
    };
    reply_to(step, role, call.call, HostReply::Refused(why));
}

/// Cancels a call that the agent's code no longer waits for.
pub(crate) fn on_agent_call_cancelled(step: &mut Step<'_>, role: RuntimeRole, call: u64) {
    if let Some(active) = step.state.agent_calls.cancel(role, call) {
        close(step, &active);
        step.raise(Event::NextAgentCall);
    }
}

/// Cancels the calls of the agent's code, which has ended or which nobody waits for.
pub(crate) fn end_agent_calls(step: &mut Step<'_>) {
    if let Some(active) = step.state.agent_calls.clear() {
        close(step, &active);
    }
}

/// Closes the call's question and shows the call as interrupted.
fn close(step: &mut Step<'_>, call: &ActiveAgentCall) {
    let requester = ApprovalRequester::Tool(ToolCaller::Code);
    step.on_approval(ApprovalEvent::Cancelled(requester));
    show(step, call.ended(&HostReply::Interrupted));
}

fn reply_to(step: &mut Step<'_>, role: RuntimeRole, call: u64, reply: HostReply) {
    let reply = RuntimeRequest::ReplyCall { call, reply };
    step.push(Effect::Notify(role, reply));
}

/// Shows an activity, and stores it with the answer where there is one.
fn show(step: &mut Step<'_>, activity: Activity) {
    match step.state.turns.running {
        Some(turn) => {
            let updated = AgentEvent::ActivityUpdated { turn, activity };
            step.raise_prompt(PromptEvent::Agent(updated));
        }
        None => step.show(AnswerEvent::Worked(activity)),
    }
}

/// Replies to the active call; its code goes on, and its next call begins.
fn finish(step: &mut Step<'_>, reply: HostReply) {
    let Some(active) = step.state.agent_calls.finish() else {
        return;
    };
    show(step, active.ended(&reply));
    reply_to(step, active.role, active.call, reply);
    step.raise(Event::NextAgentCall);
}

fn refuse(step: &mut Step<'_>, why: impl Into<String>) {
    finish(step, HostReply::Refused(why.into()));
}

/// Shows the next call of the agent's code; [`begin_agent_call`] follows.
pub(crate) fn show_next_agent_call(step: &mut Step<'_>) {
    let Some(request) = step.state.agent_calls.next() else {
        return;
    };
    if let Some(active) = &step.state.agent_calls.active {
        let begun = active.activity(WorkStatus::Running, "");
        show(step, begun);
    }
    step.raise(Event::AgentCallShown(request));
}

pub(crate) fn begin_agent_call(step: &mut Step<'_>, request: HostRequest) {
    match request {
        HostRequest::Ask {
            prompt,
            schema,
            tools,
        } => match ask_refusal(step, &tools) {
            Some(why) => refuse(step, why),
            None => consult(step, &prompt, schema),
        },
        HostRequest::Tool { name, arguments } => begin_agent_tool(step, name, arguments),
    }
}

fn ask_refusal(step: &Step<'_>, tools: &[String]) -> Option<&'static str> {
    if !matches!(step.state.scheduler.active(), Some(ActiveJob::Prompt(_))) {
        return Some("ask() is for code of a turn: nobody here is in one");
    }
    let none = "ask() offers no functions to the agent here: it waits for this code, and what it is asked is answered \
                beside its turn";
    (!tools.is_empty()).then_some(none)
}

fn consult(step: &mut Step<'_>, prompt: &str, schema: Option<Value>) {
    let (open, closed) = oneshot::channel::<()>();
    let Some(active) = &mut step.state.agent_calls.active else {
        return;
    };
    active.asked = Some(open);
    active.schema = schema.as_ref().and_then(|it| AnswerSchema::new(it).ok());
    let number = active.number;
    let mut agent = step.ctx.agent();
    let structured = agent.capabilities().structured;
    let (schema, said) = match &schema {
        Some(schema) => schema::for_agent(schema, structured),
        None => (None, None),
    };
    let said = said.map(|said| format!("\n\n{said}")).unwrap_or_default();
    let choices = &step.state.choices;
    let told = agent.consult(ConsultRequest {
        question: SuggestRequest {
            instructions: INSTRUCTIONS.to_owned(),
            input: format!("{prompt}{said}"),
            model: (!choices.model.is_empty()).then(|| choices.model.clone()),
            cwd: step.state.cwd.clone(),
        },
        effort: choices.think,
        schema,
    });
    drop(agent);
    step.spawn(async move {
        tokio::select! {
            biased;
            _ = closed => Vec::new(),
            told = told => {
                let gone = |_| Err(AgentFailure {
                    kind: FailureKind::Refused,
                    message: "the agent is gone".to_owned(),
                    hints: Vec::new(),
                });
                let told = told.unwrap_or_else(gone);
                vec![Effect::Raise(Event::Consulted(number, told))]
            }
        }
    });
}

pub(crate) fn on_consulted(step: &mut Step<'_>, number: u64, told: ConsultReply) {
    let active = step.state.agent_calls.active.as_ref();
    let Some(active) = active.filter(|active| active.number == number) else {
        return;
    };
    let reply = match told {
        Ok(answer) => {
            let reply = answered(&answer.text, &answer.text, active.schema.as_ref());
            if let Some(usage) = answer.usage {
                step.raise_prompt(PromptEvent::SideUsage(usage));
            }
            reply
        }
        Err(failure) => HostReply::Refused(failure.message),
    };
    finish(step, reply);
}

/// Begins a tool call of the agent's code: any tool that the turn offers, but no cells.
fn begin_agent_tool(step: &mut Step<'_>, name: String, arguments: Value) {
    if name == RUN_CELLS {
        return refuse(step, NESTED_CELLS);
    }
    let state = &mut *step.state;
    let offer = ToolOffer::current(&state.choices, step.ctx.user(), &state.skill_registry);
    let mut names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
    names.retain(|name| name != RUN_CELLS);
    let functions = state.scheduler.prompt();
    if !names.contains(&name) && !functions.is_some_and(|prompt| prompt.offers(&name)) {
        let names = names.join(", ");
        let why = format!("there is no tool `{name}` for code that the agent runs: it has {names}");
        return refuse(step, why);
    }
    let call = unnamed_call(name, arguments);
    step.raise(Event::BeginTool(ToolCaller::Code, call));
}

pub(crate) fn on_agent_tool_done(step: &mut Step<'_>, result: ToolReturn) {
    let ToolReturn { success, text, .. } = result;
    match success {
        true => finish(step, HostReply::Value(text.into())),
        false => refuse(step, text.strip_prefix("Error: ").unwrap_or(&text)),
    }
}

fn unnamed_call(name: String, arguments: Value) -> ToolCall {
    ToolCall {
        id: String::new(),
        name,
        arguments,
    }
}
