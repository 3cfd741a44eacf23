//! A hand-over of the prompt under way, and the terminal of the branch that it leaves.
//!
//! Invariant: each request for one gets one answer. Absent on purpose: the descriptors (`ends.rs`), and the thread of
//! the branch (`supervisor.rs`).

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::RequestId;
use super::super::terminal::CellPty;
use super::control::Control;
use super::ends::BranchWish;
use super::interpreter::Interpreter;
use crate::process::SuspendKey;

/// The ids of requests to a branch begin here: those of the interpreter that it was are lower.
pub(super) const FIRST_ID: u64 = 1 << 40;

/// The request for a branch that is not answered yet, and those that wait for it.
#[derive(Debug, Default)]
pub(super) struct PendingHandoff {
    asked: Option<(RequestId, BranchWish)>,
    waiting: VecDeque<(RequestId, BranchWish)>,
}

impl PendingHandoff {
    /// Begins to carry out the request with this id; `current` is the request that runs.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn begin(
        &mut self,
        id: RequestId,
        wish: BranchWish,
        current: Option<RequestId>,
        terminal: Option<&CellPty>,
        interpreter: &mut Interpreter,
    ) -> Result<(), String> {
        match &wish {
            BranchWish::Aside { .. } if self.asked.is_some() => {
                self.waiting.push_back((id, wish));
                return Ok(());
            }
            BranchWish::Cell { .. } if self.asked.is_some() => {
                return Err("another branch is being made".to_owned());
            }
            BranchWish::Cell { cell, .. } if current != Some(*cell) => {
                return Err("that cell does not run".to_owned());
            }
            BranchWish::Cell { .. } | BranchWish::Aside { .. } => {}
        }
        let begun = interpreter.begin_handoff(&wish, terminal);
        begun.map_err(|error| error.to_string())?;
        self.asked = Some((id, wish));
        Ok(())
    }

    /// Returns the next request that waits, once none is open.
    pub(super) fn next(&mut self) -> Option<(RequestId, BranchWish)> {
        match self.asked {
            Some(_) => None,
            None => self.waiting.pop_front(),
        }
    }

    /// Returns a request that was answered, and its branch, or why there is none.
    pub(super) fn finish(
        &mut self,
        interpreter: &mut Interpreter,
    ) -> Option<(RequestId, BranchWish, Result<Interpreter, String>)> {
        let answer = interpreter.handoff_answer()?;
        let (id, wish) = self.asked.take()?;
        let branch = answer.and_then(|process| {
            let branch = match wish {
                BranchWish::Cell { .. } => interpreter.split(process),
                BranchWish::Aside { .. } => interpreter.beside(process),
            };
            branch.ok_or_else(|| "nothing was handed over".to_owned())
        });
        Some((id, wish, branch))
    }

    /// Takes the requests, which get no answer from the interpreter any more.
    pub(super) fn take(&mut self) -> Vec<RequestId> {
        let open = self.asked.take().into_iter();
        let open = open.chain(std::mem::take(&mut self.waiting));
        open.map(|(id, _)| id).collect()
    }
}

/// Returns the terminal of a branch, where a cell may run; keys before its start go to `control`.
pub(super) fn branch_terminal(
    front: &CellPty,
    branch: &Interpreter,
    control: &Arc<Control>,
    runs: bool,
) -> Arc<CellPty> {
    let keys = Arc::clone(control) as _;
    let pty = CellPty::new(front.size(), SuspendKey::Disabled, keys);
    if let Some(master) = branch.terminal() {
        pty.install(master, runs);
    }
    Arc::new(pty)
}
