//! `load_skill`: a skill of the frozen list is read, and code it marks runs in the live namespace first.
//!
//! The list is made once, on a thread of its own, while the session starts; the first prompt waits for it, nothing
//! else does. Invariants: nothing of a project's skill reaches the model before the user trusted the project; code runs
//! only when its very content was allowed, or the skill is the user's own or the program's; what runs is shown. A skill
//! the conversation holds is not sent twice.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use super::arguments::Arguments;
use super::{Job, specs};
use crate::dialog::{Dialog, tool_records};
use crate::output::limits::{Rest, shorten_transcript};
use crate::runtime::{Death, Ending, Execute, RuntimeRequest};
use crate::session::Command;
use crate::session::asking::Asker;
use crate::session::cell::{CellRun, Remains, Whose};
use crate::session::events::{Notice, SessionEvent};
use crate::session::question::{About, Choice, Reply};
use crate::session::task::Session;
use crate::session::turn::ToolReturn;
use crate::skills::{Activation, Catalog, Consent, ConsentError, Origin};
use crate::text::columns;
use crate::text::escape::visible;

/// Code points of a block's output in the result.
const BLOCK_CHARACTERS: usize = 2_000;

/// What begins the result of a call that gave nothing new.
const ALREADY: &str = "already loaded";

/// The skills there are and what the user answered about them in earlier sessions.
#[derive(Debug, Clone)]
pub struct Skills {
    /// The list.
    pub catalog: Catalog,
    /// The answers.
    pub consent: Consent,
    /// Said once when the answers cannot be used.
    pub trouble: Option<String>,
}

/// Finds the skills; called once, on a thread of its own.
pub type FindSkills = Box<dyn FnOnce() -> Skills + Send>;

/// The skills of a session.
pub(in crate::session) struct Shelf {
    catalog: Catalog,
    consent: Arc<Mutex<Consent>>,
    /// Allowed in this session.
    trusted: HashSet<PathBuf>,
    /// Decided in this session, by content.
    code: HashMap<String, bool>,
    /// Paths of those the conversation holds.
    loaded: BTreeSet<String>,
    found: watch::Receiver<bool>,
}

/// A skill on its way.
pub(super) enum Loading {
    /// The user is asked whether the project is trusted.
    AskingTrust { path: String, project: PathBuf },
    /// Its file is being read.
    Reading { path: String },
    /// The user is asked whether its code may run.
    AskingCode(Box<Activation>),
    /// Its code runs, one block after the other.
    Running {
        skill: Box<Activation>,
        ran: Vec<Remains>,
    },
}

/// Why code of a skill did not run.
const NOBODY: &str = "the user has to allow it and there is nobody here to ask";
const DECLINED: &str = "the user does not allow it";

impl Shelf {
    /// Nothing on it yet: `find` is called on another thread, what it finds comes as [`Command::SkillsFound`].
    pub(in crate::session) fn filling(
        find: FindSkills,
        inbox: tokio::sync::mpsc::UnboundedSender<Command>,
    ) -> Self {
        let (tell, found) = watch::channel(false);
        // Without the thread, or when it fails, the sender is dropped and nobody waits: there are no skills.
        let _ = std::thread::Builder::new()
            .name("skills".into())
            .spawn(move || {
                // The session may have ended.
                let _ = inbox.send(Command::SkillsFound(Box::new(find())));
                let _ = tell.send(true);
            });
        Shelf {
            catalog: Catalog::default(),
            consent: Arc::new(Mutex::new(Consent::none())),
            trusted: HashSet::new(),
            code: HashMap::new(),
            loaded: BTreeSet::new(),
            found,
        }
    }

    /// Returns when the list is there, or never will be.
    pub(in crate::session) fn found(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut found = self.found.clone();
        async move {
            // An error: there are none.
            let _ = found.wait_for(|found| *found).await;
        }
    }

    /// There is something to load.
    pub(in crate::session) fn is_empty(&self) -> bool {
        self.catalog.skills().is_empty()
    }

