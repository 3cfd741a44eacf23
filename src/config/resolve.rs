//! Flag, environment, file, default: the first that says something decides.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::{Approvals, Effort, Search, Threads};
use crate::environment::Environment;
use crate::markdown::{Background, Theme};
use crate::report::Report;
use crate::text::similar::did_you_mean;

use super::file::{ConfigFile, read_text};
use super::paths::absolute;
use super::{
    AgentChoice, Choice, ConfigFlags, EditMode, Images, Keymap, Paths, RunCells, RuntimeChoice,
    Sandbox, Settings, WrongValue,
};

/// Every key of `config.json`, in the order they are told.
pub const KEYS: [&str; 19] = [
    "model",
    "completion_model",
    "think",
    "search",
    "code_theme",
    "log_exact",
    "prompt_mode",
    "greeting",
    "agent",
    "python",
    "runtime",
    "threads",
    "approvals",
    "sandbox",
    "run_cells",
    "images",
    "history_hint",
    "edit_mode",
    "keys",
];

/// The system prompt for users without one of their own.
const SYSTEM_PROMPT: &str = include_str!("../../assets/prompts/system.md");

/// Reads the settings file and the system prompt and decides what holds. What is wrong is reported, and counts as not
/// written.
pub fn resolve(flags: &ConfigFlags, environment: &Environment) -> (Settings, Vec<Report>) {
    let paths = Paths::new(
        environment,
        flags.config_dir.as_deref(),
        flags.hist_file.as_deref(),
    );
    let (file, report) = ConfigFile::read(&paths.config_file);
    let mut said = Said {
        file: &file,
        reports: report.into_iter().collect(),
    };
    said.unknown_keys();
    let from_environment = environment.variable("IPYAI_MODEL").map(str::to_owned);
    let prompt_mode: bool = said.choice("prompt_mode").unwrap_or(false);
    let background = environment
        .variable("COLORFGBG")
        .and_then(Background::of_variable);
    let code_theme = not_empty(flags.code_theme.clone().or(said.word("code_theme", theme)))
        .or_else(|| background.map(|background| background.theme().into()));
    let settings = Settings {
        model: not_empty(
            flags
                .model
                .clone()
                .or(from_environment)
                .or(said.text("model")),
        ),
        completion_model: not_empty(
            flags
                .completion_model
                .clone()
                .or(said.text("completion_model")),
        ),
        think: flags.think.or(said.choice("think")).unwrap_or(Effort::Low),
        search: flags
            .search
            .or(said.choice("search"))
            .unwrap_or(Search::Low),
        code_theme_chosen: code_theme.is_some(),
        code_theme: code_theme.unwrap_or_else(|| Background::default().theme().into()),
        log_exact: said.choice("log_exact").unwrap_or(false),
        prompt_mode: prompt_mode ^ flags.prompt_mode,
        greeting: said.choice("greeting").unwrap_or(true),
        agent: flags
            .agent
            .clone()
            .or(said.parsed("agent"))
            .unwrap_or(AgentChoice::Codex),
        python: flags
            .python
            .clone()
            .or(not_empty(said.text("python")).map(PathBuf::from))
            .map(|path| program(environment, &path)),
        runtime: flags
            .runtime
            .clone()
            .or(said.parsed("runtime"))
            .unwrap_or(RuntimeChoice::Embedded),
        threads: said.choice("threads").unwrap_or(Threads::Session),
        approvals: said.choice("approvals").unwrap_or(Approvals::Never),
        sandbox: said.choice("sandbox").unwrap_or(Sandbox::WorkspaceWrite),
        run_cells: said.choice("run_cells").unwrap_or(RunCells::Ask),
        images: said.choice("images").unwrap_or(Images::Auto),
        history_hint: said.choice("history_hint").unwrap_or(true),
        edit_mode: said.choice("edit_mode").unwrap_or(EditMode::Emacs),
        keys: said.keys(),
        color: flags.color.unwrap_or_default(),
        ipython: !flags.no_ipython,
        record: !flags.no_record,
        codex_command: codex_command(environment, &mut said.reports),
        system_prompt: system_prompt(&paths.system_prompt, &mut said.reports),
        paths: paths.clone(),
    };
    let reports = said.reports;
    (settings, reports)
}

/// What the file says, and what is wrong with it.
struct Said<'a> {
    file: &'a ConfigFile,
    reports: Vec<Report>,
}

impl Said<'_> {
    fn unknown_keys(&mut self) {
        let unknown: Vec<String> = self
            .file
            .keys()
            .filter(|key| !KEYS.contains(key))
            .map(|key| format!("`{key}`{}", did_you_mean(key, KEYS)))
            .collect();
        if !unknown.is_empty() {
            self.reports.push(
                Report::failure(format!(
                    "`{}` has keys that are not known: {}",
                    self.file.path().display(),
                    unknown.join(", ")
                ))
                .hint(format!("known are {}", KEYS.join(", "))),
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

    /// A value that is written as a word.
    fn word<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, WrongValue>) -> Option<T> {
        let value = self.file.get(key)?;
        let parsed = match value {
            Value::Null => return None,
            Value::String(word) => parse(word),
            // An empty word is none of those allowed: the error names them.
            _ => parse(""),
        };
        match parsed {
            Ok(parsed) => Some(parsed),
            Err(wrong) => {
                self.wrong(key, value, &wrong.allowed);
                None
            }
        }
    }

    fn choice<T: Choice>(&mut self, key: &str) -> Option<T> {
        if let Some(Value::Bool(value)) = self.file.get(key)
            && let Ok(value) = T::parse(if *value { "true" } else { "false" })
        {
            return Some(value);
        }
        self.word(key, T::parse)
    }

    fn parsed<T: FromStr<Err = WrongValue>>(&mut self, key: &str) -> Option<T> {
        self.word(key, str::parse)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.file.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong(key, other, "a string");
                None
            }
        }
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

/// The name of a theme that is there; an empty one is none.
fn theme(name: &str) -> Result<String, WrongValue> {
    if name.trim().is_empty() || Theme::named(name).is_ok() {
        return Ok(name.to_owned());
    }
    Err(WrongValue::among(name, Theme::names()))
}

fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// A bare name stays one, to be found on `PATH`; anything else becomes absolute.
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
                Report::failure(format!("`IPYAI_CODEX_CMD` is no command: `{command}`"))
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
