//! Completions at the cursor and questions outside of turns: each on an ephemeral thread of its own.
//!
//! In: requests of the session, answers and notifications of the app-server. Out: the model's last message, or a
//! failure. Invariants: a completion is answered once, also when the process ends; one whose receiver was dropped
//! is interrupted; none of its events reaches a turn, and none waits for a turn. Reasoning, commands and retries
//! are ignored. The thread offers only the tools that cannot be switched off (measured with 0.169.0: a request of 4
//! KB instead of 38, 23 instead of 55 in code mode), runs nothing and requests no approvals.

use std::collections::btree_map::Entry;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::process::{AgentProcess, Purpose};
use super::settings::effort;
use super::turn::{RunningTurn, TurnEnd};
use super::wire::thread::ThreadStartParams;
use super::wire::turn::{TurnStartParams, UserInput, turn_id};
use super::{active_turn, failure, thread_setup};
use crate::agent_process::Purpose as _;
use crate::beside::Beside;
use crate::dialog::AnswerBlocks;
use crate::failure::request_timed_out;
use crate::handle::Command;
use crate::rpc::RpcError;
use crate::{
    AgentEvent, AgentFailure, ConsultAnswer, ConsultReply, Effort, SuggestReply, SuggestRequest,
    TurnId, Usage,
};

const SUGGEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for a question of code.
const CONSULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Completions and questions without an answer.
#[derive(Debug, Default)]
pub(super) struct Completions(Beside<Completion>);

#[derive(Debug)]
struct Completion {
    request: Box<SuggestRequest>,
    effort: Effort,
    schema: Option<Value>,
    /// `None` once the receiver was dropped: the turn is interrupted as soon as its id is known.
    responder: Option<Responder>,
    usage: Option<Usage>,
    /// Present once the thread is open.
    running: Option<RunningTurn>,
    messages: AnswerBlocks<()>,
    timeout: Duration,
    deadline: Instant,
}

#[derive(Debug)]
enum Responder {
    Suggestion(oneshot::Sender<SuggestReply>),
    Answer(oneshot::Sender<ConsultReply>),
}

impl Responder {
    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Responder::Suggestion(responder) => responder.poll_closed(context),
            Responder::Answer(responder) => responder.poll_closed(context),
        }
    }

    /// Sends the outcome; fails silently when the receiver was dropped.
    fn send(self, outcome: SuggestReply, usage: Option<Usage>) {
        match self {
            Responder::Suggestion(responder) => drop(responder.send(outcome)),
            Responder::Answer(responder) => {
                drop(responder.send(outcome.map(|text| ConsultAnswer { text, usage })));
            }
        }
    }
}

impl Completions {
    /// Waits for a completion whose receiver was dropped, and returns its key.
    pub(super) async fn abandoned(&mut self) -> u64 {
        poll_fn(|context| {
            for (key, completion) in &mut self.0.open {
                if let Some(responder) = &mut completion.responder
                    && responder.poll_closed(context).is_ready()
                {
                    return Poll::Ready(*key);
                }
            }
            Poll::Pending
        })
        .await
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.open.values().map(|it| it.deadline).min()
    }
}

impl Completion {
    fn end(self, outcome: SuggestReply) {
        if let Some(responder) = self.responder {
            responder.send(outcome, self.usage);
        }
    }

    fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Text { message, delta, .. } => self.messages.push_text(message, &delta),
            AgentEvent::TextRestarted { message, .. } => self.messages.restart_message(message),
            AgentEvent::Usage { usage, .. } => self.usage = Some(usage),
            _ => {}
        }
    }

    /// The model's last message.
    fn text(&self) -> String {
        let messages = self.messages.texts();
        let said = messages.filter(|text| !text.trim().is_empty()).last();
        said.unwrap_or_default().to_owned()
    }
}

