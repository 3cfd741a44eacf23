//! From a request to a running turn: thread, seed, `turn/start`.
//!
//! In: answers of the app-server for the current turn. Out: requests, and the next [`Step`]. A thread that cannot
//! be resumed or forked, for whatever reason, is replaced by a new one seeded from the request.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::active_turn::ActiveTurn;
use super::failure;
use super::images;
use super::process::{AgentProcess, LoadedThread, Purpose};
use super::seed;
use super::settings::{collaboration_mode, config, effort, policy, sandbox, sandbox_policy};
use super::turn::RunningTurn;
use super::wire::thread::{
    ThreadForkParams, ThreadInjectItemsParams, ThreadParams, ThreadResumeParams, ThreadStartParams,
    opened_thread,
};
use super::wire::turn::{TurnStartParams, turn_id};
use crate::agent_process::Purpose as _;
use crate::rpc::RpcError;
use crate::{AgentFailure, ThreadMode, ThreadPoint, TurnId, TurnRequest};

/// The next step for the current turn.
pub(super) enum Step {
    Wait,
    Sent,
    Fail(AgentFailure),
    /// The turn fails, and the process has broken the protocol.
    Broken(AgentFailure),
}

/// Knowledge about threads, over the life of the agent.
#[derive(Debug, Default)]
pub(super) struct ThreadSetup {
    /// Threads that took a prompt without completing the answer: they no longer equal any record.
    diverged: HashSet<String>,
    seeding: Option<String>,
}

impl ThreadSetup {
    /// Records that this thread took a prompt without completing the answer.
    pub(super) fn mark_diverged(&mut self, thread: String) {
        self.diverged.insert(thread);
    }

    /// Continues the thread that the request names, or opens a new one.
    pub(super) fn choose(&mut self, process: &mut AgentProcess, current: &mut ActiveTurn) -> Step {
        let request = &current.request;
        let session = request.settings.threads == ThreadMode::Session;
        let known = request
            .thread
            .clone()
            .filter(|id| session && !self.diverged.contains(id));
        match known {
            None => match request.fork.clone().filter(|_| session) {
                Some(from) => fork_thread(process, current.turn, &from, request),
                None => start_thread(process, current),
            },
            Some(id) => match process.known.threads.get(&id) {
                Some(loaded) if loaded.is_compatible_with(&request.settings) => {
                    return start_turn(process, current, id);
                }
                // The settings of search and MCP servers are fixed when a thread is loaded.
                Some(_) => start_thread(process, current),
                None => resume_thread(process, current.turn, &id, request),
            },
        }
        Step::Wait
    }

    /// Takes the response to a request that opens a thread for the current turn.
    pub(super) fn on_response(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        process: &mut AgentProcess,
        current: &mut ActiveTurn,
    ) -> Step {
        match purpose {
            Purpose::Resume(_) => match outcome.ok().and_then(opened_thread) {
                Some((id, model)) if current.request.thread.as_ref() == Some(&id) => {
                    let loaded = LoadedThread::new(&current.request.settings, model);
                    process.known.threads.insert(id.clone(), loaded);
                    return start_turn(process, current, id);
                }
                // The thread is gone or not ours: the record, not the thread, holds the truth.
                _ => start_thread(process, current),
            },
            Purpose::Fork(_) => match outcome.ok().and_then(opened_thread) {
                Some((id, model)) => {
                    let loaded = LoadedThread::new(&current.request.settings, model);
                    process.known.threads.insert(id.clone(), loaded);
                    return start_turn(process, current, id);
                }
                None => start_thread(process, current),
            },
            Purpose::Open(_) => {
                return self.on_thread_started(name, outcome, process, current);
            }
            Purpose::Seed(_) => match (outcome, self.seeding.take()) {
                (Ok(_), Some(thread)) => return start_turn(process, current, thread),
                (Ok(_), None) => {}
                (Err(error), _) => {
                    return Step::Fail(failure::refused(name, purpose.method(), &error));
                }
            },
            Purpose::Begin(_) => return on_turn_started(name, outcome, current),
            Purpose::Compact(_) => {
                if let Err(error) = outcome {
                    return Step::Fail(failure::refused(name, purpose.method(), &error));
                }
            }
            _ => {}
        }
        Step::Wait
    }

    fn on_thread_started(
        &mut self,
        name: &str,
        outcome: Result<Value, RpcError>,
        process: &mut AgentProcess,
        current: &mut ActiveTurn,
    ) -> Step {
        let (id, model) = match started(name, outcome) {
            Ok(opened) => opened,
            Err(failure) => return Step::Fail(failure),
        };
        let request = &current.request;
        let loaded = LoadedThread::new(&request.settings, model);
        process.known.threads.insert(id.clone(), loaded);
        if request.settings.threads == ThreadMode::Ephemeral || request.history.is_empty() {
            return start_turn(process, current, id);
        }
        let params = ThreadInjectItemsParams {
            thread_id: &id,
            items: seed::history_items(&request.history),
        };
        process.send(Purpose::Seed(current.turn), &params);
        self.seeding = Some(id);
        Step::Wait
    }
}

