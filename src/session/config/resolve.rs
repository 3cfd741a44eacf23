//! Resolves the settings: flag, then environment, then file, then default; the first that sets a value wins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::agent::{Effort, WebSearchUse};
use crate::environment::Environment;
use crate::markdown::Background;
use crate::screen::ColorChoice;
use crate::text::report::Report;
use crate::text::similar::did_you_mean;

use super::agents::{self, Agents};
use super::file::{ConfigFile, read_text};
use super::paths::absolute;
use super::{
    AgentChoice, AgentTools, ChoiceSetting, Choices, Keymap, Paths, Provenance, RuntimeChoice,
    SETTINGS, Setting, SettingOrigin,
};

/// The variable for the setting `agent_tools`.
const TOOLS: &str = "IPYCODEX_TOOLS";

/// The system prompt for users without `sysp.txt`.
const SYSTEM_PROMPT: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/prompts/system.md"
));

/// Values from the command line; `None` leaves a value to the environment, the file or the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFlags {
    pub model: Option<String>,
    pub completion_model: Option<String>,
    pub think: Option<Effort>,
    pub search: Option<WebSearchUse>,
    pub code_theme: Option<String>,
    pub agent: Option<AgentChoice>,
    pub python: Option<PathBuf>,
    /// `--profile`; empty for `--no-profile`.
    pub ipython_profile: Option<String>,
    pub runtime: Option<RuntimeChoice>,
    pub hist_file: Option<PathBuf>,
    pub config_dir: Option<PathBuf>,
    pub color: Option<ColorChoice>,
    pub no_ipython: bool,
    /// `-p`: inverts the file's `prompt_mode`.
    pub prompt_mode: bool,
    pub no_record: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub choices: Choices,
    pub keys: Arc<Keymap>,
    pub color: ColorChoice,
    /// Uses IPython's shell where it can be imported.
    pub ipython: bool,
    pub record: bool,
    pub agents: Agents,
    /// The command that starts Codex, without its arguments; never empty.
    pub codex_command: Vec<String>,
    /// The user's instructions (`sysp.txt`), or ours.
    pub system_prompt: String,
    pub paths: Paths,
    pub provenance: Provenance,
}

/// Reads the settings file and the system prompt and resolves the settings. A fault is reported and otherwise
/// ignored.
pub fn resolve(flags: &ConfigFlags, environment: &Environment) -> (Settings, Vec<Report>) {
    let paths = Paths::new(
        environment,
        flags.config_dir.as_deref(),
        flags.hist_file.as_deref(),
    );
    let (file, report) = ConfigFile::read(&paths.config_file);
    let mut resolver = FileResolver {
        file: &file,
        reports: report.into_iter().collect(),
    };
    resolver.unknown_keys();
    let mut provenance = Provenance::new(&paths, environment.home.as_deref());
    let mut choices = resolver.choices(&mut provenance);
    choices.mcp_servers = resolver.mcp_servers();
    let background = environment.variable("COLORFGBG");
    if let Some(background) = background.and_then(Background::of_variable)
        && !choices.code_theme_chosen
    {
        choices.code_theme = background.theme().into();
        choices.code_theme_chosen = true;
        if let Some(row) = Setting::from_name("code_theme") {
            provenance.decided(row, SettingOrigin::Environment, &choices);
        }
    }
    apply_overrides(&mut choices, flags, environment);
    if let Some(word) = environment.variable(TOOLS) {
        match AgentTools::parse(word) {
            Ok(tools) => choices.agent_tools = tools,
            Err(wrong) => resolver
                .reports
                .push(Report::failure(format!("`{TOOLS}`: {wrong}"))),
        }
    }
    for (name, origin) in override_origins(flags, environment) {
        let row = Setting::from_name(name).expect("a row of the table");
        provenance.decided(row, origin, &choices);
    }
    let settings = Settings {
        choices,
        keys: resolver.keys(),
        color: flags.color.unwrap_or_default(),
        ipython: !flags.no_ipython,
        record: !flags.no_record,
        agents: resolver.agents(),
        codex_command: codex_command(environment, &mut resolver.reports),
        system_prompt: system_prompt(&paths.system_prompt, &mut resolver.reports),
        paths: paths.clone(),
        provenance,
    };
    let reports = resolver.reports;
    (settings, reports)
}

