//! Starts, awaits and ends the agent's own kernels, and runs the calls of the agent's code, there or in the user's
//! interpreter: a question beside the turn, or a tool.
//!
//! Invariant: nothing here blocks. Directories are checked and kernels ended on threads of their own.

use std::path::Path;
use std::time::Instant;

use tokio::sync::oneshot;

use super::{CheckedDirectory, KernelChoice, KernelPlacement, KernelRequest, Lease, OpenedKernel};
use crate::agent::{
    Activity, AgentEvent, AgentFailure, ConsultReply, ConsultRequest, FailureKind, SuggestRequest,
    ToolCall, WorkStatus,
};
use crate::approvals::{ApprovalEvent, ApprovalRequester};
use crate::effect::Event;
use crate::event_loop::Session;
use crate::events::{AnswerEvent, Notice};
use crate::handle::Command;
use crate::host_calls::ActiveAgentCall;
use crate::host_calls::{answered, schema_error};
use crate::ids::ToolCaller;
use crate::prompt::PromptEvent;
use crate::runtime::{
    Death, HostCall, HostReply, HostRequest, RequestId, RuntimeEvent, RuntimeRequest,
};
use crate::runtimes::RuntimeRole;
use crate::scheduler::ActiveJob;
use crate::schema::{self, AnswerSchema};
use crate::text::counted;
use crate::tool_return::ToolReturn;
use crate::tools::{NESTED_CELLS, RUN_CELLS, ToolEvent, ToolOffer};

const INSTRUCTIONS: &str = "\
A program asks you for one answer, which it goes on with. You have no tools and see nothing but the question. Answer \
with what was asked for and nothing else.";

impl Session {
    /// Finds the directory that a call asks for and the kernel there; [`ToolEvent::KernelOpened`] follows.
    pub(crate) fn open_kernel(&mut self, opening: KernelPlacement) {
        let (call, inbox) = (self.state.tool_runner.call_id(), self.io.inbox.clone());
        let place = match &opening.cwd {
            Some(folder) => self.state.cwd.join(folder),
            None => self.state.cwd.clone(),
        };
        tokio::task::spawn_blocking(move || {
            // Fails when the session has ended.
            let _ = inbox.send(Command::DirectoryChecked(
                call,
                opening,
                check_directory(&place),
            ));
        });
    }

    pub(crate) fn kernel_at(&mut self, opening: &KernelPlacement, checked: CheckedDirectory) {
        let cwd = match checked {
            Err(why) => return self.kernel_opened(Err(why)),
            Ok(cwd) if opening.which == KernelChoice::Live => {
                return self.kernel_opened(Ok(OpenedKernel::live(cwd)));
            }
            Ok(cwd) => cwd,
        };
        let wish = KernelRequest {
            cwd,
            sandbox: self.state.choices.sandbox,
        };
        let fresh = opening.which == KernelChoice::Fresh;
        let (leased, ends) =
            self.state
                .kernels
                .lease(wish.clone(), fresh, opening.reset, Instant::now());
        self.end_kernels(ends);
        match leased {
            Err(why) => self.kernel_opened(Err(why)),
            Ok(Lease::Up(opened)) => self.kernel_opened(Ok(opened)),
            Ok(Lease::Starting) => {}
            Ok(Lease::Start(number)) => self.start_kernel(number, &wish),
        }
    }

    fn kernel_opened(&mut self, opened: Result<OpenedKernel, String>) {
        let event = ToolEvent::KernelOpened(opened);
        self.raise(Event::Tool(ToolCaller::Turn, event));
    }

    fn start_kernel(&mut self, number: u32, wish: &KernelRequest) {
        let planned = (self.io.deps.kernels)(wish);
        self.io.runtimes.add(number, planned);
    }

