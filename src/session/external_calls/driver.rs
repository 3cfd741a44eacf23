//! Carries out external calls, as jobs of their own or inside the running turn, and the host calls of the user's
//! cells: a prompt or a tool that is active while the cell is suspended.

use std::time::Instant;

use serde_json::Value;

use super::{ExternalCall, inside_id};
use crate::agent::{AgentEvent, ToolCall};
use crate::dialog::{call_line, tool_line};
use crate::effect::{Effect, Event, RecordWrite};
use crate::event_loop::Session;
use crate::events::{AnswerEvent, BeginEvent, EndEvent, SessionEvent};
use crate::host_calls::schema_error;
use crate::ids::ToolCaller;
use crate::input::prompt_source;
use crate::prompt::{Prompt, PromptEvent};
use crate::run::RunSender;
use crate::runtime::{HostCall, HostReply, HostRequest, RequestId, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, QueuedJob};
use crate::tool_return::ToolReturn;
use crate::tools::ToolOffer;

impl Session {
    pub(crate) fn on_external_call(&mut self, call: ExternalCall, out: RunSender) {
        if !call.caller.inside {
            return self.enqueue(QueuedJob::Call(call), out);
        }
        match self.state.scheduler.active() {
            Some(ActiveJob::Prompt(_)) => self.on_inside_call(call, out),
            // The running job and its caller would wait for each other.
            Some(_) => refused(
                &out,
                "what runs in the session started you, and has to end before you can work there",
            ),
            None => self.enqueue(QueuedJob::Call(call), out),
        }
    }

    /// Hands the call to the running turn, as one of its agent's.
    fn on_inside_call(&mut self, call: ExternalCall, out: RunSender) {
        let Some(turn) = self.state.turns.running else {
            return refused(&out, "the session is between two turns: try again");
        };
        let id = inside_id(call.id);
        let mut call = call.call;
        call.id.clone_from(&id);
        self.state.external_calls.inside_calls.insert(id, out);
        let called = AgentEvent::ToolCalled { turn, call };
        self.raise_prompt(PromptEvent::Agent(called));
    }

    pub(crate) fn refuse_inside_calls(&mut self) {
        for (_, out) in self.state.external_calls.inside_calls.drain() {
            refused(&out, "the turn is over");
        }
    }

    /// Cancels a call whose caller no longer wants the result.
    pub(crate) fn cancel_external_call(&mut self, id: u64) {
        let inside = inside_id(id);
        if let Some(out) = self.state.external_calls.inside_calls.remove(&inside) {
            refused(&out, "cancelled");
            if let Some(turn) = self.state.turns.running {
                let withdrawn = AgentEvent::RequestWithdrawn { turn, id: inside };
                self.raise_prompt(PromptEvent::Agent(withdrawn));
            }
        } else if let Some(out) = self.state.scheduler.drop_call(id) {
            refused(&out, "cancelled");
        } else if self.state.scheduler.abandon_call(id) {
            self.raise(Event::Interrupted);
        }
    }

    pub(crate) fn begin_call(&mut self, call: ExternalCall, out: RunSender) {
        let ExternalCall { id, call, caller } = call;
        let (name, arguments) = (call.name.clone(), call.arguments.clone());
        let (out, back, asks) = match self.io.shared.host.announce(&caller.name) {
            Some(host) => (host, Some(out), true),
            None => (out, None, caller.asks),
        };
        if back.is_some() {
            out.send(AnswerEvent::ToolStarted {
                call: call_line(&name, &arguments),
            });
        }
        self.state.scheduler.start(
            ActiveJob::Call {
                id,
                caller: caller.name,
                asks,
                stopped: false,
                left: false,
                told: back.map(|back| (back, name, arguments)),
            },
            out,
        );
        self.begin_tool(ToolCaller::Turn, call);
    }

    pub(crate) fn on_code_call(&mut self, id: Option<RequestId>, call: HostCall) {
        if let Some(why) = schema_error(&call.request) {
            self.reply_to_code(call.call, HostReply::Refused(why));
        } else if id.is_some_and(|id| self.state.scheduler.cell(RuntimeRole::User, id).is_some()) {
            self.state.cell_calls.enqueue(call);
            self.begin_next_cell_call();
        } else {
            self.on_agent_code_call(RuntimeRole::User, id, call);
        }
    }