    /// Name and description of those that a name tells apart.
    pub(in crate::session) fn names(&self) -> Vec<(String, String)> {
        let named = self.catalog.skills().iter().filter(|skill| !skill.shadowed);
        named
            .map(|skill| (skill.name.clone(), skill.description.clone()))
            .collect()
    }

    /// The skills as a table for the user: name, whose, state, path.
    pub(in crate::session) fn listing(&self) -> String {
        let skills = self.catalog.skills();
        if skills.is_empty() {
            return "No skills found.".to_owned();
        }
        let names: Vec<_> = skills.iter().map(|skill| visible(&skill.name)).collect();
        let width = names
            .iter()
            .map(|name| columns(name))
            .max()
            .unwrap_or(0)
            .max(4);
        let mut lines = vec![format!(
            "Name{}  Scope     State       Path",
            " ".repeat(width - 4)
        )];
        for (skill, name) in skills.iter().zip(&names) {
            let scope = match skill.origin {
                Origin::Bundled => "built in",
                Origin::Own => "own",
                Origin::Project(_) => "project",
            };
            let state = match &skill.origin {
                _ if self.loaded.contains(&skill.path) => "loaded",
                _ if skill.shadowed => "shadowed",
                Origin::Project(project) if !self.trusts(project) => "asks first",
                _ => "listed",
            };
            let padding = " ".repeat(width.saturating_sub(columns(name)));
            let path = visible(&skill.path);
            lines.push(format!("{name}{padding}  {scope:<8}  {state:<10}  {path}"));
        }
        lines.join("\n")
    }

    fn consent(&self) -> std::sync::MutexGuard<'_, Consent> {
        self.consent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trusts(&self, project: &Path) -> bool {
        self.trusted.contains(project) || self.consent().trusts(project)
    }

    fn may_run(&self, skill: &Activation) -> Option<bool> {
        match skill.origin {
            Origin::Bundled | Origin::Own => Some(true),
            Origin::Project(_) => {
                let hash = skill.hash.as_ref()?;
                let decided = self.code.get(hash).copied();
                decided.or_else(|| self.consent().may_run(hash))
            }
        }
    }

    /// The conversation a turn begins with: which skills it holds.
    pub(in crate::session) fn look_through(&mut self, dialog: &Dialog) {
        let answers = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
        let loaded = answers
            .filter(|prompt| prompt.response.contains(specs::LOAD_SKILL))
            .flat_map(|prompt| tool_records(&prompt.response))
            .filter(|record| record.name == specs::LOAD_SKILL && record.success)
            .filter(|record| !record.result.starts_with(ALREADY))
            .filter_map(|record| {
                let wanted = record.arguments["path"].as_str()?;
                Some(self.catalog.resolve(wanted).ok()?.path.clone())
            });
        self.loaded = loaded.collect();
    }
}

impl Session {
    /// The list is made: the instructions of every turn end with it.
    pub(in crate::session) fn on_skills_found(&mut self, skills: Skills) {
        self.exchanges.instruct(&skills.catalog.section());
        self.shelf.catalog = skills.catalog;
        *self.shelf.consent() = skills.consent;
        if let Some(trouble) = skills.trouble {
            let notice = SessionEvent::Notice(Notice::warning(trouble));
            self.out_or_background().send(notice);
        }
    }

    pub(super) fn load_skill(&mut self, arguments: &Value) -> Option<ToolReturn> {
        let wanted = Arguments::of(arguments, "", &["path"])
            .and_then(|arguments| arguments.text("path", "a path from the list of skills"))
            .map_err(|why| format!("{}: {why}", specs::LOAD_SKILL));
        let skill = match wanted.and_then(|wanted| self.shelf.catalog.resolve(wanted)) {
            Ok(skill) => skill.clone(),
            Err(why) => return Some(ToolReturn::failed(&why)),
        };
        if self.shelf.loaded.contains(&skill.path) {
            let text = format!("{ALREADY}: it stands earlier in this conversation");
            return Some(ToolReturn::text(text));
        }
        let project = match &skill.origin {
            // Where nobody can be asked its text is read, as any file would be; nothing of it runs.
            Origin::Project(project) if self.asking.somebody() && !self.shelf.trusts(project) => {
                project.clone()
            }
            _ => {
                self.read_skill(skill.path);
                return None;
            }
        };
        let about = About::ProjectSkill {
            skill: skill.name,
            path: skill.path.clone(),
            project: project.to_string_lossy().into_owned(),
        };
        let loading = Loading::AskingTrust {
            path: skill.path,
            project,
        };
        self.toolbox.job = Some(Job::Skill(loading));
        self.ask_user(about, Asker::Tool);
        None
    }

