//! The thread that owns the connection: takes messages in order, keeps what cannot be written yet.
//!
//! While the file is locked, full or failing, writes wait in bounded memory, in order; they are tried again every second
//! and before each question. The trouble is said once until it is over: a lock when it has lasted five seconds, all else
//! at once. Questions never wait for a lock longer than it takes to see it, but for the begin of a resumed session.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::mpsc::UnboundedSender;

use super::answers::Handed;
use super::entries::{self, Places};
use super::recall::Recall;
use super::waiting::Waiting;
use super::{
    Begin, Message, Opening, RecordedCell, SessionStart, TurnRow, Write, earlier, file, listing,
    pictures, sessions, usage,
};
use crate::dialog::Dialog;
use crate::report::Report;

/// How long to wait before trying again to write.
const RETRY: Duration = Duration::from_secs(1);

/// How long a lock is borne in silence, and waited for where somebody has to have the file.
pub(super) const PATIENT: Duration = Duration::from_secs(5);
/// How long it is waited for in passing; messages queue behind that.
const BRIEF: Duration = Duration::from_millis(200);
/// And once that was in vain.
const IMPATIENT: Duration = Duration::from_millis(20);

/// Bytes of the log that may stay beside the file: the next start reads them all.
const LOG_LEFT: u64 = 512 << 10;

/// Answers in progress rest a little, so that several make one transaction: so much of them, for so long at most.
const REST_BYTES: usize = 16 << 10;
const REST: Duration = Duration::from_millis(200);

/// What the handles and the thread have in common.
pub(super) struct Shared {
    pub(super) recall: Recall,
    pub(super) handed: Handed,
    pub(super) stuck: Arc<AtomicBool>,
    pub(super) opened: Arc<AtomicBool>,
}

pub(super) struct Store {
    pub(super) opening: Opening,
    pub(super) begin: Begin,
    pub(super) tell: UnboundedSender<Report>,
    pub(super) shared: Shared,
    pub(super) db: Option<Connection>,
    /// Device and inode of the open file.
    pub(super) identity: Option<(u64, u64)>,
    pub(super) session: Option<SessionStart>,
    pub(super) unknown: Option<Report>,
    pub(super) places: Places,
    /// Begins of the turns that run: written anew when the file had to be left.
    pub(super) begun: Vec<Write>,
    pub(super) waiting: Waiting,
    /// Since when another program holds the file.
    pub(super) locked: Option<Instant>,
    /// The trouble has been said.
    pub(super) troubled: bool,
    /// When writing was last tried.
    pub(super) tried: Instant,
    /// The inputs to look back to have been read, or nobody wants them.
    pub(super) loaded: bool,
    /// There may be something to index; a run that ends at once leaves that to others.
    pub(super) catalogues: bool,
    /// The last row when the file was opened: ours come later.
    pub(super) newest: i64,
    /// The caller knows numbers of the file: what it says is about those.
    pub(super) told: bool,
    /// The log has what the file itself has not.
    pub(super) logged: bool,
}

impl Store {
    pub(super) fn new(
        opening: Opening,
        begin: Begin,
        tell: UnboundedSender<Report>,
        shared: Shared,
    ) -> Self {
        Store {
            db: None,
            identity: None,
            session: None,
            unknown: None,
            places: Places::default(),
            begun: Vec::new(),
            waiting: Waiting::default(),
            locked: None,
            troubled: false,
            tried: Instant::now(),
            // A run without an editor never looks back.
            loaded: opening.leave_log,
            catalogues: opening.record && !opening.leave_log,
            newest: 0,
            told: false,
            logged: false,
            opening,
            begin,
            tell,
            shared,
        }
    }

    /// Serves until `Close` or until every handle is gone.
    pub(super) fn run(mut self, inbox: &Receiver<Message>) {
        self.settle(if self.begin.resume.is_some() {
            PATIENT
        } else {
            BRIEF
        });
        loop {
            let settled = self.waiting.is_empty() && self.session.is_some();
            if !self.loaded && self.db.is_some() {
                // Whoever waits for the session comes first.
                match inbox.try_recv() {
                    Ok(Message::Close) | Err(TryRecvError::Disconnected) => break,
                    Ok(message) => self.serve(message),
                    Err(TryRecvError::Empty) => self.load_recall(),
                }
                continue;
            }
            if self.catalogues && settled {
                match inbox.try_recv() {
                    Ok(Message::Close) | Err(TryRecvError::Disconnected) => break,
                    Ok(message) => self.serve(message),
                    Err(TryRecvError::Empty) => self.catalogues = self.catalogue(),
                }
                continue;
            }
            let message = if self.unknown.is_some() || settled && !self.logged {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                let often = !settled && !self.troubled;
                inbox.recv_timeout(if often { REST } else { RETRY })
            };
            match message {
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if settled => self.tidy_log(),
                Err(RecvTimeoutError::Timeout) => self.settle(self.patience()),
                Ok(message) => self.serve(message),
            }
        }
        self.leave();
    }

