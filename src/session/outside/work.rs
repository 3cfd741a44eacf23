//! Calls from outside are done: in their turn, or inside of the turn that runs. What a cell asks for is such a call,
//! too, or a prompt: it takes the floor, and the cell waits beneath.

use std::time::Instant;

use serde_json::Value;
use tokio::sync::oneshot;

use super::{OutsideCall, OutsideWish, Toolset, inside_id};
use crate::agent::{AgentEvent, AgentReply, ToolCall, ToolSpec};
use crate::dialog::{Dialog, call_line, tool_line};
use crate::input::prompt_source;
use crate::runtime::{CallReply, CodeCall, CodeWish, RequestId, RuntimeAnswer, RuntimeRequest};
use crate::session::events::{AnswerEvent, BeginEvent, EndEvent, SessionEvent};
use crate::session::floor::{FloorEvent, Holder, Work};
use crate::session::from_cells::no_schema;
use crate::session::handle::Command;
use crate::session::prompt::{Prompt, PromptEvent, functions};
use crate::session::run::RunSender;
use crate::session::runtimes::Role;
use crate::session::slots::Waiter;
use crate::session::task::Session;
use crate::session::ticket::CalledBy;
use crate::session::tool_return::ToolReturn;
use crate::session::toolbox::Offer;

impl Session {
    pub(in crate::session) fn on_outside(&mut self, wish: OutsideWish) {
        match wish {
            OutsideWish::Call(call, out) => self.called(call, out),
            OutsideWish::Stop(id) => self.stop_calling(id),
            OutsideWish::Tools(answer) => self.find_tools(answer),
            OutsideWish::ToolsIn(dialog, answer) => self.tools_in(&dialog, answer),
            OutsideWish::FunctionsAre(found) => self.outside.functions = found,
        }
    }

    /// A call has been handed in.
    fn called(&mut self, outside: OutsideCall, out: RunSender) {
        if !outside.caller.inside {
            return self.wait_for(Work::Call(outside), out);
        }
        match self.floor.holder() {
            Some(Holder::Prompt(_)) => self.called_inside(outside, out),
            // Whoever runs would wait for who waits for it.
            Some(_) => refused(
                &out,
                "what runs in the session started you, and has to end before you can work there",
            ),
            None => self.wait_for(Work::Call(outside), out),
        }
    }

    /// The turn that runs takes the call as one of its agent.
    fn called_inside(&mut self, outside: OutsideCall, out: RunSender) {
        let Some(turn) = self.exchanges.running() else {
            return refused(&out, "the session is between two turns: try again");
        };
        let id = inside_id(outside.id);
        let mut call = outside.call;
        call.id.clone_from(&id);
        self.outside.insiders.insert(id, out);
        self.on_prompt(PromptEvent::Agent(AgentEvent::ToolCalled { turn, call }));
    }

    /// A turn begins that offers these.
    pub(in crate::session) fn turn_offers(&mut self, tools: &[ToolSpec]) {
        self.outside.offered = tools.to_vec();
        self.shared.changes.send_modify(|changes| *changes += 1);
    }

    /// A reply of the turn; gives it back when it is for the agent.
    pub(in crate::session) fn insider_is_told(&mut self, reply: AgentReply) -> Option<AgentReply> {
        let AgentReply::ToolResult {
            call,
            success,
            content,
        } = reply
        else {
            return Some(reply);
        };
        match self.outside.insiders.remove(&call) {
            Some(out) => out.send(EndEvent::Call { content, success }),
            None => {
                return Some(AgentReply::ToolResult {
                    call,
                    success,
                    content,
                });
            }
        }
        None
    }

    /// The turn is over: what it has not worked off, it will not.
    pub(in crate::session) fn insiders_leave(&mut self) {
        for (_, out) in self.outside.insiders.drain() {
            refused(&out, "the turn is over");
        }
    }

    /// Whoever called no longer wants it.
    fn stop_calling(&mut self, id: u64) {
        let inside = inside_id(id);
        if let Some(out) = self.outside.insiders.remove(&inside) {
            refused(&out, "cancelled");
            if let Some(turn) = self.exchanges.running() {
                let withdrawn = AgentEvent::Withdrawn { turn, id: inside };
                self.on_prompt(PromptEvent::Agent(withdrawn));
            }
        } else if let Some(out) = self.floor.drop_call(id) {
            refused(&out, "cancelled");
        } else if self.floor.leave_call(id) {
            self.on_floor(FloorEvent::Interrupted);
        }
    }

