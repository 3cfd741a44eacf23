//! The thread that owns the connection: handles requests in order and keeps writes that the file does not take yet.
//!
//! While the file is locked, full or failing, writes wait in bounded memory, in order; they are retried every second
//! and before each query. Queries wait for a lock no longer than it takes to detect it, except when a resumed session
//! begins.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use rusqlite::config::DbConfig;

use super::request::{RecordWrite, StoreRequest};
use super::store::{LONG_WAIT, Store};
use super::values::{ForkOrigin, RecordedCell, RecordedThreads, SessionStart, TurnRow};
use super::{
    entries, inputs, listing, pictures, recovery_copy, saved_session, sessions, switch, tail, usage,
};
use crate::dialog::Dialog;
use crate::notebook::SavedSession;
use crate::text::report::Report;

/// The time between two attempts to write.
const RETRY: Duration = Duration::from_secs(1);

/// Longest wait for a lock on an ordinary write; requests queue behind it.
const SHORT_WAIT: Duration = Duration::from_millis(200);
/// Longest wait for a lock once an attempt has failed.
const RETRY_WAIT: Duration = Duration::from_millis(20);

/// Largest log left beside the file at the end, in bytes: the next start reads all of it.
const MAX_LOG_BYTES: u64 = 512 << 10;

/// Parts of streamed answers are batched into one transaction, up to this many bytes and this long.
const STREAM_BATCH_BYTES: usize = 16 << 10;
const STREAM_BATCH_DELAY: Duration = Duration::from_millis(200);

/// Serves until `Close` or until every handle is gone.
pub(super) fn run(mut store: Store, inbox: &Receiver<StoreRequest>) {
    let store = &mut store;
    store.advance(if store.begin.resume.is_some() {
        LONG_WAIT
    } else {
        SHORT_WAIT
    });
    loop {
        let settled = store.pending.is_empty() && store.session.is_some();
        if !store.recall_loaded && store.db.is_some() {
            // Requests come before loading the inputs for recall.
            match inbox.try_recv() {
                Ok(StoreRequest::Close) | Err(TryRecvError::Disconnected) => break,
                Ok(message) => handle_request(store, message),
                Err(TryRecvError::Empty) => store.load_recall(),
            }
            continue;
        }
        if store.index_incomplete && settled {
            match inbox.try_recv() {
                Ok(StoreRequest::Close) | Err(TryRecvError::Disconnected) => break,
                Ok(message) => handle_request(store, message),
                Err(TryRecvError::Empty) => store.index_incomplete = store.index_next(),
            }
            continue;
        }
        let message = if store.refused.is_some() || settled && !store.log_is_ahead {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            let often = !settled && !store.trouble_reported;
            inbox.recv_timeout(if often { STREAM_BATCH_DELAY } else { RETRY })
        };
        match message {
            Ok(StoreRequest::Close) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if settled => checkpoint(store),
            Err(RecvTimeoutError::Timeout) => store.advance(patience(store)),
            Ok(message) => handle_request(store, message),
        }
    }
    close(store);
}

