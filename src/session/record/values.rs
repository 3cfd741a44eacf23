//! Values that the record takes and returns.
//!
//! Absent on purpose: their rows in the file.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Map, Value};

use crate::agent::Usage;
use crate::dialog::Expansion;
use crate::output::mime::MimeBundle;

#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The file; its directory is created when missing.
    pub path: PathBuf,
    /// The user named the path: an existing file that is not a record is left as it is.
    pub named: bool,
    /// False: in memory only, no file is touched.
    pub record: bool,
    /// Leaves the log (`-wal`) beside the file at the end, so that the end waits for no sync of the disk; the next
    /// process that opens the file checkpoints it, or the first such end after it has grown. No data is lost without
    /// the checkpoint. Also turns recall off.
    pub leave_log: bool,
}

#[derive(Debug, Clone)]
pub struct SessionSpec {
    pub cwd: String,
    pub resume: Option<i64>,
    /// A new session begins with copies of another one's entries.
    pub fork: Option<ForkOrigin>,
    /// The name of the agent.
    pub provider: String,
    /// The session is one command line or one text and is not resumed: only the list of all sessions shows it.
    pub once: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    /// The number; 0 while the file cannot be written yet.
    pub number: i64,
    /// The first In number that is free.
    pub next_line: u32,
    pub resumed: bool,
    /// The session is kept in a file.
    pub recorded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellStatus {
    Complete,
    Cancelled,
    /// The cell raised, or the interpreter died.
    Failed,
}

impl CellStatus {
    /// The value of the column `state`.
    pub(super) fn name(self) -> &'static str {
        match self {
            CellStatus::Complete => "complete",
            CellStatus::Cancelled => "cancelled",
            CellStatus::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedOutcome {
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// An error: the turn is not part of the conversation.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnKey(pub(super) u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: i64,
    /// Local time, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    /// Local time of the end; `None` while the session runs or when it was cut off.
    pub end: Option<String>,
    pub commands: u32,
    /// The last prompt; empty without any.
    pub last_prompt: String,
    pub name: Option<String>,
    pub cwd: String,
    /// The first prompt, up to 2,000 characters; empty without any.
    pub first_prompt: String,
    /// The last input of any kind, up to 2,000 characters.
    pub last_input: String,
    /// The session was one command line or one text.
    pub once: bool,
    /// The session it was forked from.
    pub fork: Option<ForkOrigin>,
}

/// Where a session was forked from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkOrigin {
    /// The other session, which may have been deleted since.
    pub parent: i64,
    /// In number of the first entry that was not taken along.
    pub before: u32,
}

/// An agent's thread that holds the conversation, and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedThread {
    /// The agent's id of the thread.
    pub id: String,
    /// [`ThreadDigest::hex`](crate::agent::ThreadDigest::hex) of its content.
    pub digest: String,
    /// The agent's id of the place in the thread that ends this content, where it can fork the thread there.
    pub point: Option<String>,
}

/// What the record knows of an agent's threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedThreads {
    /// The one that holds the conversation.
    pub current: Option<RecordedThread>,
    /// Places that hold earlier states of it. Without a point: the end of a thread of another session.
    pub points: Vec<RecordedThread>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptStart {
    /// The In number.
    pub line: u32,
    /// The last code line before it; 0 without any.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    pub expansion: Expansion,
    /// In numbers that leave the conversation once this prompt is part of it; not when its turn fails.
    pub replaces: Option<RangeInclusive<u32>>,
}

impl PromptStart {
    pub fn new(line: u32, history_line: u32, prompt: impl Into<String>) -> Self {
        PromptStart {
            line,
            history_line,
            prompt: prompt.into(),
            ..PromptStart::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    pub line: u32,
    /// Tokens, when the agent reported them.
    pub usage: Option<Usage>,
}

/// A rich format of an output in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredBundle {
    /// MIME type to data, a JSON object.
    pub(super) json: String,
    /// The bundle contains a picture that can be sent.
    pub(super) has_picture: bool,
}

/// The MIME type under which the metadata of a bundle is stored; other readers see one more format.
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

    pub(super) fn parse(json: &str) -> Option<MimeBundle> {
        let mut map: Map<String, Value> = serde_json::from_str(json).ok()?;
        let metadata = match map.remove(METADATA) {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        Some(MimeBundle::new(map.into_iter().collect()).with_metadata(metadata))
    }

    pub(super) fn from_data_url(url: &str) -> Option<Self> {
        let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        let entry = (mime.to_owned(), Value::String(data.to_owned()));
        Some(StoredBundle {
            json: Value::Object(Map::from_iter([entry])).to_string(),
            has_picture: true,
        })
    }

    /// The size of its picture in bytes, if there is one.
    pub(super) fn picture_bytes(&self) -> Option<i64> {
        let bytes = i64::try_from(self.json.len()).unwrap_or(i64::MAX);
        self.has_picture.then_some(bytes)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDecision {
    /// In number of the prompt that asked; 0: none.
    pub line: u32,
    pub asked_at: SystemTime,
    /// The kind of question: `command`, `cells`, ….
    pub kind: String,
    /// The text that was asked about.
    pub subject: String,
    /// `once`, `session`, `no`, ….
    pub decision: String,
}

/// The session to go on in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SwitchTarget {
    New,
    /// The one with this number or name.
    Known(String),
    /// A new one that holds the entries of this one below the In number.
    Fork(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedSession {
    /// The session that was left, unless it was empty and is gone.
    pub left: Option<i64>,
    pub start: SessionStart,
    /// In number before which it was forked from the session that was left; `None`: it is no fork of that.
    pub forked_at: Option<u32>,
    pub threads: RecordedThreads,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTail {
    pub session: i64,
    pub name: Option<String>,
    /// Local time of its start, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    pub cwd: String,
    pub provider: String,
    /// The number of all cells.
    pub cells: u32,
    /// The number of all prompts with answers.
    pub prompts: u32,
    /// The last entries, oldest first, without commands.
    pub entries: Vec<TailEntry>,
}

/// An input and its output or answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEntry {
    /// The In number.
    pub line: u32,
    /// As typed; a prompt with its dot.
    pub source: String,
    /// The output of the cell as plain text, or the start of it; for a prompt, the stored answer.
    pub shown: String,
    /// Bytes of `shown` that are the cell's value.
    pub value: Option<Range<usize>>,
    /// `shown` is an answer of the agent.
    pub is_answer: bool,
    /// Hidden from the conversation.
    pub hidden: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCell {
    /// The In number.
    pub line: u32,
    pub source: String,
    pub succeeded: bool,
    pub stepped_over: bool,
}
