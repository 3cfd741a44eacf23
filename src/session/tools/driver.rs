//! Carries out the effects of tools: asks the runtime or the user, runs code, hands results to the turn.
//!
//! Invariant: an interrupted turn waits here for the end of its code, so that the user's next cell finds the
//! interpreter and its terminal free.

use std::path::PathBuf;
use std::time::Instant;

use super::{
    CodeDisplay, NotebookJob, NotebookJobResult, RunningCode, SeenFiles, ToolCode, ToolContext,
    ToolEffect, ToolEvent,
};
use crate::agent::{Approvals, FileChange, ToolCall};
use crate::approvals::{ApprovalEvent, ApprovalRequester};
use crate::cell::{CellOrigin, CellProgress, CellResult, CellRun};
use crate::config::KernelMode;
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::event_loop::Session;
use crate::events::{AnswerEvent, BeginEvent, TextEvent};
use crate::handle::Command;
use crate::ids::{CallId, ToolCaller};
use crate::peers::RuntimeRequester;
use crate::prompt::PromptEvent;
use crate::question::{QuestionChoice, Reply};
use crate::runtime::{BranchRequest, Execute, RequestId, RuntimeEvent, RuntimeRequest};
use crate::runtimes::{RuntimePeer, RuntimeRole};
use crate::scheduler::ActiveJob;
use crate::tool_return::ToolReturn;

/// Error returned when the agent's code calls a tool that runs cells.
pub(crate) const NESTED_CELLS: &str =
    "no cell can be run for a cell that waits for it: run the code here";
/// Error for a kernel that ended between two cells.
const NO_KERNEL: &str = "the kernel ended before the cell";

impl Session {
    /// Begins a call that the turn offers.
    pub(crate) fn call_tool(&mut self, call: ToolCall) {
        let Some(prompt) = self.state.scheduler.prompt() else {
            return;
        };
        if !prompt.offers(&call.name) {
            let why = format!("tool `{}` is not defined", call.name);
            return self.raise(Event::ToolDone(
                ToolCaller::Turn,
                ToolReturn::failed(&why),
                Vec::new(),
            ));
        }
        self.begin_tool(ToolCaller::Turn, call);
    }

    /// Begins a call, whether or not it is offered.
    pub(crate) fn begin_tool(&mut self, by: ToolCaller, call: ToolCall) {
        let (runner, mut context) = self.runner_and_context(by);
        match runner.begin(call, &mut context) {
            ToolEffect::Done(result) => self.raise(Event::ToolDone(by, result, Vec::new())),
            effect => self.run_tool_effect(by, effect),
        }
    }

    /// Cancels the call: withdraws its questions, interrupts its code and waits for the code to end.
    pub(crate) fn cancel_call(&mut self) {
        self.on_approval(ApprovalEvent::TurnOver);
        self.on_agent_code_end();
        self.interrupt_tool();
        if self.state.tool_runner.cancel() {
            self.on_code_stopped();
        }
    }

    pub(crate) fn interrupt_tool(&mut self) {
        if self.state.tool_runner.is_running() {
            let told = self.interrupt_code();
            self.publish(told);
        }
    }

    /// Withdraws the questions of a turn that is over, cancels its calls and waits for the end of their code.
    pub(crate) fn on_turn_over(&mut self) {
        self.refuse_inside_calls();
        self.on_approval(ApprovalEvent::TurnOver);
        self.on_agent_code_end();
        if self.state.tool_runner.cancel() {
            self.release_kernel();
            self.raise_prompt(PromptEvent::ToolsStopped);
        }
    }

    fn on_code_stopped(&mut self) {
        self.release_kernel();
        match self.state.scheduler.active() {
            Some(ActiveJob::Call { left, .. }) => {
                let why = match left {
                    true => "whoever called it no longer wants it",
                    false => "the user stopped it",
                };
                self.raise(Event::CallReturned(ToolReturn::failed(why)));
            }
            _ => self.raise_prompt(PromptEvent::ToolsStopped),
        }
    }

    /// Ends the copy of the user's interpreter together with its turn.
    pub(crate) fn end_branch(&mut self) {
        if std::mem::take(&mut self.state.tool_runner.has_branch) {
            let end = RuntimeRequest::Branch(BranchRequest::End);
            self.io.runtimes.user.notify(end);
        }
    }

    fn runner_and_context(&mut self, by: ToolCaller) -> (&mut super::ToolRunner, ToolContext<'_>) {
        let prompt_line = self
            .state
            .scheduler
            .prompt()
            .map_or(0, |prompt| prompt.line());
        let context = ToolContext {
            now: Instant::now(),
            can_ask: self.state.scheduler.asks(self.io.deps.asks),
            interpreter_up: self.io.runtimes.user.is_up(),
            cell_waiting: self.state.scheduler.has_suspended(),
            runtime: self.io.runtimes.user.able(),
            stdin: self.io.runtimes.user.tool_stdin(),
            run_cells: &mut self.state.choices.run_cells,
            kernels_per_call: self.state.choices.kernel_mode == KernelMode::PerCall,
            allowed: &mut self.state.approvals.grants,
            skills: &mut self.state.skill_registry,
            outputs: &self.io.outputs,
            cwd: &self.state.cwd,
            notebooks: &self.io.deps.notebooks,
            approve_changes: self.state.choices.approvals == Approvals::Ask,
            prompt_line,
        };
        let runner = match by {
            ToolCaller::Turn => &mut self.state.tool_runner,
            ToolCaller::Code => &mut self.state.agent_calls.tool_runner,
        };
        (runner, context)
    }