fn close(store: &mut Store) {
    store.advance(if store.trouble_reported {
        RETRY
    } else {
        LONG_WAIT
    });
    if (store.session.is_none() || store.locked_since.is_some()) && !store.pending.is_empty() {
        store.advance(RETRY); // the file or the connection was abandoned: write to the new one
    }
    if store.refused.is_none() && !store.pending.is_empty() {
        store.report(Report::failure(format!(
            "{} entries could not be written to `{}` and are lost",
            store.pending.len(),
            store.opening.path.display()
        )));
    }
    store.end_session();
    let log = std::fs::metadata(recovery_copy::with_suffix(&store.opening.path, "-wal"));
    let small = log.is_ok_and(|log| log.len() <= MAX_LOG_BYTES);
    if let (Some(db), true) = (&store.db, store.opening.leave_log && small) {
        // Without this option the end takes a few ms longer.
        let _ = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
    // Close the file before the report channel closes.
    store.db = None;
}

/// Checkpoints the log while idle, since that takes a sync of the disk.
fn checkpoint(store: &mut Store) {
    store.log_is_ahead = false;
    if let Some(db) = &store.db {
        // Another program may be reading: the next idle time tries again.
        let _ = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}

fn patience(store: &Store) -> Duration {
    if store.locked_since.is_some() || store.trouble_reported {
        RETRY_WAIT
    } else {
        SHORT_WAIT
    }
}

fn handle_write(store: &mut Store, write: RecordWrite) {
    let is_stream = matches!(write, RecordWrite::Stream { .. });
    enqueue(store, write);
    let since = store.last_attempt.elapsed();
    let due = if store.is_failing() {
        // By the clock, so that a locked file is not waited for at each keystroke.
        since >= RETRY
    } else {
        !is_stream || since >= STREAM_BATCH_DELAY || store.pending.bytes() >= STREAM_BATCH_BYTES
    };
    if due {
        store.advance(patience(store));
    }
}

fn enqueue(store: &mut Store, write: RecordWrite) {
    if store.pending.push(write, !store.numbers_known) {
        store.report(Report::failure(
            "too much is waiting to be written to the history file: the outputs of the oldest cells are dropped",
        ));
    }
}

fn handle_request(store: &mut Store, message: StoreRequest) {
    let message = match message {
        StoreRequest::Write(write) => return handle_write(store, write),
        StoreRequest::Attempted(reply) => {
            let _ = reply.send(());
            return;
        }
        message => message,
    };
    if !store.pending.is_empty() || store.session.is_none() {
        store.advance(match message {
            StoreRequest::Flush(_) if !store.trouble_reported => LONG_WAIT,
            _ => patience(store),
        });
    }
    if matches!(message, StoreRequest::Session(_) | StoreRequest::Dialog(_)) {
        store.numbers_known = store.session.is_some();
    }
    // The requester may have dropped its receiver.
    match message {
        StoreRequest::Session(reply) => drop(reply.send(match (&store.refused, &store.session) {
            (Some(report), _) => Err(report.clone()),
            (None, Some(start)) => Ok(start.clone()),
            (None, None) => Ok(SessionStart {
                number: 0,
                next_line: 1,
                resumed: false,
                recorded: false,
            }),
        })),
        StoreRequest::Dialog(reply) => drop(reply.send(dialog(store))),
        StoreRequest::Tail { most, reply } => {
            let end = store.read(None, |db, session| tail::read(db, session, most));
            let _ = reply.send(end);
        }
        StoreRequest::SwitchSession { target, reply } => {
            drop(reply.send(switch::switch(store, &target)))
        }
        StoreRequest::Cells(reply) => drop(reply.send(cells(store))),
        StoreRequest::Inputs(wanted, reply) => {
            let found = store.read(Vec::new(), |db, session| inputs::read(db, session, &wanted));
            let _ = reply.send(found);
        }
        StoreRequest::Saved(reply) => drop(reply.send(saved_session(store))),
        StoreRequest::Turns(reply) => drop(reply.send(turns(store))),
        StoreRequest::Threads(reply) => {
            let threads = store.read(RecordedThreads::default(), sessions::read_threads);
            let _ = reply.send(threads);
        }
        StoreRequest::Sessions { cwd, all, reply } => {
            drop(reply.send(store.read(Vec::new(), |db, _| listing::list(db, &cwd, all))));
        }
        StoreRequest::Reset(reply) => {
            let count = dialog(store).prompts.len();
            enqueue(store, RecordWrite::Reset);
            store.advance(patience(store));
            let _ = reply.send(count);
        }
        StoreRequest::ForkOrigin(before, reply) => {
            let is_written = store.opening.record && store.pending.is_empty();
            let start = store.session.as_ref().filter(|_| is_written);
            let _ = reply.send(start.map(|start| ForkOrigin {
                parent: start.number,
                before: store.rows.lines.to_file(before),
            }));
        }
        StoreRequest::Flush(reply) => {
            if !store.recall_loaded && store.db.is_some() {
                store.load_recall();
            }
            let _ = reply.send(());
        }
        StoreRequest::Write(_) | StoreRequest::Attempted(_) | StoreRequest::Close => {}
    }
}

fn dialog(store: &mut Store) -> Dialog {
    let mut dialog = store.read(Dialog::default(), entries::dialog);
    entries::overlay(&mut dialog, &mut store.pending.writes());
    let mut found = store.read(Vec::new(), pictures::read_stored);
    found.extend(pictures::from_pending(&mut store.pending.writes()));
    pictures::count_too_large(&found, &mut dialog);
    let kept = pictures::select(found, &dialog);
    let urls = store.read(Vec::new(), |db, session| {
        pictures::read_urls(db, session, kept)
    });
    pictures::attach(&mut dialog, urls);
    dialog
}

fn cells(store: &mut Store) -> Vec<RecordedCell> {
    let mut cells = store.read(Vec::new(), tail::read_cells);
    tail::overlay_cells(&mut cells, &mut store.pending.writes());
    cells
}

fn turns(store: &mut Store) -> Vec<TurnRow> {
    let mut turns = store.read(Vec::new(), usage::turns);
    usage::overlay(&mut turns, &mut store.pending.writes());
    turns
}

fn saved_session(store: &mut Store) -> SavedSession {
    let dialog = store.read(Dialog::default(), entries::dialog);
    let forms = store.read(HashMap::new(), saved_session::read_cells);
    saved_session::with_pending(dialog, forms, || store.pending.writes())
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, UNIX_EPOCH};

    use super::super::index::IndexProgress;
    use super::super::store::SharedState;
    use super::super::{PromptStart, RecordOptions, SessionSpec, TurnKey};
    use super::*;

    fn store(path: &std::path::Path) -> Store {
        let opening = RecordOptions {
            path: path.to_owned(),
            record: true,
            named: false,
            leave_log: false,
        };
        let begin = SessionSpec {
            cwd: "/".into(),
            resume: None,
            fork: None,
            provider: "codex".into(),
            once: false,
        };
        let shared = SharedState {
            recall: Default::default(),
            streamed: Default::default(),
            is_stuck: Default::default(),
            is_opened: Default::default(),
        };
        let (reports, _) = tokio::sync::mpsc::unbounded_channel();
        Store::new(opening, begin, reports, shared)
    }

    #[test]
    fn parts_of_answers_wait_for_each_other_and_a_file_in_trouble_for_the_clock() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = store(&directory.path().join("history.sqlite"));
        assert!(store.is_failing(), "it is not open");
        store.advance(SHORT_WAIT);
        let key = TurnKey(1);
        let begin = RecordWrite::BeginTurn {
            key,
            start: Box::new(PromptStart::new(1, 0, "p")),
        };
        let part = |bytes| RecordWrite::Stream {
            key,
            at: 0,
            text: "x".repeat(bytes),
        };
        let input = |line| RecordWrite::Input {
            line,
            source: "x".into(),
            raw: "x".into(),
            shell: None,
            at: UNIX_EPOCH,
        };
        // An attempt in the future is one of this moment, however slow the machine.
        let just_now = || Instant::now() + Duration::from_secs(3_600);
        let ago = |time| Instant::now().checked_sub(time).unwrap();
        for (write, trouble, last_attempt, written) in [
            (begin, false, just_now(), true),
            (input(1), false, just_now(), true),
            (part(1), false, just_now(), false),
            (part(1), false, ago(STREAM_BATCH_DELAY), true),
            (part(STREAM_BATCH_BYTES), false, just_now(), true),
            (input(2), true, just_now(), false),
            (input(3), true, ago(RETRY), true),
        ] {
            (store.trouble_reported, store.last_attempt) = (trouble, last_attempt);
            assert_eq!(patience(&store) == RETRY_WAIT, trouble);
            let said = format!("{write:?}");
            handle_write(&mut store, write);
            assert_eq!(
                store.pending.is_empty(),
                written,
                "{}",
                &said[..said.len().min(60)]
            );
            store.advance(SHORT_WAIT);
            assert!(store.pending.is_empty() && !store.is_failing());
        }
    }

    #[test]
    fn a_connection_is_kept_until_the_file_is_locked() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = store(&directory.path().join("history.sqlite"));
        store.advance(SHORT_WAIT);
        let on_it =
            |store: &Store, sql: &str| store.db.as_ref().unwrap().execute_batch(sql).is_ok();
        assert!(on_it(&store, "CREATE TEMP TABLE mark (x)"));
        for locked in [false, true] {
            store.locked_since = locked.then(Instant::now);
            store.advance(SHORT_WAIT);
            assert_eq!(on_it(&store, "SELECT * FROM mark"), !locked);
            assert!(!store.is_failing());
        }
    }

    #[test]
    fn texts_are_indexed_behind_directories() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = store(&directory.path().join("history.sqlite"));
        assert!(!store.index_next(), "it is not open");
        store.advance(SHORT_WAIT);
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO history SELECT 1, i, '', 'x' FROM n";
        store.db.as_ref().unwrap().execute_batch(rows).unwrap();
        while store.index_next() {}
        let progress = IndexProgress::read(store.db.as_ref().unwrap()).unwrap();
        assert_ne!(progress, IndexProgress::default());
    }
}
