//! What the loop does once a command's wait is over, as values; the futures that wait hold nothing of the session.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::pin::Pin;

use serde_json::Value;

use crate::Submission;
use crate::cell::CellOrigin;
use crate::dialog::Dialog;
use crate::editor::EditorRequest;
use crate::events::{Notice, SessionEvent};
use crate::record::{RecordedCell, SessionTail, SwitchedSession};
use crate::replay::{Replay, ReplayPurpose};
use crate::runtime::{Execute, SavedVariables};
use crate::runtimes::RuntimeRole;
use crate::undo::{SteppedLines, UndoRequest};
use crate::workbook::{EditedCell, OpenWorkbook};

pub(crate) enum Effect {
    Emit(SessionEvent),
    RequestEditor(EditorRequest),
    /// Hides entries from the conversation, or restores them.
    Hide {
        lines: RangeInclusive<u32>,
        hidden: bool,
    },
    Stepped(Box<StepResult>),
    Undo(UndoRequest),
    /// As `Undo`, where the interpreter can step back over the cells: asks the user about that.
    OfferStepBack(UndoRequest),
    /// Sends a prompt again, in place of the exchange at `line` if there is one.
    Resend {
        line: Option<u32>,
        text: String,
    },
    /// Begins a prompt that replaces earlier entries.
    BeginInput(Box<Submission>),
    /// Lists the skills; the dialog tells which the conversation holds.
    ListSkills(Box<Dialog>),
    /// Puts a written setting into force, if that is possible before the next start.
    ApplySetting {
        name: &'static str,
        value: Value,
    },
    /// Stores the value of one of the agent's own options.
    OptionChosen {
        option: String,
        value: String,
    },
    /// Runs a recorded cell; when it fails and `stops` is set, queued inputs are not run.
    RunCell {
        role: RuntimeRole,
        execute: Box<Execute>,
        origin: CellOrigin,
        stops: bool,
    },
    /// Runs these steps; `last_code` is the session's last line of code.
    Replay {
        replay: Replay,
        last_code: u32,
        purpose: ReplayPurpose,
    },
    OpenNotebook(Box<OpenWorkbook>),
    EditCell(EditedCell),
    /// Runs the start-up files, the project's only if the user agrees.
    SetUp,
    /// Offers the user the variables in this file.
    OfferVariables {
        kept: SavedVariables,
        file: PathBuf,
    },
    SwitchSession(Box<(SwitchedSession, Option<SessionTail>)>),
    /// Reports which names of these cells the interpreter lacks; with `beside`, outside of the queue.
    FindMissingNames {
        cells: Vec<RecordedCell>,
        beside: bool,
    },
}

#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) over: SteppedLines,
    pub(crate) back: bool,
}

pub(crate) type EffectsFuture = Pin<Box<dyn Future<Output = Vec<Effect>> + Send>>;

pub(crate) fn emit(event: impl Into<SessionEvent>) -> Vec<Effect> {
    vec![Effect::Emit(event.into())]
}

pub(crate) fn warn(message: impl Into<String>) -> Vec<Effect> {
    emit(Notice::warning(message))
}