    /// Passes the event to the runner of this call; ignores calls that are over.
    pub(crate) fn on_call_event(&mut self, call: CallId, event: ToolEvent) {
        if self.state.tool_runner.call_id() == call {
            self.on_tool_event(ToolCaller::Turn, event);
        } else if self.state.agent_calls.tool_runner.call_id() == call {
            self.on_tool_event(ToolCaller::Code, event);
        }
    }

    /// Passes the event to the active tool, and carries out its effect.
    pub(crate) fn on_tool_event(&mut self, by: ToolCaller, event: ToolEvent) {
        if matches!(
            event,
            ToolEvent::UserReplied(Reply::Chosen(QuestionChoice::Stop))
        ) {
            return self.raise(Event::Interrupted);
        }
        let (runner, mut context) = self.runner_and_context(by);
        let effect = runner.on(event, &mut context);
        let out = self.state.out_or_background().clone();
        self.state.skill_registry.save_decisions(&out);
        self.run_tool_effect(by, effect);
    }

    fn run_tool_effect(&mut self, by: ToolCaller, effect: ToolEffect) {
        let call = self.runner_and_context(by).0.call_id();
        match effect {
            ToolEffect::Wait => {}
            ToolEffect::Submit(request) => {
                self.state.tool_runner.has_branch |= matches!(request, RuntimeRequest::Branch(_));
                self.ask_runtime(request, RuntimeRequester::Tool(call));
            }
            ToolEffect::OpenKernel(_)
            | ToolEffect::Run(_)
            | ToolEffect::Interrupt
            | ToolEffect::Kill { .. }
                if by == ToolCaller::Code =>
            {
                let failed = ToolReturn::failed(NESTED_CELLS);
                self.raise(Event::ToolDone(by, failed, Vec::new()));
            }
            ToolEffect::OpenKernel(opening) => self.open_kernel(opening),
            ToolEffect::Ask(about) => self.ask_user(about, ApprovalRequester::Tool(by)),
            ToolEffect::Show {
                text,
                pictures,
                then,
            } => {
                self.publish((!text.is_empty()).then_some(TextEvent::Verbatim(text)));
                self.publish(pictures.into_iter().map(AnswerEvent::Picture));
                self.run_tool_effect(by, *then);
            }
            ToolEffect::ReportProgress { cells, then } => {
                // A caller outside of a turn sees the result only.
                let told = self.state.scheduler.prompt().is_some();
                self.publish(told.then_some(AnswerEvent::CellsProgress(cells)));
                self.run_tool_effect(by, *then);
            }
            ToolEffect::Run(code) => self.run_code(code),
            ToolEffect::Interrupt => drop(self.interrupt_code()),
            ToolEffect::Kill { over_time } => {
                let runtime = self.io.runtimes.of(self.state.tool_runner.role());
                let told = runtime.and_then(match over_time {
                    true => RuntimePeer::kill_over_time,
                    false => RuntimePeer::kill,
                });
                self.publish(told);
            }
            ToolEffect::ReadSkill(path) => self.read_skill(call, path),
            ToolEffect::Notebook(job) => self.run_notebook_job(call, job),
            ToolEffect::Done(result) if by == ToolCaller::Code => {
                self.io.outputs.save(self.state.out_or_background());
                self.raise(Event::ToolDone(by, result, Vec::new()));
            }
            ToolEffect::Done(result) => {
                let cells = self.state.tool_runner.finish_call();
                self.release_kernel();
                self.io.outputs.save(self.state.out_or_background());
                self.raise(Event::ToolDone(by, result, cells));
            }
        }
    }