    /// Reads it on another thread: a file may lie on a disk that does not answer.
    fn read_skill(&mut self, path: String) {
        let (catalog, inbox, wanted) =
            (self.shelf.catalog.clone(), self.inbox.clone(), path.clone());
        tokio::task::spawn_blocking(move || {
            let read = catalog.activate(&wanted);
            // The session may have ended.
            let _ = inbox.send(Command::SkillRead(wanted, read.map(Box::new)));
        });
        self.toolbox.job = Some(Job::Skill(Loading::Reading { path }));
    }

    /// It is read, or could not be.
    pub(in crate::session) fn on_skill_read(
        &mut self,
        path: &str,
        read: Result<Box<Activation>, String>,
    ) {
        let waited = matches!(&self.toolbox.job,
            Some(Job::Skill(Loading::Reading { path: wanted })) if wanted == path);
        if !waited {
            return;
        }
        let step = match read {
            Err(why) => Some(ToolReturn::failed(&why)),
            Ok(skill) => self.skill_is_read(skill),
        };
        self.settle(step);
    }

    fn skill_is_read(&mut self, skill: Box<Activation>) -> Option<ToolReturn> {
        if skill.blocks.is_empty() {
            return Some(self.loaded(&skill, ""));
        }
        match self.shelf.may_run(&skill) {
            Some(true) => self.next_block(skill, Vec::new()),
            Some(false) => Some(self.loaded(&skill, &not_run(&skill, DECLINED))),
            None if !self.asking.somebody() => Some(self.loaded(&skill, &not_run(&skill, NOBODY))),
            None => {
                let about = About::SkillCode {
                    skill: skill.name.clone(),
                    path: skill.path.clone(),
                    blocks: skill.blocks.clone(),
                };
                self.toolbox.job = Some(Job::Skill(Loading::AskingCode(skill)));
                self.ask_user(about, Asker::Tool);
                None
            }
        }
    }

    /// The user answered.
    pub(super) fn skill_allowed(&mut self, loading: Loading, reply: &Reply) -> Option<ToolReturn> {
        let yes = matches!(
            reply,
            Reply::Chosen(Choice::Once | Choice::Session | Choice::Remember)
        );
        match loading {
            Loading::AskingTrust { path, project } => {
                if !yes {
                    return Some(ToolReturn::denied(
                        "not loaded: the user does not allow the skills of this project",
                        reply,
                    ));
                }
                self.shelf.trusted.insert(project.clone());
                if *reply == Reply::Chosen(Choice::Remember) {
                    self.keep_answer(move |consent| consent.trust(&project, true));
                }
                self.read_skill(path);
                None
            }
            Loading::AskingCode(skill) => {
                if let Some(hash) = skill.hash.clone() {
                    self.shelf.code.insert(hash.clone(), yes);
                    self.keep_answer(move |consent| consent.decide(&hash, yes));
                }
                if yes {
                    self.next_block(skill, Vec::new())
                } else {
                    let why = format!("{DECLINED}{}", reply.reason());
                    Some(self.loaded(&skill, &not_run(&skill, &why)))
                }
            }
            loading => {
                self.toolbox.job = Some(Job::Skill(loading));
                None
            }
        }
    }