    /// Cancels a call that the code no longer waits for.
    pub(crate) fn on_code_call_cancelled(&mut self, call: u64) {
        if self.state.cell_calls.drop_waiting(call) {
            return;
        }
        match self.state.cell_calls.cancel(Some(call)) {
            true => self.raise(Event::Interrupted),
            false => self.on_agent_code_call_cancelled(RuntimeRole::User, call),
        }
    }

    /// Ends what still runs for a cell that has ended, where an interrupt has not.
    pub(crate) fn on_calls_abandoned(&mut self) {
        if self.state.scheduler.has_suspended() {
            // The code of its tools was interrupted: nothing waits for it.
            self.on_agent_code_end();
            self.state.tool_runner.abandon();
            match self.state.scheduler.active() {
                Some(ActiveJob::Prompt(_)) => self.raise_prompt(PromptEvent::ToolsStopped),
                _ => {
                    let failed = ToolReturn::failed("the cell has ended");
                    self.raise(Event::CallReturned(failed));
                }
            }
        }
    }

    fn reply_to_code(&mut self, call: u64, reply: HostReply) {
        let reply = RuntimeRequest::ReplyCall { call, reply };
        self.io.runtimes.user.notify(reply);
    }

    /// Makes the cell active again once its call is over, then starts its next call.
    pub(crate) fn resume_cell(&mut self) {
        self.io.shared.changes.send_modify(|changes| *changes += 1);
        self.io.outputs.save(self.state.out_or_background());
        let Some(over) = self.state.cell_calls.finish() else {
            return;
        };
        self.publish(over.told);
        for (call, reply) in over.replies {
            self.reply_to_code(call, reply);
        }
        if over.interrupts {
            let told = self.io.runtimes.user.interrupt();
            self.publish(told);
        }
        self.begin_next_cell_call();
    }

    fn begin_next_cell_call(&mut self) {
        let Some(call) = self.state.cell_calls.next() else {
            return;
        };
        let Some(out) = self.state.scheduler.out().cloned() else {
            return;
        };
        self.state.scheduler.suspend();
        match call.request {
            HostRequest::Ask {
                prompt,
                schema,
                tools,
            } => {
                let line = self.state.numbering.take();
                let source = prompt_source(&prompt);
                let input = RecordWrite::Input {
                    line,
                    source: source.clone(),
                };
                let begun = BeginEvent::Asked {
                    line,
                    prompt: prompt.clone(),
                };
                self.run_effects(vec![Effect::Record(input), Effect::show(begun)], &out);
                let prompt = Prompt::new(line, prompt, source, Instant::now())
                    .with_attachments(Vec::new(), schema)
                    .verbatim(tools);
                self.begin_prompt(prompt, out);
            }
            HostRequest::Tool { name, arguments } => self.begin_cell_tool(name, arguments, out),
        }
    }

    fn begin_cell_tool(&mut self, name: String, arguments: Value, out: RunSender) {
        out.send(AnswerEvent::ToolStarted {
            call: call_line(&name, &arguments),
        });
        let holder = ActiveJob::Call {
            id: 0,
            caller: "the cell that runs".to_owned(),
            asks: self.io.deps.asks,
            stopped: false,
            left: false,
            told: None,
        };
        self.state.scheduler.start(holder, out);
        // The user calls this, by code: restrictions on the agent's tools do not apply.
        let offer = ToolOffer {
            python: true,
            run_cells: true,
            load_skill: !self.state.skill_registry.is_empty(),
            able: self.io.runtimes.user.able(),
        };
        let names: Vec<String> = offer.specs().into_iter().map(|tool| tool.name).collect();
        if !names.contains(&name) {
            let names = names.join(", ");
            let why = format!("there is no tool `{name}` in this session: it has {names}");
            return self.raise(Event::CallReturned(ToolReturn::failed(&why)));
        }
        let id = String::new();
        let call = ToolCall {
            id,
            name,
            arguments,
        };
        self.begin_tool(ToolCaller::Turn, call);
    }

    /// Sends the result to the caller, and to the front-end that shows the call.
    pub(crate) fn on_call_return(&mut self, result: ToolReturn) {
        self.end_branch();
        let Some(ActiveJob::Call { told, stopped, .. }) = self.state.scheduler.active() else {
            return;
        };
        if let Some(shown) = self.state.cell_calls.tool_returned(&result, *stopped) {
            self.publish([shown]);
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
        self.publish(shown.map(SessionEvent::from));
        self.publish([ended]);
        self.finish_current();
    }
}

fn refused(out: &RunSender, why: &str) {
    let ToolReturn {
        content, success, ..
    } = ToolReturn::failed(why);
    out.send(EndEvent::Call { content, success });
}
