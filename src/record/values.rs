//! Values that go into the record and come out of it.
//!
//! Absent on purpose: their rows in the file.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Map, Value};

use crate::agent::Usage;
use crate::dialog::Expansion;
use crate::output::mime::MimeBundle;

/// Where the record is kept.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The file; its directory is made when missing.
    pub path: PathBuf,
    /// The user named it: what is there and is no record stays as it is.
    pub named: bool,
    /// False: in memory only, no file is touched.
    pub record: bool,
    /// The log (`-wal`) stays beside the file at the end, so that ending waits for no sync of the disk; whoever opens
    /// the file next brings it in, or the first such end after it has grown. Nothing is lost without it being brought
    /// in. And nobody looks back.
    pub leave_log: bool,
}

/// How the session begins.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    /// Its working directory.
    pub cwd: String,
    /// The session to go on with.
    pub resume: Option<i64>,
    /// Name of the agent.
    pub provider: String,
    /// It is one command line or one text, and nobody goes on with it: it is listed among all sessions alone.
    pub once: bool,
}

/// The session as it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    /// Its number; 0 while the file cannot be written yet.
    pub number: i64,
    /// The first In number that is free.
    pub next_line: u32,
    /// It was there before.
    pub resumed: bool,
    /// It is kept in a file.
    pub recorded: bool,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellStatus {
    /// As it should.
    Complete,
    /// Interrupted.
    Cancelled,
    /// It raised, or the interpreter died.
    Failed,
}

impl CellStatus {
    /// As the column `state` has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            CellStatus::Complete => "complete",
            CellStatus::Cancelled => "cancelled",
            CellStatus::Failed => "failed",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedOutcome {
    /// As it should.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// By an error: it is not part of the conversation.
    Failed,
}

/// Names a turn between its begin and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnKey(pub(super) u64);

/// One line of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its number.
    pub id: i64,
    /// Local time, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    /// Local time of its end; `None` while it runs or when it was cut off.
    pub end: Option<String>,
    /// Inputs recorded.
    pub commands: u32,
    /// Its last prompt; empty when there is none.
    pub last_prompt: String,
    /// As named by the user.
    pub name: Option<String>,
    /// Working directory.
    pub cwd: String,
    /// Its first prompt, up to 2,000 characters; empty when there is none.
    pub first_prompt: String,
    /// Its last input of any kind, up to 2,000 characters.
    pub last_input: String,
    /// It was one command line or one text.
    pub once: bool,
}

/// An agent thread that holds the conversation, and the digest of what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedThread {
    /// The agent's id of it.
    pub id: String,
    /// [`ThreadDigest::hex`](crate::agent::ThreadDigest::hex) of its content.
    pub digest: String,
}

/// A prompt as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptStart {
    /// Its own In number.
    pub line: u32,
    /// The last code line before it; 0 without any.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// What it refers to, as sent.
    pub expansion: Expansion,
    /// In numbers that leave the conversation once this prompt is part of it; not when its turn fails.
    pub replaces: Option<RangeInclusive<u32>>,
}

impl PromptStart {
    /// A prompt that refers to nothing and replaces nothing.
    pub fn new(line: u32, history_line: u32, prompt: impl Into<String>) -> Self {
        PromptStart {
            line,
            history_line,
            prompt: prompt.into(),
            ..PromptStart::default()
        }
    }
}

/// A turn as it is in the record, failed ones too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// The prompt's In number.
    pub line: u32,
    /// Tokens, when the agent told.
    pub usage: Option<Usage>,
}

/// A rich form of an output, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredBundle {
    /// MIME type to data, a JSON object.
    pub(super) json: String,
    /// There is a picture in it that can be sent.
    pub(super) has_picture: bool,
}

/// The MIME type under which the metadata of a bundle is stored; other readers see one more form.
const METADATA: &str = "application/vnd.ipycodex.metadata+json";

impl StoredBundle {
    pub(super) fn from_mime(bundle: &MimeBundle) -> Self {
        let map = bundle
            .iter()
            .map(|(mime, data)| (mime.to_owned(), data.clone()));
        let mut map: Map<String, Value> = map.collect();
        if !bundle.metadata().is_empty() {
            map.insert(METADATA.into(), bundle.metadata().clone().into());
        }
        StoredBundle {
            json: Value::Object(map).to_string(),
            has_picture: bundle.image().is_some(),
        }
    }

    /// Reads what [`StoredBundle::from_mime`] wrote.
    pub(super) fn parse(json: &str) -> Option<MimeBundle> {
        let mut map: Map<String, Value> = serde_json::from_str(json).ok()?;
        let metadata = match map.remove(METADATA) {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        Some(MimeBundle::new(map.into_iter().collect()).with_metadata(metadata))
    }

    /// The bundle of a picture given as a `data:` URL.
    pub(super) fn from_data_url(url: &str) -> Option<Self> {
        let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        let entry = (mime.to_owned(), Value::String(data.to_owned()));
        Some(StoredBundle {
            json: Value::Object(Map::from_iter([entry])).to_string(),
            has_picture: true,
        })
    }

    /// Its size in bytes when there is a picture in it.
    pub(super) fn picture_bytes(&self) -> Option<i64> {
        let bytes = i64::try_from(self.json.len()).unwrap_or(i64::MAX);
        self.has_picture.then_some(bytes)
    }
}

/// What the user decided when asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDecision {
    /// In number of the prompt it was asked in; 0: none.
    pub line: u32,
    /// When it was asked.
    pub asked_at: SystemTime,
    /// What kind of question: `command`, `cells`, ….
    pub kind: String,
    /// What it was about.
    pub subject: String,
    /// `once`, `session`, `no`, ….
    pub decision: String,
}

/// A session that was taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedSession {
    /// Where it goes on.
    pub start: SessionStart,
    /// The agent's thread that holds it.
    pub thread: Option<RecordedThread>,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTail {
    /// Its number.
    pub session: i64,
    /// As named by the user.
    pub name: Option<String>,
    /// Local time it began, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    /// Its working directory.
    pub cwd: String,
    /// The agent chosen last in it.
    pub provider: String,
    /// Cells in all.
    pub cells: u32,
    /// Exchanges in all.
    pub prompts: u32,
    /// The last entries, oldest first; commands are not among them.
    pub entries: Vec<TailEntry>,
}

/// An input and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEntry {
    /// Its In number.
    pub line: u32,
    /// As typed; a prompt with its dot.
    pub source: String,
    /// What the cell showed, as plain text, or the start of it; the stored answer of a prompt.
    pub shown: String,
    /// Bytes of `shown` that are the cell's value.
    pub value: Option<Range<usize>>,
    /// The answer of the agent.
    pub is_answer: bool,
    /// Taken out of the conversation.
    pub hidden: bool,
}

/// A cell of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCell {
    /// Its In number.
    pub line: u32,
    /// As typed.
    pub source: String,
    /// It ended without error.
    pub succeeded: bool,
    /// The interpreter has stepped back over it since.
    pub stepped_over: bool,
}
