//! Carries out the effects of tools: asks the runtime or the user, runs code, hands results to the turn.
//!
//! Invariant: an interrupted turn waits here for the end of its code, so that the user's next cell finds the
//! interpreter and its terminal free.

use std::path::PathBuf;

use super::{
    CodeDisplay, NESTED_CELLS, NotebookJob, NotebookJobResult, RunningCode, SeenFiles, ToolCode,
    ToolContext, ToolEffect, ToolEvent, ToolRunner, only_looks,
};
use crate::agent::{Approvals, FileChange, Sandbox, ToolCall};
use crate::approvals::{ApprovalEvent, ApprovalPolicy, ApprovalRequester};
use crate::cell::{CellOrigin, CellProgress, CellResult, CellRun};
use crate::config::KernelMode;
use crate::effect::{CodeStarter, Effect, Event, RecordWrite, To};
use crate::events::{AnswerEvent, BeginEvent, TextEvent};
use crate::external_calls;
use crate::host_calls;
use crate::ids::{CallId, ToolCaller};
use crate::jobs;
use crate::kernels;
use crate::peers::RuntimeRequester;
use crate::plan_mode;
use crate::prompt::PromptEvent;
use crate::question::{QuestionChoice, Reply};
use crate::runtime::{BranchRequest, Execute, RequestId, RuntimeEvent, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::ActiveJob;
use crate::step::Step;
use crate::tool_return::ToolReturn;

/// Error for a kernel that ended between two cells.
const NO_KERNEL: &str = "the kernel ended before the cell";

/// Begins a call of the turn, if the turn offers the tool.
pub(crate) fn on_call(step: &mut Step<'_>, call: ToolCall) {
    let Some(prompt) = step.state.scheduler.prompt() else {
        return;
    };
    if !prompt.offers(&call.name) {
        let why = format!("tool `{}` is not defined", call.name);
        return done(step, ToolCaller::Turn, ToolReturn::failed(&why));
    }
    begin(step, ToolCaller::Turn, call);
}

/// Begins a call, whether or not it is offered.
pub(crate) fn begin(step: &mut Step<'_>, by: ToolCaller, call: ToolCall) {
    let of_turn = step.state.scheduler.prompt().is_some();
    if of_turn && step.state.choices.plan && !only_looks(&call.name, &call.arguments) {
        let why = format!("{} did not run: {}", call.name, plan_mode::REFUSAL);
        return done(step, by, ToolReturn::failed(&why));
    }
    let (runner, mut context) = runner_and_context(step, by);
    match runner.begin(call, &mut context) {
        ToolEffect::Done(result) => done(step, by, result),
        effect => carry_out(step, by, effect),
    }
}

fn done(step: &mut Step<'_>, by: ToolCaller, result: ToolReturn) {
    step.raise(Event::ToolDone(by, result, Vec::new()));
}

/// Cancels the call: withdraws its questions, interrupts its code and waits for the code to end.
pub(crate) fn cancel(step: &mut Step<'_>) {
    step.on_approval(ApprovalEvent::TurnOver);
    host_calls::driver::end_agent_calls(step);
    interrupt(step);
    if step.state.tool_runner.cancel() {
        on_stopped(step);
    }
}

/// Interrupts the tool of the turn, if it runs code.
pub(crate) fn interrupt(step: &mut Step<'_>) {
    if step.state.tool_runner.is_running() {
        interrupt_code(step, Some(To::Job));
    }
}

/// Interrupts what runs in any runtime; where that cannot be done, tells `to`.
fn interrupt_code(step: &mut Step<'_>, to: Option<To>) {
    let active = step.state.scheduler.role();
    let role = active.unwrap_or(step.state.tool_runner.role());
    step.push(Effect::Interrupt { role, to });
}

/// Withdraws the questions of a turn that is over, cancels its calls and waits for the end of their code.
pub(crate) fn on_turn_over(step: &mut Step<'_>) {
    external_calls::driver::refuse_inside(step);
    step.on_approval(ApprovalEvent::TurnOver);
    host_calls::driver::end_agent_calls(step);
    if step.state.tool_runner.cancel() {
        kernels::driver::release(step);
        step.raise_prompt(PromptEvent::ToolsStopped);
    }
}

fn on_stopped(step: &mut Step<'_>) {
    kernels::driver::release(step);
    match step.state.scheduler.active() {
        Some(ActiveJob::Call { left, .. }) => {
            let why = match left {
                true => "whoever called it no longer wants it",
                false => "the user stopped it",
            };
            step.raise(Event::CallReturned(ToolReturn::failed(why)));
        }
        _ => step.raise_prompt(PromptEvent::ToolsStopped),
    }
}

/// Ends the copy of the user's interpreter together with its turn.
pub(crate) fn end_branch(step: &mut Step<'_>) {
    if std::mem::take(&mut step.state.tool_runner.has_branch) {
        let end = RuntimeRequest::Branch(BranchRequest::End);
        step.push(Effect::Notify(RuntimeRole::User, end));
    }
}

fn runner_and_context<'a>(
    step: &'a mut Step<'_>,
    by: ToolCaller,
) -> (&'a mut ToolRunner, ToolContext<'a>) {
    let (state, ctx) = (&mut *step.state, step.ctx);
    let prompt = state.scheduler.prompt();
    let prompt_line = prompt.map_or(0, |prompt| prompt.line());
    let user = ctx.user();
    let context = ToolContext {
        now: ctx.now,
        interpreter_up: user.is_up(),
        cell_waiting: state.scheduler.has_suspended(),
        runtime: user.able(),
        stdin: user.tool_stdin(),
        kernels_per_call: state.choices.kernel_mode == KernelMode::PerCall,
        policy: ApprovalPolicy {
            run_cells: &mut state.choices.run_cells,
            grants: &mut state.approvals.grants,
            can_ask: state.scheduler.asks(ctx.deps.asks),
        },
        skills: &mut state.skill_registry,
        outputs: ctx.outputs,
        cwd: &state.cwd,
        notebooks: &ctx.deps.notebooks,
        sessions: &state.step_log.sessions,
        approve_changes: state.choices.approvals == Approvals::Ask
            || state.choices.sandbox == Sandbox::ReadOnly,
        prompt_line,
        plans: state.choices.plan,
    };
    let runner = match by {
        ToolCaller::Turn => &mut state.tool_runner,
        ToolCaller::Code => &mut state.agent_calls.tool_runner,
    };
    (runner, context)
}

