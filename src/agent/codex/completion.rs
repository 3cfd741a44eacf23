//! Completions at the cursor and questions beside any turn: each on a bare ephemeral thread of its own.
//!
//! In: requests of the session, answers and notifications of the app-server. Out: the model's last message, or why
//! there is none. Invariants: a completion is answered once, also when the process ends; one whose asker has gone is
//! interrupted; what it does never reaches a turn, and a turn is never waited for. Reasoning, commands and retries are
//! none of its business. The thread offers what cannot be switched off (measured with 0.169.0: a request of 4 KB
//! instead of 38, 23 instead of 55 in code mode), runs nothing, asks nobody.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use serde_json::{Value, from_value, json};
use tokio::sync::oneshot;

use super::failure;
use super::link::{Link, Purpose};
use super::settings::effort;
use super::turn::{End, Running};
use super::wire::thread::thread_id;
use super::wire::thread::{ThreadParams, ThreadStartParams};
use super::wire::turn::{TurnInterruptParams, TurnResponse, TurnStartParams, UserInput};
use crate::agent::handle::Command;
use crate::agent::trouble;
use crate::agent::{
    AgentEvent, AgentFailure, Consultation, Consulted, Effort, SuggestRequest, Suggested, TurnId,
    Usage,
};
use crate::rpc::RpcError;

/// Nobody looks at a completion that took longer.
const LONGEST: Duration = Duration::from_secs(60);
/// No code that asks something may take longer.
const LONGEST_QUESTION: Duration = Duration::from_secs(600);

/// Completions that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Completions {
    open: BTreeMap<u64, Completion>,
    asked: u64,
    /// The last one that was sent.
    sent: u64,
}

#[derive(Debug)]
struct Completion {
    request: Box<SuggestRequest>,
    effort: Effort,
    schema: Option<Value>,
    /// `None`: nobody waits any more; it is left as soon as it can be.
    tell: Option<Tell>,
    usage: Option<Usage>,
    /// Once its thread is there.
    running: Option<Running>,
    /// What came, by message.
    messages: BTreeMap<u64, String>,
    longest: Duration,
    deadline: Instant,
}

/// Who is told what.
#[derive(Debug)]
enum Tell {
    Suggestion(oneshot::Sender<Suggested>),
    Answer(oneshot::Sender<Consulted>),
}

impl Tell {
    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Tell::Suggestion(tell) => tell.poll_closed(context),
            Tell::Answer(tell) => tell.poll_closed(context),
        }
    }

    /// Whoever asked may have gone.
    fn send(self, outcome: Suggested, usage: Option<Usage>) {
        match self {
            Tell::Suggestion(tell) => drop(tell.send(outcome)),
            Tell::Answer(tell) => {
                drop(tell.send(outcome.map(|text| Consultation { text, usage })));
            }
        }
    }
}

