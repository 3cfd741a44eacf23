//! The origins of setting values, and the paths of the configuration files, for listings of settings.
//!
//! Absent on purpose: the values in force, which the session owns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Choices, Paths, Setting};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingOrigin {
    /// No source set it.
    Default,
    File,
    Environment,
    /// The command line.
    Flag,
    /// A command of this session.
    Session,
}

impl SettingOrigin {
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    origins: BTreeMap<&'static str, (SettingOrigin, Value)>,
    files: Vec<(&'static str, PathBuf)>,
    home: Option<PathBuf>,
}

impl Provenance {
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

    /// Notes that `origin` set the setting `row` to its value in `choices`.
    pub(super) fn decided(&mut self, row: &Setting, origin: SettingOrigin, choices: &Choices) {
        self.origins.insert(row.name, (origin, row.get(choices)));
    }

    pub fn origin(&self, row: &Setting, choices: &Choices) -> SettingOrigin {
        let value = row.get(choices);
        let follows = row.name == "code_theme" && !choices.code_theme_chosen;
        match self.origins.get(row.name) {
            Some((origin, decided)) if *decided == value => *origin,
            None if follows || row.get(&Choices::default()) == value => SettingOrigin::Default,
            _ => SettingOrigin::Session,
        }
    }

    /// The configuration files, each with a description.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.files
            .iter()
            .map(|(what, path)| (*what, path.as_path()))
    }

    /// A path for display, with `~` for the user's home.
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
