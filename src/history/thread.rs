//! The thread that owns the connection: takes messages in order, keeps what cannot be written yet.
//!
//! While the file is locked, full or failing, writes wait in bounded memory, in order; they are tried again every
//! second and before each question. Questions never wait for a lock longer than it takes to see it, but for the begin
//! of a resumed session.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use rusqlite::config::DbConfig;

use super::message::{RecordMessage, Write};
use super::store::{PATIENT, Store};
use super::values::{RecordedCell, SessionStart, TurnRow};
use super::{
    copied, earlier, entries, inputs, listing, pictures, saved, sessions, taken_up, usage,
};
use crate::dialog::Dialog;
use crate::notebook::SavedSession;
use crate::report::Report;

/// How long to wait before trying again to write.
const RETRY: Duration = Duration::from_secs(1);

/// How long a lock is waited for in passing; messages queue behind that.
const BRIEF: Duration = Duration::from_millis(200);
/// And once that was in vain.
const IMPATIENT: Duration = Duration::from_millis(20);

/// Bytes of the log that may stay beside the file: the next start reads them all.
const LOG_LEFT: u64 = 512 << 10;

/// Answers in progress rest a little, so that several make one transaction: so much of them, for so long at most.
const REST_BYTES: usize = 16 << 10;
const REST: Duration = Duration::from_millis(200);

/// Serves until `Close` or until every handle is gone.
pub(super) fn run(mut store: Store, inbox: &Receiver<RecordMessage>) {
    let store = &mut store;
    store.settle(if store.begin.resume.is_some() {
        PATIENT
    } else {
        BRIEF
    });
    loop {
        let settled = store.waiting.is_empty() && store.session.is_some();
        if !store.loaded && store.db.is_some() {
            // Whoever waits for the session comes first.
            match inbox.try_recv() {
                Ok(RecordMessage::Close) | Err(TryRecvError::Disconnected) => break,
                Ok(message) => serve(store, message),
                Err(TryRecvError::Empty) => store.load_recall(),
            }
            continue;
        }
        if store.catalogues && settled {
            match inbox.try_recv() {
                Ok(RecordMessage::Close) | Err(TryRecvError::Disconnected) => break,
                Ok(message) => serve(store, message),
                Err(TryRecvError::Empty) => store.catalogues = store.catalogue(),
            }
            continue;
        }
        let message = if store.unknown.is_some() || settled && !store.logged {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            let often = !settled && !store.troubled;
            inbox.recv_timeout(if often { REST } else { RETRY })
        };
        match message {
            Ok(RecordMessage::Close) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if settled => tidy_log(store),
            Err(RecvTimeoutError::Timeout) => store.settle(patience(store)),
            Ok(message) => serve(store, message),
        }
    }
    leave(store);
}

