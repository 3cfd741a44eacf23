//! Routes each event to the machine that owns it, or to the function that joins machines for it.

use crate::approvals::{ApprovalEvent, ApprovalRequester};
use crate::branches;
use crate::commands::{self, plan, replace, rewind, undo};
use crate::context::StepContext;
use crate::dispatch;
use crate::effect::{CodeStarter, Effect, Event, Found, To};
use crate::events::{Notice, TextEvent};
use crate::external_calls;
use crate::host_calls;
use crate::ids::{JobId, ToolCaller};
use crate::jobs;
use crate::kernels;
use crate::markdown::Background;
use crate::prompt::PromptEvent;
use crate::prompt_events;
use crate::question::{QuestionChoice, Reply};
use crate::record::{RecordedThreads, SessionStart};
use crate::replay::{Replay, ReplayPurpose, ReplayRun};
use crate::run::RunSender;
use crate::runtime_events;
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, SchedulerEvent};
use crate::startup;
use crate::state::SessionState;
use crate::step::Step;
use crate::text::report::Report;
use crate::tool_return::ToolReturn;
use crate::tools::{self, Skills, ToolEvent};

/// Takes an event; returns the effects, in order, each bound to its stream.
pub(super) fn step(state: &mut SessionState, event: Event, ctx: &StepContext<'_>) -> Vec<Effect> {
    let mut step = Step::new(state, ctx);
    handle(&mut step, event);
    step.into_effects()
}

fn handle(step: &mut Step<'_>, event: Event) {
    match event {
        Event::Input(submission, out) => dispatch::on_input(step, submission, out),
        Event::Queued(job, out) => dispatch::enqueue(step, job, out),
        Event::Advance => dispatch::advance(step),
        Event::Free => dispatch::continue_idle(step),
        Event::JobOver => on_job_over(step),
        Event::WaitOver(job, effects) => step.finish_wait(job, effects),
        Event::WaitStopped(out) => on_wait_stopped(step, &out),
        Event::EffectsReady(effects) => {
            let background = step.state.background.clone();
            step.extend_for(effects, &background);
        }
        Event::Interrupted => step.on_scheduler(SchedulerEvent::Interrupted),
        Event::BackgroundWanted => branches::driver::begin(step),
        Event::AsideWanted(prompt) => branches::aside::begin_beside(step, prompt),
        Event::Branch(number, event) => branches::driver::on_event(step, number, event),
        Event::Steer(text) => step.raise_prompt(PromptEvent::Steer(text)),
        Event::Skipped => step.on_scheduler(SchedulerEvent::Skipped),
        Event::DeathTold => step.on_scheduler(SchedulerEvent::DeathTold),
        Event::DeadlineReached => {
            step.raise_prompt(PromptEvent::Tick);
            let reached = ToolEvent::DeadlineReached;
            step.raise(Event::Tool(ToolCaller::Turn, reached));
            step.raise(Event::KernelsDue);
        }
        Event::Closing => {
            step.state.tool_runner.abandon();
            kernels::driver::end_all(step);
            step.raise_prompt(PromptEvent::ToolsStopped);
        }

        Event::Runtime(role, event) => runtime_events::on_runtime(step, role, event),
        Event::RuntimeReplied(requester, reply) => {
            runtime_events::on_reply(step, requester, reply);
        }
        Event::Cell(role, event) => runtime_events::on_cell_event(step, role, event),
        Event::Submitted(CodeStarter::Job(job), id) => step.state.scheduler.submitted(job, id),
        Event::Submitted(CodeStarter::Tool, id) => step.state.tool_runner.submitted(id),
        Event::PlanMode(on) => step.state.choices.plan = on,
        Event::NextReplaces(line) => step.state.replaced_next = Some(line),
        Event::RestartWanted => step.push(Effect::RestartRuntime(To::Job)),
        Event::KillWanted(role) => step.push(Effect::Kill {
            role,
            over_time: false,
            to: To::Job,
        }),
        Event::InputAnswered(call, reply) => {
            tools::driver::on_event(step, ToolCaller::Turn, ToolEvent::InputAnswered);
            step.push(Effect::ReplyInput(call, reply));
        }

        Event::Agent(event) => {
            let effects = prompt_events::on_agent(step.state, event);
            step.extend(effects);
        }
        Event::Prompt(job, event) => on_prompt(step, job, event),
        Event::RecordRead(job, dialog, attached, used) => {
            if step.state.scheduler.is_current(job) {
                step.state.skill_registry.scan_conversation(&dialog);
                on_prompt(step, job, PromptEvent::RecordRead(dialog, attached, used));
            }
        }
        Event::TurnStarted(job, turn) => {
            step.state.turns.running = Some(turn);
            step.raise(Event::Prompt(job, PromptEvent::TurnStarted(turn)));
        }
        Event::TurnOver => tools::driver::on_turn_over(step),

        Event::ToolCalled(call) => tools::driver::on_call(step, call),
        Event::BeginTool(by, call) => tools::driver::begin(step, by, call),
        Event::ToolInterrupted => tools::driver::interrupt(step),
        Event::Tool(by, event) => tools::driver::on_event(step, by, event),
        Event::ToolOf(call, event) => tools::driver::on_event_of(step, call, event),
        Event::ToolDone(ToolCaller::Code, result, _) => {
            host_calls::driver::on_agent_tool_done(step, result);
        }
        Event::ToolDone(ToolCaller::Turn, result, cells) => on_tool_done(step, result, cells),
        Event::NotebookDone(call, done) => tools::driver::on_notebook_job_done(step, call, *done),
        Event::DirectoryChecked(call, opening, checked) => {
            kernels::driver::open_at(step, call, &opening, checked);
        }
        Event::KernelsEvicted(number, request) => {
            kernels::driver::on_evicted(step, number, request)
        }
        Event::KernelsDue => kernels::driver::sweep(step),

        Event::ExternalCall(call, out) => external_calls::driver::on_call(step, call, out),
        Event::CallLeft(id) => external_calls::driver::on_left(step, id),
        Event::CallStopped => tools::driver::cancel(step),
        Event::CallReturned(result) => external_calls::driver::on_return(step, result),
        Event::FunctionsFound(found) => step.state.external_calls.functions = found,
        Event::CallsAbandoned => host_calls::driver::on_abandoned(step),
        Event::NextAgentCall => host_calls::driver::show_next_agent_call(step),
        Event::AgentCallShown(request) => host_calls::driver::begin_agent_call(step, request),
        Event::Consulted(number, told) => host_calls::driver::on_consulted(step, number, told),

        Event::Ask(about, requester) => step.ask_user(about, requester),
        Event::Answered(question, reply) => {
            step.on_approval(ApprovalEvent::Answered { question, reply });
        }
        Event::Replied(requester, reply) => on_user_reply(step, requester, reply),
        Event::MadeLasting(lasting) => step.keep_lasting(*lasting),
        Event::NextQuestion => {
            let next = step.state.approvals.next(step.ctx.at);
            step.extend(next);
        }

        Event::Started(start, threads) => on_started(step, start, threads),
        Event::SkillsFound(skills) => on_skills_found(step, *skills),
        Event::OnBackground(background) => on_background(step, background),
        Event::RestoreVariables(out) => startup::restore_variables(step, &out),
        Event::NamesWanted => {
            let record = step.ctx.record.clone();
            step.spawn(async move {
                let (cells, beside) = (record.cells().await, true);
                vec![Effect::found(Found::RecordedCells { cells, beside })]
            });
        }
        Event::Found(found, To::Run(out)) => on_found(step, found, &out),
        Event::Found(..) => debug_assert!(false, "an effect that is not bound"),
    }
}

