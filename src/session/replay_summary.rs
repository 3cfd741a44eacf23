//! How a replay ended, and its notice.

use crate::notice::Notice;

/// Why a replay ended before its last step; `line` is the In number of the step it ended at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStop {
    Failed {
        line: u32,
        /// `Name: value`.
        error: String,
    },
    Interrupted {
        /// In number of the running cell.
        line: u32,
    },
    Died {
        /// In number of the running cell.
        line: u32,
    },
}

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySummary {
    pub name: String,
    /// Steps that succeeded.
    pub ran: usize,
    pub skipped: usize,
    pub of: usize,
    /// Why some steps did not run.
    pub stopped: Option<ReplayStop>,
    /// First and last In number of the recorded cells that did not run.
    pub rest: Option<(u32, u32)>,
}

impl ReplaySummary {
    pub fn notice(&self) -> Notice {
        let mut parts = vec![match (self.ran, self.of) {
            (ran, of) if ran == of => format!("{}: {ran} replayed", self.name),
            (ran, of) => format!("{}: {ran} of {of} replayed", self.name),
        }];
        if self.skipped > 0 {
            parts.push(format!("{} skipped", self.skipped));
        }
        let Some(stopped) = &self.stopped else {
            return Notice::note(parts.join(", "));
        };
        parts.push(match stopped {
            ReplayStop::Failed { line, error } => format!("stopped at In [{line}] ({error})"),
            ReplayStop::Interrupted { line } => format!("stopped by you at In [{line}]"),
            ReplayStop::Died { line } => {
                format!("stopped at In [{line}] (the interpreter ended)")
            }
        });
        let left = self.of.saturating_sub(self.ran + self.skipped + 1);
        if left > 0 {
            parts.push(format!("{left} more not run"));
        }
        let notice = Notice::warning(parts.join(", "));
        match self.rest {
            Some((from, to)) if from == to => {
                notice.hint(format!("`%ipycodex replay {from}` runs the last one"))
            }
            Some((from, to)) => {
                notice.hint(format!("`%ipycodex replay {from}-{to}` goes on after it"))
            }
            None => notice,
        }
    }
}