/// The id and the model in the answer to `thread/start`.
pub(super) fn started(
    name: &str,
    outcome: Result<Value, RpcError>,
) -> Result<(String, Option<String>), AgentFailure> {
    let method = "thread/start";
    let answer = outcome.map_err(|error| failure::refused(name, method, &error))?;
    opened_thread(answer).ok_or_else(|| failure::not_understood(name, method))
}

/// Leaves a thread that was opened for a turn cancelled meanwhile.
pub(super) fn leave_unused(process: &mut AgentProcess, outcome: Result<Value, RpcError>) {
    if let Some((id, _)) = outcome.ok().and_then(opened_thread) {
        leave(process, &id);
    }
}

pub(super) fn leave(process: &mut AgentProcess, thread: &str) {
    let params = ThreadParams { thread_id: thread };
    process.send_as(Purpose::Courtesy, "thread/unsubscribe", &params);
}

fn start_turn(process: &mut AgentProcess, current: &mut ActiveTurn, thread: String) -> Step {
    let turn = current.turn;
    let request = &current.request;
    let settings = &request.settings;
    if request.compact {
        // The turn names itself when it starts: the response is empty.
        let params = ThreadParams { thread_id: &thread };
        process.send(Purpose::Compact(turn), &params);
        current.state.running = Some(RunningTurn::new(turn, thread));
        return Step::Sent;
    }
    let input = match settings.threads {
        ThreadMode::Session => seed::merge_texts(&request.input),
        ThreadMode::Ephemeral => seed::written_out(&request.history, &request.input),
    };
    let before = process.known.threads.remove(&thread);
    let model = before.as_ref().and_then(|before| before.model.clone());
    let now = LoadedThread::new(settings, model);
    let before = before.unwrap_or_else(|| now.clone());
    let mode = now.model.as_deref();
    let mode = mode.and_then(|model| collaboration_mode(model, settings));
    let params = TurnStartParams {
        thread_id: &thread,
        input: seed::user_input(&input),
        effort: effort(settings.effort),
        summary: "detailed",
        model: settings.model.as_deref(),
        cwd: (before.cwd != now.cwd).then(|| settings.cwd.display().to_string()),
        approval_policy: (before.policy != now.policy).then_some(now.policy),
        sandbox_policy: (before.sandbox != now.sandbox).then(|| sandbox_policy(settings.sandbox)),
        collaboration_mode: mode,
        output_schema: request.schema.as_ref(),
    };
    process.send(Purpose::Begin(turn), &params);
    process.known.threads.insert(thread.clone(), now);
    current.state.running = Some(RunningTurn::new(turn, thread));
    Step::Sent
}

fn on_turn_started(name: &str, outcome: Result<Value, RpcError>, current: &mut ActiveTurn) -> Step {
    let Some(running) = &mut current.state.running else {
        return Step::Wait;
    };
    match outcome {
        Ok(value) => {
            if let Some(id) = turn_id(value) {
                running.turn_id.get_or_insert(id);
            }
            match running.turn_id {
                Some(_) => Step::Wait,
                // Without an id the turn can be neither interrupted nor distinguished from others.
                None => Step::Broken(failure::not_understood(name, "turn/start")),
            }
        }
        Err(error) => Step::Fail(failure::refused(name, "turn/start", &error)),
    }
}

fn start_thread(process: &mut AgentProcess, current: &ActiveTurn) {
    let request = &current.request;
    let settings = &request.settings;
    let instructions = match (request.tools.is_empty(), request.instructions.as_str()) {
        (true, own) => Cow::Borrowed(own),
        (false, "") => Cow::Borrowed(images::TOOL_INSTRUCTIONS),
        (false, own) => Cow::Owned(format!("{own}\n\n{}", images::TOOL_INSTRUCTIONS)),
    };
    let params = ThreadStartParams {
        model: settings.model.as_deref(),
        cwd: settings.cwd.display().to_string(),
        approval_policy: policy(settings),
        sandbox: sandbox(settings.sandbox),
        ephemeral: settings.threads == ThreadMode::Ephemeral,
        base_instructions: None,
        developer_instructions: Some(&instructions),
        dynamic_tools: current.state.names.specs(&request.tools),
        config: config(settings),
    };
    process.send(Purpose::Open(current.turn), &params);
}

fn resume_thread(process: &mut AgentProcess, turn: TurnId, id: &str, request: &TurnRequest) {
    process.send(Purpose::Resume(turn), &resume_params(id, request));
}

fn fork_thread(
    process: &mut AgentProcess,
    turn: TurnId,
    from: &ThreadPoint,
    request: &TurnRequest,
) {
    let params = ThreadForkParams {
        last_turn_id: from.point.as_deref(),
        setup: resume_params(&from.thread, request),
    };
    process.send(Purpose::Fork(turn), &params);
}

fn resume_params<'a>(id: &'a str, request: &'a TurnRequest) -> ThreadResumeParams<'a> {
    let settings = &request.settings;
    ThreadResumeParams {
        thread_id: id,
        model: settings.model.as_deref(),
        cwd: settings.cwd.display().to_string(),
        approval_policy: policy(settings),
        sandbox: sandbox(settings.sandbox),
        config: config(settings),
        exclude_turns: true,
    }
}