/// Ends the active job; the suspended cell or the queue goes on.
fn on_job_over(step: &mut Step<'_>) {
    tools::driver::end_branch(step);
    let plan = std::mem::take(&mut step.state.turns.proposed_plan);
    let can_ask = step.state.scheduler.asks(step.ctx.deps.asks);
    let out = step.state.scheduler.out().cloned();
    step.state.scheduler.release();
    if step.state.scheduler.resume() {
        return host_calls::driver::resume_cell(step);
    }
    if let Some(out) = out.filter(|_| !plan.is_empty()) {
        plan::offer(step, plan, can_ask, &out);
    }
    if step.state.scheduler.active().is_none() {
        dispatch::continue_idle(step);
    }
}

/// Ends a wait that the user stopped, and withdraws its question if there is one.
fn on_wait_stopped(step: &mut Step<'_>, out: &RunSender) {
    step.state.branches.hide_all();
    if let Some(files) = step.ctx.files {
        files.stop();
    }
    let approvals = &mut step.state.approvals;
    let about_project = approvals.is_asked_by(&ApprovalRequester::Startup);
    let closed = approvals.on(ApprovalEvent::TurnOver, step.ctx.at);
    step.extend_for(closed, out);
    match about_project {
        true => startup::begin_without_project(step, out),
        false => step.send(out, Notice::note("stopped waiting")),
    }
    dispatch::continue_idle(step);
}

/// Passes an event to this prompt; drops the event when the prompt is no longer active.
fn on_prompt(step: &mut Step<'_>, job: JobId, event: PromptEvent) {
    if step.state.scheduler.is_current(job) {
        let effects = prompt_events::on_prompt(step.state, event, step.ctx);
        step.extend(effects);
    }
}

fn on_tool_done(step: &mut Step<'_>, result: ToolReturn, cells: Vec<u32>) {
    match step.state.scheduler.active() {
        Some(ActiveJob::Call { .. }) => external_calls::driver::on_return(step, result),
        _ => step.raise_prompt(PromptEvent::ToolReturned(result, cells)),
    }
}