fn leave(store: &mut Store) {
    store.settle(if store.troubled { RETRY } else { PATIENT });
    if store.session.is_none() && !store.waiting.is_empty() {
        store.settle(RETRY); // the file had to be left: to the new one
    }
    if store.unknown.is_none() && !store.waiting.is_empty() {
        store.say(Report::failure(format!(
            "{} entries could not be written to `{}` and are lost",
            store.waiting.len(),
            store.opening.path.display()
        )));
    }
    if let (Some(db), Some(session)) = (&mut store.db, &store.session)
        && let Err(error) = sessions::end(db, session.number)
    {
        store.trouble(&error);
    }
    let log = std::fs::metadata(copied::with(&store.opening.path, "-wal"));
    let small = log.is_ok_and(|log| log.len() <= LOG_LEFT);
    if let (Some(db), true) = (&store.db, store.opening.leave_log && small) {
        // Without it the end takes a few ms longer.
        let _ = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
    // Let go of the file before whoever listens hears that we have.
    store.db = None;
}

/// While nobody waits: brings the log into the file, which takes a sync of the disk.
fn tidy_log(store: &mut Store) {
    store.logged = false;
    if let Some(db) = &store.db {
        // Another program may be reading: then it is done another time.
        let _ = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}

fn patience(store: &Store) -> Duration {
    if store.locked.is_some() || store.troubled {
        IMPATIENT
    } else {
        BRIEF
    }
}

fn take(store: &mut Store, write: Write) {
    let rests = matches!(write, Write::Stream { .. });
    push(store, write);
    let since = store.tried.elapsed();
    let due = if store.failing() {
        // The clock decides: a locked file must not be waited for once a keystroke.
        since >= RETRY
    } else {
        !rests || since >= REST || store.waiting.bytes() >= REST_BYTES
    };
    if due {
        store.settle(patience(store));
    }
}

fn push(store: &mut Store, write: Write) {
    if store.waiting.push(write, !store.told) {
        store.say(Report::failure(
            "too much is waiting to be written to the history file: the outputs of the oldest cells are dropped",
        ));
    }
}

fn serve(store: &mut Store, message: RecordMessage) {
    let message = match message {
        RecordMessage::Write(write) => return take(store, write),
        RecordMessage::Tried(reply) => {
            let _ = reply.send(());
            return;
        }
        message => message,
    };
    if !store.waiting.is_empty() || store.session.is_none() {
        store.settle(match message {
            RecordMessage::Flush(_) if !store.troubled => PATIENT,
            _ => patience(store),
        });
    }
    if matches!(
        message,
        RecordMessage::Session(_) | RecordMessage::Dialog(_)
    ) {
        store.told = store.session.is_some();
    }
    // Whoever asked may have stopped waiting.
    match message {
        RecordMessage::Session(reply) => drop(reply.send(match (&store.unknown, &store.session) {
            (Some(report), _) => Err(report.clone()),
            (None, Some(start)) => Ok(start.clone()),
            (None, None) => Ok(SessionStart {
                number: 0,
                next_line: 1,
                resumed: false,
                recorded: false,
            }),
        })),
        RecordMessage::Dialog(reply) => drop(reply.send(dialog(store))),
        RecordMessage::Earlier { most, reply } => {
            let end = store.read(None, |db, session| earlier::end(db, session, most));
            let _ = reply.send(end);
        }
        RecordMessage::TakeUp { wanted, reply } => {
            drop(reply.send(taken_up::take_up(store, wanted.as_deref())))
        }
        RecordMessage::Cells(reply) => drop(reply.send(cells(store))),
        RecordMessage::Inputs(wanted, reply) => {
            let found = store.read(Vec::new(), |db, session| inputs::read(db, session, &wanted));
            let _ = reply.send(found);
        }
        RecordMessage::Saved(reply) => drop(reply.send(saved_session(store))),
        RecordMessage::Turns(reply) => drop(reply.send(turns(store))),
        RecordMessage::Thread(reply) => drop(reply.send(store.read(None, sessions::thread))),
        RecordMessage::Sessions { cwd, all, reply } => {
            drop(reply.send(store.read(Vec::new(), |db, _| listing::list(db, &cwd, all))));
        }
        RecordMessage::Reset(reply) => {
            let count = dialog(store).prompts.len();
            push(store, Write::Reset);
            store.settle(patience(store));
            let _ = reply.send(count);
        }
        RecordMessage::Flush(reply) => {
            if !store.loaded && store.db.is_some() {
                store.load_recall();
            }
            let _ = reply.send(());
        }
        RecordMessage::Write(_) | RecordMessage::Tried(_) | RecordMessage::Close => {}
    }
}

fn dialog(store: &mut Store) -> Dialog {
    let mut dialog = store.read(Dialog::default(), entries::dialog);
    entries::overlay(&mut dialog, &mut store.waiting.writes());
    let mut found = store.read(Vec::new(), pictures::stored);
    found.extend(pictures::waiting(&mut store.waiting.writes()));
    pictures::count_too_large(&found, &mut dialog);
    let kept = pictures::kept(found, &dialog);
    let urls = store.read(Vec::new(), |db, session| pictures::read(db, session, kept));
    pictures::attach(&mut dialog, urls);
    dialog
}

fn cells(store: &mut Store) -> Vec<RecordedCell> {
    let mut cells = store.read(Vec::new(), earlier::cells);
    earlier::overlay(&mut cells, &mut store.waiting.writes());
    cells
}

fn turns(store: &mut Store) -> Vec<TurnRow> {
    let mut turns = store.read(Vec::new(), usage::turns);
    usage::overlay(&mut turns, &mut store.waiting.writes());
    turns
}

fn saved_session(store: &mut Store) -> SavedSession {
    let dialog = store.read(Dialog::default(), entries::dialog);
    let forms = store.read(HashMap::new(), saved::forms);
    saved::of_present(dialog, forms, || store.waiting.writes())
}