impl Completions {
    pub(super) fn add(&mut self, command: Command) {
        match command {
            Command::Suggest(request, responder) => {
                self.open(
                    request,
                    Effort::Low,
                    None,
                    Responder::Suggestion(responder),
                    SUGGEST_TIMEOUT,
                );
            }
            Command::Consult(request, responder) => {
                let (question, responder) =
                    (Box::new(request.question), Responder::Answer(responder));
                let (effort, schema) = (request.effort, request.schema);
                self.open(question, effort, schema, responder, CONSULT_TIMEOUT);
            }
            _ => {}
        }
    }

    fn open(
        &mut self,
        request: Box<SuggestRequest>,
        effort: Effort,
        schema: Option<Value>,
        responder: Responder,
        timeout: Duration,
    ) {
        self.0.add(Completion {
            request,
            effort,
            schema,
            responder: Some(responder),
            usage: None,
            running: None,
            messages: AnswerBlocks::default(),
            timeout,
            deadline: Instant::now() + timeout,
        });
    }

    /// Sends the requests that waited for the process to be ready.
    pub(super) fn send_all(&mut self, process: &mut AgentProcess) {
        for key in self.0.unsent() {
            self.send(key, process);
        }
    }

    fn send(&mut self, key: u64, process: &mut AgentProcess) {
        let Some(completion) = self.0.open.get(&key) else {
            return;
        };
        let request = &completion.request;
        let params = ThreadStartParams {
            model: request.model.as_deref(),
            cwd: request.cwd.display().to_string(),
            approval_policy: "never",
            sandbox: "read-only",
            ephemeral: true,
            base_instructions: Some(&request.instructions),
            developer_instructions: None,
            dynamic_tools: Vec::new(),
            config: minimal_config(),
        };
        process.send(Purpose::OpenCompletion(key), &params);
    }

    pub(super) fn on_thread_started(
        &mut self,
        name: &str,
        key: u64,
        outcome: Result<Value, RpcError>,
        process: &mut AgentProcess,
    ) {
        let id = thread_setup::started(name, outcome);
        let Entry::Occupied(mut entry) = self.0.open.entry(key) else {
            if let Ok((id, _)) = id {
                thread_setup::leave(process, &id);
            }
            return;
        };
        let id = match id {
            Ok((id, _)) => id,
            Err(failure) => return entry.remove().end(Err(failure)),
        };
        let completion = entry.get_mut();
        let params = TurnStartParams {
            thread_id: &id,
            input: vec![UserInput::Text {
                text: &completion.request.input,
                elements: [],
            }],
            effort: effort(completion.effort),
            summary: "none",
            model: None,
            cwd: None,
            approval_policy: None,
            sandbox_policy: None,
            collaboration_mode: None,
            output_schema: completion.schema.as_ref(),
        };
        process.send(Purpose::BeginCompletion(key), &params);
        // The key stands in for a turn id; the events of this turn are not sent to the session.
        completion.running = Some(RunningTurn::new(TurnId(key), id));
    }

    pub(super) fn on_turn_started(
        &mut self,
        name: &str,
        key: u64,
        outcome: Result<Value, RpcError>,
        process: &mut AgentProcess,
    ) {
        let method = Purpose::BeginCompletion(key).method();
        let Some(completion) = self.0.open.get_mut(&key) else {
            return;
        };
        let failure = match outcome {
            Ok(value) => match completion.running.as_mut().zip(turn_id(value)) {
                Some((running, id)) => {
                    running.turn_id.get_or_insert(id);
                    if completion.responder.is_none() {
                        self.abandon(key, Some(process));
                    }
                    return;
                }
                None => failure::not_understood(name, method),
            },
            Err(error) => failure::refused(name, method, &error),
        };
        self.end(key, Err(failure), Some(process));
    }

