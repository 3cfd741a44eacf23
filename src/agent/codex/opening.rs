//! From a request to a running turn: thread, seed, `turn/start`.
//!
//! In: answers of the app-server for the turn at hand. Out: requests, and the next [`Step`]. A thread that cannot be
//! resumed, for whatever reason, is replaced by a new one seeded from the request.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, from_value};

use super::current::Current;
use super::failure;
use super::images;
use super::link::{Link, Loaded, Purpose};
use super::seed;
use super::settings::{config, effort, policy, sandbox, sandbox_policy};
use super::turn::Running;
use super::wire::thread::{
    ThreadInjectItemsParams, ThreadParams, ThreadResumeParams, ThreadStartParams, thread_id,
};
use super::wire::turn::{TurnResponse, TurnStartParams};
use crate::agent::{AgentFailure, Threads, TurnId, TurnRequest};
use crate::rpc::RpcError;

/// What comes next for the turn at hand.
pub(super) enum Step {
    /// An answer of the app-server.
    Wait,
    /// The prompt is on the wire.
    Sent,
    /// It cannot go on.
    Fail(AgentFailure),
    /// The same, and the process cannot be trusted any more.
    Broken(AgentFailure),
}

/// What is known of threads over the life of the agent.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// Threads that took a prompt without a whole answer: they no longer equal any record.
    spoiled: HashSet<String>,
    /// The thread that is being seeded.
    seeding: Option<String>,
}

impl Opening {
    /// This thread took a prompt without a whole answer.
    pub(super) fn spoil(&mut self, thread: String) {
        self.spoiled.insert(thread);
    }

    /// Goes on with the thread the request names, or asks for one.
    pub(super) fn choose(&mut self, link: &mut Link, current: &mut Current) -> Step {
        let request = &current.request;
        let session = request.settings.threads == Threads::Session;
        let known = request
            .thread
            .clone()
            .filter(|id| session && !self.spoiled.contains(id));
        match known {
            None => open(link, current),
            Some(id) => match link.threads.get(&id) {
                Some(loaded) if loaded.may_go_on(&request.settings) => {
                    return begin(link, current, id);
                }
                // How to search, and which servers there are, is fixed when a thread is loaded.
                Some(_) => open(link, current),
                None => resume(link, current.turn, &id, request),
            },
        }
        Step::Wait
    }

    /// Takes the answer to a request that opens a thread for the turn at hand.
    pub(super) fn answered(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        link: &mut Link,
        current: &mut Current,
    ) -> Step {
        match purpose {
            Purpose::Resume(_) => match outcome.ok().and_then(thread_id) {
                Some(id) if current.request.thread.as_ref() == Some(&id) => {
                    link.threads
                        .insert(id.clone(), Loaded::of(&current.request.settings));
                    return begin(link, current, id);
                }
                // Gone, or not ours: the record is the truth, not the thread.
                _ => open(link, current),
            },
            Purpose::Open(_) => return self.opened(name, purpose, outcome, link, current),
            Purpose::Seed(_) => match (outcome, self.seeding.take()) {
                (Ok(_), Some(thread)) => return begin(link, current, thread),
                (Ok(_), None) => {}
                (Err(error), _) => {
                    return Step::Fail(failure::refused(name, purpose.method(), &error));
                }
            },
            Purpose::Begin(_) => return begun(name, outcome, current),
            _ => {}
        }
        Step::Wait
    }

    fn opened(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        link: &mut Link,
        current: &mut Current,
    ) -> Step {
        let method = purpose.method();
        let id = match outcome.map(thread_id) {
            Ok(Some(id)) => id,
            Ok(None) => return Step::Fail(failure::not_understood(name, method)),
            Err(error) => return Step::Fail(failure::refused(name, method, &error)),
        };
        let request = &current.request;
        link.threads
            .insert(id.clone(), Loaded::of(&request.settings));
        if request.settings.threads == Threads::Ephemeral || request.history.is_empty() {
            return begin(link, current, id);
        }
        let params = ThreadInjectItemsParams {
            thread_id: &id,
            items: seed::items(&request.history),
        };
        let purpose = Purpose::Seed(current.turn);
        link.ask(purpose, purpose.method(), &params);
        self.seeding = Some(id);
        Step::Wait
    }
}

