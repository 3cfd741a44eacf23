//! The agent and its session: the running agent, the id of its session, and the features offered there.
//!
//! Owns the agent. Invariants: a session keeps the servers it was opened with until it gets others; the end of an
//! agent is waited for beside the kernel's own thread.

use std::path::PathBuf;

use super::config::{AgentCommand, AgentConfig};
use crate::agent::connect::AgentEvents;
use crate::agent::{
    Agent, AgentEvent, AgentReply, AgentUpdate, Approvals, ConfigOption, Descriptor, Effort,
    InputPart, McpServer, PlanMode, Sandbox, ThreadMode, TurnId, TurnRequest, TurnSettings,
    WebSearchUse,
};

/// Creates an agent; starts nothing.
pub type ConnectAgent = fn(AgentCommand) -> (Box<dyn Agent>, AgentEvents);

pub(super) struct AgentConnection {
    connect: ConnectAgent,
    running: Option<RunningAgent>,
    pub(super) session: Option<AgentSession>,
    pub(super) features: AgentFeatures,
}

struct RunningAgent {
    agent: Box<dyn Agent>,
    events: AgentEvents,
}

#[derive(Debug, Clone)]
pub(super) struct AgentSession {
    pub(super) id: String,
    /// The session is open in the running agent.
    pub(super) open: bool,
    pub(super) servers: Vec<McpServer>,
    /// The session holds a conversation.
    pub(super) used: bool,
}

/// Features that the agent offers in the session.
#[derive(Debug, Default)]
pub(super) struct AgentFeatures {
    pub(super) commands: Vec<Descriptor>,
    pub(super) options: Vec<ConfigOption>,
    mode: Option<ConfigOption>,
}

impl AgentFeatures {
    /// Keeps an update; returns the mark and the line to show for it.
    fn take(&mut self, news: AgentUpdate) -> Option<(&'static str, String)> {
        match news {
            AgentUpdate::Commands(commands) => {
                let is_news = self.commands != commands && !commands.is_empty();
                self.commands = commands;
                let names = self
                    .commands
                    .iter()
                    .map(|command| format!("/{}", command.id));
                let names = names.collect::<Vec<_>>().join(", ");
                is_news.then(|| ("📜", format!("{names} (see %agent commands)")))
            }
            AgentUpdate::Modes(mode) => {
                let was = self.mode.as_ref().map(|mode| mode.current.clone());
                let is_news = was.is_some_and(|was| was != mode.current);
                let told = format!("{}: {}", mode.descriptor.id, mode.current);
                self.mode = Some(mode);
                is_news.then_some(("🔄", told))
            }
            AgentUpdate::Options(options) => {
                self.options = options;
                None
            }
            AgentUpdate::Title(_) => None,
        }
    }

    pub(super) fn selections(&self) -> impl Iterator<Item = &ConfigOption> {
        self.mode.iter().chain(&self.options)
    }
}

impl AgentConnection {
    pub(super) fn new(connect: ConnectAgent) -> Self {
        AgentConnection {
            connect,
            running: None,
            session: None,
            features: AgentFeatures::default(),
        }
    }

    /// The agent; created on first use, started by its first request.
    pub(super) fn agent(&mut self, config: &AgentConfig) -> &mut dyn Agent {
        let running = self.running.get_or_insert_with(|| {
            let (agent, events) = (self.connect)(config.agent_command());
            RunningAgent { agent, events }
        });
        running.agent.as_mut()
    }

    /// True when a session is open in the running agent.
    pub(super) fn is_connected(&self) -> bool {
        self.running.is_some() && self.session.as_ref().is_some_and(|session| session.open)
    }

    /// The id of the session, open or not.
    pub(super) fn id(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.id.as_str())
    }

    /// The agent's next event; `None` once when the agent is gone. Never returns where none runs.
    pub(super) async fn next(&mut self) -> Option<AgentEvent> {
        let Some(running) = &mut self.running else {
            return std::future::pending().await;
        };
        let event = running.events.recv().await;
        if event.is_none() {
            self.running = None;
            self.disconnect();
        }
        event
    }

    /// Keeps an update outside of turns; other events are dropped.
    pub(super) fn on_idle_event(&mut self, event: Option<AgentEvent>) {
        if let Some(AgentEvent::Update(news)) = event {
            self.on_news(news);
        }
    }

    /// Keeps an update; returns the mark and the line to show for it.
    pub(super) fn on_news(&mut self, news: AgentUpdate) -> Option<(&'static str, String)> {
        self.features.take(news)
    }

    pub(super) fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        if let Some(running) = &mut self.running {
            running.agent.reply(turn, reply);
        }
    }

    pub(super) fn cancel(&mut self, turn: TurnId) {
        if let Some(running) = &mut self.running {
            running.agent.cancel(turn);
        }
    }

    /// The agent is gone: another one may resume the session.
    pub(super) fn disconnect(&mut self) {
        if let Some(session) = &mut self.session {
            session.open = false;
        }
    }

    /// Ends the agent, and drops its session.
    pub(super) async fn stop(&mut self) {
        self.session = None;
        self.features = AgentFeatures::default();
        if let Some(running) = self.running.take() {
            // A process that does not end takes some seconds to kill.
            drop(tokio::task::spawn_blocking(move || drop(running)).await);
        }
    }
}

/// The request for a turn in this session, or in a new one; without an input, the session is only opened.
pub(super) fn request(
    input: Vec<InputPart>,
    thread: Option<String>,
    (cwd, servers, sandbox): (PathBuf, Vec<McpServer>, Sandbox),
) -> TurnRequest {
    TurnRequest {
        instructions: String::new(),
        history: Vec::new(),
        input,
        tools: Vec::new(),
        settings: TurnSettings {
            model: None,
            effort: Effort::Medium,
            search: WebSearchUse::Off,
            cwd,
            threads: ThreadMode::Session,
            approvals: Approvals::Ask,
            sandbox,
            shell: true,
            plan: PlanMode::Off,
            mcp_servers: servers,
            start_timeout: None,
        },
        thread,
        fork: None,
        schema: None,
        compact: false,
    }
}
