//! What is done in the loop once what a command waited for is there: values. Nothing that waits holds the session.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::pin::Pin;

use serde_json::Value;

use crate::dialog::Dialog;
use crate::history::{Earlier, RecordedCell, TakenUp};
use crate::runtime::{Execute, KeptVariables};
use crate::session::Submission;
use crate::session::cell::Whose;
use crate::session::editor::EditorWish;
use crate::session::events::{Notice, SessionEvent};
use crate::session::replay::{Purpose, Replay};
use crate::session::runtimes::Role;
use crate::session::taken_back::{Over, TakenBack};
use crate::session::workbook::{BroughtCell, OpenWorkbook};

/// One thing to be done.
pub(in crate::session) enum Deed {
    /// The front-end is told.
    Tell(SessionEvent),
    /// The editor, if there is one, grants it.
    Wish(EditorWish),
    /// Entries leave the conversation, or come back.
    Hide {
        lines: RangeInclusive<u32>,
        hidden: bool,
    },
    /// The interpreter has stepped.
    Moved(Box<Moved>),
    /// An exchange that has run cells is taken back.
    TakeBack(TakenBack),
    /// The same; the interpreter could step back over them.
    OfferStep(TakenBack),
    /// A prompt is sent again, in place of the exchange at `line`, if there is one.
    SendAgain { line: Option<u32>, text: String },
    /// A prompt is sent that replaces what came before it.
    Begin(Box<Submission>),
    /// The skills are listed, as far as the conversation holds them.
    ListSkills(Box<Dialog>),
    /// A setting that was written is in force, if it can be before the next start.
    PutIntoForce { name: &'static str, value: Value },
    /// An option of the agent's own has this value.
    Chosen { option: String, value: String },
    /// A cell that is recorded runs; when it fails and `stops`, what waits is not run.
    RunCell {
        role: Role,
        execute: Box<Execute>,
        whose: Whose,
        stops: bool,
    },
    /// Steps run; the last line of the session that is code is `last_code`.
    Replay {
        replay: Replay,
        last_code: u32,
        purpose: Purpose,
    },
    /// This notebook is worked on in place.
    OpenNotebook(Box<OpenWorkbook>),
    /// The next cell is this one of the open notebook.
    BringCell(BroughtCell),
    /// What users have done before their first input is done, with what a project wants if they agree.
    SetUp,
    /// Variables that this file has are offered to the user.
    OfferVariables { kept: KeptVariables, file: PathBuf },
    /// Another session is gone on with.
    TakeUp(Box<(TakenUp, Option<Earlier>)>),
    /// The user is told which names of these cells the interpreter lacks; `beside`: nobody waits for it.
    FindGone {
        cells: Vec<RecordedCell>,
        beside: bool,
    },
}

/// What a step did beside the interpreter, to be done in the loop.
#[derive(Debug)]
pub(in crate::session) struct Moved {
    /// The interpreter's directory.
    pub(super) cwd: Option<PathBuf>,
    /// The cells that were stepped over, back or forward.
    pub(super) over: Over,
    pub(super) back: bool,
}

/// What is still to be found out before it is known.
pub(super) type Later = Pin<Box<dyn Future<Output = Vec<Deed>> + Send>>;

/// Only this is told.
pub(in crate::session) fn tell(event: impl Into<SessionEvent>) -> Vec<Deed> {
    vec![Deed::Tell(event.into())]
}

/// The user is warned.
pub(in crate::session) fn warn(message: impl Into<String>) -> Vec<Deed> {
    tell(Notice::warning(message))
}
