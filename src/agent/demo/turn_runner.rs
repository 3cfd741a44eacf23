//! Runs the turns of the offline agent: an answer becomes the notifications of the protocol, in small deltas.
//!
//! One runner thread takes one job after the other. The reading side controls it through [`TurnControl`]: an
//! interrupt, the answer to a call, the end. Invariant: every job ends in one `turn/completed`, unless the client
//! has disconnected.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use super::compose::DemoAnswer;
use crate::rpc::{RpcError, RpcId, RpcMessage};

/// Pause between deltas for a prompt that says "slowly".
const PAUSE: Duration = Duration::from_millis(50);

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

/// State shared by the reading thread and the runner.
#[derive(Clone)]
pub(super) struct TurnControl {
    out: mpsc::Sender<RpcMessage>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

#[derive(Default)]
struct Shared {
    /// Turns that wait or run.
    open: HashSet<String>,
    interrupted: HashSet<String>,
    /// Input that the user added during a turn.
    steered: Vec<String>,
    /// The request that waits for an answer, and the answer.
    call: Option<(RpcId, Option<Result<Value, RpcError>>)>,
    calls: i64,
    disconnected: bool,
}

/// The turn was interrupted, or the client has disconnected.
struct Stopped;

impl TurnControl {
    pub(super) fn new(out: mpsc::Sender<RpcMessage>) -> Self {
        TurnControl {
            out,
            shared: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows a turn to be interrupted from now on.
    pub(super) fn register(&self, turn: &str) {
        self.lock().open.insert(turn.to_owned());
    }

    /// Interrupts a turn; false when it does not run.
    pub(super) fn interrupt(&self, turn: &str) -> bool {
        let mut shared = self.lock();
        let open = shared.open.contains(turn);
        if open {
            shared.interrupted.insert(turn.to_owned());
            self.shared.1.notify_all();
        }
        open
    }

    /// Adds input to a turn; false when it does not run.
    pub(super) fn steer(&self, turn: &str, text: String) -> bool {
        let mut shared = self.lock();
        let open = shared.open.contains(turn);
        if open {
            shared.steered.push(text);
        }
        open
    }

    pub(super) fn on_answer(&self, id: &RpcId, outcome: Result<Value, RpcError>) {
        if let Some((waiting, answer)) = &mut self.lock().call
            && waiting == id
        {
            *answer = Some(outcome);
            self.shared.1.notify_all();
        }
    }

    /// Ends all turns, since the client has disconnected.
    pub(super) fn disconnect(&self) {
        self.lock().disconnected = true;
        self.shared.1.notify_all();
    }

    /// Pauses if `slowly`; fails once the turn was stopped.
    fn pause(&self, turn: &str, slowly: bool) -> Result<(), Stopped> {
        let shared = self.lock();
        let stopped =
            |shared: &mut Shared| shared.disconnected || shared.interrupted.contains(turn);
        let pause = if slowly { PAUSE } else { Duration::ZERO };
        let (mut shared, _) = self
            .shared
            .1
            .wait_timeout_while(shared, pause, |shared| !stopped(shared))
            .unwrap_or_else(PoisonError::into_inner);
        if stopped(&mut shared) {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    fn wait_for_answer(&self, turn: &str) -> Result<Result<Value, RpcError>, Stopped> {
        let mut shared = self
            .shared
            .1
            .wait_while(self.lock(), |shared| {
                let answered = matches!(shared.call, Some((_, Some(_))));
                !answered && !shared.disconnected && !shared.interrupted.contains(turn)
            })
            .unwrap_or_else(PoisonError::into_inner);
        match shared.call.take() {
            Some((_, Some(outcome))) => Ok(outcome),
            _ => Err(Stopped),
        }
    }
}

pub(super) struct TurnRunner {
    control: TurnControl,
    items: u64,
}

impl TurnRunner {
    pub(super) fn new(control: TurnControl) -> Self {
        TurnRunner { control, items: 0 }
    }

    /// Runs jobs until the sender is dropped.
    pub(super) fn run(mut self, jobs: &mpsc::Receiver<TurnJob>) {
        while let Ok(job) = jobs.recv() {
            let status = match self.run_turn(&job) {
                Ok(()) => "completed",
                Err(Stopped) => "interrupted",
            };
            {
                let mut shared = self.control.lock();
                shared.open.remove(&job.turn);
                shared.interrupted.remove(&job.turn);
            }
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
            for said in std::mem::take(&mut self.control.lock().steered) {
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
        let params = json!({
            "threadId": job.thread, "turnId": job.turn, "itemId": item, "kind": "command",
            "command": format!("/bin/sh -c '{command}'"), "cwd": cwd.display().to_string(),
            "reason": "to show what a question looks like",
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
        let id = {
            let mut shared = self.control.lock();
            let id = RpcId::Number(shared.calls);
            shared.calls += 1;
            shared.call = Some((id.clone(), None));
            id
        };
        self.send(RpcMessage::Request {
            id,
            method: method.into(),
            params,
        });
        self.control.wait_for_answer(&job.turn)
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
        let _ = self.control.out.send(message);
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
