//! The skills of a session: the catalog, the user's decisions about them, and which of them the conversation has
//! loaded.
//!
//! The catalog is built once, on a thread of its own: while the session starts, or, in a run that may have no use for
//! it, when it is first needed. Only the first prompt waits for it.
//! Decisions for later sessions are written by [`SkillRegistry::save_decisions`].

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::specs;
use crate::dialog::{Dialog, tool_records};
use crate::events::Notice;
use crate::run::RunSender;
use crate::skills::{Activation, Catalog, Consent, SkillOrigin};
use crate::text::columns;
use crate::text::escape::visible;

/// Prefix of the result for a skill that was loaded before.
pub(super) const ALREADY: &str = "already loaded";

#[derive(Debug, Clone)]
pub struct Skills {
    pub catalog: Catalog,
    pub consent: Consent,
    /// Warning shown once when the decisions cannot be used.
    pub warning: Option<String>,
}

/// Called once, on a thread of its own.
pub type FindSkills = Box<dyn FnOnce() -> Skills + Send>;

pub(crate) struct SkillRegistry {
    catalog: Catalog,
    consent: Arc<Mutex<Consent>>,
    trusted: HashSet<PathBuf>,
    /// Decisions of this session about code, by its hash.
    code: HashMap<String, bool>,
    /// Paths of the skills that the conversation holds.
    loaded: BTreeSet<String>,
    /// The search, until it begins.
    search: Cell<Option<Box<dyn FnOnce() + Send>>>,
    found: watch::Receiver<bool>,
    unsaved: Vec<SavedAnswer>,
    /// Each `SKILL.md` loaded since the last prompt was sent; the next prompt evaluates its declarations.
    fresh: Vec<String>,
}

/// A decision for later sessions.
enum SavedAnswer {
    Trust(PathBuf),
    Code { hash: String, may_run: bool },
}

impl SkillRegistry {
    /// Starts empty; the search calls `find` on another thread and passes its result to `take`.
    pub(crate) fn new(find: FindSkills, take: impl FnOnce(Skills) + Send + 'static) -> Self {
        let (tell, found) = watch::channel(false);
        let search = move || {
            take(find());
            let _ = tell.send(true);
        };
        SkillRegistry {
            catalog: Catalog::default(),
            consent: Arc::new(Mutex::new(Consent::none())),
            trusted: HashSet::new(),
            code: HashMap::new(),
            loaded: BTreeSet::new(),
            search: Cell::new(Some(Box::new(search))),
            found,
            unsaved: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Begins the search, unless it has begun.
    pub(crate) fn begin(&self) {
        if let Some(search) = self.search.take() {
            // If the thread fails, the sender is dropped and waiting ends: there are no skills.
            let _ = std::thread::Builder::new()
                .name("skills".into())
                .spawn(search);
        }
    }

    /// True until the catalog is complete, or its thread has failed.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.found.has_changed().is_ok() && !*self.found.borrow()
    }

    /// Resolves when the catalog is complete, or its thread has failed.
    pub(crate) fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        self.begin();
        let mut found = self.found.clone();
        async move {
            // An error means that the thread has failed.
            let _ = found.wait_for(|found| *found).await;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.catalog.skills().is_empty()
    }

    pub(crate) fn unique_skills(&self) -> Vec<(String, String)> {
        let named = self.catalog.skills().iter().filter(|skill| !skill.shadowed);
        named
            .map(|skill| (skill.name.clone(), skill.description.clone()))
            .collect()
    }

    pub(crate) fn listing(&self) -> String {
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
                SkillOrigin::Bundled => "built in",
                SkillOrigin::Own => "own",
                SkillOrigin::Project(_) => "project",
            };
            let state = match &skill.origin {
                _ if self.loaded.contains(&skill.path) => "loaded",
                _ if skill.shadowed => "shadowed",
                SkillOrigin::Project(project) if !self.trusts(project) => "asks first",
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

    pub(super) fn trusts(&self, project: &Path) -> bool {
        self.trusted.contains(project) || self.consent().trusts(project)
    }

    pub(super) fn may_run(&self, skill: &Activation) -> Option<bool> {
        match skill.origin {
            SkillOrigin::Bundled | SkillOrigin::Own => Some(true),
            SkillOrigin::Project(_) => self.code_decision(skill.hash.as_ref()?),
        }
    }

    pub(crate) fn code_decision(&self, hash: &str) -> Option<bool> {
        let decided = self.code.get(hash).copied();
        decided.or_else(|| self.consent().may_run(hash))
    }

    /// Finds the skills that the conversation holds when a turn begins.
    pub(crate) fn scan_conversation(&mut self, dialog: &Dialog) {
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

    pub(crate) fn set_catalog(&mut self, catalog: Catalog, consent: Consent) {
        self.catalog = catalog;
        *self.consent() = consent;
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(super) fn is_loaded(&self, path: &str) -> bool {
        self.loaded.contains(path)
    }

    pub(super) fn trust(&mut self, project: PathBuf, remembered: bool) {
        if remembered {
            self.unsaved.push(SavedAnswer::Trust(project.clone()));
        }
        self.trusted.insert(project);
    }

    /// Stores the user's decision about code with this hash, for good.
    pub(crate) fn record_code_decision(&mut self, hash: String, may_run: bool) {
        self.code.insert(hash.clone(), may_run);
        self.unsaved.push(SavedAnswer::Code { hash, may_run });
    }

    pub(super) fn mark_loaded(&mut self, skill: &Activation) {
        self.loaded.insert(skill.path.clone());
        if !matches!(&skill.origin, SkillOrigin::Project(project) if !self.trusts(project)) {
            self.fresh.push(skill.text.clone());
        }
    }

    pub(crate) fn newly_loaded(&self) -> &[String] {
        &self.fresh
    }

    /// Called when a prompt was sent, or the session changes.
    pub(crate) fn clear_newly_loaded(&mut self) {
        self.fresh.clear();
    }

    /// Writes new decisions on another thread; reports a failure on `out`.
    pub(crate) fn save_decisions(&mut self, out: &RunSender) {
        let answers = std::mem::take(&mut self.unsaved);
        if answers.is_empty() {
            return;
        }
        let (consent, out) = (Arc::clone(&self.consent), out.clone());
        tokio::task::spawn_blocking(move || {
            let mut consent = consent.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = answers.iter().try_for_each(|answer| match answer {
                SavedAnswer::Trust(project) => consent.trust(project, true),
                SavedAnswer::Code { hash, may_run } => consent.decide(hash, *may_run),
            });
            if let Err(error) = kept {
                let message = format!("the answer holds for this session only: {error}");
                out.send(Notice::warning(message));
            }
        });
    }
}
