//! Runs the turns of the offline agent: an answer becomes the notifications of the protocol, in small deltas.
//!
//! One runner thread takes one job after the other. Invariant: every job ends in one `turn/completed`, unless the
//! client has disconnected.

use std::cmp::Ordering;
use std::sync::mpsc;

use serde_json::{Value, json};

use super::compose::DemoAnswer;
use super::control::{Control, Stopped};
use crate::rpc::{RpcError, RpcId, RpcMessage};

/// Characters per delta.
const DELTA: usize = 12;

#[derive(Debug)]
pub(super) struct TurnJob {
    pub(super) thread: String,
    pub(super) turn: String,
    pub(super) answer: DemoAnswer,
    /// Length of the input in characters.
    pub(super) input_length: usize,
}

pub(super) struct TurnRunner {
    pub(super) out: mpsc::Sender<RpcMessage>,
    pub(super) control: Control,
    pub(super) items: u64,
    pub(super) calls: i64,
}

impl TurnRunner {
    /// Runs jobs until the sender is dropped.
    pub(super) fn run(mut self, jobs: &mpsc::Receiver<TurnJob>) {
        while let Ok(job) = jobs.recv() {
            let status = match self.run_turn(&job) {
                Ok(()) => "completed",
                Err(Stopped) => "interrupted",
            };
            self.control.end(&job.turn);
            let turn = json!({"id": job.turn, "items": [], "status": status, "error": null});
            self.notify(
                "turn/completed",
                json!({"threadId": job.thread, "turn": turn}),
            );
        }
    }

    fn run_turn(&mut self, job: &TurnJob) -> Result<(), Stopped> {
        let TurnJob {
            thread,
            turn,
            answer,
            ..
        } = job;
        self.notify(
            "turn/started",
            json!({"threadId": thread, "turn": {"id": turn, "status": "inProgress"}}),
        );
        let reasoning = self.item("rs");
        self.item_event(
            "item/started",
            job,
            json!({"type": "reasoning", "id": reasoning, "summary": [], "content": []}),
        );
        for delta in pieces(&answer.thought) {
            self.control.pause(turn, answer.slowly)?;
            self.delta("item/reasoning/summaryTextDelta", job, &reasoning, delta);
        }
        self.item_event("item/completed", job,
            json!({"type": "reasoning", "id": reasoning, "summary": [answer.thought], "content": []}));
        if answer.plans {
            self.work(job)?;
        }
        let mut results = String::new();
        for (name, arguments) in &answer.calls {
            let result = self.call(job, name, arguments)?;
            results.push_str(&format!("\nThe tool `{name}` says: {result}\n"));
        }
        if let Some(command) = answer.approval {
            let decision = self.approval(job, command)?;
            results.push_str(&format!(
                "\nI asked to run `{command}`, and the answer was `{decision}`. I am a demonstration and did not run \
                 it.\n"
            ));
            for said in self.control.steered() {
                results.push_str(&format!("You told me: {said}\n"));
            }
        }
        let text = format!("{}{results}", answer.text);
        let message = self.item("msg");
        self.item_event(
            "item/started",
            job,
            json!({"type": "agentMessage", "id": message, "text": "", "phase": "final_answer"}),
        );
        for delta in pieces(&text) {
            self.control.pause(turn, answer.slowly)?;
            self.delta("item/agentMessage/delta", job, &message, delta);
        }
        self.item_event(
            "item/completed",
            job,
            json!({"type": "agentMessage", "id": message, "text": text, "phase": "final_answer"}),
        );
        self.usage(job, text.chars().count());
        Ok(())
    }

    /// Shows a plan and carries it out with a tool of the agent's own.
    fn work(&mut self, job: &TurnJob) -> Result<(), Stopped> {
        let steps = ["look at the sky", "answer"];
        for done in 0..=steps.len() {
            let status = |at: usize| match at.cmp(&done) {
                Ordering::Less => "completed",
                Ordering::Equal => "inProgress",
                Ordering::Greater => "pending",
            };
            let plan = steps.iter().enumerate();
            let plan: Vec<Value> = plan
                .map(|(at, step)| json!({"step": step, "status": status(at)}))
                .collect();
            self.notify("turn/plan/updated",
                json!({"threadId": job.thread, "turnId": job.turn, "explanation": null, "plan": plan}));
            self.control.pause(&job.turn, job.answer.slowly)?;
            if done == 0 {
                let id = self.item("mcp");
                let item = |status: &str, result: Value| {
                    json!({"type": "mcpToolCall", "id": id, "server": "weather", "tool": "now",
                        "arguments": {"city": "Oslo"}, "status": status, "result": result, "error": null})
                };
                self.item_event("item/started", job, item("inProgress", Value::Null));
                self.control.pause(&job.turn, job.answer.slowly)?;
                let result = json!({"content": [{"type": "text", "text": "rain"}]});
                self.item_event("item/completed", job, item("completed", result));
            }
        }
        Ok(())
    }

