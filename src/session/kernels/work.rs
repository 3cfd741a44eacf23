//! What is done about the agent's own kernels: started, waited for, told of, ended; and about what code asks that the
//! agent runs, there or in the user's: a question beside the turn, or a tool.
//!
//! Invariant: nothing here waits. A directory is looked at and a kernel is ended on threads of their own.

use std::path::Path;
use std::time::Instant;

use tokio::sync::oneshot;

use super::{KernelWish, Lent, Looked, Opened, Opening, Which};
use crate::agent::{
    Activity, AgentEvent, AgentFailure, ConsultRequest, Consulted, FailureKind, SuggestRequest,
    ToolCall, WorkStatus,
};
use crate::runtime::{
    CallReply, CodeCall, CodeWish, Death, RequestId, RuntimeEvent, RuntimeRequest,
};
use crate::schema::{self, AnswerSchema};
use crate::session::asking::{Asker, AskingEvent};
use crate::session::events::{AnswerEvent, Notice};
use crate::session::floor::Holder;
use crate::session::from_agent::InHand;
use crate::session::from_cells::{answered, no_schema};
use crate::session::handle::Command;
use crate::session::prompt::PromptEvent;
use crate::session::runtimes::Role;
use crate::session::task::Session;
use crate::session::ticket::CalledBy;
use crate::session::tool_return::ToolReturn;
use crate::session::toolbox::{Offer, RUN_CELLS, RUNS_CELLS, ToolEvent};
use crate::text::counted;

/// The system prompt of a question beside the turn.
const INSTRUCTIONS: &str = "\
A program asks you for one answer, which it goes on with. You have no tools and see nothing but the question. Answer \
with what was asked for and nothing else.";

impl Session {
    /// Finds the place a call wants its cells to run at, and the kernel there; [`ToolEvent::Opened`] comes.
    pub(in crate::session) fn open_kernel(&mut self, opening: Opening) {
        let (call, inbox) = (self.toolbox.call(), self.inbox.clone());
        let place = match &opening.cwd {
            Some(folder) => self.cwd.join(folder),
            None => self.cwd.clone(),
        };
        tokio::task::spawn_blocking(move || {
            // The session may have ended.
            let _ = inbox.send(Command::PlaceLookedAt(call, opening, looked_at(&place)));
        });
    }

    /// The place was looked at.
    pub(in crate::session) fn kernel_at(&mut self, opening: &Opening, looked: Looked) {
        let cwd = match looked {
            Err(why) => return self.on_tool(CalledBy::Turn, ToolEvent::Opened(Err(why))),
            Ok(cwd) if opening.which == Which::Live => {
                return self.on_tool(CalledBy::Turn, ToolEvent::Opened(Ok(Opened::live(cwd))));
            }
            Ok(cwd) => cwd,
        };
        let wish = KernelWish {
            cwd,
            sandbox: self.choices.sandbox,
        };
        let fresh = opening.which == Which::Fresh;
        let (lent, ends) = self
            .kernels
            .lend(wish.clone(), fresh, opening.reset, Instant::now());
        self.end_kernels(ends);
        match lent {
            Err(why) => self.on_tool(CalledBy::Turn, ToolEvent::Opened(Err(why))),
            Ok(Lent::Up(opened)) => self.on_tool(CalledBy::Turn, ToolEvent::Opened(Ok(opened))),
            Ok(Lent::Coming) => {}
            Ok(Lent::Start(number)) => self.start_kernel(number, &wish),
        }
    }

    fn start_kernel(&mut self, number: u32, wish: &KernelWish) {
        let planned = (self.setup.kernels)(wish);
        self.runtimes.add(number, planned);
    }

    /// Ends those at rest, and starts this one again when they have ended; false: nothing can be done.
    fn make_room_for(&mut self, number: u32) -> bool {
        let Some((wish, ends)) = self.kernels.squeeze(number) else {
            return false;
        };
        let were = if ends.len() == 1 { "was" } else { "were" };
        let said = format!(
            "there was no room for another agent kernel: {} {were} ended to make room",
            counted(ends.len(), "idle kernel")
        );
        self.out_or_background().send(Notice::note(said));
        let ends = ends.into_iter().chain([number]);
        let ending: Vec<_> = ends.filter_map(|one| self.runtimes.remove(one)).collect();
        let inbox = self.inbox.clone();
        tokio::task::spawn_blocking(move || {
            drop(ending);
            // The session may have ended.
            let _ = inbox.send(Command::RoomMade(number, wish));
        });
        true
    }

    /// The kernels that were at rest have ended.
    pub(in crate::session) fn start_kernel_again(&mut self, number: u32, wish: &KernelWish) {
        if self.kernels.has(number) {
            self.start_kernel(number, wish);
        }
    }