    /// Ends the idle kernels, then starts this one again; returns false when none was idle.
    fn evict_for(&mut self, number: u32) -> bool {
        let Some((wish, ends)) = self.state.kernels.evict_idle(number) else {
            return false;
        };
        let were = if ends.len() == 1 { "was" } else { "were" };
        let said = format!(
            "there was no room for another agent kernel: {} {were} ended to make room",
            counted(ends.len(), "idle kernel")
        );
        self.state.out_or_background().send(Notice::note(said));
        let ends = ends.into_iter().chain([number]);
        let ending: Vec<_> = ends
            .filter_map(|one| self.io.runtimes.remove(one))
            .collect();
        let inbox = self.io.inbox.clone();
        tokio::task::spawn_blocking(move || {
            drop(ending);
            // Fails when the session has ended.
            let _ = inbox.send(Command::KernelsEvicted(number, wish));
        });
        true
    }

    /// Starts the kernel again once the idle ones have ended.
    pub(crate) fn start_kernel_again(&mut self, number: u32, wish: &KernelRequest) {
        if self.state.kernels.has(number) {
            self.start_kernel(number, wish);
        }
    }

    pub(crate) fn on_kernel(&mut self, number: u32, event: RuntimeEvent) {
        let role = RuntimeRole::Agent(number);
        match event {
            RuntimeEvent::Ready(info) => {
                if let Some(runtime) = self.io.runtimes.of(role) {
                    runtime.is_ready();
                }
                if let Some(opened) = self.state.kernels.up(number, info.unprotected) {
                    self.kernel_opened(Ok(opened));
                }
            }
            RuntimeEvent::StartFailed(failure)
                if failure.is_resource_exhaustion() && self.evict_for(number) => {}
            RuntimeEvent::StartFailed(failure) => {
                let awaited = self.state.kernels.failed(number);
                self.end_kernels(vec![number]);
                let why = format!("{}; {}", failure.message, failure.hint);
                if awaited {
                    self.kernel_opened(Err(why));
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                let counts = death != Death::Killed;
                let mut death = death;
                if let Some(runtime) = self.io.runtimes.of(role) {
                    death = runtime.death(death);
                    runtime.has_died();
                }
                let now = Instant::now();
                self.state
                    .kernels
                    .died(number, &death.to_string(), counts, !restarting, now);
                if !restarting {
                    self.end_kernels(vec![number]);
                }
                if self.state.tool_runner.role() == role {
                    self.resume_tools();
                }
            }
            RuntimeEvent::Replied { id, answer } => self.on_answer(role, id, answer),
            RuntimeEvent::RecordRequested { call, .. } => {
                // The agent's kernels do not get the record's address.
                if let Some(runtime) = self.io.runtimes.of(role) {
                    runtime.notify(RuntimeRequest::ReplyRecord { call, place: None });
                }
            }
            RuntimeEvent::HostCalled { id, call } => self.on_agent_code_call(role, id, call),
            RuntimeEvent::HostCallCancelled { call } => {
                self.on_agent_code_call_cancelled(role, call)
            }
            RuntimeEvent::Notice(text) => {
                let notice = Notice::note(format!("the agent's kernel: {text}"));
                self.state.out_or_background().send(notice);
            }
            event => {
                if let Some(id) = event.request() {
                    // Output after the end of its cell is dropped.
                    drop(self.on_code_event(role, id, event));
                }
            }
        }
    }

    pub(crate) fn release_kernel(&mut self) {
        let ends = self.state.kernels.release(Instant::now());
        self.end_kernels(ends);
    }

    pub(crate) fn sweep_kernels(&mut self) {
        let ends = self.state.kernels.sweep(Instant::now());
        self.end_kernels(ends);
    }

    /// Ends all kernels, with the session they were kept for.
    pub(crate) fn end_all_kernels(&mut self) {
        self.release_kernel();
        let ends = self.state.kernels.clear();
        self.end_kernels(ends);
    }

    fn end_kernels(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            if let Some(runtime) = self.io.runtimes.remove(number) {
                // An interpreter may take two seconds to exit.
                tokio::task::spawn_blocking(move || drop(runtime));
            }
        }
    }