/// A thread was opened for a turn that was cancelled meanwhile: nobody will use it.
pub(super) fn leave_unused(link: &mut Link, outcome: Result<Value, RpcError>) {
    if let Some(id) = outcome.ok().and_then(thread_id) {
        let params = ThreadParams { thread_id: &id };
        link.ask(Purpose::Courtesy, "thread/unsubscribe", &params);
    }
}

/// Puts the prompt on the wire.
fn begin(link: &mut Link, current: &mut Current, thread: String) -> Step {
    let turn = current.turn;
    let request = &current.request;
    let settings = &request.settings;
    let input = match settings.threads {
        Threads::Session => seed::merged(&request.input),
        Threads::Ephemeral => seed::written_out(&request.history, &request.input),
    };
    let now = Loaded::of(settings);
    let before = link.threads.insert(thread.clone(), now.clone());
    let before = before.unwrap_or_else(|| now.clone());
    let params = TurnStartParams {
        thread_id: &thread,
        input: seed::wire(&input),
        effort: effort(settings.effort),
        summary: "detailed",
        model: settings.model.as_deref(),
        cwd: (before.cwd != now.cwd).then(|| settings.cwd.display().to_string()),
        approval_policy: (before.approvals != now.approvals).then(|| policy(settings.approvals)),
        sandbox_policy: (before.sandbox != now.sandbox).then(|| sandbox_policy(settings.sandbox)),
        output_schema: request.schema.as_ref(),
    };
    link.ask(Purpose::Begin(turn), "turn/start", &params);
    current.running = Some(Running::new(turn, thread));
    Step::Sent
}

/// Takes the answer to `turn/start`.
fn begun(name: &str, outcome: Result<Value, RpcError>, current: &mut Current) -> Step {
    let Some(running) = &mut current.running else {
        return Step::Wait;
    };
    match outcome {
        Ok(value) => {
            let id = from_value::<TurnResponse>(value)
                .unwrap_or_default()
                .turn
                .id;
            if !id.is_empty() {
                running.wire.get_or_insert(id);
            }
            match running.wire {
                Some(_) => Step::Wait,
                // It cannot be interrupted nor told from others: what it does is unknown.
                None => Step::Broken(failure::not_understood(name, "turn/start")),
            }
        }
        Err(error) => Step::Fail(failure::refused(name, "turn/start", &error)),
    }
}

fn open(link: &mut Link, current: &Current) {
    let request = &current.request;
    let settings = &request.settings;
    let instructions = match (request.tools.is_empty(), request.instructions.as_str()) {
        (true, own) => Cow::Borrowed(own),
        (false, "") => Cow::Borrowed(images::TOLD),
        (false, own) => Cow::Owned(format!("{own}\n\n{}", images::TOLD)),
    };
    let params = ThreadStartParams {
        model: settings.model.as_deref(),
        cwd: settings.cwd.display().to_string(),
        approval_policy: policy(settings.approvals),
        sandbox: sandbox(settings.sandbox),
        ephemeral: settings.threads == Threads::Ephemeral,
        base_instructions: None,
        developer_instructions: Some(&instructions),
        dynamic_tools: current.names.offered(&request.tools),
        config: config(settings),
    };
    link.ask(Purpose::Open(current.turn), "thread/start", &params);
}

fn resume(link: &mut Link, turn: TurnId, id: &str, request: &TurnRequest) {
    let settings = &request.settings;
    let params = ThreadResumeParams {
        thread_id: id,
        model: settings.model.as_deref(),
        cwd: settings.cwd.display().to_string(),
        approval_policy: policy(settings.approvals),
        sandbox: sandbox(settings.sandbox),
        config: config(settings),
        exclude_turns: true,
    };
    link.ask(Purpose::Resume(turn), "thread/resume", &params);
}
