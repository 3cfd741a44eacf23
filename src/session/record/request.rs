//! Requests to the thread of the record: writes, and queries with a channel for the reply.
//!
//! Absent on purpose: their handling (`thread`, `store`).

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::inputs::{InputsQuery, NumberedInput};
use super::values::{
    CellStatus, ForkOrigin, PromptStart, RecordedCell, RecordedDecision, RecordedOutcome,
    RecordedThread, RecordedThreads, SessionRow, SessionStart, SessionTail, StoredBundle,
    SwitchTarget, SwitchedSession, TurnKey, TurnRow,
};
use crate::agent::Usage;
use crate::dialog::Dialog;
use crate::notebook::SavedSession;
use crate::text::report::Report;

/// A change of the record, kept until it is written.
#[derive(Debug, Clone)]
pub(super) enum RecordWrite {
    Input {
        line: u32,
        source: String,
        raw: String,
        /// The shell's name, for a command of the persistent shell.
        shell: Option<String>,
        at: SystemTime,
    },
    ShellExit {
        line: u32,
        exit: i32,
    },
    Output {
        line: u32,
        text: String,
        bundles: Vec<StoredBundle>,
        /// `Layout::to_json`.
        layout: String,
        state: CellStatus,
        execution_ms: u64,
    },
    BeginTurn {
        key: TurnKey,
        start: Box<PromptStart>,
    },
    /// The answer from byte `at` on.
    Stream {
        key: TurnKey,
        at: usize,
        text: String,
    },
    FinishTurn {
        key: TurnKey,
        outcome: RecordedOutcome,
        response: String,
        usage: Option<Usage>,
    },
    Thread {
        thread: Option<RecordedThread>,
        provider: String,
    },
    /// The answer to the prompt at `prompt` contains the cell at `line` with its output.
    InAnswer {
        line: u32,
        prompt: u32,
    },
    Decision(RecordedDecision),
    Hide {
        lines: RangeInclusive<u32>,
        hidden: bool,
    },
    /// The interpreter stepped back over these cells, or forward again; `None`: they are of the current session.
    StepOver {
        session: Option<i64>,
        lines: Vec<u32>,
        over: bool,
    },
    Rename(String),
    Reset,
}

pub(super) enum StoreRequest {
    Write(RecordWrite),
    Session(oneshot::Sender<Result<SessionStart, Report>>),
    Dialog(oneshot::Sender<Dialog>),
    Tail {
        most: u32,
        reply: oneshot::Sender<Option<SessionTail>>,
    },
    Cells(oneshot::Sender<Vec<RecordedCell>>),
    Inputs(InputsQuery, oneshot::Sender<Vec<NumberedInput>>),
    Saved(oneshot::Sender<SavedSession>),
    SwitchSession {
        target: SwitchTarget,
        reply: oneshot::Sender<Result<SwitchedSession, Report>>,
    },
    Turns(oneshot::Sender<Vec<TurnRow>>),
    Threads(oneshot::Sender<RecordedThreads>),
    Sessions {
        cwd: PathBuf,
        all: bool,
        reply: oneshot::Sender<Vec<SessionRow>>,
    },
    Reset(oneshot::Sender<usize>),
    /// What a fork of this session before an In number begins with; `None` while that is not in the file.
    ForkOrigin(u32, oneshot::Sender<Option<ForkOrigin>>),
    Flush(oneshot::Sender<()>),
    /// Replied to once all earlier requests have been attempted.
    Attempted(oneshot::Sender<()>),
    Close,
}