impl Completions {
    /// The next one whose asker has gone; never returns without one.
    pub(super) async fn abandoned(&mut self) -> u64 {
        poll_fn(|context| {
            for (key, completion) in &mut self.open {
                if let Some(tell) = &mut completion.tell
                    && tell.poll_closed(context).is_ready()
                {
                    return Poll::Ready(*key);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// When the first one has taken too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|it| it.deadline).min()
    }
}

impl Completion {
    fn end(self, outcome: Suggested) {
        if let Some(tell) = self.tell {
            tell.send(outcome, self.usage);
        }
    }

    fn take(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Text { message, delta, .. } => {
                self.messages.entry(message).or_default().push_str(&delta);
            }
            AgentEvent::Restarted { message, .. } => {
                self.messages.remove(&message);
            }
            AgentEvent::Usage { usage, .. } => self.usage = Some(usage),
            _ => {}
        }
    }

    /// The last thing the model said.
    fn text(&mut self) -> String {
        let said = std::mem::take(&mut self.messages);
        let mut said = said.into_values().rev();
        said.find(|text| !text.trim().is_empty())
            .unwrap_or_default()
    }
}

impl Completions {
    /// Takes what is asked beside turns.
    pub(super) fn take(&mut self, command: Command) {
        match command {
            Command::Suggest(request, tell) => {
                self.open(request, Effort::Low, None, Tell::Suggestion(tell), LONGEST);
            }
            Command::Consult(request, tell) => {
                let (question, tell) = (Box::new(request.question), Tell::Answer(tell));
                let (effort, schema) = (request.effort, request.schema);
                self.open(question, effort, schema, tell, LONGEST_QUESTION);
            }
            _ => {}
        }
    }

    fn open(
        &mut self,
        request: Box<SuggestRequest>,
        effort: Effort,
        schema: Option<Value>,
        tell: Tell,
        longest: Duration,
    ) {
        self.asked += 1;
        let completion = Completion {
            request,
            effort,
            schema,
            tell: Some(tell),
            usage: None,
            running: None,
            messages: BTreeMap::new(),
            longest,
            deadline: Instant::now() + longest,
        };
        self.open.insert(self.asked, completion);
    }

    /// Begins with those that waited for the process to be ready.
    pub(super) fn send_all(&mut self, link: &mut Link) {
        let first = std::mem::replace(&mut self.sent, self.asked) + 1;
        for key in first..=self.asked {
            self.send(key, link);
        }
    }

    /// Begins with one.
    fn send(&mut self, key: u64, link: &mut Link) {
        let Some(completion) = self.open.get(&key) else {
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
            config: bare(),
        };
        link.ask(Purpose::OpenCompletion(key), "thread/start", &params);
    }

    /// Takes the answer to `thread/start`.
    pub(super) fn opened(
        &mut self,
        name: &str,
        key: u64,
        outcome: Result<Value, RpcError>,
        link: &mut Link,
    ) {
        let method = Purpose::OpenCompletion(key).method();
        let id = match outcome.map(thread_id) {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(failure::not_understood(name, method)),
            Err(error) => Err(failure::refused(name, method, &error)),
        };
        let Entry::Occupied(mut entry) = self.open.entry(key) else {
            if let Ok(id) = id {
                leave(link, &id);
            }
            return;
        };
        let id = match id {
            Ok(id) => id,
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
            output_schema: completion.schema.as_ref(),
        };
        link.ask(Purpose::BeginCompletion(key), "turn/start", &params);
        // The number names no turn of the session: what it tells stays here.
        completion.running = Some(Running::new(TurnId(key), id));
    }

    /// Takes the answer to `turn/start`.
    pub(super) fn begun(
        &mut self,
        name: &str,
        key: u64,
        outcome: Result<Value, RpcError>,
        link: &mut Link,
    ) {
        let method = Purpose::BeginCompletion(key).method();
        let Some(completion) = self.open.get_mut(&key) else {
            return;
        };
        let failure = match outcome {
            Ok(value) => {
                let id = from_value::<TurnResponse>(value)
                    .unwrap_or_default()
                    .turn
                    .id;
                let running = completion.running.as_mut().filter(|_| !id.is_empty());
                match running {
                    Some(running) => {
                        running.wire.get_or_insert(id);
                        if completion.tell.is_none() {
                            self.leave(key, Some(link));
                        }
                        return;
                    }
                    None => failure::not_understood(name, method),
                }
            }
            Err(error) => failure::refused(name, method, &error),
        };
        self.end(key, Err(failure), Some(link));
    }

    /// Takes a notification, if it is of a completion.
    pub(super) fn noticed(
        &mut self,
        method: &str,
        params: &Value,
        link: Option<&mut Link>,
    ) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let thread = params.get("threadId").and_then(Value::as_str);
        let of_it = |completion: &Completion| {
            completion
                .running
                .as_ref()
                .is_some_and(|running| Some(running.thread.as_str()) == thread)
        };
        let found = self.open.iter_mut();
        let Some((key, completion)) = found.into_iter().find(|(_, it)| of_it(it)) else {
            return false;
        };
        let key = *key;
        let mut events = Vec::new();
        let running = completion.running.as_mut();
        let end = running.and_then(|it| it.notice(method, params.clone(), &mut events));
        events.into_iter().for_each(|event| completion.take(event));
        match end {
            None => {}
            Some(End::Completed) => {
                let text = completion.text();
                self.end(key, Ok(text), link);
            }
            Some(End::Interrupted) => self.end(key, Ok(String::new()), link),
            Some(End::Failed(error)) => {
                self.end(key, Err(failure::upstream(error.as_ref())), link);
            }
        }
        true
    }

    /// Nobody waits for it any more: it is stopped, as soon as it can be named.
    pub(super) fn leave(&mut self, key: u64, link: Option<&mut Link>) {
        let (Some(link), Entry::Occupied(mut entry)) = (link, self.open.entry(key)) else {
            self.open.remove(&key);
            return;
        };
        match &entry.get().running {
            // An answer to `thread/start` that comes later finds nobody, and its thread is left.
            None => {
                entry.remove();
            }
            Some(Running {
                wire: None,
                thread: _,
                ..
            }) => entry.get_mut().tell = None,
            Some(running) => {
                if let Some(turn_id) = &running.wire {
                    let params = TurnInterruptParams {
                        thread_id: &running.thread,
                        turn_id,
                    };
                    link.ask(Purpose::Courtesy, "turn/interrupt", &params);
                }
                self.end(key, Ok(String::new()), Some(link));
            }
        }
    }

    fn end(&mut self, key: u64, outcome: Suggested, link: Option<&mut Link>) {
        let Some(completion) = self.open.remove(&key) else {
            return;
        };
        if let (Some(link), Some(running)) = (link, &completion.running) {
            leave(link, &running.thread);
        }
        completion.end(outcome);
    }

    /// Fails one that got no answer to a request in time; a turn that runs is left alone.
    pub(super) fn expired(&mut self, key: u64, failure: AgentFailure, link: Option<&mut Link>) {
        self.end(key, Err(failure), link);
    }

    /// Stops those that have taken too long.
    pub(super) fn overdue(&mut self, name: &str, now: Instant, mut link: Option<&mut Link>) {
        let open = self.open.iter();
        let due = open.filter(|(_, it)| it.deadline <= now);
        let due: Vec<u64> = due.map(|(key, _)| *key).collect();
        for key in due {
            if let Some(completion) = self.open.get_mut(&key)
                && let Some(tell) = completion.tell.take()
            {
                let failure = trouble::unanswered(name, "turn/start", completion.longest);
                tell.send(Err(failure), None);
                completion.deadline = now + LONGEST;
                self.leave(key, link.as_deref_mut());
            } else {
                self.end(key, Ok(String::new()), link.as_deref_mut());
            }
        }
    }

    /// Fails all: the process is gone.
    pub(super) fn fail(&mut self, failure: &AgentFailure) {
        for (_, completion) in std::mem::take(&mut self.open) {
            completion.end(Err(failure.clone()));
        }
    }
}

fn leave(link: &mut Link, thread: &str) {
    let params = ThreadParams { thread_id: thread };
    link.ask(Purpose::Courtesy, "thread/unsubscribe", &params);
}

/// Without anything that a completion does not need: no tools, no account of the machine, no snapshot of a shell.
fn bare() -> Value {
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