fn apply_overrides(choices: &mut Choices, flags: &ConfigFlags, environment: &Environment) {
    fn put<T: Clone>(place: &mut T, flag: Option<&T>) {
        if let Some(value) = flag {
            place.clone_from(value);
        }
    }
    let model = environment.variable("IPYAI_MODEL").map(str::to_owned);
    put(&mut choices.model, flags.model.as_ref().or(model.as_ref()));
    put(
        &mut choices.completion_model,
        flags.completion_model.as_ref(),
    );
    put(&mut choices.think, flags.think.as_ref());
    put(&mut choices.search, flags.search.as_ref());
    if let Some(theme) = not_empty(flags.code_theme.clone()) {
        (choices.code_theme, choices.code_theme_chosen) = (theme, true);
    }
    put(&mut choices.agent, flags.agent.as_ref());
    put(&mut choices.ipython_profile, flags.ipython_profile.as_ref());
    put(&mut choices.runtime, flags.runtime.as_ref());
    let python = flags.python.as_ref().or(choices.python.as_ref());
    choices.python = python.map(|path| program(environment, path));
    choices.prompt_mode ^= flags.prompt_mode;
}

/// The settings that [`apply_overrides`] sets, with their origins.
fn override_origins(
    flags: &ConfigFlags,
    environment: &Environment,
) -> impl Iterator<Item = (&'static str, SettingOrigin)> {
    let variable = |name| environment.variable(name).is_some();
    let tools = environment.variable(TOOLS);
    let tools = tools.is_some_and(|word| AgentTools::parse(word).is_ok());
    let theme = not_empty(flags.code_theme.clone()).is_some();
    [
        ("model", SettingOrigin::Environment, variable("IPYAI_MODEL")),
        ("agent_tools", SettingOrigin::Environment, tools),
        ("model", SettingOrigin::Flag, flags.model.is_some()),
        (
            "completion_model",
            SettingOrigin::Flag,
            flags.completion_model.is_some(),
        ),
        ("think", SettingOrigin::Flag, flags.think.is_some()),
        ("search", SettingOrigin::Flag, flags.search.is_some()),
        ("code_theme", SettingOrigin::Flag, theme),
        ("agent", SettingOrigin::Flag, flags.agent.is_some()),
        ("runtime", SettingOrigin::Flag, flags.runtime.is_some()),
        ("python", SettingOrigin::Flag, flags.python.is_some()),
        (
            "ipython_profile",
            SettingOrigin::Flag,
            flags.ipython_profile.is_some(),
        ),
        ("prompt_mode", SettingOrigin::Flag, flags.prompt_mode),
    ]
    .into_iter()
    .filter(|(_, _, decided)| *decided)
    .map(|(name, origin, _)| (name, origin))
}

/// Resolves the values of the file and collects reports on its faults.
struct FileResolver<'a> {
    file: &'a ConfigFile,
    reports: Vec<Report>,
}

