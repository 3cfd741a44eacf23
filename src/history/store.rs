//! The thread that owns the connection: takes messages in order, keeps what cannot be written yet.
//!
//! While the file is locked, full or failing, writes wait in memory in order, are tried again every second and before
//! each question, and the trouble is said once until it is over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::mpsc::UnboundedSender;

use super::entries::{self, Turns};
use super::file::{self, Failed};
use super::recall::{LOADED, Recall};
use super::{Begin, Message, Opening, SessionStart, Write, sessions};
use crate::dialog::Dialog;
use crate::report::Report;

/// How long to wait before trying again to write.
const RETRY: Duration = Duration::from_secs(1);

/// How long a lock is waited for; once that was in vain, tries are short, since questions queue behind them.
const PATIENT: Duration = Duration::from_secs(5);
const IMPATIENT: Duration = Duration::from_millis(50);

pub(super) struct Store {
    opening: Opening,
    begin: Begin,
    tell: UnboundedSender<Report>,
    recall: Recall,
    db: Option<Connection>,
    /// Device and inode of the open file.
    identity: Option<(u64, u64)>,
    session: Option<SessionStart>,
    unknown: Option<Report>,
    turns: Turns,
    /// Begins of the turns that run: written anew when the file had to be left.
    begun: Vec<Write>,
    waiting: VecDeque<Write>,
    troubled: bool,
    loaded: bool,
}

impl Store {
    pub(super) fn new(
        opening: Opening,
        begin: Begin,
        tell: UnboundedSender<Report>,
        recall: Recall,
    ) -> Self {
        Store {
            opening,
            begin,
            tell,
            recall,
            db: None,
            identity: None,
            session: None,
            unknown: None,
            turns: Turns::new(),
            begun: Vec::new(),
            waiting: VecDeque::new(),
            troubled: false,
            loaded: false,
        }
    }

    /// Serves until `Close` or until every handle is gone.
    pub(super) fn run(mut self, inbox: &Receiver<Message>) {
        self.settle();
        loop {
            let message =
                if self.waiting.is_empty() && self.session.is_some() || self.unknown.is_some() {
                    inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
                } else {
                    inbox.recv_timeout(RETRY)
                };
            match message {
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.settle(),
                Ok(message) => self.serve(message),
            }
        }
        self.settle();
        if let (Some(db), Some(session)) = (&mut self.db, &self.session)
            && let Err(error) = sessions::end(db, session.number)
        {
            self.trouble(&error);
        }
    }

    fn serve(&mut self, message: Message) {
        if let Message::Write(write) = message {
            let idle = self.waiting.is_empty();
            self.waiting.push_back(write);
            // Behind a write that waits, the clock decides: a locked file must not be waited for once a keystroke.
            if idle {
                self.settle();
            }
            return;
        }
        if !self.waiting.is_empty() {
            self.settle();
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
            Message::Thread(reply) => drop(reply.send(self.read(None, sessions::thread))),
            Message::Sessions { cwd, all, reply } => {
                drop(reply.send(self.read(Vec::new(), |db, _| sessions::list(db, &cwd, all))));
            }
            Message::Reset(reply) => {
                let count = match (&mut self.db, &self.session) {
                    (Some(db), Some(session)) => sessions::reset(db, session.number),
                    _ => Ok(0),
                };
                let count = count.unwrap_or_else(|error| {
                    self.trouble(&error);
                    0
                });
                let _ = reply.send(count);
            }
            Message::Flush(reply) => drop(reply.send(())),
            Message::Write(_) | Message::Close => {}
        }
    }

    fn dialog(&mut self) -> Dialog {
        let mut dialog = self.read(Dialog::default(), entries::dialog);
        entries::overlay(&mut dialog, &mut self.waiting.iter());
        dialog
    }