    /// Keeps an answer for later sessions, on another thread.
    fn keep_answer(
        &self,
        keep: impl FnOnce(&mut Consent) -> Result<(), ConsentError> + Send + 'static,
    ) {
        let (consent, inbox) = (Arc::clone(&self.shelf.consent), self.inbox.clone());
        let out = self.out_or_background().clone();
        tokio::task::spawn_blocking(move || {
            let kept = keep(&mut consent.lock().unwrap_or_else(PoisonError::into_inner));
            if let Err(error) = kept {
                let message = format!("the answer holds for this session only: {error}");
                let notice = SessionEvent::Notice(Notice::warning(message));
                // The session may have ended.
                let _ = inbox.send(Command::Said(out, notice));
            }
        });
    }

    /// Runs the next block; the result when none is left.
    fn next_block(&mut self, skill: Box<Activation>, ran: Vec<Remains>) -> Option<ToolReturn> {
        let Some(code) = skill.blocks.get(ran.len()).cloned() else {
            let told = told(&skill, &ran);
            return Some(self.loaded(&skill, &told));
        };
        let out = self.out_or_background().clone();
        let code_shown = code.trim_end();
        out.send(SessionEvent::Verbatim(format!(
            "skill {} runs:\n{code_shown}",
            skill.name
        )));
        let execute = Execute {
            code: code.clone(),
            execution_count: None,
            silent: false,
            stdin: self.tool_stdin(),
            place: None,
        };
        let id = self
            .connected_runtime()
            .submit(RuntimeRequest::Execute(execute));
        let outputs = self.outputs.clone();
        let run = CellRun::new(id, Whose::Skill, code, out, outputs);
        self.toolbox.live = Some(Box::new(run));
        self.toolbox.job = Some(Job::Skill(Loading::Running { skill, ran }));
        None
    }

    /// A block has ended: the next one, or the result.
    pub(super) fn block_ran(
        &mut self,
        skill: Box<Activation>,
        mut ran: Vec<Remains>,
        remains: Remains,
    ) -> Option<ToolReturn> {
        let ok = remains.ending == Ending::Ok;
        ran.push(remains);
        if ok {
            return self.next_block(skill, ran);
        }
        let told = told(&skill, &ran);
        Some(self.loaded(&skill, &told))
    }

    fn loaded(&mut self, skill: &Activation, told: &str) -> ToolReturn {
        self.shelf.loaded.insert(skill.path.clone());
        if !matches!(&skill.origin, Origin::Project(project) if !self.shelf.trusts(project)) {
            self.exchanges.skill_loaded(skill.text.clone());
        }
        if !matches!(&skill.origin, Origin::Project(project) if !self.shelf.trusts(project)) {
            self.exchanges.skill_loaded(skill.text.clone());
        }
        let mut text = skill.reply();
        if !told.is_empty() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(told);
        }
        ToolReturn::text(text)
    }
}

/// What is said of code that did not run.
fn not_run(skill: &Activation, why: &str) -> String {
    let (blocks, verb) = match skill.blocks.len() {
        1 => ("The code block", "was"),
        _ => ("The code blocks", "were"),
    };
    format!("\n{blocks} marked `eval: true` {verb} not run: {why}.\n")
}

/// What is said of code that ran.
fn told(skill: &Activation, ran: &[Remains]) -> String {
    let all = skill.blocks.len();
    let mut text = String::new();
    for (n, remains) in ran.iter().enumerate() {
        let number = n + 1;
        let end = match &remains.ending {
            Ending::Ok => "ran".to_owned(),
            Ending::Error => match &remains.raised {
                Some(summary) => format!("failed: {summary}"),
                None => "failed".to_owned(),
            },
            Ending::Interrupted => "was interrupted".to_owned(),
            Ending::Died(Death::NotStarted(failure)) => format!("did not run: {}", failure.message),
            Ending::Died(death) => {
                format!("ended the interpreter ({death}), all variables are lost")
            }
        };
        text.push_str(&format!(
            "\nCode block {number} of {all} (`eval: true`) {end}."
        ));
        let shown = shorten_transcript(&remains.shown, BLOCK_CHARACTERS, Rest::Gone);
        if !shown.trim().is_empty() {
            text.push_str(&format!(" Output:\n{}", shown.trim_end_matches('\n')));
        }
    }
    if ran.len() < all {
        text.push_str("\nThe blocks after it were not run.");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
