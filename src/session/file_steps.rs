//! Tells the history of files when steps begin and end: cells, commands in shell mode, what an agent does.
//!
//! In: what is sent to runtimes and agents, and what comes back. Out: the history, for those who plan a rewind.
//! Invariant: an agent's step is the time from the start of a tool of its own to the end, not the whole turn: what
//! changes while it thinks is the user's work. Absent on purpose: questions and rewinds (`commands/rewind.rs`).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::agent::{AgentEvent, AgentReply, WorkStatus};
use crate::rewind::{FileHistory, Owner, StepKind};
use crate::runtime::{Execute, RequestId, RuntimeEvent, RuntimeRequest};
use crate::runtimes::RuntimeRole;

/// Where the history of files is kept, and what is no part of it.
#[derive(Debug, Clone)]
pub struct FilePlaces {
    /// The directory of all stores of this user.
    pub stores: PathBuf,
    /// Directories of ours.
    pub excluded: Vec<PathBuf>,
    /// The home directory: neither it nor one above it is kept.
    pub home: Option<PathBuf>,
}

/// The history, and the steps that are active.
#[derive(Debug)]
pub(super) struct FileSteps {
    places: Option<FilePlaces>,
    history: Option<FileHistory>,
    cells: HashMap<(RuntimeRole, RequestId), Owner>,
    turn: Option<Owner>,
    /// The agent's tools that run, by its ids.
    tools: HashSet<String>,
}

impl FileSteps {
    pub(super) fn new(places: Option<FilePlaces>) -> Self {
        FileSteps {
            places,
            history: None,
            cells: HashMap::new(),
            turn: None,
            tools: HashSet::new(),
        }
    }

    pub(super) fn history(&self) -> Option<&FileHistory> {
        self.history.as_ref()
    }

    /// Begins to keep files, or goes on to keep them in this directory, too; with `keep` false: forgets all.
    ///
    /// `tell` gets a line for what an earlier process left half done.
    pub(super) fn keep(
        &mut self,
        keep: bool,
        directory: &Path,
        tell: impl Fn(String) + Send + 'static,
    ) {
        let Some(places) = self.places.as_ref().filter(|_| keep) else {
            self.history = None;
            return;
        };
        let home = places.home.as_deref();
        if directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory)) {
            return;
        }
        if let Some(history) = &self.history {
            return history.keep(directory.to_owned());
        }
        let (stores, excluded) = (places.stores.clone(), places.excluded.clone());
        let begun = FileHistory::start(directory.to_owned(), stores, excluded, tell);
        match begun {
            Ok(history) => self.history = Some(history),
            Err(error) => log::warn!("files are not kept: {error}"),
        }
    }

    /// Code is about to run.
    pub(super) fn before_code(
        &self,
        role: RuntimeRole,
        session: u32,
        request: &RuntimeRequest,
    ) -> Option<Owner> {
        let RuntimeRequest::Execute(Execute {
            execution_count: Some(line),
            ..
        }) = request
        else {
            return None;
        };
        let owner = Owner {
            session,
            line: *line,
            kind: StepKind::Cell,
        };
        let is_kept = !matches!(role, RuntimeRole::Agent(_));
        let history = self.history.as_ref().filter(|_| is_kept)?;
        history.begin(owner);
        Some(owner)
    }

    /// It runs under this id.
    pub(super) fn on_code(&mut self, role: RuntimeRole, id: RequestId, owner: Option<Owner>) {
        self.cells.extend(owner.map(|owner| ((role, id), owner)));
    }

    /// A cell of the user's goes on in the background: what changes from now on may be the user's work.
    pub(super) fn on_background(&mut self, cell: RequestId) {
        let owner = self.cells.remove(&(RuntimeRole::User, cell));
        if let (Some(owner), Some(history)) = (owner, &self.history) {
            history.end(owner);
        }
    }

    pub(super) fn on_runtime(&mut self, role: RuntimeRole, event: &RuntimeEvent) {
        let Some(history) = &self.history else {
            return;
        };
        match event {
            RuntimeEvent::Finished { id, .. } => {
                if let Some(owner) = self.cells.remove(&(role, *id)) {
                    history.end(owner);
                }
            }
            RuntimeEvent::Died { .. } => {
                let ended = self.cells.extract_if(|(of, _), _| *of == role);
                ended.for_each(|(_, owner)| history.end(owner));
            }
            _ => {}
        }
    }

    /// A turn begins: what has changed until now is not its work.
    pub(super) fn on_turn(&mut self, session: u32, line: u32) {
        self.turn = Some(Owner {
            session,
            line,
            kind: StepKind::Turn,
        });
        self.tools.clear();
        if let Some(history) = &self.history {
            history.pause();
        }
    }

    pub(super) fn on_agent(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::CommandStarted { id, .. } => self.begin_tool(id),
            AgentEvent::CommandEnded { command, .. }
            | AgentEvent::CommandDenied { command, .. } => {
                self.end_tool(&command.id);
            }
            AgentEvent::ToolCalled { call, .. } => self.begin_tool(&call.id),
            AgentEvent::ActivityUpdated { activity, .. } => match activity.status {
                WorkStatus::Waiting | WorkStatus::Running => self.begin_tool(&activity.id),
                WorkStatus::Done | WorkStatus::Failed => self.end_tool(&activity.id),
            },
            // It has just been done.
            AgentEvent::FilesChanged { .. } => self.end_tool(""),
            AgentEvent::Finished { .. } | AgentEvent::Failed { .. } => {
                for id in std::mem::take(&mut self.tools) {
                    self.tools.insert(id.clone());
                    self.end_tool(&id);
                }
                self.turn = None;
            }
            _ => {}
        }
    }

    pub(super) fn on_reply(&mut self, reply: &AgentReply) {
        if let AgentReply::ToolResult { call, .. } = reply {
            self.end_tool(call);
        }
    }

    fn begin_tool(&mut self, id: &str) {
        if let (Some(history), Some(turn)) = (&self.history, self.turn)
            && self.tools.insert(id.to_owned())
        {
            history.begin_late(turn);
        }
    }

    /// Ends a tool; one that was not known to run has just run.
    fn end_tool(&mut self, id: &str) {
        self.begin_tool(id);
        if let (Some(history), Some(turn)) = (&self.history, self.turn)
            && self.tools.remove(id)
        {
            history.end(turn);
        }
    }
}