/// Passes the event to the runner of this call; ignores calls that are over.
pub(crate) fn on_event_of(step: &mut Step<'_>, call: CallId, event: ToolEvent) {
    if step.state.tool_runner.call_id() == call {
        on_event(step, ToolCaller::Turn, event);
    } else if step.state.agent_calls.tool_runner.call_id() == call {
        on_event(step, ToolCaller::Code, event);
    }
}

/// Passes the event to the active tool, and carries out its effect.
pub(crate) fn on_event(step: &mut Step<'_>, by: ToolCaller, event: ToolEvent) {
    if matches!(
        event,
        ToolEvent::UserReplied(Reply::Chosen(QuestionChoice::Stop))
    ) {
        return step.raise(Event::Interrupted);
    }
    let (runner, mut context) = runner_and_context(step, by);
    let effect = runner.on(event, &mut context);
    let out = step.state.out_or_background().clone();
    step.state.skill_registry.save_decisions(&out);
    carry_out(step, by, effect);
}

fn carry_out(step: &mut Step<'_>, by: ToolCaller, effect: ToolEffect) {
    let call = runner_and_context(step, by).0.call_id();
    match effect {
        ToolEffect::Wait => {}
        ToolEffect::Submit(request) => {
            step.state.tool_runner.has_branch |= matches!(request, RuntimeRequest::Branch(_));
            step.push(Effect::AskRuntime(
                RuntimeRole::User,
                request,
                RuntimeRequester::Tool(call),
            ));
        }
        ToolEffect::OpenKernel(_)
        | ToolEffect::Run(_)
        | ToolEffect::Interrupt
        | ToolEffect::Kill { .. }
            if by == ToolCaller::Code =>
        {
            done(step, by, ToolReturn::failed(NESTED_CELLS));
        }
        ToolEffect::OpenKernel(opening) => kernels::driver::open(step, opening),
        ToolEffect::Ask(about) => step.ask_user(about, ApprovalRequester::Tool(by)),
        ToolEffect::Show {
            text,
            pictures,
            then,
        } => {
            if !text.is_empty() {
                step.show(TextEvent::Verbatim(text));
            }
            for picture in pictures {
                step.show(AnswerEvent::Picture(picture));
            }
            carry_out(step, by, *then);
        }
        ToolEffect::ReportProgress { cells, then } => {
            // A caller outside of a turn sees the result only.
            if step.state.scheduler.prompt().is_some() {
                step.show(AnswerEvent::CellsProgress(cells));
            }
            carry_out(step, by, *then);
        }
        ToolEffect::Run(code) => run_code(step, code),
        ToolEffect::Interrupt => interrupt_code(step, None),
        ToolEffect::Kill { over_time } => {
            let role = step.state.tool_runner.role();
            let to = To::Job;
            step.push(Effect::Kill {
                role,
                over_time,
                to,
            });
        }
        ToolEffect::ReadSkill(path) => {
            let catalog = step.state.skill_registry.catalog().clone();
            // The skill's disk may not respond.
            step.spawn_blocking(move || {
                let read = catalog.activate(&path).map(Box::new);
                Event::ToolOf(call, ToolEvent::SkillRead(read))
            });
        }
        ToolEffect::Notebook(job) => run_notebook_job(step, call, job),
        ToolEffect::Done(result) if by == ToolCaller::Code => {
            step.push(Effect::SaveOutputs(To::Job));
            done(step, by, result);
        }
        ToolEffect::Done(result) => {
            let cells = step.state.tool_runner.finish_call();
            kernels::driver::release(step);
            step.push(Effect::SaveOutputs(To::Job));
            step.raise(Event::ToolDone(by, result, cells));
        }
    }
}

