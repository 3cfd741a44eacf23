//! The open record: opens the file, begins the session, writes the pending queue and handles errors.
//!
//! Invariant: a write leaves the queue only when it is in the file, or can never be; each error is reported once
//! until it is over: a lock after five seconds, all others at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::mpsc::UnboundedSender;

use super::answer_parts::StreamedAnswers;
use super::file::{self, OpenError};
use super::network::{self, NumberedWrites};
use super::pending::PendingWrites;
use super::recall::{self, Recall};
use super::recall_search::RecallSource;
use super::request::RecordWrite;
use super::row_map::RowMap;
use super::values::{RecordOptions, SessionSpec, SessionStart};
use super::{damage, entries, index, listing, sessions, sqlite_error};
use crate::text::report::Report;
use crate::text::trace::STARTUP;

/// Pending writes per transaction.
const BATCH: usize = 256;

/// How long a lock lasts before it is reported; also the wait where the file is required.
pub(super) const LONG_WAIT: Duration = Duration::from_secs(5);

pub(super) struct SharedState {
    pub(super) recall: Recall,
    pub(super) streamed: StreamedAnswers,
    pub(super) is_stuck: Arc<AtomicBool>,
    pub(super) is_opened: Arc<AtomicBool>,
}

pub(super) struct Store {
    pub(super) opening: RecordOptions,
    pub(super) begin: SessionSpec,
    pub(super) reports: UnboundedSender<Report>,
    pub(super) shared: SharedState,
    pub(super) db: Option<Connection>,
    /// Device and inode of the open file.
    pub(super) identity: Option<(u64, u64)>,
    pub(super) session: Option<SessionStart>,
    pub(super) refused: Option<Report>,
    pub(super) rows: RowMap,
    /// `BeginTurn` of the running turns, to be written again to a new file.
    pub(super) running_turns: Vec<RecordWrite>,
    pub(super) pending: PendingWrites,
    /// Since when another program holds the file.
    pub(super) locked_since: Option<Instant>,
    pub(super) trouble_reported: bool,
    pub(super) last_attempt: Instant,
    /// The inputs for recall have been read, or are not needed.
    pub(super) recall_loaded: bool,
    /// The index may lack rows; a run that ends at once leaves them to later runs.
    pub(super) index_incomplete: bool,
    /// The last row of `history` when the file was opened; rows of this process come later.
    pub(super) newest: i64,
    /// The caller has read line numbers of the file; its writes refer to those.
    pub(super) numbers_known: bool,
    /// The log holds pages that are not in the file yet.
    pub(super) log_is_ahead: bool,
    /// Where machines share the file.
    shared_writes: Option<NumberedWrites>,
}

impl Store {
    pub(super) fn new(
        opening: RecordOptions,
        begin: SessionSpec,
        reports: UnboundedSender<Report>,
        shared: SharedState,
    ) -> Self {
        Store {
            db: None,
            identity: None,
            session: None,
            refused: None,
            rows: RowMap::default(),
            running_turns: Vec::new(),
            pending: PendingWrites::default(),
            locked_since: None,
            trouble_reported: false,
            last_attempt: Instant::now(),
            // A run without an editor has no recall.
            recall_loaded: opening.leave_log,
            index_incomplete: opening.record && !opening.leave_log,
            newest: 0,
            numbers_known: false,
            log_is_ahead: false,
            shared_writes: None,
            opening,
            begin,
            reports,
            shared,
        }
    }

    pub(super) fn is_failing(&self) -> bool {
        self.session.is_none() || self.locked_since.is_some() || self.trouble_reported
    }

