//! The skills of a session: the list as it was found, what the user answered about them, what the conversation holds.
//!
//! The list is made once, on a thread of its own, while the session starts; the first prompt waits for it, nothing
//! else does. What the user answered for later sessions is written by [`Shelf::keep_answers`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::specs;
use crate::dialog::{Dialog, tool_records};
use crate::session::events::Notice;
use crate::session::run::RunSender;
use crate::skills::{Activation, Catalog, Consent, Origin};
use crate::text::columns;
use crate::text::escape::visible;

/// What begins the result of a call that gave nothing new.
pub(super) const ALREADY: &str = "already loaded";

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
    to_keep: Vec<Kept>,
    /// Each `SKILL.md` loaded since the last prompt was sent: the next prompt brings what it declares.
    fresh: Vec<String>,
}

/// An answer for later sessions.
enum Kept {
    Trust(PathBuf),
    Code { hash: String, may_run: bool },
}

impl Shelf {
    /// Nothing on it yet: `find` is called on another thread, `take` gets what it finds.
    pub(in crate::session) fn filling(
        find: FindSkills,
        take: impl FnOnce(Skills) + Send + 'static,
    ) -> Self {
        let (tell, found) = watch::channel(false);
        // Without the thread, or when it fails, the sender is dropped and nobody waits: there are no skills.
        let _ = std::thread::Builder::new()
            .name("skills".into())
            .spawn(move || {
                take(find());
                let _ = tell.send(true);
            });
        Shelf {
            catalog: Catalog::default(),
            consent: Arc::new(Mutex::new(Consent::none())),
            trusted: HashSet::new(),
            code: HashMap::new(),
            loaded: BTreeSet::new(),
            found,
            to_keep: Vec::new(),
            fresh: Vec::new(),
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

    pub(super) fn trusts(&self, project: &Path) -> bool {
        self.trusted.contains(project) || self.consent().trusts(project)
    }

    pub(super) fn may_run(&self, skill: &Activation) -> Option<bool> {
        match skill.origin {
            Origin::Bundled | Origin::Own => Some(true),
            Origin::Project(_) => self.decided(skill.hash.as_ref()?),
        }
    }

    /// What the user decided about code of this content.
    pub(in crate::session) fn decided(&self, hash: &str) -> Option<bool> {
        let decided = self.code.get(hash).copied();
        decided.or_else(|| self.consent().may_run(hash))
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

    /// The list is made: what it and the user's answers are.
    pub(in crate::session) fn fill(&mut self, catalog: Catalog, consent: Consent) {
        self.catalog = catalog;
        *self.consent() = consent;
    }

    /// The list, to be read from on another thread.
    pub(in crate::session) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The conversation holds this skill.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.loaded.contains(path)
    }

    /// The user trusts this project, for now or (`remembered`) for good.
    pub(super) fn trust(&mut self, project: PathBuf, remembered: bool) {
        if remembered {
            self.to_keep.push(Kept::Trust(project.clone()));
        }
        self.trusted.insert(project);
    }

    /// The user decided about code of this content, for good.
    pub(in crate::session) fn decide(&mut self, hash: String, may_run: bool) {
        self.code.insert(hash.clone(), may_run);
        self.to_keep.push(Kept::Code { hash, may_run });
    }

    /// The skill is loaded, with the user's leave where that was needed.
    pub(super) fn load(&mut self, skill: &Activation) {
        self.loaded.insert(skill.path.clone());
        if !matches!(&skill.origin, Origin::Project(project) if !self.trusts(project)) {
            self.fresh.push(skill.text.clone());
        }
    }

    /// Each `SKILL.md` loaded since the last prompt was sent.
    pub(in crate::session) fn fresh(&self) -> &[String] {
        &self.fresh
    }

    /// A prompt was sent, or the conversation left.
    pub(in crate::session) fn nothing_fresh(&mut self) {
        self.fresh.clear();
    }

    /// Keeps for later sessions what the user answered, on another thread; a failure is said on `out`.
    pub(in crate::session) fn keep_answers(&mut self, out: &RunSender) {
        let answers = std::mem::take(&mut self.to_keep);
        if answers.is_empty() {
            return;
        }
        let (consent, out) = (Arc::clone(&self.consent), out.clone());
        tokio::task::spawn_blocking(move || {
            let mut consent = consent.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = answers.iter().try_for_each(|answer| match answer {
                Kept::Trust(project) => consent.trust(project, true),
                Kept::Code { hash, may_run } => consent.decide(hash, *may_run),
            });
            if let Err(error) = kept {
                let message = format!("the answer holds for this session only: {error}");
                out.send(Notice::warning(message));
            }
        });
    }
}