fn run_code(step: &mut Step<'_>, code: ToolCode) {
    let ToolCode {
        source,
        display,
        directory,
    } = code;
    let user = step.ctx.user();
    let (role, stdin, origin) = match display {
        CodeDisplay::Cell { title } => {
            let line = begin_cell(step, title, &source);
            (RuntimeRole::User, user.stdin(None), CellOrigin::Agent(line))
        }
        CodeDisplay::Skill { name } => {
            let shown = format!("skill {name} runs:\n{}", source.trim_end());
            step.show(TextEvent::Verbatim(shown));
            (RuntimeRole::User, user.tool_stdin(), CellOrigin::Internal)
        }
        CodeDisplay::Own { kernel, heading } => {
            let shown = format!("{heading}\n{}", source.trim_end());
            step.show(TextEvent::Verbatim(shown));
            let role = RuntimeRole::Agent(kernel);
            (role, user.tool_stdin(), CellOrigin::Internal)
        }
    };
    if !step.ctx.runtimes.has(role) {
        let none = ToolEvent::KernelOpened(Err(NO_KERNEL.to_owned()));
        return step.raise(Event::Tool(ToolCaller::Turn, none));
    }
    let out = step.state.out_or_background().clone();
    let run = CellRun::new(origin, out).on_runtime_of(role);
    let line = run.line();
    let execute = Execute {
        stdin,
        dark: jobs::dark(step),
        directory,
        ..match line {
            Some(line) => Execute::numbered(source, line),
            None => Execute::unnumbered(source),
        }
    };
    let runner = &mut step.state.tool_runner;
    runner.code_started(line.unwrap_or(0), Box::new(run));
    step.push(Effect::Execute {
        starter: CodeStarter::Tool,
        role,
        request: Box::new(RuntimeRequest::Execute(execute)),
    });
}