    fn run_code(&mut self, code: ToolCode) {
        let out = self.state.out_or_background().clone();
        let ToolCode {
            source,
            display,
            directory,
        } = code;
        let mut role = RuntimeRole::User;
        let (line, stdin, whose) = match display {
            CodeDisplay::Cell { title } => {
                let line = self.state.numbering.take();
                if let Some(prompt) = self.state.scheduler.prompt() {
                    self.state.step_log.ran_for.insert(line, prompt.line());
                }
                let begun = BeginEvent::AgentCell {
                    line,
                    title,
                    source: source.clone(),
                };
                let input = RecordWrite::Input {
                    line,
                    source: source.clone(),
                };
                self.carry_out(vec![
                    Effect::Record(input),
                    Effect::Emit(To::Caller, begun.clone().into()),
                    Effect::show(begun),
                ]);
                (
                    Some(line),
                    self.io.runtimes.user.stdin(None),
                    CellOrigin::Agent(line),
                )
            }
            CodeDisplay::Skill { name } => {
                let shown = format!("skill {name} runs:\n{}", source.trim_end());
                out.send(TextEvent::Verbatim(shown));
                (
                    None,
                    self.io.runtimes.user.tool_stdin(),
                    CellOrigin::Internal,
                )
            }
            CodeDisplay::Own { kernel, heading } => {
                role = RuntimeRole::Agent(kernel);
                out.send(TextEvent::Verbatim(format!(
                    "{heading}\n{}",
                    source.trim_end()
                )));
                (
                    None,
                    self.io.runtimes.user.tool_stdin(),
                    CellOrigin::Internal,
                )
            }
        };
        let execute = Execute {
            stdin,
            dark: self.dark(),
            directory,
            ..match line {
                Some(line) => Execute::numbered(source, line),
                None => Execute::unnumbered(source),
            }
        };
        let Some(runtime) = self.io.runtimes.of(role) else {
            let none = ToolEvent::KernelOpened(Err(NO_KERNEL.to_owned()));
            return self.raise(Event::Tool(ToolCaller::Turn, none));
        };
        let id = runtime.execute(execute);
        let mut run = CellRun::new(whose, out).on_runtime_of(role);
        run.id = Some(id);
        self.state
            .tool_runner
            .code_started(line.unwrap_or(0), Box::new(run));
    }

    /// Handles an event of a tool's code; returns any other event.
    pub(crate) fn on_code_event(
        &mut self,
        role: RuntimeRole,
        id: RequestId,
        event: RuntimeEvent,
    ) -> Option<RuntimeEvent> {
        let Some(run) = self.state.tool_runner.code(role, id) else {
            return Some(event);
        };
        let told = match &event {
            RuntimeEvent::Started { .. } => Some(ToolEvent::CodeStarted),
            RuntimeEvent::InputRequested { .. } => Some(ToolEvent::InputRequested),
            _ => None,
        };
        let line = run.line();
        let (effects, step) = run.on(event, &self.io.outputs);
        self.carry_out(effects);
        if let (CellProgress::Ended(_), Some(line)) = (&step, line) {
            self.state.ended_cells.insert(id, line);
        }
        if let Some(told) = told {
            self.on_tool_event(ToolCaller::Turn, told);
        }
        if !matches!(step, CellProgress::On) {
            self.on_agent_code_end();
        }
        match step {
            CellProgress::On => {}
            CellProgress::Ended(remains) => self.on_code_ended(remains),
            CellProgress::Died(remains) => self.state.tool_runner.code_died(remains),
        }
        None
    }

    fn on_code_ended(&mut self, remains: Box<CellResult>) {
        if let (Some(cwd), RuntimeRole::User) = (&remains.cwd, self.state.tool_runner.role()) {
            self.state.cwd = PathBuf::from(cwd);
        }
        let line = self
            .state
            .tool_runner
            .take_code()
            .map_or(0, |code| code.line());
        if self.state.tool_runner.is_idle() {
            return self.on_code_stopped();
        }
        let ended = ToolEvent::CodeEnded { line, remains };
        self.raise(Event::Tool(ToolCaller::Turn, ended));
    }

    /// Continues the tools after the end of the interpreter was reported.
    pub(crate) fn resume_tools(&mut self) {
        if self.state.tool_runner.awaits_restart() {
            self.raise(Event::Tool(ToolCaller::Turn, ToolEvent::Restarted));
        } else if self.state.tool_runner.code_has_died()
            && let Some(RunningCode::Died { line, remains, .. }) =
                self.state.tool_runner.take_code()
        {
            if self.state.tool_runner.is_idle() {
                return self.on_code_stopped();
            }
            let ended = ToolEvent::CodeEnded { line, remains };
            self.raise(Event::Tool(ToolCaller::Turn, ended));
        }
    }

    /// Reads the skill on another thread, since its disk may not respond.
    pub(crate) fn read_skill(&self, call: CallId, path: String) {
        let (catalog, inbox) = (
            self.state.skill_registry.catalog().clone(),
            self.io.inbox.clone(),
        );
        tokio::task::spawn_blocking(move || {
            let read = catalog.activate(&path).map(Box::new);
            // The session may have ended.
            let _ = inbox.send(Command::SkillRead(call, read));
        });
    }

    pub(crate) fn run_notebook_job(&self, call: CallId, job: NotebookJob) {
        let inbox = self.io.inbox.clone();
        let mut seen = self.state.tool_runner.seen_files.clone();
        tokio::task::spawn_blocking(move || {
            let (news, change) = job.run(&mut seen);
            // The session may have ended.
            let _ = inbox.send(Command::NotebookDone(call, Box::new((news, seen, change))));
        });
    }

    /// Shows the change to the user and continues the tool.
    pub(crate) fn on_notebook_job_done(
        &mut self,
        call: CallId,
        done: (NotebookJobResult, SeenFiles, Option<FileChange>),
    ) {
        let (news, seen, change) = done;
        self.state.tool_runner.seen_files = seen;
        if let Some(change) = change {
            let changed = AnswerEvent::FilesChanged(vec![change]);
            self.state.out_or_background().send(changed);
        }
        self.on_call_event(call, ToolEvent::NotebookJobDone(news));
    }
}