    /// A call has the floor.
    pub(in crate::session) fn begin_call(&mut self, outside: OutsideCall, out: RunSender) {
        let OutsideCall { id, call, caller } = outside;
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let (out, back, asks) = match self.shared.host.visit(&caller.name) {
            Some(host) => (host, Some(out), true),
            None => (out, None, caller.asks),
        };
        if back.is_some() {
            out.send(AnswerEvent::ToolStarted {
                call: call_line(&name, &arguments),
            });
        }
        self.floor.give(
            Holder::Call {
                id,
                caller: caller.name,
                asks,
                stopped: false,
                left: false,
                told: back.map(|back| (back, name, arguments)),
            },
            out,
        );
        if let Some(result) = self.begin_tool(CalledBy::Turn, call) {
            self.call_returned(result);
        }
    }

    /// Code of the user's runtime asks for something.
    pub(in crate::session) fn code_called(&mut self, id: Option<RequestId>, call: CodeCall) {
        if let Some(why) = no_schema(&call.wish) {
            self.reply_to_code(call.call, CallReply::Refused(why));
        } else if id.is_some_and(|id| self.floor.cell(Role::User, id).is_some()) {
            self.from_cells.line_up(call);
            self.next_call_of_cell();
        } else {
            self.agents_code_called(Role::User, id, call);
        }
    }

    /// Code no longer waits for a call.
    pub(in crate::session) fn code_called_off(&mut self, call: u64) {
        if self.from_cells.drop_waiting(call) {
            return;
        }
        match self.from_cells.call_off(Some(call)) {
            true => self.on_floor(FloorEvent::Interrupted),
            false => self.agents_code_called_off(Role::User, call),
        }
    }

    /// The cell that asked has ended: so does what it asked for.
    pub(in crate::session) fn asking_cell_ended(&mut self) {
        if !self.from_cells.cell_ended() {
            return;
        }
        self.on_floor(FloorEvent::Interrupted);
        if self.floor.is_asked_from_beneath() {
            // Nobody waits for code of its tools: it was interrupted.
            self.agents_code_ended();
            self.toolbox.abandon();
            match self.floor.holder() {
                Some(Holder::Prompt(_)) => self.on_prompt(PromptEvent::ToolsAway),
                _ => self.call_returned(ToolReturn::failed("the cell has ended")),
            }
        }
    }

    fn reply_to_code(&mut self, call: u64, reply: CallReply) {
        let reply = RuntimeRequest::ReplyCall { call, reply };
        self.runtimes.user.tell(reply);
    }

    /// What the cell asked for is over: it has the floor again, and its next call its turn.
    pub(in crate::session) fn cell_goes_on(&mut self) {
        self.shared.changes.send_modify(|changes| *changes += 1);
        self.outputs.save(self.out_or_background());
        let Some(over) = self.from_cells.over() else {
            return;
        };
        self.say(over.told);
        for (call, reply) in over.replies {
            self.reply_to_code(call, reply);
        }
        if over.interrupts {
            let told = self.runtimes.user.interrupt();
            self.say(told);
        }
        self.next_call_of_cell();
    }

    /// The next call of the cell that has the floor.
    fn next_call_of_cell(&mut self) {
        let Some(call) = self.from_cells.next() else {
            return;
        };
        let Some(out) = self.floor.out().cloned() else {
            return;
        };
        self.floor.wait_beneath();
        match call.wish {
            CodeWish::Ask {
                prompt,
                schema,
                tools,
            } => {
                let line = self.numbering.take();
                let source = prompt_source(&prompt);
                self.history.input(line, &source, &source);
                out.send(BeginEvent::Asked {
                    line,
                    prompt: prompt.clone(),
                });
                let prompt = Prompt::new(line, prompt, source, Instant::now())
                    .with(Vec::new(), schema)
                    .verbatim(tools);
                self.begin_prompt(prompt, out);
            }
            CodeWish::Tool { name, arguments } => self.begin_call_of_cell(name, arguments, out),
        }
    }