    fn read<T>(
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

    /// Does what can be done now: opens, begins, writes what waits.
    fn settle(&mut self) {
        if self.unknown.is_some() {
            return;
        }
        if self.identity.is_some() && file::identity(&self.opening.path) != self.identity {
            self.say(Report::failure(format!(
                "`{}` was deleted or replaced: history goes on in a new session there",
                self.opening.path.display()
            )));
            self.abandon();
        }
        if self.db.is_none() && !self.connect() {
            return;
        }
        if self.session.is_none() && !self.start() {
            return;
        }
        let (Some(db), Some(session)) = (&mut self.db, &self.session) else {
            return;
        };
        let patience = if self.troubled { IMPATIENT } else { PATIENT };
        if let Err(error) = db.busy_timeout(patience) {
            return self.trouble(&error);
        }
        while let Some(write) = self.waiting.front() {
            match entries::write(db, session.number, &mut self.turns, write) {
                Ok(()) => {
                    match self.waiting.pop_front() {
                        Some(begin @ Write::BeginTurn { .. }) => self.begun.push(begin),
                        Some(Write::FinishTurn { key, .. }) => self.begun.retain(
                            |begin| !matches!(begin, Write::BeginTurn { key: k, .. } if *k == key),
                        ),
                        _ => {}
                    }
                    if std::mem::take(&mut self.troubled) {
                        let _ = self
                            .tell
                            .send(Report::failure("history is being saved again"));
                    }
                }
                Err(error) => return self.trouble(&error),
            }
        }
        if !std::mem::replace(&mut self.loaded, true) {
            self.load_recall();
        }
    }

    fn connect(&mut self) -> bool {
        if !self.opening.record {
            self.db = Some(file::memory());
            return true;
        }
        let tell = self.tell.clone();
        match file::open(
            &self.opening.path,
            if self.troubled { IMPATIENT } else { PATIENT },
            &mut |report| drop(tell.send(report)),
        ) {
            Ok(db) => {
                self.identity = file::identity(&self.opening.path);
                self.db = Some(db);
                true
            }
            Err(Failed::Later(report)) => {
                self.say_once(report);
                false
            }
            Err(Failed::Never(report)) => {
                self.say(report);
                self.opening.record = false;
                self.db = Some(file::memory());
                true
            }
        }
    }

    fn start(&mut self) -> bool {
        let Some(db) = &mut self.db else {
            return false;
        };
        match sessions::begin(db, &self.begin) {
            Ok(Some((mut start, shared))) => {
                start.recorded = self.opening.record;
                if shared {
                    self.say(Report::failure(format!(
                        "session {} is open in another ipycodex: both write to it",
                        start.number
                    )));
                }
                self.session = Some(start);
                true
            }
            Ok(None) => {
                let number = self.begin.resume.unwrap_or_default();
                self.unknown = Some(
                    Report::failure(format!("Session {number} not found"))
                        .hint("`ipycodex sessions --all` lists what can be resumed"),
                );
                false
            }
            Err(error) => {
                self.trouble(&error);
                false
            }
        }
    }

    fn load_recall(&mut self) {
        let session = self.session.as_ref().map_or(0, |session| session.number);
        let older = self.read(Vec::new(), |db, _| {
            let mut rows = db.prepare(
                "SELECT source_raw FROM history WHERE source_raw <> '' AND session <> ?1
                 ORDER BY session DESC, line DESC LIMIT ?2",
            )?;
            rows.query_map(rusqlite::params![session, LOADED], |row| {
                row.get::<_, String>(0)
            })?
            .map(|text| text.map(Arc::from))
            .collect::<Result<Vec<_>, _>>()
        });
        self.recall.load(older.into_iter().rev().collect());
    }

    fn trouble(&mut self, error: &rusqlite::Error) {
        if file::damaged(error) && self.opening.record {
            match file::set_aside(&self.opening.path, error) {
                Ok(report) => self.say(report),
                Err(report) => {
                    self.opening.record = false;
                    self.say(report);
                }
            }
            self.abandon();
            return;
        }
        if !file::passing(error) && self.waiting.pop_front().is_some() {
            // A write that can never succeed must not hold up the others.
            self.say(Report::failure("an entry could not be recorded").because(error));
            return;
        }
        self.say_once(file::trouble(&self.opening.path, error));
    }

    /// Leaves the file; the next attempt begins a new session.
    fn abandon(&mut self) {
        self.db = None;
        self.identity = None;
        self.session = None;
        self.begin.resume = None;
        self.turns.clear();
        for begin in self.begun.drain(..).rev() {
            self.waiting.push_front(begin);
        }
    }

    fn say(&self, report: Report) {
        // Nobody listening is nobody to tell.
        let _ = self.tell.send(report);
    }

    fn say_once(&mut self, report: Report) {
        if !std::mem::replace(&mut self.troubled, true) {
            self.say(report);
        }
    }
}
