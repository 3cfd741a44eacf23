//! From a request to a running turn: handshake, login, thread, seed, `turn/start`.
//!
//! In: answers of the app-server, each with what it was for. Invariant: an answer for a turn that is not at hand does
//! nothing. A thread that cannot be resumed, for whatever reason, is replaced by a new one seeded from the request.

use std::borrow::Cow;

use serde_json::{Value, from_value, json};

use super::driver::{Current, Driver};
use super::failure;
use super::images;
use super::link::{Link, Loaded, Purpose};
use super::seed;
use super::turn::Running;
use super::wire::account::GetAccountResponse;
use super::wire::thread::{
    ThreadInjectItemsParams, ThreadParams, ThreadResponse, ThreadResumeParams, ThreadStartParams,
};
use super::wire::turn::{TurnResponse, TurnStartParams};
use crate::agent::{
    AgentEvent, Approvals, Effort, Sandbox, Search, Threads, TurnId, TurnRequest, TurnSettings,
};
use crate::rpc::RpcError;

impl Driver {
    /// Takes the answer to a request of ours.
    pub(super) async fn answered(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        match (purpose, outcome) {
            (Purpose::Courtesy, _) => {}
            (Purpose::Models(_) | Purpose::Limits(_), outcome) => self.looked_up(purpose, outcome),
            (Purpose::OpenCompletion(key), outcome) => self.completion_opened(key, outcome),
            (Purpose::BeginCompletion(key), outcome) => self.completion_begun(key, outcome),
            (Purpose::Initialize, Ok(_)) => {
                if let Some(link) = &mut self.link {
                    link.notify("initialized");
                    link.ask(Purpose::Account, "account/read", &json!({}));
                }
            }
            (Purpose::Initialize, Err(error)) => {
                self.drop_link();
                self.fail(failure::refused(name, "initialize", &error))
                    .await;
            }
            (Purpose::Account, outcome) => self.admitted(outcome).await,
            (Purpose::Resume(turn), outcome) => self.resumed(turn, outcome).await,
            (Purpose::Open(turn), outcome) if !self.at_hand(turn) => {
                // Its turn was cancelled meanwhile: nobody will use this thread.
                if let (Some(link), Some(id)) = (&mut self.link, outcome.ok().and_then(thread_id)) {
                    let params = ThreadParams { thread_id: &id };
                    link.ask(Purpose::Courtesy, "thread/unsubscribe", &params);
                }
            }
            (Purpose::Open(turn), outcome) => self.opened(turn, outcome).await,
            (Purpose::Seed(turn), outcome) if self.at_hand(turn) => {
                self.seeded(turn, outcome).await;
            }
            (Purpose::Begin(turn), outcome) if self.at_hand(turn) => self.begun(outcome).await,
            (Purpose::Explain(turn, number), outcome) if self.at_hand(turn) => {
                self.explained(turn, number, outcome).await;
            }
            (Purpose::Seed(_) | Purpose::Begin(_) | Purpose::Explain(..), _) => {}
        }
    }

    fn at_hand(&self, turn: TurnId) -> bool {
        self.current.as_ref().is_some_and(|it| it.turn == turn)
    }

    async fn admitted(&mut self, outcome: Result<Value, RpcError>) {
        // An app-server that cannot tell is asked no further: the turn will show.
        let account: GetAccountResponse = outcome
            .ok()
            .and_then(|value| from_value(value).ok())
            .unwrap_or_default();
        if account.logged_out() {
            // It reads the login once, at its start; after `codex login` another process is needed.
            let link = self.link.take();
            self.fail(failure::logged_out()).await;
            if let Some(link) = link {
                // Nobody asks how it ended.
                let _ = link.peer.end(self.plan.patience.end);
            }
            return;
        }
        if let Some(link) = &mut self.link {
            link.ready = true;
            link.chatgpt = account.chatgpt();
            self.send_lookups();
            self.open_completions();
            self.choose_thread().await;
        }
    }

    /// Goes on with the thread the request names, or asks for one.
    pub(super) async fn choose_thread(&mut self) {
        let (Some(link), Some(current)) = (&mut self.link, &self.current) else {
            return;
        };
        let request = &current.request;
        let session = request.settings.threads == Threads::Session;
        let known = request
            .thread
            .clone()
            .filter(|id| session && !self.spoiled.contains(id));
        match known {
            None => open(link, current),
            Some(id) => match link.threads.get(&id) {
                Some(loaded) if loaded.search == request.settings.search => {
                    self.begin_turn(id).await;
                }
                // How to search is fixed when a thread is loaded.
                Some(_) => open(link, current),
                None => resume(link, current.turn, &id, request),
            },
        }
    }

    async fn resumed(&mut self, turn: TurnId, outcome: Result<Value, RpcError>) {
        let (Some(link), Some(current)) = (&mut self.link, &self.current) else {
            return;
        };
        if current.turn != turn {
            return;
        }
        match outcome.ok().and_then(thread_id) {
            Some(id) if current.request.thread.as_ref() == Some(&id) => {
                link.threads
                    .insert(id.clone(), Loaded::of(&current.request.settings));
                self.begin_turn(id).await;
            }
            // Gone, or not ours: the record is the truth, not the thread.
            _ => open(link, current),
        }
    }

