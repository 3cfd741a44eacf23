//! What the thread does with the file: opens it, begins the session, writes what waits, and copes with troubles.
//!
//! Invariant: a write leaves the queue only when it is in the file, or can never be; each trouble is said once until it
//! is over.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::entries::{self, Places};
use super::file::{self, Failed};
use super::further::Source;
use super::store::{PATIENT, Store};
use super::{Write, index, listing, recall, sessions};
use crate::report::Report;

/// Writes of one transaction, when many wait.
const BATCH: usize = 256;

impl Store {
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
                "`{}` was deleted or replaced: history goes on in a new session there",
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
                "this run is kept out of the history",
            )))
        } else {
            Ok(file::memory())
        };
        match opened {
            Ok(db) => {
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
                "both write to it, nothing is lost: in the record an input may get a later number than on the screen",
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
        let source = self.identity.map(|_| Source {
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
        if file::damaged(error) && self.opening.record {
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
        } else if file::locked(error) {
            self.locked(file::trouble(&self.opening.path, error));
        } else if file::passing(error) {
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
    !file::passing(error) && !file::damaged(error)
}
