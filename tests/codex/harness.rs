//! The other end of the contract for these tests: an agent, its events, and what a session would answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use ipycodex::agent::connect::{AgentConfig, AgentEvents, AgentKind, Timeouts, connect};
use ipycodex::agent::{
    Activity, Agent, AgentEvent, AgentFailure, AgentNotice, AgentQuestion, AgentReply, AgentUpdate,
    Approvals, CommandRun, Effort, Exchange, FileChange, InputPart, Lookup, LookupReply, PlanMode,
    PlanStep, Sandbox, ThreadMode, ToolCall, ToolSpec, TurnId, TurnRequest, TurnSettings, Usage,
    WebSearchUse,
};
use serde_json::json;

use crate::support::home::PATIENCE;
pub(crate) use crate::support::home::folder;

/// An agent under test.
pub(crate) struct Harness {
    pub(crate) agent: Box<dyn Agent>,
    events: AgentEvents,
    runtime: tokio::runtime::Runtime,
}

/// Everything a turn told.
#[derive(Debug, Default)]
pub(crate) struct TurnEvents {
    pub(crate) messages: BTreeMap<u64, String>,
    pub(crate) restarted: Vec<u64>,
    pub(crate) thoughts: BTreeMap<u64, String>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) questions: Vec<AgentQuestion>,
    pub(crate) withdrawn: Vec<String>,
    pub(crate) asides: Vec<AgentNotice>,
    pub(crate) news: Vec<AgentUpdate>,
    pub(crate) started: Vec<String>,
    pub(crate) commands: Vec<CommandRun>,
    pub(crate) files: Vec<FileChange>,
    pub(crate) progress: Vec<String>,
    pub(crate) plans: Vec<Vec<PlanStep>>,
    /// Each whenever it changed.
    pub(crate) work: Vec<Activity>,
    pub(crate) usage: Option<Usage>,
    pub(crate) sent: usize,
    /// Whether the turn took more input, for each.
    pub(crate) steered: Vec<bool>,
    /// The place in the thread after the turn.
    pub(crate) point: Option<String>,
    pub(crate) end: Option<Result<(bool, Option<String>), AgentFailure>>,
}

impl TurnEvents {
    /// The answer as it stands at the end.
    pub(crate) fn text(&self) -> String {
        self.messages
            .values()
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The thread of a whole turn.
    pub(crate) fn thread(&self) -> String {
        match &self.end {
            Some(Ok((false, Some(thread)))) => thread.clone(),
            other => panic!("a whole turn with a thread, not {other:?}"),
        }
    }

    /// The failure of a failed turn.
    pub(crate) fn failure(&self) -> &AgentFailure {
        match &self.end {
            Some(Err(failure)) => failure,
            other => panic!("a failure, not {other:?}"),
        }
    }

    pub(crate) fn interrupted(&self) -> bool {
        matches!(self.end, Some(Ok((true, None))))
    }

    fn take(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Starting { .. } => {}
            AgentEvent::Sent { .. } => self.sent += 1,
            AgentEvent::Steered { taken, .. } => self.steered.push(taken),
            AgentEvent::Text { message, delta, .. } => {
                self.messages.entry(message).or_default().push_str(&delta);
            }
            AgentEvent::TextRestarted { message, .. } => {
                self.messages.remove(&message);
                self.restarted.push(message);
            }
            AgentEvent::Thought { part, delta, .. } => {
                self.thoughts.entry(part).or_default().push_str(&delta);
            }
            AgentEvent::CommandStarted { command, .. } => self.started.push(command),
            AgentEvent::CommandOutput { .. } => {}
            AgentEvent::Notice { notice: aside, .. } => self.asides.push(aside),
            AgentEvent::CommandEnded { command, .. }
            | AgentEvent::CommandDenied { command, .. } => {
                self.commands.push(command);
            }
            AgentEvent::ToolCalled { call, .. } => self.calls.push(call),
            AgentEvent::QuestionAsked { question, .. } => self.questions.push(question),
            AgentEvent::FilesChanged { changes, .. } => self.files.extend(changes),
            AgentEvent::Progress { message, .. } => self.progress.push(message),
            AgentEvent::PlanUpdated { steps, .. } => self.plans.push(steps),
            AgentEvent::ActivityUpdated { activity, .. } => self.work.push(activity),
            AgentEvent::RequestWithdrawn { id, .. } => self.withdrawn.push(id),
            AgentEvent::Update(news) => self.news.push(news),
            AgentEvent::Usage { usage, .. } => self.usage = Some(usage),
            AgentEvent::Finished {
                interrupted,
                thread,
                point,
                ..
            } => {
                self.point = point;
                self.end = Some(Ok((interrupted, thread)));
            }
            AgentEvent::Failed { failure, .. } => self.end = Some(Err(failure)),
        }
    }
}