    async fn opened(&mut self, turn: TurnId, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        let method = Purpose::Open(turn).method();
        let (Some(link), Some(current)) = (&mut self.link, &self.current) else {
            return;
        };
        if current.turn != turn {
            return;
        }
        let id = match outcome.map(thread_id) {
            Ok(Some(id)) => id,
            Ok(None) => return self.fail(failure::not_understood(name, method)).await,
            Err(error) => return self.fail(failure::refused(name, method, &error)).await,
        };
        let request = &current.request;
        link.threads
            .insert(id.clone(), Loaded::of(&request.settings));
        if request.settings.threads == Threads::Ephemeral || request.history.is_empty() {
            return self.begin_turn(id).await;
        }
        let params = ThreadInjectItemsParams {
            thread_id: &id,
            items: seed::items(&request.history),
        };
        link.ask(Purpose::Seed(turn), "thread/inject_items", &params);
        self.seeding = Some(id);
    }

    async fn seeded(&mut self, turn: TurnId, outcome: Result<Value, RpcError>) {
        let thread = self.seeding.take();
        match (outcome, thread) {
            (Ok(_), Some(thread)) => self.begin_turn(thread).await,
            (Ok(_), None) => {}
            (Err(error), _) => {
                let method = Purpose::Seed(turn).method();
                self.fail(failure::refused(self.program.name, method, &error))
                    .await;
            }
        }
    }

    /// Puts the prompt on the wire.
    async fn begin_turn(&mut self, thread: String) {
        let (Some(link), Some(current)) = (&mut self.link, &mut self.current) else {
            return;
        };
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
            approval_policy: (before.approvals != now.approvals)
                .then(|| policy(settings.approvals)),
            sandbox_policy: (before.sandbox != now.sandbox)
                .then(|| sandbox_policy(settings.sandbox)),
            output_schema: request.schema.as_ref(),
        };
        link.ask(Purpose::Begin(turn), "turn/start", &params);
        current.running = Some(Running::new(turn, thread));
        self.tell(AgentEvent::Sent { turn }).await;
    }

    async fn begun(&mut self, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        let Some(running) = self.current.as_mut().and_then(|it| it.running.as_mut()) else {
            return;
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
                if running.wire.is_none() {
                    // It cannot be interrupted nor told from others: what it does is unknown.
                    self.drop_link();
                    return self.fail(failure::not_understood(name, "turn/start")).await;
                }
                self.interrupt();
            }
            Err(error) => {
                self.fail(failure::refused(name, "turn/start", &error))
                    .await;
            }
        }
    }
}

impl Loaded {
    fn of(settings: &TurnSettings) -> Self {
        Loaded {
            search: settings.search,
            cwd: settings.cwd.clone(),
            approvals: settings.approvals,
            sandbox: settings.sandbox,
        }
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
        config: config(settings.search),
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
        config: config(settings.search),
        exclude_turns: true,
    };
    link.ask(Purpose::Resume(turn), "thread/resume", &params);
}

/// The id of the thread an answer tells of.
pub(super) fn thread_id(value: Value) -> Option<String> {
    let id = from_value::<ThreadResponse>(value).ok()?.thread.id;
    (!id.is_empty()).then_some(id)
}

/// Skills are told by us, once; the model's tool for questions to the user works; searching needs both keys.
fn config(search: Search) -> Value {
    let mut config = json!({
        "skills": {"include_instructions": false},
        "features": {"default_mode_request_user_input": true},
        "suppress_unstable_features_warning": true,
    });
    let size = match search {
        Search::Off => None,
        Search::Low => Some("low"),
        Search::Medium => Some("medium"),
        Search::High => Some("high"),
    };
    match size {
        None => config["web_search"] = json!("disabled"),
        Some(size) => {
            config["web_search"] = json!("live");
            config["tools"] = json!({"web_search": {"context_size": size}});
        }
    }
    config
}

/// What the app-server asks about. Measured: with `on-request` it asks about escalations and what looks dangerous only,
/// with `untrusted` about every command (`ls` too) and every edit, in every sandbox; input for a program that already
/// runs (`write_stdin`) is never asked about.
fn policy(approvals: Approvals) -> &'static str {
    match approvals {
        Approvals::Never => "never",
        Approvals::Ask => "untrusted",
    }
}

/// As `thread/start` and `thread/resume` take it.
fn sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "read-only",
        Sandbox::WorkspaceWrite => "workspace-write",
        Sandbox::FullAccess => "danger-full-access",
    }
}

/// The form `turn/start` takes.
fn sandbox_policy(sandbox: Sandbox) -> Value {
    match sandbox {
        Sandbox::FullAccess => json!({"type": "dangerFullAccess"}),
        Sandbox::WorkspaceWrite => json!({
            "type": "workspaceWrite",
            "writableRoots": [],
            "networkAccess": false,
            "excludeTmpdirEnvVar": false,
            "excludeSlashTmp": false,
        }),
        Sandbox::ReadOnly => json!({"type": "readOnly", "networkAccess": false}),
    }
}

/// As the app-server calls it.
pub(super) fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::ExtraHigh => "xhigh",
    }
}