/// Numbers, records and shows a cell of the agent.
fn begin_cell(step: &mut Step<'_>, title: String, source: &str) -> u32 {
    let line = step.state.numbering.take();
    if let Some(prompt) = step.state.scheduler.prompt() {
        let prompt = prompt.line();
        step.state.step_log.ran_for.insert(line, prompt);
    }
    let source = source.to_owned();
    let input = RecordWrite::Input {
        line,
        source: source.clone(),
    };
    let begun = BeginEvent::AgentCell {
        line,
        title,
        source,
    };
    step.extend([
        Effect::Record(input),
        Effect::Emit(To::Caller, begun.clone().into()),
        Effect::show(begun),
    ]);
    line
}

/// Handles an event of a tool's code; returns any other event.
pub(crate) fn on_code_event(
    step: &mut Step<'_>,
    role: RuntimeRole,
    id: RequestId,
    event: RuntimeEvent,
) -> Option<RuntimeEvent> {
    let Some(run) = step.state.tool_runner.code(role, id) else {
        return Some(event);
    };
    let told = match &event {
        RuntimeEvent::Started { .. } => Some(ToolEvent::CodeStarted),
        RuntimeEvent::InputRequested { .. } => Some(ToolEvent::InputRequested),
        _ => None,
    };
    let line = run.line();
    let (effects, progress) = run.on(event, step.ctx.outputs);
    step.extend(effects);
    if let (CellProgress::Ended(_), Some(line)) = (&progress, line) {
        step.state.ended_cells.insert(id, line);
    }
    if let Some(told) = told {
        on_event(step, ToolCaller::Turn, told);
    }
    if !matches!(progress, CellProgress::On) {
        host_calls::driver::end_agent_calls(step);
    }
    match progress {
        CellProgress::On => {}
        CellProgress::Ended(result) => on_code_ended(step, result),
        CellProgress::Died(result) => step.state.tool_runner.code_died(result),
    }
    None
}

fn on_code_ended(step: &mut Step<'_>, result: Box<CellResult>) {
    let runner = &mut step.state.tool_runner;
    if let (Some(cwd), RuntimeRole::User) = (&result.cwd, runner.role()) {
        step.state.cwd = PathBuf::from(cwd);
    }
    let line = runner.take_code().map_or(0, |code| code.line());
    pass_on_end(step, line, result);
}

/// Continues the tools after the end of the interpreter was reported.
pub(crate) fn resume(step: &mut Step<'_>) {
    let runner = &mut step.state.tool_runner;
    if runner.awaits_restart() {
        step.raise(Event::Tool(ToolCaller::Turn, ToolEvent::Restarted));
    } else if runner.code_has_died()
        && let Some(RunningCode::Died { line, remains, .. }) = runner.take_code()
    {
        pass_on_end(step, line, remains);
    }
}

/// Passes the end of code to the tool that runs it; ends a call that was only waiting for that.
fn pass_on_end(step: &mut Step<'_>, line: u32, remains: Box<CellResult>) {
    if step.state.tool_runner.is_idle() {
        return on_stopped(step);
    }
    let ended = ToolEvent::CodeEnded { line, remains };
    step.raise(Event::Tool(ToolCaller::Turn, ended));
}

fn run_notebook_job(step: &mut Step<'_>, call: CallId, job: NotebookJob) {
    let mut seen = step.state.tool_runner.seen_files.clone();
    step.spawn_blocking(move || {
        let (news, change) = job.run(&mut seen);
        Event::NotebookDone(call, Box::new((news, seen, change)))
    });
}

/// Shows the change to the user and continues the tool.
pub(crate) fn on_notebook_job_done(
    step: &mut Step<'_>,
    call: CallId,
    done: (NotebookJobResult, SeenFiles, Option<FileChange>),
) {
    let (news, seen, change) = done;
    step.state.tool_runner.seen_files = seen;
    if let Some(change) = change {
        step.show(AnswerEvent::FilesChanged(vec![change]));
    }
    on_event_of(step, call, ToolEvent::NotebookJobDone(news));
}