impl Harness {
    pub(crate) fn new(plan: AgentConfig) -> Self {
        let (agent, events) = connect(plan);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        Harness {
            agent,
            events,
            runtime,
        }
    }

    /// The next event of any turn.
    pub(crate) fn next(&mut self) -> AgentEvent {
        let events = &mut self.events;
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, events.recv()).await })
            .expect("an event in time")
            .expect("an agent that lives")
    }

    /// Looks something up; the turn that runs meanwhile may go on.
    pub(crate) fn look_up(&mut self, lookup: Lookup) -> Result<LookupReply, AgentFailure> {
        let events = self.agent.look_up(lookup);
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, events).await })
            .expect("an answer in time")
            .expect("an agent that lives")
    }

    /// Runs a turn to its end; tool calls get `done NAME ARGUMENTS`.
    pub(crate) fn run(&mut self, request: TurnRequest) -> TurnEvents {
        let turn = self.agent.start(request);
        self.finish(turn, |_, _, _| {})
    }

    /// Follows `turn` to its end, showing each event to `watch` first.
    pub(crate) fn finish(
        &mut self,
        turn: TurnId,
        mut watch: impl FnMut(&mut dyn Agent, TurnId, &AgentEvent),
    ) -> TurnEvents {
        let mut events = TurnEvents::default();
        while events.end.is_none() {
            let event = self.next();
            if let AgentEvent::Update(news) = event {
                events.news.push(news);
                continue;
            }
            assert_eq!(event.turn(), Some(turn), "{event:?}");
            watch(self.agent.as_mut(), turn, &event);
            if let AgentEvent::ToolCalled { call, .. } = &event {
                let text = format!("done {} {}", call.name, call.arguments);
                self.agent.reply(
                    turn,
                    AgentReply::ToolResult {
                        call: call.id.clone(),
                        success: true,
                        content: vec![InputPart::Text(text)],
                    },
                );
            }
            events.take(event);
        }
        events
    }
}

/// A plan with nothing of the tester's own environment but PATH.
pub(crate) fn plan(kind: AgentKind, home: &Path, cwd: &Path) -> AgentConfig {
    let mut variables: BTreeMap<OsString, OsString> = BTreeMap::new();
    if let Some(path) = std::env::var_os("PATH") {
        variables.insert("PATH".into(), path);
    }
    variables.insert("HOME".into(), home.into());
    variables.insert("CODEX_HOME".into(), home.into());
    AgentConfig {
        kind,
        variables,
        cwd: cwd.into(),
        client_version: "0.0.0".into(),
        timeouts: Timeouts::default(),
    }
}

/// A prompt in a fresh conversation.
pub(crate) fn request(text: &str, cwd: &Path) -> TurnRequest {
    TurnRequest {
        instructions: "Be brief.".into(),
        history: Vec::new(),
        input: vec![InputPart::Text(text.into())],
        tools: vec![ToolSpec {
            name: "weather".into(),
            description: "The weather of a city".into(),
            schema: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        }],
        settings: TurnSettings {
            model: None,
            effort: Effort::Low,
            search: WebSearchUse::Off,
            cwd: cwd.into(),
            threads: ThreadMode::Session,
            approvals: Approvals::Never,
            sandbox: Sandbox::FullAccess,
            shell: true,
            plan: PlanMode::Off,
            mcp_servers: Vec::new(),
            start_timeout: None,
        },
        thread: None,
        fork: None,
        schema: None,
        compact: false,
    }
}

pub(crate) fn exchange(user: &str, assistant: &str) -> Exchange {
    Exchange {
        user: user.into(),
        assistant: assistant.into(),
        images: Vec::new(),
    }
}
