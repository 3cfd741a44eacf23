//! Questions on their way to the user and back: one open at a time, the others wait; and what was allowed for the
//! rest of the session.
//!
//! Invariants: who asked gets exactly one answer, or its turn has ended; where nobody can be asked, everything is
//! answered at once in the way that changes nothing; what the user decided is in the record before anything comes of it.
//! What was typed into a form is not recorded: it may be a secret.
//!
//! An agent forgets with its thread what it was allowed, so it is kept here: commands and their directories, files, and
//! programs that may be typed into. An agent that wants to leave the sandbox gives a reason, and the request says no
//! more than that (measured with codex 0.169.0, which also takes a reason without that wish). So a yes to a command with a
//! reason holds for it with any reason and without one, and a yes to one without a reason for that alone.

use std::collections::{HashSet, VecDeque};
use std::time::SystemTime;

use crate::agent::{AgentReply, Subject, TurnId};
use crate::history::Decided;
use crate::session::events::{Notice, SessionEvent};
use crate::session::question::{About, Choice, Question, Reply};
use crate::session::task::{Current, Session};
use crate::text::cut;

/// Who waits for an answer.
#[derive(Debug, Clone)]
pub(super) enum Asker {
    /// The agent.
    Agent {
        /// The turn it asked in.
        turn: TurnId,
        /// Its id of the question.
        question: String,
    },
    /// The tool that is being worked off.
    Tool,
}

/// The open questions of a session, and what was decided for all of it.
#[derive(Debug)]
pub(super) struct Asking {
    /// There is somebody to ask.
    asks: bool,
    last: u64,
    open: Option<Open>,
    waiting: VecDeque<(About, Asker)>,
    /// Cells of the agent were allowed once and for all, but not to drop the variables.
    pub(super) resets_are_asked: bool,
    /// `pyrun` runs where nothing protects files.
    pub(super) unprotected_allowed: bool,
    /// Commands, the directories they may run in, and whether they came with a reason.
    commands: HashSet<(String, String, bool)>,
    /// Programs that run and may be typed into.
    programs: HashSet<String>,
    /// Files that may be changed.
    files: HashSet<String>,
}

#[derive(Debug)]
struct Open {
    id: u64,
    about: About,
    asker: Asker,
    asked_at: SystemTime,
}

impl Asking {
    pub(super) fn new(asks: bool) -> Self {
        Asking {
            asks,
            last: 0,
            open: None,
            waiting: VecDeque::new(),
            resets_are_asked: false,
            unprotected_allowed: false,
            commands: HashSet::new(),
            programs: HashSet::new(),
            files: HashSet::new(),
        }
    }

    /// Forgets what was allowed for the session; true when that was to run cells.
    pub(super) fn forget(&mut self) -> bool {
        self.commands.clear();
        self.programs.clear();
        self.files.clear();
        self.unprotected_allowed = false;
        std::mem::take(&mut self.resets_are_asked)
    }

    /// Keeps what was allowed for the session.
    fn allow(&mut self, about: &About) {
        match about {
            About::Agent(Subject::Command {
                command,
                cwd,
                reason,
            }) => {
                let key = (command.clone(), cwd.clone(), reason.is_some());
                self.commands.insert(key);
            }
            About::Agent(Subject::Input { program, .. }) => {
                self.programs.insert(program.clone());
            }
            About::Agent(Subject::Edit {
                changes,
                reason: None,
            }) => self
                .files
                .extend(changes.iter().map(|change| change.path.clone())),
            _ => {}
        }
    }

    /// It was allowed for the session.
    fn allows(&self, about: &About) -> bool {
        match about {
            About::Agent(Subject::Command {
                command,
                cwd,
                reason,
            }) => {
                let allowed = |with_reason: bool| {
                    let key = (command.clone(), cwd.clone(), with_reason);
                    self.commands.contains(&key)
                };
                allowed(true) || reason.is_none() && allowed(false)
            }
            About::Agent(Subject::Input { program, .. }) => self.programs.contains(program),
            About::Agent(Subject::Edit {
                changes,
                reason: None,
            }) => {
                !changes.is_empty()
                    && changes
                        .iter()
                        .all(|change| self.files.contains(&change.path))
            }
            _ => false,
        }
    }

    /// There is somebody to ask.
    pub(super) fn somebody(&self) -> bool {
        self.asks
    }
}

impl Session {
    /// Asks, now or after the questions before.
    pub(super) fn ask_user(&mut self, about: About, asker: Asker) {
        if !self.asking.asks {
            let notice = Notice::note(unasked(&about));
            self.out_or_background().send(SessionEvent::Notice(notice));
            let reply = if about.choices().is_empty() {
                Reply::Declined
            } else {
                Reply::Chosen(Choice::No)
            };
            return self.deliver(asker, &reply);
        }
        if self.asking.allows(&about) {
            let reply = Reply::Chosen(Choice::Session);
            self.record_decision(&about, SystemTime::now(), &reply);
            return self.deliver(asker, &reply);
        }
        self.asking.waiting.push_back((about, asker));
        self.ask_next();
    }

