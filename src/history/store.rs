//! The open record: opens the file, begins the session, writes what waits, and copes with troubles.
//!
//! Invariant: a write leaves the queue only when it is in the file, or can never be; each trouble is said once until it
//! is over: a lock when it has lasted five seconds, all else at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::mpsc::UnboundedSender;

use super::answers::Handed;
use super::file::{self, Failed};
use super::further::RowSource;
use super::message::Write;
use super::places::Places;
use super::recall::{self, Recall};
use super::values::{Begin, Opening, SessionStart};
use super::waiting::WaitingWrites;
use super::{entries, fault, index, listing, sessions};
use crate::report::Report;
use crate::trace::STARTUP;

/// Writes of one transaction, when many wait.
const BATCH: usize = 256;

/// How long a lock is borne in silence, and waited for where somebody has to have the file.
pub(super) const PATIENT: Duration = Duration::from_secs(5);

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
    pub(super) waiting: WaitingWrites,
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
            waiting: WaitingWrites::default(),
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

    /// True when the last try did not get everything into the file.
    pub(super) fn failing(&self) -> bool {
        self.session.is_none() || self.locked.is_some() || self.troubled
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

    /// Does what can be done now: opens, begins, writes what waits.
    pub(super) fn settle(&mut self, patience: Duration) {
        self.attempt(patience);
        self.tried = Instant::now();
        self.shared.stuck.store(self.failing(), Ordering::Relaxed);
        self.shared.opened.store(true, Ordering::Relaxed);
    }

    fn attempt(&mut self, patience: Duration) {
        if self.unknown.is_some() {
            return;
        }
        if self.identity.is_some() && file::identity(&self.opening.path) != self.identity {
            self.say(Report::failure(format!(
                "`{}` was deleted or replaced: recording continues there in a new session",
                self.opening.path.display()
            )));
            self.abandon();
        }
        if self.db.is_none() && !self.connect(patience) {
            return;
        }
        if let Some(db) = &self.db
            && let Err(error) = db.busy_timeout(patience)
        {
            return self.trouble(&error);
        }
        if self.session.is_none() && !self.start() {
            return;
        }
        if self.write_all() {
            self.locked = None;
            if std::mem::take(&mut self.troubled) {
                self.say(Report::failure("history is being saved again"));
            }
        }
    }

    /// Writes what waits; false when the file takes no more for now.
    fn write_all(&mut self) -> bool {
        let mut batch = BATCH;
        while !self.waiting.is_empty() {
            let (Some(db), Some(session)) = (&mut self.db, &self.session) else {
                return false;
            };
            let entries = self.waiting.first(batch);
            let count = entries.len();
            match entries::write(db, session.number, &mut self.places, entries) {
                Ok(()) => {
                    self.logged = true;
                    (0..count).for_each(|_| self.written());
                }
                // Among many, the one that can never be written is found alone.
                Err(error) if count > 1 && lasting(&error) => batch = 1,
                Err(error) => {
                    self.trouble(&error);
                    if !lasting(&error) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn written(&mut self) {
        match self.waiting.pop() {
            Some(begin @ Write::BeginTurn { .. }) => self.begun.push(begin),
            Some(Write::FinishTurn { key, .. }) => self
                .begun
                .retain(|begin| !matches!(begin, Write::BeginTurn { key: k, .. } if *k == key)),
            _ => {}
        }
    }

    fn connect(&mut self, patience: Duration) -> bool {
        let opened = if self.opening.record {
            let tell = self.tell.clone();
            file::open(&self.opening, patience, &mut |report| {
                drop(tell.send(report));
            })
        } else if self.begin.resume.is_some() {
            Err(Failed::Never(Report::failure(
                "this run is not recorded (`--no-record`), so no session can be resumed",
            )))
        } else {
            Ok(file::memory())
        };
        match opened {
            Ok(db) => {
                log::trace!(target: STARTUP, "the record is open");
                if self.opening.record {
                    self.identity = file::identity(&self.opening.path);
                }
                if !self.loaded {
                    let newest = "SELECT coalesce(max(rowid), 0) FROM history";
                    self.newest = db.query_row(newest, [], |row| row.get(0)).unwrap_or(0);
                }
                self.db = Some(db);
                true
            }
            Err(Failed::Locked(report)) => {
                self.locked(report);
                false
            }
            Err(Failed::Later(report)) => {
                self.say_once(report);
                false
            }
            Err(Failed::Never(report)) => match self.begin.resume {
                Some(number) => {
                    let mut refused =
                        Report::failure(format!("session {number} cannot be resumed"));
                    refused.causes.push(report.message);
                    refused.causes.extend(report.causes);
                    refused.hints = report.hints;
                    self.unknown = Some(refused);
                    false
                }
                None => {
                    self.keep_in_memory(report);
                    self.db = Some(file::memory());
                    true
                }
            },
        }
    }

    /// From here on no file is touched.
    fn keep_in_memory(&mut self, mut why: Report) {
        why.message = format!("history is kept in memory only: {}", why.message);
        self.say(why);
        self.opening.record = false;
    }

    fn start(&mut self) -> bool {
        let Some(db) = &mut self.db else {
            return false;
        };
        match sessions::begin(db, &self.begin) {
            Ok(Some((mut start, others))) => {
                start.recorded = self.opening.record;
                self.tell_others(start.number, &others);
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

    /// Says who else has the session open, and what that means.
    pub(super) fn tell_others(&self, session: i64, others: &[u32]) {
        let processes: Vec<String> = others.iter().map(u32::to_string).collect();
        let process = match processes.len() {
            0 => return,
            1 => "process",
            _ => "processes",
        };
        self.say(
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

    /// Gives the editor what was typed before this session.
    pub(super) fn load_recall(&mut self) {
        self.loaded = true;
        let (newest, cwd) = (self.newest, self.begin.cwd.clone());
        let found = self.read(Vec::new(), |db, session| {
            recall::earlier(db, session, &cwd, newest)
        });
        let source = self.identity.map(|_| RowSource {
            path: self.opening.path.clone(),
            cwd,
            newest,
        });
        self.shared.recall.load(found, source);
    }

    /// Goes on with what is found faster later; true when there is more of it.
    pub(super) fn catalogue(&mut self) -> bool {
        let Some(db) = &mut self.db else { return false };
        // Another program holds it, or it is full: the next start goes on.
        let more = listing::place(db).and_then(|more| Ok(more || index::index(db)?));
        self.logged |= more.is_ok();
        more.unwrap_or(false)
    }

    pub(super) fn trouble(&mut self, error: &rusqlite::Error) {
        if fault::damaged(error) && self.opening.record {
            let opening = &self.opening;
            let set_aside = if file::may_set_aside(opening) {
                file::set_aside(&opening.path, error)
            } else {
                Err(file::refusal(&opening.path, error))
            };
            match set_aside {
                Ok(report) => self.say(report),
                Err(report) => self.keep_in_memory(report),
            }
            self.abandon();
        } else if fault::locked(error) {
            self.locked(file::trouble(&self.opening.path, error));
        } else if fault::passing(error) {
            self.say_once(file::trouble(&self.opening.path, error));
        } else if self.waiting.pop().is_some() {
            // A write that can never succeed must not hold up the others.
            self.say(Report::failure("an entry could not be recorded").because(error));
        } else {
            self.say_once(file::trouble(&self.opening.path, error));
        }
    }

    fn locked(&mut self, report: Report) {
        if self.locked.get_or_insert_with(Instant::now).elapsed() >= PATIENT {
            self.say_once(report);
        }
    }

    /// Leaves the file; the next attempt begins a new session.
    fn abandon(&mut self) {
        self.db = None;
        self.identity = None;
        self.session = None;
        self.begin.resume = None;
        self.places = Places::default();
        self.shared.handed.forget();
        for begin in self.begun.drain(..).rev() {
            self.waiting.push_front(begin);
        }
    }

    pub(super) fn say(&self, report: Report) {
        // Nobody listening is nobody to tell.
        let _ = self.tell.send(report);
    }

    fn say_once(&mut self, report: Report) {
        if !std::mem::replace(&mut self.troubled, true) {
            self.say(report);
        }
    }
}

/// True when trying again would end the same way.
fn lasting(error: &rusqlite::Error) -> bool {
    !fault::passing(error) && !fault::damaged(error)
}