    fn call(&mut self, job: &TurnJob, name: &str, arguments: &Value) -> Result<String, Stopped> {
        let call = self.item("call");
        let item = |status: &str, content: &Value| {
            json!({"type": "dynamicToolCall", "id": call, "tool": name, "arguments": arguments,
                "status": status, "contentItems": content})
        };
        self.item_event("item/started", job, item("inProgress", &Value::Null));
        let params = json!({"threadId": job.thread, "turnId": job.turn, "callId": call, "namespace": null, "tool": name,
            "arguments": arguments});
        let outcome = self.ask(job, "item/tool/call", params)?;
        let content = outcome
            .ok()
            .and_then(|result| result.get("contentItems").cloned())
            .unwrap_or_else(|| json!([]));
        self.item_event("item/completed", job, item("completed", &content));
        let texts: Vec<&str> = content
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| {
                item.get("text")
                    .and_then(Value::as_str)
                    .unwrap_or("[image]")
            })
            .collect();
        Ok(texts.join(" "))
    }

    /// Asks whether a command may run; returns the word of the decision.
    fn approval(&mut self, job: &TurnJob, command: &str) -> Result<String, Stopped> {
        let item = self.item("exec");
        let cwd = std::env::current_dir().unwrap_or_default();
        let reason = "to show what a question looks like";
        let reason = (!job.answer.in_sandbox).then_some(reason);
        let params = json!({
            "threadId": job.thread, "turnId": job.turn, "itemId": item, "kind": "command",
            "command": format!("/bin/sh -c '{command}'"), "cwd": cwd.display().to_string(),
            "reason": reason,
        });
        let outcome = self.ask(job, "item/commandExecution/requestApproval", params)?;
        let decision = outcome
            .ok()
            .and_then(|result| Some(result.get("decision")?.as_str()?.to_owned()));
        match decision.as_deref() {
            Some("cancel") => Err(Stopped),
            _ => Ok(decision.unwrap_or_else(|| "none".into())),
        }
    }

    fn ask(
        &mut self,
        job: &TurnJob,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, RpcError>, Stopped> {
        let id = RpcId::Number(self.calls);
        self.calls += 1;
        self.send(RpcMessage::Request {
            id: id.clone(),
            method: method.into(),
            params,
        });
        self.control.answer_to(&job.turn, &id)
    }

    /// Reports usage, at four characters per token.
    fn usage(&self, job: &TurnJob, written: usize) {
        let thought = job.answer.thought.chars().count() / 4;
        let counts = json!({
            "inputTokens": job.input_length / 4, "cachedInputTokens": 0,
            "outputTokens": written / 4 + thought, "reasoningOutputTokens": thought,
        });
        self.notify(
            "thread/tokenUsage/updated",
            json!({
                "threadId": job.thread, "turnId": job.turn,
                "tokenUsage": {"total": counts, "last": counts, "modelContextWindow": null},
            }),
        );
    }

    fn item(&mut self, kind: &str) -> String {
        self.items += 1;
        format!("{kind}_{}", self.items)
    }

    fn item_event(&self, method: &str, job: &TurnJob, item: Value) {
        self.notify(
            method,
            json!({"threadId": job.thread, "turnId": job.turn, "item": item}),
        );
    }

    fn delta(&self, method: &str, job: &TurnJob, item: &str, delta: &str) {
        self.notify(method,
            json!({"threadId": job.thread, "turnId": job.turn, "itemId": item, "delta": delta, "summaryIndex": 0}));
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(RpcMessage::Notification {
            method: method.into(),
            params,
        });
    }

    fn send(&self, message: RpcMessage) {
        // The reading side notices that the client has disconnected.
        let _ = self.out.send(message);
    }
}

/// `text` in pieces of [`DELTA`] characters.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(DELTA)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