    fn ask_next(&mut self) {
        if self.asking.open.is_some() {
            return;
        }
        let Some((about, asker)) = self.asking.waiting.pop_front() else {
            return;
        };
        self.asking.last += 1;
        let id = self.asking.last;
        self.asking.open = Some(Open {
            id,
            about: about.clone(),
            asker,
            asked_at: SystemTime::now(),
        });
        self.out_or_background()
            .send(SessionEvent::Asked(Question { id, about }));
    }

    /// The user answered.
    pub(super) fn on_reply(&mut self, question: u64, reply: Reply) {
        let Some(open) = self.asking.open.take_if(|open| open.id == question) else {
            return;
        };
        self.record_decision(&open.about, open.asked_at, &reply);
        if reply == Reply::Chosen(Choice::Session) {
            self.asking.allow(&open.about);
        }
        self.deliver(open.asker, &reply);
        self.ask_next();
    }

    fn record_decision(&self, about: &About, asked_at: SystemTime, reply: &Reply) {
        let line = match &self.current {
            Some(Current::Prompt(prompt)) => prompt.line,
            _ => 0,
        };
        let (kind, subject) = told(about);
        self.history.decided(Decided {
            line,
            asked_at,
            kind: kind.to_owned(),
            subject,
            decision: decision(reply),
        });
    }

    /// Nobody waits any more: the turn is over.
    pub(super) fn drop_questions(&mut self) {
        self.asking.waiting.clear();
        if let Some(open) = self.asking.open.take() {
            self.out_or_background()
                .send(SessionEvent::QuestionOver(open.id));
        }
    }

    fn deliver(&mut self, asker: Asker, reply: &Reply) {
        match asker {
            Asker::Agent { turn, question } => {
                let answer = reply.for_agent();
                let reply = AgentReply::Answered { question, answer };
                self.exchanges.agent.get().reply(turn, reply);
            }
            Asker::Tool => self.on_tool_reply(reply),
        }
    }
}

/// What is said where nobody can be asked: one line.
fn unasked(about: &About) -> String {
    let (kind, subject) = told(about);
    let verdict = match about {
        About::Agent(Subject::Form { .. }) => "left a question of the agent open",
        _ => "did not allow the agent",
    };
    let remedy = match about {
        About::Agent(
            Subject::Command { .. }
            | Subject::Input { .. }
            | Subject::Edit { .. }
            | Subject::Permissions { .. },
        ) => "; with `approvals` set to `never` the sandbox decides",
        _ => "",
    };
    let subject = subject.replace('\n', " ");
    let subject = cut(&subject, 200);
    format!("{verdict} ({kind}), nobody can be asked here: {subject}{remedy}")
}

/// A question as the record has it: its kind, and what it was about.
fn told(about: &About) -> (&'static str, String) {
    match about {
        About::Agent(Subject::Command { command, cwd, .. }) => {
            ("command", format!("{command}\n(in {cwd})"))
        }
        About::Agent(Subject::Input { text, cwd, .. }) => ("input", format!("{text}\n(in {cwd})")),
        About::Agent(Subject::Edit { changes, .. }) => {
            let changes = changes
                .iter()
                .map(|change| format!("{} {}\n{}", change.kind, change.path, change.diff));
            ("edit", changes.collect::<Vec<_>>().join("\n"))
        }
        About::Agent(Subject::Permissions { wanted, cwd, .. }) => {
            ("permissions", format!("{}\n(in {cwd})", wanted.join("\n")))
        }
        About::Agent(Subject::Form {
            server,
            message,
            fields,
        }) => {
            let questions = fields.iter().map(|field| field.question.as_str());
            let parts = [server.as_str(), message.as_str()].into_iter();
            let parts: Vec<&str> = parts
                .chain(questions)
                .filter(|part| !part.is_empty())
                .collect();
            ("form", parts.join("\n"))
        }
        About::Agent(Subject::Link { server, url, .. }) => ("link", format!("{server}: {url}")),
        About::Cells(cells) => {
            let cells = cells.iter().map(|cell| {
                let reset = if cell.reset { "(reset)\n" } else { "" };
                format!("{reset}{}", cell.code)
            });
            ("cells", cells.collect::<Vec<_>>().join("\n# %%\n"))
        }
        About::Unprotected { code, .. } => ("snapshot", code.clone()),
        About::ProjectSkill { path, .. } => ("project skill", path.clone()),
        About::SkillCode { path, blocks, .. } => {
            ("skill code", format!("{path}\n{}", blocks.join("\n# %%\n")))
        }
    }
}

fn decision(reply: &Reply) -> String {
    match reply {
        Reply::Chosen(Choice::Once) => "once".to_owned(),
        Reply::Chosen(Choice::Session) => "session".to_owned(),
        Reply::Chosen(Choice::Remember) => "remember".to_owned(),
        Reply::Chosen(Choice::No | Choice::NoBecause) => "no".to_owned(),
        Reply::Chosen(Choice::Stop) => "stop".to_owned(),
        Reply::NoBecause(why) => format!("no: {why}"),
        Reply::Filled(_) => "answered".to_owned(),
        Reply::Declined => "declined".to_owned(),
    }
}