    pub(crate) fn on_agent_code_call(
        &mut self,
        role: RuntimeRole,
        id: Option<RequestId>,
        call: HostCall,
    ) {
        if let Some(why) = schema_error(&call.request) {
            self.reply_to(role, call.call, HostReply::Refused(why));
        } else if id.is_some_and(|id| self.state.tool_runner.is_running_request(role, id)) {
            self.state.agent_calls.enqueue(role, call);
            self.raise(Event::NextAgentCall);
        } else {
            let why = "only a cell that runs can ask the session for something".to_owned();
            self.reply_to(role, call.call, HostReply::Refused(why));
        }
    }

    /// Cancels a call that the agent's code no longer waits for.
    pub(crate) fn on_agent_code_call_cancelled(&mut self, role: RuntimeRole, call: u64) {
        if let Some(at) = self.state.agent_calls.cancel(role, call) {
            self.on_call_cancelled(&at);
            self.raise(Event::NextAgentCall);
        }
    }

    /// Cancels the calls of code that has ended or that nobody waits for.
    pub(crate) fn on_agent_code_end(&mut self) {
        if let Some(at) = self.state.agent_calls.clear() {
            self.on_call_cancelled(&at);
        }
    }

    /// Closes the call's question and shows the call as interrupted.
    fn on_call_cancelled(&mut self, at: &ActiveAgentCall) {
        self.on_approval(ApprovalEvent::Cancelled(ApprovalRequester::Tool(
            ToolCaller::Code,
        )));
        self.show_of_code(at.ended(&HostReply::Interrupted));
    }

    fn reply_to(&mut self, role: RuntimeRole, call: u64, reply: HostReply) {
        if let Some(runtime) = self.io.runtimes.of(role) {
            runtime.notify(RuntimeRequest::ReplyCall { call, reply });
        }
    }

    /// Shows an activity, and stores it with the answer where there is one.
    fn show_of_code(&mut self, activity: Activity) {
        match self.state.turns.running {
            Some(turn) => {
                let updated = AgentEvent::ActivityUpdated { turn, activity };
                self.raise_prompt(PromptEvent::Agent(updated));
            }
            None => self.publish([AnswerEvent::Worked(activity)]),
        }
    }

    /// Replies to the active call; its code goes on, and its next call begins.
    fn finish_agent_call(&mut self, reply: HostReply) {
        let Some(at) = self.state.agent_calls.finish() else {
            return;
        };
        self.show_of_code(at.ended(&reply));
        self.reply_to(at.role, at.call, reply);
        self.raise(Event::NextAgentCall);
    }

    pub(crate) fn begin_next_agent_call(&mut self) {
        let Some(wish) = self.state.agent_calls.next() else {
            return;
        };
        if let Some(at) = &self.state.agent_calls.active {
            let begun = at.activity(WorkStatus::Running, "");
            self.show_of_code(begun);
        }
        self.raise(Event::AgentCallShown(wish));
    }

    pub(crate) fn begin_agent_call(&mut self, wish: HostRequest) {
        match wish {
            HostRequest::Ask {
                prompt,
                schema,
                tools,
            } => match self.ask_refusal(&tools) {
                Some(why) => self.finish_agent_call(HostReply::Refused(why.to_owned())),
                None => self.consult(prompt, schema),
            },
            HostRequest::Tool { name, arguments } => {
                let call = ToolCall {
                    id: String::new(),
                    name,
                    arguments,
                };
                self.begin_agent_tool(call);
            }
        }
    }