    pub(super) fn read<T>(
        &mut self,
        otherwise: T,
        query: impl FnOnce(&Connection, i64) -> rusqlite::Result<T>,
    ) -> T {
        let number = self.session.as_ref().map_or(0, |session| session.number);
        match self.db.as_ref().map(|db| query(db, number)) {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                self.on_error(&error);
                otherwise
            }
            None => otherwise,
        }
    }

    /// One attempt to open the file, begin the session and write the queue.
    pub(super) fn advance(&mut self, patience: Duration) {
        self.attempt(patience);
        self.last_attempt = Instant::now();
        self.shared
            .is_stuck
            .store(self.is_failing(), Ordering::Relaxed);
        self.shared.is_opened.store(true, Ordering::Relaxed);
    }

    fn attempt(&mut self, patience: Duration) {
        if self.refused.is_some() {
            return;
        }
        if self.identity.is_some() && file::identity(&self.opening.path) != self.identity {
            self.report(Report::failure(format!(
                "`{}` was deleted or replaced: recording continues there in a new session",
                self.opening.path.display()
            )));
            self.abandon();
        }
        if self.locked_since.is_some() && self.opening.record {
            // The lock may be one of ours that the system did not give back: it goes with the connection.
            self.db = None;
        }
        if self.db.is_none() && !self.connect(patience) {
            return;
        }
        if let Some(db) = &self.db
            && let Err(error) = db.busy_timeout(patience)
        {
            return self.on_error(&error);
        }
        if self.session.is_none() && !self.begin_session() {
            return;
        }
        if self.write_all() {
            self.locked_since = None;
            if std::mem::take(&mut self.trouble_reported) {
                self.report(Report::failure("history is being saved again"));
            }
        }
    }

    /// Writes the queue; false when the file takes no more for now.
    fn write_all(&mut self) -> bool {
        let mut batch = BATCH;
        while !self.pending.is_empty() {
            if !self.is_written_alone() {
                return false;
            }
            let next = self.shared_writes.as_ref().map(NumberedWrites::next);
            let (Some(db), Some(session)) = (&mut self.db, &self.session) else {
                return false;
            };
            let entries = self.pending.oldest(batch);
            let count = entries.len();
            match entries::write(db, session.number, next.as_ref(), &mut self.rows, entries) {
                Ok(()) => {
                    self.log_is_ahead = true;
                    self.shared_writes = next;
                    (0..count).for_each(|_| self.on_written());
                }
                // Retries one by one, to find the write that can never succeed.
                Err(error) if count > 1 && is_permanent(&error) => batch = 1,
                Err(error) => {
                    self.on_error(&error);
                    if !is_permanent(&error) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// False when another machine has written over our last write: its file system's locks do not hold, and the file is
    /// left to it.
    pub(super) fn is_written_alone(&mut self) -> bool {
        let path = &self.opening.path;
        let writes = self.shared_writes.as_ref();
        if writes.is_none_or(|writes| writes.are_kept(path)) {
            return true;
        }
        let why = Report::failure(format!(
            "another machine has written over entries in `{}`: the locks of its file system do not hold",
            path.display()
        ));
        self.keep_in_memory(why.hint("name a file on this machine with --hist-file"));
        self.abandon();
        false
    }

    /// Ends the session, unless the file is lost.
    pub(super) fn end_session(&mut self) {
        if !self.is_written_alone() {
            return;
        }
        let (Some(db), Some(session)) = (&mut self.db, &self.session) else {
            return;
        };
        let ended = sessions::end(db, session.number);
        let writes = self.shared_writes.as_ref();
        if let Err(error) = ended.and_then(|()| writes.map_or(Ok(()), |writes| writes.end(db))) {
            self.on_error(&error);
        }
    }

    fn on_written(&mut self) {
        match self.pending.pop() {
            Some(begin @ RecordWrite::BeginTurn { .. }) => self.running_turns.push(begin),
            Some(RecordWrite::FinishTurn { key, .. }) => self.running_turns.retain(
                |begin| !matches!(begin, RecordWrite::BeginTurn { key: k, .. } if *k == key),
            ),
            _ => {}
        }
    }

    fn connect(&mut self, patience: Duration) -> bool {
        let opened = if self.opening.record {
            let reports = self.reports.clone();
            file::open(&self.opening, patience, &mut |report| {
                drop(reports.send(report));
            })
        } else if self.begin.resume.is_some() {
            Err(OpenError::Unusable(Report::failure(
                "this run is not recorded (`--no-record`), so no session can be resumed",
            )))
        } else {
            Ok(file::open_in_memory())
        };
        match opened {
            Ok(db) => {
                log::trace!(target: STARTUP, "the record is open");
                if self.opening.record {
                    self.identity = file::identity(&self.opening.path);
                    if self.shared_writes.is_none() && network::is_shared(&self.opening.path) {
                        self.shared_writes = NumberedWrites::begin(&db).ok();
                    }
                }
                if !self.recall_loaded {
                    let newest = "SELECT coalesce(max(rowid), 0) FROM history";
                    self.newest = db.query_row(newest, [], |row| row.get(0)).unwrap_or(0);
                }
                self.db = Some(db);
                true
            }
            Err(OpenError::Locked(report)) => {
                self.on_locked(report);
                false
            }
            Err(OpenError::Retry(report)) => {
                self.report_once(report);
                false
            }
            // What was written there is still this session's.
            Err(OpenError::Unusable(report)) if self.session.is_some() => {
                self.report_once(report);
                false
            }
            Err(OpenError::Unusable(report)) => match self.begin.resume {
                Some(number) => {
                    let mut refused =
                        Report::failure(format!("session {number} cannot be resumed"));
                    refused.causes.push(report.message);
                    refused.causes.extend(report.causes);
                    refused.hints = report.hints;
                    self.refused = Some(refused);
                    false
                }
                None => {
                    self.keep_in_memory(report);
                    self.db = Some(file::open_in_memory());
                    true
                }
            },
        }
    }

    /// Stops recording: from here on no file is touched.
    fn keep_in_memory(&mut self, mut why: Report) {
        why.message = format!("history is kept in memory only: {}", why.message);
        self.report(why);
        self.opening.record = false;
        // Nothing will be saved again.
        self.trouble_reported = false;
    }

    fn begin_session(&mut self) -> bool {
        let Some(db) = &mut self.db else {
            return false;
        };
        match sessions::begin(db, &self.begin) {
            Ok(Some((mut start, others))) => {
                start.recorded = self.opening.record;
                self.report_other_openers(start.number, &others);
                self.session = Some(start);
                true
            }
            Ok(None) => {
                let number = self.begin.resume.unwrap_or_default();
                self.refused = Some(
                    Report::failure(format!("Session {number} not found"))
                        .hint("`ipycodex sessions --all` lists what can be resumed"),
                );
                false
            }
            Err(error) => {
                self.on_error(&error);
                false
            }
        }
    }

    /// Reports the other processes that have the session open, and the consequences.
    pub(super) fn report_other_openers(&self, session: i64, others: &[u32]) {
        let processes: Vec<String> = others.iter().map(u32::to_string).collect();
        let process = match processes.len() {
            0 => return,
            1 => "process",
            _ => "processes",
        };
        self.report(
            Report::failure(format!(
                "session {session} is open in another ipycodex ({process} {})",
                processes.join(", ")
            ))
            .hint(
                "both write to it and nothing is lost, but an input may get a higher number in the record than on the \
                 screen",
            ),
        );
    }

    pub(super) fn load_recall(&mut self) {
        self.recall_loaded = true;
        let (newest, cwd) = (self.newest, self.begin.cwd.clone());
        let found = self.read(Vec::new(), |db, session| {
            recall::earlier(db, session, &cwd, newest)
        });
        let source = self.identity.map(|_| RecallSource {
            path: self.opening.path.clone(),
            cwd,
            newest,
        });
        self.shared.recall.load(found, source);
    }

    pub(super) fn index_next(&mut self) -> bool {
        let Some(db) = &mut self.db else { return false };
        // A file that is locked or full: the next start continues.
        let more =
            listing::index_directories(db).and_then(|more| Ok(more || index::index_next(db)?));
        self.log_is_ahead |= more.is_ok();
        more.unwrap_or(false)
    }

    pub(super) fn on_error(&mut self, error: &rusqlite::Error) {
        if sqlite_error::is_corrupt(error) && self.opening.record {
            // Its session goes on if the file turns out to be sound.
            self.db = None;
            let opening = &self.opening;
            if !damage::is_damaged(&opening.path) {
                return self.report_once(file::delay_report(&opening.path, &damage::unreadable()));
            }
            let set_aside = if damage::may_set_aside(opening) {
                damage::set_aside(&opening.path, error)
            } else {
                Err(damage::damage_report(&opening.path, error))
            };
            match set_aside {
                Ok(report) => self.report(report),
                Err(report) => self.keep_in_memory(report),
            }
            self.abandon();
        } else if sqlite_error::is_locked(error) {
            self.on_locked(file::delay_report(&self.opening.path, error));
        } else if sqlite_error::is_transient(error) {
            self.report_once(file::delay_report(&self.opening.path, error));
        } else if self.pending.pop().is_some() {
            // A write that can never succeed must not hold up the others.
            self.report(Report::failure("an entry could not be recorded").because(error));
        } else {
            self.report_once(file::delay_report(&self.opening.path, error));
        }
    }

    fn on_locked(&mut self, report: Report) {
        if self.locked_since.get_or_insert_with(Instant::now).elapsed() >= LONG_WAIT {
            self.report_once(report);
        }
    }

    /// Abandons the file; the next attempt begins a new session.
    fn abandon(&mut self) {
        self.db = None;
        self.identity = None;
        self.session = None;
        self.shared_writes = None;
        (self.begin.resume, self.begin.fork) = (None, None);
        self.rows = RowMap::default();
        self.shared.streamed.clear();
        for begin in self.running_turns.drain(..).rev() {
            self.pending.push_front(begin);
        }
    }

    pub(super) fn report(&self, report: Report) {
        // The receiver may be gone.
        let _ = self.reports.send(report);
    }

    fn report_once(&mut self, report: Report) {
        if !std::mem::replace(&mut self.trouble_reported, true) {
            self.report(report);
        }
    }
}

fn is_permanent(error: &rusqlite::Error) -> bool {
    !sqlite_error::is_transient(error) && !sqlite_error::is_corrupt(error)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_lock_that_stays_with_a_connection_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let opening = RecordOptions {
            path: folder.path().join("history.sqlite"),
            named: false,
            record: true,
            leave_log: false,
        };
        let begin = SessionSpec {
            cwd: "/some/where".into(),
            resume: None,
            fork: None,
            provider: "codex".into(),
            once: false,
        };
        let shared = SharedState {
            recall: Recall::default(),
            streamed: StreamedAnswers::default(),
            is_stuck: Arc::default(),
            is_opened: Arc::default(),
        };
        let (reports, _told) = tokio::sync::mpsc::unbounded_channel();
        let mut store = Store::new(opening, begin, reports, shared);
        store.advance(LONG_WAIT);
        // The system did not give the lock back: SQLite takes it for one of another program.
        let db = store.db.as_ref().unwrap();
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        store.locked_since = Some(Instant::now());
        let input = RecordWrite::Input {
            line: 1,
            source: "x".into(),
            raw: "x".into(),
            shell: None,
            at: SystemTime::now(),
        };
        store.pending.push(input, false);
        store.advance(LONG_WAIT);
        assert!(store.pending.is_empty() && !store.is_failing());
        let written = store.read(0, |db, _| {
            db.query_row("SELECT count(*) FROM history", [], |row| row.get(0))
        });
        assert_eq!(written, 1);
    }
}
