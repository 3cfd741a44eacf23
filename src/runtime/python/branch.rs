//! A hand-over of the prompt under way, and the terminal of the branch that it leaves.
//!
//! Invariant: each request for one gets one answer. Absent on purpose: the descriptors (`ends.rs`), and the thread of
//! the branch (`supervisor.rs`).

use std::sync::Arc;

use super::super::RequestId;
use super::super::terminal::CellPty;
use super::control::Control;
use super::interpreter::Interpreter;
use crate::process::SuspendKey;

/// The ids of requests to a branch begin here: those of the interpreter that it was are lower.
pub(super) const FIRST_ID: u64 = 1 << 40;

/// The request for a hand-over that is not answered yet, and the cell that is to go to the background.
#[derive(Debug, Default)]
pub(super) struct PendingHandoff(Option<(RequestId, RequestId)>);

impl PendingHandoff {
    /// Begins to hand the prompt over, for request `id`: `cell` goes to the background, in the branch with the number
    /// beside it; `current` is the request that runs.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn begin(
        &mut self,
        id: RequestId,
        (cell, branch): (RequestId, u32),
        current: Option<RequestId>,
        terminal: Option<&CellPty>,
        interpreter: &mut Interpreter,
    ) -> Result<(), String> {
        if self.0.is_some() {
            return Err("it is on its way there".to_owned());
        }
        if current != Some(cell) {
            return Err("that cell does not run".to_owned());
        }
        let begun = interpreter.begin_handoff(cell, branch, terminal);
        begun.map_err(|error| error.to_string())?;
        self.0 = Some((id, cell));
        Ok(())
    }

    /// Returns the request, the cell and the branch of a hand-over that was answered, or why there is none.
    pub(super) fn finish(
        &mut self,
        interpreter: &mut Interpreter,
    ) -> Option<(RequestId, RequestId, Result<Interpreter, String>)> {
        let answer = interpreter.handoff_answer()?;
        let (id, cell) = self.0.take()?;
        let split = answer.and_then(|process| {
            let split = interpreter.split(process);
            split.ok_or_else(|| "nothing was handed over".to_owned())
        });
        Some((id, cell, split))
    }

    /// Takes the request, which gets no answer from the interpreter any more.
    pub(super) fn take(&mut self) -> Option<RequestId> {
        self.0.take().map(|(id, _)| id)
    }
}

/// Returns the terminal of a branch, whose cell runs; keys before its start go to `control`.
pub(super) fn branch_terminal(
    front: &CellPty,
    branch: &Interpreter,
    control: &Arc<Control>,
) -> Arc<CellPty> {
    let keys = Arc::clone(control) as _;
    let pty = CellPty::new(front.size(), SuspendKey::Disabled, keys);
    if let Some(master) = branch.terminal() {
        pty.install(master, true);
    }
    Arc::new(pty)
}
