//! Where the values of the start come from, and which files there are: what a listing of settings tells beside values.
//!
//! Absent on purpose: the values in force, which are the session's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Choices, Paths, Setting};

/// Who decided a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Nobody.
    Default,
    /// `config.json`.
    File,
    /// A variable.
    Environment,
    /// The command line.
    Flag,
    /// A command of this session.
    Session,
}

impl SettingOrigin {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            SettingOrigin::Default => "default",
            SettingOrigin::File => "file",
            SettingOrigin::Environment => "environment",
            SettingOrigin::Flag => "flag",
            SettingOrigin::Session => "session",
        }
    }
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    origins: BTreeMap<&'static str, (SettingOrigin, Value)>,
    files: Vec<(&'static str, PathBuf)>,
    home: Option<PathBuf>,
}

impl Provenance {
    /// Nobody has decided anything yet.
    pub(super) fn new(paths: &Paths, home: Option<&Path>) -> Self {
        Provenance {
            origins: BTreeMap::new(),
            files: vec![
                ("settings", paths.config_file.clone()),
                ("instructions", paths.system_prompt.clone()),
                ("startup notebook", paths.startup_notebook.clone()),
                ("record", paths.history.clone()),
                ("exact log", paths.exact_log.clone()),
            ],
            home: home.map(Path::to_owned),
        }
    }

    /// `origin` has decided the setting `row`, as `choices` has it.
    pub(super) fn decided(&mut self, row: &Setting, origin: SettingOrigin, choices: &Choices) {
        self.origins.insert(row.name, (origin, row.get(choices)));
    }

    /// Who decided the value that `choices` has now.
    pub fn origin(&self, row: &Setting, choices: &Choices) -> SettingOrigin {
        let value = row.get(choices);
        let follows = row.name == "code_theme" && !choices.code_theme_chosen;
        match self.origins.get(row.name) {
            Some((origin, decided)) if *decided == value => *origin,
            None if follows || row.get(&Choices::default()) == value => SettingOrigin::Default,
            _ => SettingOrigin::Session,
        }
    }

    /// The files, each with what it is.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.files
            .iter()
            .map(|(what, path)| (*what, path.as_path()))
    }

    /// A path as people write it: `~` for their home.
    pub fn display_path(&self, path: &Path) -> String {
        let inside = self
            .home
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok());
        match inside {
            Some(inside) => format!("~/{}", inside.display()),
            None => path.display().to_string(),
        }
    }
}