    fn ask_refusal(&self, tools: &[String]) -> Option<&'static str> {
        if !matches!(self.state.scheduler.active(), Some(ActiveJob::Prompt(_))) {
            return Some("ask() is for code of a turn: nobody here is in one");
        }
        let none = "ask() offers no functions to the agent here: it waits for this code, and what it is asked is \
                    answered beside its turn";
        (!tools.is_empty()).then_some(none)
    }

    fn consult(&mut self, prompt: String, schema: Option<serde_json::Value>) {
        let (open, closed) = oneshot::channel::<()>();
        let Some(at) = &mut self.state.agent_calls.active else {
            return;
        };
        at.asked = Some(open);
        at.schema = schema.as_ref().and_then(|it| AnswerSchema::new(it).ok());
        let (number, inbox) = (at.number, self.io.inbox.clone());
        let structured = self.io.agent.get().capabilities().structured;
        let (schema, said) = match &schema {
            Some(schema) => schema::for_agent(schema, structured),
            None => (None, None),
        };
        let said = said.map(|said| format!("\n\n{said}")).unwrap_or_default();
        let told = self.io.agent.get().consult(ConsultRequest {
            question: SuggestRequest {
                instructions: INSTRUCTIONS.to_owned(),
                input: format!("{prompt}{said}"),
                model: (!self.state.choices.model.is_empty())
                    .then(|| self.state.choices.model.clone()),
                cwd: self.state.cwd.clone(),
            },
            effort: self.state.choices.think,
            schema,
        });
        tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = closed => {}
                told = told => {
                    let gone = |_| Err(AgentFailure {
                        kind: FailureKind::Refused,
                        message: "the agent is gone".to_owned(),
                        hints: Vec::new(),
                    });
                    // Fails when the session has ended.
                    let _ = inbox.send(Command::Consulted(number, told.unwrap_or_else(gone)));
                }
            }
        });
    }

    pub(crate) fn on_consulted(&mut self, number: u64, told: ConsultReply) {
        if self.state.agent_calls.active.as_ref().map(|at| at.number) != Some(number) {
            return;
        }
        let reply = match told {
            Ok(answer) => {
                if let Some(usage) = answer.usage {
                    self.raise_prompt(PromptEvent::SideUsage(usage));
                }
                let schema = self
                    .state
                    .agent_calls
                    .active
                    .as_ref()
                    .and_then(|at| at.schema.as_ref());
                answered(&answer.text, &answer.text, schema)
            }
            Err(failure) => HostReply::Refused(failure.message),
        };
        self.finish_agent_call(reply);
    }

    /// Begins a tool call of the agent's code: any tool that the turn offers, but no cells.
    fn begin_agent_tool(&mut self, call: ToolCall) {
        let name = call.name.clone();
        if name == RUN_CELLS {
            return self.finish_agent_call(HostReply::Refused(NESTED_CELLS.to_owned()));
        }
        let offer = ToolOffer::current(
            &self.state.choices,
            &self.io.runtimes.user,
            &self.state.skill_registry,
        );
        let mut names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
        names.retain(|name| name != RUN_CELLS);
        let functions = self.state.scheduler.prompt();
        if !names.contains(&name) && !functions.is_some_and(|prompt| prompt.offers(&name)) {
            let names = names.join(", ");
            let why =
                format!("there is no tool `{name}` for code that the agent runs: it has {names}");
            return self.finish_agent_call(HostReply::Refused(why));
        }
        self.begin_tool(ToolCaller::Code, call);
    }

    pub(crate) fn on_agent_tool_return(&mut self, result: ToolReturn) {
        let ToolReturn { success, text, .. } = result;
        self.finish_agent_call(match success {
            true => HostReply::Value(text.into()),
            false => {
                let why = text.strip_prefix("Error: ").unwrap_or(&text);
                HostReply::Refused(why.to_owned())
            }
        });
    }
}

/// Returns the directory, or why it cannot be used.
fn check_directory(place: &Path) -> CheckedDirectory {
    let shown = place.display();
    match place.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!(
            "`cwd`: {shown} is not a directory; no cell was run"
        )),
        Err(error) => Err(format!("`cwd`: {shown}: {error}; no cell was run")),
    }
}
