//! The record: one SQLite file in IPython's schema, and one thread that owns it.
//!
//! In: inputs, outputs, turns and decisions when they happen. Out: the dialog of a session, lists of sessions, and
//! reports about the file. Invariants: no call fails its caller or waits for a lock (messages are queued without
//! bound, in order, since a dropped one would lose the user's text); an input is in the file when
//! [`RecordHandle::wait_written`] returns, unless the file is in trouble or slow; a locked or full file is retried
//! with the writes kept in memory, and reported once; a corrupt file is renamed, never overwritten; nothing is
//! deleted except on `reset`.

mod answer_parts;
mod archive;
mod damage;
mod decisions;
mod entries;
mod file;
mod fork;
mod handle;
mod index;
mod inputs;
mod listing;
mod network;
mod openers;
mod pending;
mod pictures;
mod read_only;
mod recall;
mod recall_search;
mod recovery_copy;
mod request;
mod row_map;
mod saved_session;
mod schema;
mod search;
mod sessions;
mod sqlite_error;
mod store;
mod switch;
mod tail;
mod thread;
mod turns;
mod usage;
mod values;

#[cfg(test)]
mod tests;

pub use archive::{Archive, RecordHealth, SessionPreview};
pub use handle::{RecordHandle, open, open_after};
pub use inputs::{InputsQuery, NumberedInput};
pub use listing::{LIST_LIMIT, Scope};
pub use recall::Recall;
pub use recall_search::{InputInfo, RecallSearch, RecordedInput};
pub use search::{HitKind, SearchHit};
pub use values::{
    CellStatus, ForkOrigin, PromptStart, RecordOptions, RecordedCell, RecordedDecision,
    RecordedOutcome, RecordedThread, RecordedThreads, SessionRow, SessionSpec, SessionStart,
    SessionTail, SwitchedSession, TailEntry, TurnKey, TurnRow,
};
