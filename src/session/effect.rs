//! What the loop does once a command's wait is over, as values; the futures that wait hold nothing of the session.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::pin::Pin;

use serde_json::Value;

use crate::dialog::Dialog;
use crate::record::{RecordedCell, SessionTail, SwitchedSession};
use crate::runtime::{Execute, SavedVariables};
use crate::session::Submission;
use crate::session::cell::CellOrigin;
use crate::session::editor::EditorRequest;
use crate::session::events::{Notice, SessionEvent};
use crate::session::replay::{Replay, ReplayPurpose};
use crate::session::runtimes::RuntimeRole;
use crate::session::undo::{SteppedLines, UndoRequest};
use crate::session::workbook::{EditedCell, OpenWorkbook};

pub(in crate::session) enum Effect {
    Emit(SessionEvent),
    RequestEditor(EditorRequest),
    /// Entries leave the conversation, or come back.
    Hide {
        lines: RangeInclusive<u32>,
        hidden: bool,
    },
    Stepped(Box<StepResult>),
    /// Undoes an exchange that has run cells.
    Undo(UndoRequest),
    /// The same, where the interpreter can step back over them.
    OfferStepBack(UndoRequest),
    /// A prompt is sent again, in place of the exchange at `line`, if there is one.
    Resend {
        line: Option<u32>,
        text: String,
    },
    /// A prompt is sent that replaces what came before it.
    BeginInput(Box<Submission>),
    /// The skills are listed, as far as the conversation holds them.
    ListSkills(Box<Dialog>),
    /// A setting that was written is in force, if it can be before the next start.
    ApplySetting {
        name: &'static str,
        value: Value,
    },
    /// An option of the agent's own has this value.
    OptionChosen {
        option: String,
        value: String,
    },
    /// A cell that is recorded runs; when it fails and `stops`, what waits is not run.
    RunCell {
        role: RuntimeRole,
        execute: Box<Execute>,
        origin: CellOrigin,
        stops: bool,
    },
    /// Steps run; the last line of the session that is code is `last_code`.
    Replay {
        replay: Replay,
        last_code: u32,
        purpose: ReplayPurpose,
    },
    OpenNotebook(Box<OpenWorkbook>),
    EditCell(EditedCell),
    /// Start-up files run; those of the project if the user agrees.
    SetUp,
    /// Variables that this file has are offered to the user.
    OfferVariables {
        kept: SavedVariables,
        file: PathBuf,
    },
    SwitchSession(Box<(SwitchedSession, Option<SessionTail>)>),
    /// The user is told which names of these cells the interpreter lacks; with `beside`, outside of the queue.
    FindMissingNames {
        cells: Vec<RecordedCell>,
        beside: bool,
    },
}

#[derive(Debug)]
pub(in crate::session) struct StepResult {
    /// The interpreter's directory.
    pub(in crate::session) cwd: Option<PathBuf>,
    /// The cells that were stepped over, back or forward.
    pub(in crate::session) over: SteppedLines,
    pub(in crate::session) back: bool,
}

pub(in crate::session) type EffectsFuture = Pin<Box<dyn Future<Output = Vec<Effect>> + Send>>;

pub(in crate::session) fn emit(event: impl Into<SessionEvent>) -> Vec<Effect> {
    vec![Effect::Emit(event.into())]
}

pub(in crate::session) fn warn(message: impl Into<String>) -> Vec<Effect> {
    emit(Notice::warning(message))
}