    fn begin_call_of_cell(&mut self, name: String, arguments: Value, out: RunSender) {
        out.send(AnswerEvent::ToolStarted {
            call: call_line(&name, &arguments),
        });
        let holder = Holder::Call {
            id: 0,
            caller: "the cell that runs".to_owned(),
            asks: self.setup.asks,
            stopped: false,
            left: false,
            told: None,
        };
        self.floor.give(holder, out);
        // The user calls it, by code: what the agent may work with says nothing of that.
        let offer = Offer {
            python: true,
            run_cells: true,
            load_skill: !self.shelf.is_empty(),
            able: self.runtimes.user.able(),
        };
        let names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
        if !names.contains(&name) {
            let names = names.join(", ");
            let why = format!("there is no tool `{name}` in this session: it has {names}");
            return self.call_returned(ToolReturn::failed(&why));
        }
        let id = String::new();
        let call = ToolCall {
            id,
            name,
            arguments,
        };
        if let Some(result) = self.begin_tool(CalledBy::Turn, call) {
            self.call_returned(result);
        }
    }

    /// Its result goes to whoever called, and to who shows it.
    pub(in crate::session) fn call_returned(&mut self, result: ToolReturn) {
        self.end_branch();
        let Some(Holder::Call { told, stopped, .. }) = self.floor.holder() else {
            return;
        };
        if let Some(shown) = self.from_cells.tool_returned(&result, *stopped) {
            self.say([shown]);
            return self.finish_current();
        }
        let shown = told.as_ref().map(|(_, name, arguments)| {
            let line = tool_line(name, arguments, &result.text);
            let success = result.success;
            AnswerEvent::ToolRan { line, success }
        });
        let ended = EndEvent::Call {
            content: result.content,
            success: result.success,
        };
        if let Some((back, ..)) = told {
            back.send(ended.clone());
        }
        self.say(shown.map(SessionEvent::from));
        self.say([ended]);
        self.finish_current();
    }

    /// Tells the caller of the call that has the floor, where another shows it.
    pub(in crate::session) fn tell_caller(&self, event: impl Into<SessionEvent>) {
        if let Some(Holder::Call {
            told: Some((back, ..)),
            ..
        }) = self.floor.holder()
        {
            back.send(event);
        }
    }

    /// Finds out what can be called: first the record is read.
    fn find_tools(&mut self, answer: oneshot::Sender<Toolset>) {
        let (history, inbox) = (self.history.clone(), self.inbox.clone());
        let skills = self.shelf.found();
        tokio::spawn(async move {
            skills.await;
            let dialog = Box::new(history.dialog().await);
            // A session that has ended wants nothing any more.
            let _ = inbox.send(Command::Outside(OutsideWish::ToolsIn(dialog, answer)));
        });
    }

    /// Then the user's functions are looked up, unless something runs: then those that were there before count.
    fn tools_in(&mut self, dialog: &Dialog, answer: oneshot::Sender<Toolset>) {
        let offer = Offer::now(&self.choices, &self.runtimes.user, &self.shelf);
        let mut toolset = Toolset {
            instructions: self.exchanges.about_tools().trim().to_owned(),
            tools: offer.specs(),
        };
        if self.exchanges.running().is_some() && !self.outside.offered.is_empty() {
            toolset.tools.clone_from(&self.outside.offered);
            return told(answer, toolset, Vec::new());
        }
        let names = functions(dialog);
        let known = self.outside.functions.clone();
        if names.is_empty() || self.floor.holder().is_some() {
            let known = match names.is_empty() {
                true => Vec::new(),
                false => known,
            };
            return told(answer, toolset, known);
        }
        let (asker, asked) = oneshot::channel();
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let found = match asked.await {
                Ok(RuntimeAnswer::Tools(found)) => crate::session::prompt::callable(found),
                _ => known,
            };
            let _ = inbox.send(Command::Outside(OutsideWish::FunctionsAre(found.clone())));
            told(answer, toolset, found);
        });
        let request = RuntimeRequest::DescribeTools { names };
        self.ask_runtime(request, Waiter::Asker(asker));
    }
}

/// Whoever asked may have gone.
fn told(answer: oneshot::Sender<Toolset>, mut toolset: Toolset, functions: Vec<ToolSpec>) {
    toolset.tools.extend(functions);
    let _ = answer.send(toolset);
}

/// The call did nothing.
fn refused(out: &RunSender, why: &str) {
    let ToolReturn {
        content, success, ..
    } = ToolReturn::failed(why);
    out.send(EndEvent::Call { content, success });
}