    /// Takes a notification; false unless it belongs to a completion.
    pub(super) fn on_notification(
        &mut self,
        method: &str,
        params: &Value,
        process: Option<&mut AgentProcess>,
    ) -> bool {
        if self.0.open.is_empty() {
            return false;
        }
        let thread = params.get("threadId").and_then(Value::as_str);
        let of_it = |completion: &Completion| {
            completion
                .running
                .as_ref()
                .is_some_and(|running| Some(running.thread.as_str()) == thread)
        };
        let found = self.0.open.iter_mut();
        let Some((key, completion)) = found.into_iter().find(|(_, it)| of_it(it)) else {
            return false;
        };
        let key = *key;
        let mut events = Vec::new();
        let running = completion.running.as_mut();
        let end = running.and_then(|it| it.on_notification(method, params.clone(), &mut events));
        events
            .into_iter()
            .for_each(|event| completion.on_event(event));
        match end {
            None => {}
            Some(TurnEnd::Completed) => {
                let text = completion.text();
                self.end(key, Ok(text), process);
            }
            Some(TurnEnd::Interrupted) => self.end(key, Ok(String::new()), process),
            Some(TurnEnd::Failed(error)) => {
                self.end(key, Err(failure::upstream(error.as_ref())), process);
            }
        }
        true
    }

    /// Stops a completion whose receiver was dropped, as soon as its turn has an id.
    pub(super) fn abandon(&mut self, key: u64, process: Option<&mut AgentProcess>) {
        let (Some(process), Entry::Occupied(mut entry)) = (process, self.0.open.entry(key)) else {
            self.0.open.remove(&key);
            return;
        };
        match &entry.get().running {
            // A later answer to `thread/start` has no completion any more, so its thread is left.
            None => {
                entry.remove();
            }
            Some(running) if active_turn::send_interrupt(process, running) => {
                self.end(key, Ok(String::new()), Some(process));
            }
            Some(_) => entry.get_mut().responder = None,
        }
    }

    /// Ends a completion and leaves its thread.
    pub(super) fn end(
        &mut self,
        key: u64,
        outcome: SuggestReply,
        process: Option<&mut AgentProcess>,
    ) {
        let Some(completion) = self.0.open.remove(&key) else {
            return;
        };
        if let (Some(process), Some(running)) = (process, &completion.running) {
            thread_setup::leave(process, &running.thread);
        }
        completion.end(outcome);
    }

    /// Stops the completions that are past their deadline.
    pub(super) fn expire_overdue(
        &mut self,
        name: &str,
        now: Instant,
        mut process: Option<&mut AgentProcess>,
    ) {
        let open = self.0.open.iter();
        let due = open.filter(|(_, it)| it.deadline <= now);
        let due: Vec<u64> = due.map(|(key, _)| *key).collect();
        for key in due {
            if let Some(completion) = self.0.open.get_mut(&key)
                && let Some(responder) = completion.responder.take()
            {
                let failure = request_timed_out(name, "turn/start", completion.timeout);
                responder.send(Err(failure), None);
                completion.deadline = now + SUGGEST_TIMEOUT;
                self.abandon(key, process.as_deref_mut());
            } else {
                self.end(key, Ok(String::new()), process.as_deref_mut());
            }
        }
    }

    /// Fails all completions, when the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        let all = self.0.take_all();
        all.for_each(|completion| completion.end(Err(failure.clone())));
    }
}

/// Configuration of a thread without tools, description of the machine, and shell snapshot.
fn minimal_config() -> Value {
    let off = [
        "shell_tool",
        "shell_snapshot",
        "goals",
        "multi_agent",
        "view_image",
        "apps",
        "plugins",
        "tool_suggest",
        "sleep_tool",
    ];
    let features: serde_json::Map<String, Value> = off
        .iter()
        .map(|name| ((*name).to_owned(), json!(false)))
        .collect();
    json!({
        "web_search": "disabled",
        "skills": {"include_instructions": false},
        "include_environment_context": false,
        "include_permissions_instructions": false,
        "features": features,
        "suppress_unstable_features_warning": true,
    })
}
