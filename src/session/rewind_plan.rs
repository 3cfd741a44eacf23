//! Which steps a rewind of files takes back, and what follows it. Values.
//!
//! Absent on purpose: the rewind itself (`commands/rewind.rs`), how a plan is shown (`file_rewind.rs`).

use std::path::PathBuf;

use crate::file_rewind::{FileRewind, RewindDirection};
use crate::replacement_plan::ReplacementRequest;
use crate::rewind::{ChangeSet, FileHistory, Owner, RewindPlan, StepKind};
use crate::undo::UndoRequest;

/// A rewind of files, and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RewindRequest {
    pub(crate) scope: RewindScope,
    /// `None`: not planned yet.
    pub(crate) rewind: Option<Box<FileRewind>>,
    /// The user has said yes to it already.
    pub(crate) agreed: bool,
    pub(crate) then: RewindFollowUp,
}

/// The steps that are taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RewindScope {
    /// All from this one on; the session by its index.
    Since { session: u32, line: u32 },
    /// What the agent did for this prompt, and these cells that it ran.
    Exchange {
        session: u32,
        line: u32,
        cells: Vec<u32>,
    },
    /// The last step back.
    Back,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RewindFollowUp {
    Nothing,
    /// The exchange leaves the conversation.
    Undo(UndoRequest),
    /// The prompt is sent, or the session forked.
    Replacement(ReplacementRequest),
}

impl RewindScope {
    fn direction(&self) -> RewindDirection {
        match self {
            RewindScope::Back => RewindDirection::Forward,
            RewindScope::Since { .. } | RewindScope::Exchange { .. } => RewindDirection::Back,
        }
    }

    /// Returns the owner of what the rewind does.
    pub(crate) fn owner(&self) -> Owner {
        let (session, line) = match self {
            RewindScope::Since { session, line } | RewindScope::Exchange { session, line, .. } => {
                (*session, *line)
            }
            RewindScope::Back => (0, 0),
        };
        let kind = match self.direction() {
            RewindDirection::Back => StepKind::Back,
            RewindDirection::Forward => StepKind::Forward,
        };
        Owner {
            session,
            line,
            kind,
        }
    }

    /// Plans a rewind; paths are shown as seen from `cwd`.
    pub(crate) async fn planned(
        &self,
        history: FileHistory,
        cwd: PathBuf,
    ) -> Option<Box<FileRewind>> {
        let scope = self.clone();
        let plan = tokio::task::spawn_blocking(move || scope.plan(&history)).await;
        plan.ok().map(|plan| {
            Box::new(FileRewind {
                plan,
                direction: self.direction(),
                cwd,
            })
        })
    }

    fn plan(&self, history: &FileHistory) -> RewindPlan {
        match self {
            RewindScope::Back => history.plan_forward(),
            RewindScope::Since { session, line } => history.plan(|sets| {
                let is_first = |set: &ChangeSet| {
                    set.owner.is_some_and(|owner| {
                        matches!(owner.kind, StepKind::Cell | StepKind::Turn)
                            && owner.session == *session
                            && owner.line >= *line
                    })
                };
                let from = sets.iter().position(is_first).unwrap_or(sets.len());
                let rest = sets[from..].iter();
                rest.filter(|set| set.owner.is_some()).collect()
            }),
            RewindScope::Exchange {
                session,
                line,
                cells,
            } => history.plan(|sets| {
                let sets = sets.iter();
                sets.filter(|set| {
                    set.owner
                        .is_some_and(|owner| is_of(owner, *session, *line, cells))
                })
                .collect()
            }),
        }
    }
}

/// Returns true for a step of this cell or prompt, or of a cell that ran for it.
pub(crate) fn is_of(owner: Owner, session: u32, line: u32, cells: &[u32]) -> bool {
    owner.session == session
        && match owner.kind {
            StepKind::Turn => owner.line == line,
            StepKind::Cell => owner.line == line || cells.contains(&owner.line),
            StepKind::Back | StepKind::Forward => false,
        }
}

impl RewindRequest {
    pub(crate) fn new(scope: RewindScope, then: RewindFollowUp) -> Self {
        RewindRequest {
            scope,
            rewind: None,
            agreed: false,
            then,
        }
    }
}
