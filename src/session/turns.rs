//! What a session keeps from turn to turn: the instructions, the agent's recorded thread, and the turn in progress.
//!
//! A cancelled turn is over for the user at once; the agent may still be finishing it, and the next turn waits for
//! that.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::agent::{AgentCapabilities, ThreadPoint, ToolRoute, TurnId};
use crate::agent_profile::AgentProfile;
use crate::config::Choices;
use crate::deps::SessionDeps;
use crate::prompt::RequestContext;
use crate::record::{RecordedThread, RecordedThreads};
use crate::runtimes::RuntimePeer;
use crate::tools::{SkillRegistry, ToolOffer};

pub(super) struct Turns {
    instructions: String,
    tool_instructions: String,
    thread: Option<RecordedThread>,
    /// Places in threads, by the digest of what they hold.
    points: HashMap<String, ThreadPoint>,
    /// The thread was recorded by another process.
    thread_is_older: bool,
    /// What the user was warned of that this agent lacks; each is said once.
    warned: HashSet<&'static str>,
    pub(super) profile: AgentProfile,
    pub(super) running: Option<TurnId>,
    /// A stopped turn the agent has not ended yet.
    pub(super) cancelling: Option<TurnId>,
    /// The steps of the plan that the active prompt has ended with, in plan mode.
    pub(super) proposed_plan: Vec<String>,
}

impl Turns {
    pub(super) fn new(instructions: String) -> Self {
        Turns {
            instructions,
            tool_instructions: String::new(),
            thread: None,
            points: HashMap::new(),
            thread_is_older: false,
            warned: HashSet::new(),
            profile: AgentProfile::default(),
            running: None,
            cancelling: None,
            proposed_plan: Vec::new(),
        }
    }

    /// Forgets what belongs to the old agent: its recorded thread, and any turn that it has not ended.
    pub(super) fn agent_replaced(&mut self) {
        self.thread = None;
        self.warned.clear();
        self.profile = AgentProfile::default();
        self.cancelling = None;
    }

    /// Appends to the instructions of every turn that can call tools.
    pub(super) fn add_tool_instructions(&mut self, section: &str) {
        self.tool_instructions.push_str(section);
    }

    pub(super) fn tool_instructions(&self) -> &str {
        &self.tool_instructions
    }

    /// Sets the threads of a session that goes on, as they were recorded.
    pub(super) fn set_recorded_threads(&mut self, threads: RecordedThreads) {
        self.thread = threads.current;
        self.thread_is_older = true;
        self.points = threads.points.into_iter().map(place).collect();
    }

    /// Sets the thread of the exchange that has just ended.
    pub(super) fn set_thread(&mut self, thread: Option<RecordedThread>) {
        let known = thread.iter().filter(|thread| thread.point.is_some());
        self.points.extend(known.cloned().map(place));
        self.thread = thread;
        self.thread_is_older = false;
    }

    /// Returns the parts of a request that do not come from the prompt.
    pub(super) fn context<'a>(
        &'a mut self,
        mut able: AgentCapabilities,
        setup: &'a SessionDeps,
        choices: &'a Choices,
        user: &RuntimePeer,
        skills: &SkillRegistry,
        cwd: &Path,
    ) -> RequestContext<'a> {
        let own_server = match able.tools {
            Some(ToolRoute::McpServer) => setup.own_server.as_ref(),
            _ => None,
        };
        if able.tools == Some(ToolRoute::McpServer) && own_server.is_none() {
            able.tools = None;
        }
        let (tools, tool_instructions) = match able.tools {
            Some(_) => (
                ToolOffer::current(choices, user, skills).specs(),
                self.tool_instructions.as_str(),
            ),
            None => (Vec::new(), ""),
        };
        // An agent may be unable to continue a thread of another process.
        let thread = self.thread.as_ref();
        let commands = able.commands.then(|| self.profile.commands());
        RequestContext {
            instructions: format!("{}{tool_instructions}", self.instructions),
            choices,
            cwd: cwd.to_owned(),
            points: &self.points,
            thread: thread.filter(|_| able.resumes_threads || !self.thread_is_older),
            warned: &mut self.warned,
            commands: commands.unwrap_or_default(),
            tools,
            own_server,
            no_interpreter: user.is_unstartable(),
            agent_is_busy: self.cancelling.is_some(),
            agent: able,
        }
    }
}

fn place(thread: RecordedThread) -> (String, ThreadPoint) {
    let RecordedThread { id, digest, point } = thread;
    (digest, ThreadPoint { thread: id, point })
}