impl FileResolver<'_> {
    fn unknown_keys(&mut self) {
        let known = SETTINGS.iter().map(|row| row.name);
        let known: Vec<&str> = known.chain(["keys", "agents", "mcp_servers"]).collect();
        let unknown: Vec<String> = self
            .file
            .keys()
            .filter(|key| !known.contains(key))
            .map(|key| format!("`{key}`{}", did_you_mean(key, known.iter().copied())))
            .collect();
        if !unknown.is_empty() {
            self.reports.push(
                Report::failure(format!(
                    "`{}` has unknown settings: {}",
                    self.file.path().display(),
                    unknown.join(", ")
                ))
                .hint(format!("known settings: {}", known.join(", "))),
            );
        }
    }

    fn wrong(&mut self, key: &str, value: &Value, allowed: &str) {
        let line = self
            .file
            .line(key)
            .map_or_else(String::new, |line| format!(", line {line}"));
        self.reports.push(
            Report::failure(format!("`{key}` cannot be `{value}` (allowed: {allowed})"))
                .because(format!("`{}`{line}", self.file.path().display())),
        );
    }

    /// The defaults with the file's values over them.
    fn choices(&mut self, provenance: &mut Provenance) -> Choices {
        let mut choices = Choices::default();
        for row in SETTINGS {
            match self.file.get(row.name) {
                None | Some(Value::Null) => {}
                Some(value) => match row.set_from(&mut choices, value) {
                    Ok(()) => provenance.decided(row, SettingOrigin::File, &choices),
                    Err(wrong) => self.wrong(row.name, value, &wrong.allowed),
                },
            }
        }
        choices
    }

    fn agents(&mut self) -> Agents {
        match self.file.get("agents") {
            None | Some(Value::Null) => {}
            Some(Value::Object(setting)) => {
                let (agents, wrong) = agents::read(setting);
                for (name, allowed) in wrong {
                    self.wrong(&format!("agents.{name}"), &setting[&name], allowed);
                }
                return agents;
            }
            Some(other) => self.wrong("agents", other, "an object of names and commands"),
        }
        Agents::new()
    }

    fn mcp_servers(&mut self) -> Agents {
        match self.file.get("mcp_servers") {
            None | Some(Value::Null) => {}
            Some(Value::Object(setting)) => {
                let (servers, wrong) = agents::mcp_servers(setting);
                for (name, allowed) in wrong {
                    self.wrong(&format!("mcp_servers.{name}"), &setting[&name], allowed);
                }
                return servers;
            }
            Some(other) => self.wrong("mcp_servers", other, "an object of names and commands"),
        }
        Agents::new()
    }

    fn keys(&mut self) -> Arc<Keymap> {
        match self.file.get("keys") {
            None | Some(Value::Null) => {}
            Some(Value::Object(setting)) => {
                let (keymap, wrong) = Keymap::new(setting);
                for wrong in wrong {
                    let key = format!("keys.{}", wrong.action);
                    self.wrong(&key, &wrong.value, &wrong.allowed);
                }
                return Arc::new(keymap);
            }
            Some(other) => self.wrong("keys", other, "an object of actions and chords"),
        }
        Arc::default()
    }
}

fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Keeps a bare name, to be found on `PATH`; makes any other path absolute.
fn program(environment: &Environment, path: &Path) -> PathBuf {
    if path.components().count() == 1 && !path.starts_with("~") && !path.starts_with(".") {
        path.to_owned()
    } else {
        absolute(environment, path)
    }
}

fn codex_command(environment: &Environment, reports: &mut Vec<Report>) -> Vec<String> {
    let default = || vec!["codex".to_owned()];
    let Some(command) = environment.variable("IPYAI_CODEX_CMD") else {
        return default();
    };
    match shlex::split(command) {
        Some(words) if !words.is_empty() => words,
        _ => {
            reports.push(
                Report::failure(format!("`IPYAI_CODEX_CMD` is not a command: `{command}`"))
                    .hint("quotes must be closed, as in a shell; `codex` is used instead"),
            );
            default()
        }
    }
}

fn system_prompt(path: &Path, reports: &mut Vec<Report>) -> String {
    match read_text(path) {
        Ok(Some(text)) if !text.trim().is_empty() => text,
        Ok(_) => SYSTEM_PROMPT.to_owned(),
        Err(report) => {
            reports.push(report.hint("the built-in system prompt is used"));
            SYSTEM_PROMPT.to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