    /// One of the agent's own says something.
    pub(in crate::session) fn on_kernel(&mut self, number: u32, event: RuntimeEvent) {
        let role = Role::Agent(number);
        match event {
            RuntimeEvent::Ready(info) => {
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.is_ready();
                }
                if let Some(opened) = self.kernels.up(number, info.unprotected) {
                    self.on_tool(CalledBy::Turn, ToolEvent::Opened(Ok(opened)));
                }
            }
            RuntimeEvent::StartFailed(failure)
                if failure.is_of_room() && self.make_room_for(number) => {}
            RuntimeEvent::StartFailed(failure) => {
                let awaited = self.kernels.failed(number);
                self.end_kernels(vec![number]);
                let why = format!("{}; {}", failure.message, failure.hint);
                if awaited {
                    self.on_tool(CalledBy::Turn, ToolEvent::Opened(Err(why)));
                }
            }
            RuntimeEvent::Died { death, restarting } => {
                let counts = death != Death::Killed;
                let mut death = death;
                if let Some(runtime) = self.runtimes.of(role) {
                    death = runtime.death(death);
                    runtime.has_died();
                }
                let now = Instant::now();
                self.kernels
                    .died(number, &death.to_string(), counts, !restarting, now);
                if !restarting {
                    self.end_kernels(vec![number]);
                }
                if self.toolbox.role() == role {
                    self.tools_go_on();
                }
            }
            RuntimeEvent::Answered { id, answer } => self.on_answer(role, id, answer),
            RuntimeEvent::RecordRequested { call, .. } => {
                // Code of the agent's own reads nobody's record.
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.tell(RuntimeRequest::ReplyRecord { call, place: None });
                }
            }
            RuntimeEvent::Called { id, call } => self.agents_code_called(role, id, call),
            RuntimeEvent::CalledOff { call } => self.agents_code_called_off(role, call),
            RuntimeEvent::Notice(text) => {
                let notice = Notice::note(format!("the agent's kernel: {text}"));
                self.out_or_background().send(notice);
            }
            event => {
                if let Some(id) = event.request() {
                    // What comes after its cell was asked for by nobody.
                    drop(self.on_code(role, id, event));
                }
            }
        }
    }

    /// No call needs a kernel any more.
    pub(in crate::session) fn give_kernel_back(&mut self) {
        let ends = self.kernels.give_back(Instant::now());
        self.end_kernels(ends);
    }

    /// Ends those that have done nothing for long.
    pub(in crate::session) fn sweep_kernels(&mut self) {
        let ends = self.kernels.sweep(Instant::now());
        self.end_kernels(ends);
    }

    /// Ends all of them; the session they were kept for is over.
    pub(in crate::session) fn end_all_kernels(&mut self) {
        self.give_kernel_back();
        let ends = self.kernels.clear();
        self.end_kernels(ends);
    }

    fn end_kernels(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            if let Some(runtime) = self.runtimes.remove(number) {
                // An interpreter may take two seconds to leave.
                tokio::task::spawn_blocking(move || drop(runtime));
            }
        }
    }

    /// Code of the agent asks for something.
    pub(in crate::session) fn agents_code_called(
        &mut self,
        role: Role,
        id: Option<RequestId>,
        call: CodeCall,
    ) {
        if let Some(why) = no_schema(&call.wish) {
            self.reply_to(role, call.call, CallReply::Refused(why));
        } else if id.is_some_and(|id| self.toolbox.works_on(role, id)) {
            self.from_agent.line_up(role, call);
            self.next_of_agents_code();
        } else {
            let why = "only a cell that runs can ask the session for something".to_owned();
            self.reply_to(role, call.call, CallReply::Refused(why));
        }
    }

    /// Code of the agent no longer waits for a call.
    pub(in crate::session) fn agents_code_called_off(&mut self, role: Role, call: u64) {
        if let Some(at) = self.from_agent.call_off(role, call) {
            self.is_off(&at);
            self.next_of_agents_code();
        }
    }

    /// The code has ended, or nobody waits for it: so does what it asked for.
    pub(in crate::session) fn agents_code_ended(&mut self) {
        if let Some(at) = self.from_agent.clear() {
            self.is_off(&at);
        }
    }

    /// Nobody is told what came of it.
    fn is_off(&mut self, at: &InHand) {
        self.on_asking(AskingEvent::Gone(Asker::Tool(CalledBy::Code)));
        self.show_of_code(at.ended(&CallReply::Interrupted));
    }

    fn reply_to(&mut self, role: Role, call: u64, reply: CallReply) {
        if let Some(runtime) = self.runtimes.of(role) {
            runtime.tell(RuntimeRequest::ReplyCall { call, reply });
        }
    }

    /// Shown, and kept with the answer where there is one.
    fn show_of_code(&mut self, activity: Activity) {
        match self.exchanges.running() {
            Some(turn) => {
                self.on_prompt(PromptEvent::Agent(AgentEvent::Worked { turn, activity }));
            }
            None => self.say([AnswerEvent::Worked(activity)]),
        }
    }

    /// The call in hand is over: its code goes on, and its next call begins.
    fn tell_code(&mut self, reply: CallReply) {
        let Some(at) = self.from_agent.over() else {
            return;
        };
        self.show_of_code(at.ended(&reply));
        self.reply_to(at.role, at.call, reply);
        self.next_of_agents_code();
    }

    fn next_of_agents_code(&mut self) {
        let Some(wish) = self.from_agent.next() else {
            return;
        };
        if let Some(at) = &self.from_agent.at {
            let begun = at.activity(WorkStatus::Running, "");
            self.show_of_code(begun);
        }
        match wish {
            CodeWish::Ask {
                prompt,
                schema,
                tools,
            } => match self.why_not_asked(&tools) {
                Some(why) => self.tell_code(CallReply::Refused(why.to_owned())),
                None => self.consult(prompt, schema),
            },
            CodeWish::Tool { name, arguments } => {
                let call = ToolCall {
                    id: String::new(),
                    name,
                    arguments,
                };
                self.begin_errand(call);
            }
        }
    }

    fn why_not_asked(&self, tools: &[String]) -> Option<&'static str> {
        if !matches!(self.floor.holder(), Some(Holder::Prompt(_))) {
            return Some("ask() is for code of a turn: nobody here is in one");
        }
        let none = "ask() offers no functions to the agent here: it waits for this code, and what it is asked is \
                    answered beside its turn";
        (!tools.is_empty()).then_some(none)
    }

    /// Asks the agent beside its turn.
    fn consult(&mut self, prompt: String, schema: Option<serde_json::Value>) {
        let (open, closed) = oneshot::channel::<()>();
        let Some(at) = &mut self.from_agent.at else {
            return;
        };
        at.asked = Some(open);
        at.schema = schema.as_ref().and_then(|it| AnswerSchema::new(it).ok());
        let (number, inbox) = (at.number, self.inbox.clone());
        let structured = self.exchanges.agent.get().capabilities().structured;
        let (schema, said) = match &schema {
            Some(schema) => schema::asked_for(schema, structured),
            None => (None, None),
        };
        let said = said.map(|said| format!("\n\n{said}")).unwrap_or_default();
        let told = self.exchanges.agent.get().consult(ConsultRequest {
            question: SuggestRequest {
                instructions: INSTRUCTIONS.to_owned(),
                input: format!("{prompt}{said}"),
                model: (!self.choices.model.is_empty()).then(|| self.choices.model.clone()),
                cwd: self.cwd.clone(),
            },
            effort: self.choices.think,
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
                    // The session may have ended.
                    let _ = inbox.send(Command::Consulted(number, told.unwrap_or_else(gone)));
                }
            }
        });
    }

    /// The agent has answered beside its turn.
    pub(in crate::session) fn consulted(&mut self, number: u64, told: Consulted) {
        if self.from_agent.at.as_ref().map(|at| at.number) != Some(number) {
            return;
        }
        let reply = match told {
            Ok(answer) => {
                if let Some(usage) = answer.usage {
                    self.on_prompt(PromptEvent::UsedBeside(usage));
                }
                let schema = self
                    .from_agent
                    .at
                    .as_ref()
                    .and_then(|at| at.schema.as_ref());
                answered(&answer.text, &answer.text, schema)
            }
            Err(failure) => CallReply::Refused(failure.message),
        };
        self.tell_code(reply);
    }

    /// Begins a tool that code of the agent calls: what the turn offers, but no cells.
    fn begin_errand(&mut self, call: ToolCall) {
        let name = call.name.clone();
        if name == RUN_CELLS {
            return self.tell_code(CallReply::Refused(RUNS_CELLS.to_owned()));
        }
        let offer = Offer::now(&self.choices, &self.runtimes.user, &self.shelf);
        let mut names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
        names.retain(|name| name != RUN_CELLS);
        let functions = self.floor.prompt();
        if !names.contains(&name) && !functions.is_some_and(|prompt| prompt.offers(&name)) {
            let names = names.join(", ");
            let why =
                format!("there is no tool `{name}` for code that the agent runs: it has {names}");
            return self.tell_code(CallReply::Refused(why));
        }
        if let Some(result) = self.begin_tool(CalledBy::Code, call) {
            self.tool_told_code(result);
        }
    }

    /// The tool that code of the agent has called is over.
    pub(in crate::session) fn tool_told_code(&mut self, result: ToolReturn) {
        let ToolReturn { success, text, .. } = result;
        self.tell_code(match success {
            true => CallReply::Value(text.into()),
            false => {
                let why = text.strip_prefix("Error: ").unwrap_or(&text);
                CallReply::Refused(why.to_owned())
            }
        });
    }
}

/// The directory itself, or why it is none.
fn looked_at(place: &Path) -> Looked {
    let shown = place.display();
    match place.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!(
            "`cwd`: {shown} is not a directory; no cell was run"
        )),
        Err(error) => Err(format!("`cwd`: {shown}: {error}; no cell was run")),
    }
}
