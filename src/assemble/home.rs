//! Start-up work of a fresh interpreter: IPython's profile, files of the user and of the project.
//!
//! In: environment and settings. Out: a start-up plan with the files that exist. Invariant: only folders and files
//! of a project are read; without start-up files the interpreter gets no request, so that scripts need not wait for
//! one.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::environment::Environment;
use crate::runtime::{IpythonFlags, StartupFile, StartupPlan};
use crate::skills::ProjectFiles;

/// Folders of IPython's settings for all users.
const SHARED: [&str; 2] = ["/etc/ipython", "/usr/local/etc/ipython"];

/// Returns the start-up plan: the options of `flags`, and the user's files if `at_home`.
pub(super) fn set_up(
    environment: &Environment,
    settings: &Settings,
    flags: IpythonFlags,
    at_home: bool,
) -> StartupPlan {
    let paths = &settings.paths;
    let told = paths.state_dir.join("ipython-told");
    if !at_home {
        return StartupPlan {
            flags,
            seen_notices: told,
            ..StartupPlan::default()
        };
    }
    let own = Some(paths.config_dir.join("startup.py")).filter(|path| path.is_file());
    let own = own
        .into_iter()
        .chain(scripts(&paths.config_dir.join("modules")));
    StartupPlan {
        profile: profile(environment, settings),
        flags,
        files: own.map(|path| StartupFile { path, text: None }).collect(),
        seen_notices: told,
    }
}

/// Returns the start-up files of the project around the working directory, if `at_home`; the user must approve
/// them.
pub(super) fn project(environment: &Environment, at_home: bool) -> Option<ProjectFiles> {
    let cwd = environment.cwd.as_deref().filter(|_| at_home)?;
    ProjectFiles::find(cwd)
}

/// Returns the name of the configured profile, if a folder of it may exist.
fn profile(environment: &Environment, settings: &Settings) -> Option<String> {
    let name = settings.choices.ipython_profile.trim();
    if name.is_empty() || !settings.ipython {
        return None;
    }
    let folder = match environment.variable("IPYTHONDIR") {
        Some(folder) => PathBuf::from(folder),
        None => environment.home.as_ref()?.join(".ipython"),
    };
    let variables = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter();
    let environments = variables.filter_map(|name| environment.variable(name));
    let shared = environments
        .map(|root| Path::new(root).join("etc/ipython"))
        .chain(SHARED.map(PathBuf::from))
        .any(|folder| folder.is_dir());
    let folder = folder.join(format!("profile_{name}"));
    let there = name != "default"
        || shared
        || environment.variable("PYTHONSTARTUP").is_some()
        || ["ipython_config.py", "ipython_config.json"]
            .iter()
            .any(|file| folder.join(file).exists())
        || !listing(&folder.join("startup"), &["py", "ipy"]).is_empty();
    there.then(|| name.to_owned())
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    listing(folder, &["py"])
}

fn listing(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        suffix.is_some_and(|suffix| suffixes.contains(&suffix)) && path.is_file()
    };
    let mut found: Vec<PathBuf> = paths.filter(named).collect();
    found.sort();
    found
}