fn on_user_reply(step: &mut Step<'_>, requester: ApprovalRequester, reply: Reply) {
    match requester {
        ApprovalRequester::Agent {
            question, options, ..
        } => {
            let answer = reply.for_agent(&options);
            step.raise_prompt(PromptEvent::AgentQuestionAnswered(question, answer));
        }
        ApprovalRequester::Tool(by) => {
            tools::driver::on_event(step, by, ToolEvent::UserReplied(reply))
        }
        ApprovalRequester::Prompt => {
            let yes = reply == Reply::Chosen(QuestionChoice::Once);
            step.raise_prompt(PromptEvent::PictureQuestionAnswered(yes));
        }
        ApprovalRequester::Startup => startup::on_project_answer(step, &reply),
        ApprovalRequester::Plan(steps) => plan::on_answer(step, &steps, &reply),
        ApprovalRequester::Undo(request) => undo::on_step_back_answer(step, request, &reply),
        ApprovalRequester::Replacement(request) => replace::on_answer(step, request, &reply),
        ApprovalRequester::Rewind(request) => rewind::on_answer(step, *request, &reply),
        ApprovalRequester::Merge { branch, name } => {
            branches::merge::on_answer(step, branch, name, &reply);
        }
        ApprovalRequester::Offer(number) => branches::offer::on_answer(step, number, &reply),
        ApprovalRequester::RestoreVariables(file) => {
            startup::on_restore_answer(step, file, &reply);
        }
    }
}

fn on_started(step: &mut Step<'_>, start: Result<SessionStart, Report>, threads: RecordedThreads) {
    step.state.numbering.on_start(start.clone());
    if start.as_ref().is_ok_and(|start| start.resumed) {
        step.state.turns.set_recorded_threads(threads);
    }
    step.push(Effect::RecordOpened(start));
    step.raise(Event::Advance);
}

fn on_skills_found(step: &mut Step<'_>, skills: Skills) {
    let Skills {
        catalog,
        consent,
        warning,
    } = skills;
    // The list of skills goes at the end of the instructions, where a tool can load them.
    step.state.turns.add_tool_instructions(&catalog.section());
    step.state.skill_registry.set_catalog(catalog, consent);
    if let Some(warning) = warning {
        step.show(Notice::warning(warning));
    }
    host_calls::driver::begin_next_cell_call(step);
}

fn on_background(step: &mut Step<'_>, background: Background) {
    step.state.terminal_background = Some(background);
    let choices = &mut step.state.choices;
    if !choices.code_theme_chosen {
        background.theme().clone_into(&mut choices.code_theme);
    }
}

/// Goes on with what a command's wait has found.
fn on_found(step: &mut Step<'_>, found: Found, out: &RunSender) {
    match found {
        Found::StartupAnswers => startup::begin_with_answers(step, out),
        Found::Variables { kept, file } => startup::offer_variables(step, kept, file, out),
        Found::Undo(request) => undo::undo(step, request, out),
        Found::StepBackPossible(request) => undo::offer_step_back(step, request, out),
        Found::Resend { line, text } => jobs::resend(step, line, text, out),
        Found::Offer(number, files) => branches::offer::ask(step, number, files, out),
        Found::Plan(steps) => plan::act(step, &steps, out),
        Found::Compaction(keep) => jobs::compact(step, keep, out),
        Found::Replacement(request) => replace::find_step(step, request, out),
        Found::ReplacementReady(request) => replace::offer(step, request, out),
        Found::Rewind(request) => rewind::begin(step, *request, out),
        Found::RewindPlanned(request) => rewind::offer(step, *request, out),
        Found::Fork { before, text } => replace::go_on_in_fork(step, before, text, out),
        Found::Input(submission) => dispatch::begin_now(step, *submission, out),
        Found::Cell(start) => jobs::run_cell(step, *start, out),
        Found::Replay {
            replay,
            last_code,
            purpose,
        } => begin_replay(step, replay, last_code, purpose, out),
        Found::Skills(dialog) => {
            step.state.skill_registry.scan_conversation(&dialog);
            let listing = step.state.skill_registry.listing();
            step.send(out, TextEvent::Text(listing));
        }
        Found::Setting { name, value } => commands::apply_setting(step, name, &value, out),
        Found::Option { option, value } => step.state.turns.profile.choose(&option, &value),
        Found::Directory(place) => jobs::change_directory(step, RuntimeRole::User, place),
        Found::Session(found) => commands::switch(step, *found, out),
        Found::RecordedCells { cells, beside } => {
            commands::find_missing_names(step, cells, beside, out);
        }
    }
}

fn begin_replay(
    step: &mut Step<'_>,
    replay: Replay,
    last_code: u32,
    purpose: ReplayPurpose,
    out: &RunSender,
) {
    if matches!(purpose, ReplayPurpose::File { .. }) {
        // All its steps take numbers: publish the next input's number at once, assuming that all goes well.
        step.state.numbering.expect(replay.steps.len());
    }
    let run = ReplayRun::new(replay, last_code, purpose, out.clone());
    jobs::continue_replay(step, run.into());
}