    fn leave(&mut self) {
        self.settle(if self.troubled { RETRY } else { PATIENT });
        if self.session.is_none() && !self.waiting.is_empty() {
            self.settle(RETRY); // the file had to be left: to the new one
        }
        if self.unknown.is_none() && !self.waiting.is_empty() {
            self.say(Report::failure(format!(
                "{} entries could not be written to `{}` and are lost",
                self.waiting.len(),
                self.opening.path.display()
            )));
        }
        if let (Some(db), Some(session)) = (&mut self.db, &self.session)
            && let Err(error) = sessions::end(db, session.number)
        {
            self.trouble(&error);
        }
        let log = std::fs::metadata(file::with(&self.opening.path, "-wal"));
        let small = log.is_ok_and(|log| log.len() <= LOG_LEFT);
        if let (Some(db), true) = (&self.db, self.opening.leave_log && small) {
            // Without it the end takes a few ms longer.
            let _ = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        // Let go of the file before whoever listens hears that we have.
        self.db = None;
    }

    /// While nobody waits: brings the log into the file, which takes a sync of the disk.
    fn tidy_log(&mut self) {
        self.logged = false;
        if let Some(db) = &self.db {
            // Another program may be reading: then it is done another time.
            let _ = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    fn patience(&self) -> Duration {
        if self.locked.is_some() || self.troubled {
            IMPATIENT
        } else {
            BRIEF
        }
    }

    fn take(&mut self, write: Write) {
        let rests = matches!(write, Write::Stream { .. });
        self.push(write);
        let since = self.tried.elapsed();
        let due = if self.failing() {
            // The clock decides: a locked file must not be waited for once a keystroke.
            since >= RETRY
        } else {
            !rests || since >= REST || self.waiting.bytes() >= REST_BYTES
        };
        if due {
            self.settle(self.patience());
        }
    }

    /// True when the last try did not get everything into the file.
    pub(super) fn failing(&self) -> bool {
        self.session.is_none() || self.locked.is_some() || self.troubled
    }

    fn push(&mut self, write: Write) {
        if self.waiting.push(write, !self.told) {
            self.say(Report::failure(
                "too much waits for the history file: outputs of the oldest cells are let go",
            ));
        }
    }

    fn serve(&mut self, message: Message) {
        let message = match message {
            Message::Write(write) => return self.take(write),
            Message::Tried(reply) => {
                let _ = reply.send(());
                return;
            }
            message => message,
        };
        if !self.waiting.is_empty() || self.session.is_none() {
            self.settle(match message {
                Message::Flush(_) if !self.troubled => PATIENT,
                _ => self.patience(),
            });
        }
        if matches!(message, Message::Session(_) | Message::Dialog(_)) {
            self.told = self.session.is_some();
        }
        // Whoever asked may have stopped waiting.
        match message {
            Message::Session(reply) => drop(reply.send(match (&self.unknown, &self.session) {
                (Some(report), _) => Err(report.clone()),
                (None, Some(start)) => Ok(start.clone()),
                (None, None) => Ok(SessionStart {
                    number: 0,
                    next_line: 1,
                    resumed: false,
                    recorded: false,
                }),
            })),
            Message::Dialog(reply) => drop(reply.send(self.dialog())),
            Message::Earlier { most, reply } => {
                let end = self.read(None, |db, session| earlier::end(db, session, most));
                let _ = reply.send(end);
            }
            Message::TakeUp { wanted, reply } => drop(reply.send(self.take_up(&wanted))),
            Message::Cells(reply) => drop(reply.send(self.cells())),
            Message::Saved(reply) => drop(reply.send(self.saved())),
            Message::Turns(reply) => drop(reply.send(self.turns())),
            Message::Thread(reply) => drop(reply.send(self.read(None, sessions::thread))),
            Message::Sessions { cwd, all, reply } => {
                drop(reply.send(self.read(Vec::new(), |db, _| listing::list(db, &cwd, all))));
            }
            Message::Reset(reply) => {
                let count = self.dialog().prompts.len();
                self.push(Write::Reset);
                self.settle(self.patience());
                let _ = reply.send(count);
            }
            Message::Flush(reply) => {
                if !self.loaded && self.db.is_some() {
                    self.load_recall();
                }
                let _ = reply.send(());
            }
            Message::Write(_) | Message::Tried(_) | Message::Close => {}
        }
    }

    fn dialog(&mut self) -> Dialog {
        let mut dialog = self.read(Dialog::default(), entries::dialog);
        entries::overlay(&mut dialog, &mut self.waiting.writes());
        let mut found = self.read(Vec::new(), pictures::stored);
        found.extend(pictures::waiting(&mut self.waiting.writes()));
        let kept = pictures::kept(found, &dialog);
        let urls = self.read(Vec::new(), |db, session| pictures::read(db, session, kept));
        pictures::attach(&mut dialog, urls);
        dialog
    }

    fn cells(&mut self) -> Vec<RecordedCell> {
        let mut cells = self.read(Vec::new(), earlier::cells);
        earlier::overlay(&mut cells, &mut self.waiting.writes());
        cells
    }

    fn turns(&mut self) -> Vec<TurnRow> {
        let mut turns = self.read(Vec::new(), usage::turns);
        usage::overlay(&mut turns, &mut self.waiting.writes());
        turns
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
                self.trouble(&error);
                otherwise
            }
            None => otherwise,
        }
    }
}
