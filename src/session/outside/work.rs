//! Calls from outside are done: in their turn, or inside of the turn that runs.

use tokio::sync::oneshot;

use super::{OutsideCall, OutsideWish, Toolset, inside_id};
use crate::agent::{AgentEvent, AgentReply, ToolSpec};
use crate::dialog::{Dialog, call_line, tool_line};
use crate::runtime::{RuntimeAnswer, RuntimeRequest};
use crate::session::events::{AnswerEvent, EndEvent, SessionEvent};
use crate::session::floor::{FloorEvent, Holder, Work};
use crate::session::handle::Command;
use crate::session::prompt::{PromptEvent, functions};
use crate::session::run::RunSender;
use crate::session::slots::Waiter;
use crate::session::task::Session;
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
        if let Some(result) = self.begin_tool(call, 0) {
            self.call_returned(result);
        }
    }

    /// Its result goes to whoever called, and to who shows it.
    pub(in crate::session) fn call_returned(&mut self, result: ToolReturn) {
        let Some(Holder::Call { told, .. }) = self.floor.holder() else {
            return;
        };
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
