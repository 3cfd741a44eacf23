//! The words of settings, the same in the file, on the command line and in `%ipycodex`.

use std::fmt;
use std::time::Duration;

use crate::agent::{Approvals, Effort, Sandbox, ThreadMode, WebSearchUse};
use crate::screen::ColorChoice;
use crate::text::similar::did_you_mean;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    Codex,
    Demo,
    /// `acp:COMMAND ARGUMENTS`: the command line.
    Acp(String),
    /// A name in `agents` of the settings file.
    Named(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeChoice {
    Embedded,
    /// `jupyter:NAME`: a kernelspec or a connection file.
    Jupyter(String),
    /// `gateway:URL`, or `gateway:auto`.
    Gateway(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCells {
    Ask,
    /// `preview`: like `ask`, after a dry run.
    Preview,
    Auto,
    Off,
}

/// A time limit in seconds; 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub u32);

impl Seconds {
    /// `None` for no limit.
    pub fn limit(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_secs(self.0.into()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelMode {
    Session,
    PerCall,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTools {
    Both,
    /// `python`: our tools, without the agent's own shell.
    Python,
    /// `shell`: the agent's own shell, without our Python.
    Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    Auto,
    Kitty,
    Iterm2,
    Sixel,
    Blocks,
    Off,
}

/// What becomes of files when a step is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindFiles {
    Ask,
    Always,
    /// They stay, and nothing is kept for it.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditMode {
    Emacs,
    Vi,
}

/// A setting with a fixed list of words.
pub trait ChoiceSetting: Copy + PartialEq + Sized + 'static {
    /// All values with their words, in the order in which they are listed.
    const WORDS: &'static [(&'static str, Self)];

    /// Parses a word; case does not matter.
    ///
    /// # Errors
    /// [`InvalidValue`] naming the words allowed.
    fn parse(word: &str) -> Result<Self, InvalidValue> {
        Self::WORDS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word))
            .map(|&(_, value)| value)
            .ok_or_else(|| InvalidValue::among(word, Self::WORDS.iter().map(|(word, _)| *word)))
    }

    fn word(self) -> &'static str {
        Self::WORDS
            .iter()
            .find(|(_, value)| *value == self)
            .map_or("", |(word, _)| word)
    }
}

/// The error for a value that a setting does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    pub allowed: String,
}

impl InvalidValue {
    /// The error for `given`, which is none of `words`; names the most similar word.
    pub fn among(given: &str, words: impl Iterator<Item = &'static str>) -> Self {
        let words: Vec<&str> = words.collect();
        let meant = did_you_mean(given, words.iter().copied());
        InvalidValue {
            allowed: format!("{}{meant}", words.join(", ")),
        }
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allowed: {}", self.allowed)
    }
}

impl std::error::Error for InvalidValue {}

impl ChoiceSetting for Effort {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("l", Effort::Low),
        ("m", Effort::Medium),
        ("h", Effort::High),
        ("x", Effort::ExtraHigh),
    ];
}

impl ChoiceSetting for WebSearchUse {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", WebSearchUse::Off),
        ("l", WebSearchUse::Low),
        ("m", WebSearchUse::Medium),
        ("h", WebSearchUse::High),
    ];
}

impl ChoiceSetting for ThreadMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("session", ThreadMode::Session),
        ("ephemeral", ThreadMode::Ephemeral),
    ];
}

impl ChoiceSetting for Approvals {
    const WORDS: &'static [(&'static str, Self)] =
        &[("never", Approvals::Never), ("ask", Approvals::Ask)];
}

impl ChoiceSetting for Sandbox {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("read-only", Sandbox::ReadOnly),
        ("workspace-write", Sandbox::WorkspaceWrite),
        ("danger-full-access", Sandbox::FullAccess),
    ];
}

impl ChoiceSetting for RunCells {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("ask", RunCells::Ask),
        ("preview", RunCells::Preview),
        ("auto", RunCells::Auto),
        ("off", RunCells::Off),
    ];
}

impl ChoiceSetting for KernelMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("session", KernelMode::Session),
        ("per-call", KernelMode::PerCall),
    ];
}

impl ChoiceSetting for AgentTools {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("both", AgentTools::Both),
        ("python", AgentTools::Python),
        ("shell", AgentTools::Shell),
    ];
}

impl ChoiceSetting for RewindFiles {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("ask", RewindFiles::Ask),
        ("always", RewindFiles::Always),
        ("off", RewindFiles::Off),
    ];
}

impl ChoiceSetting for Images {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Images::Auto),
        ("kitty", Images::Kitty),
        ("iterm2", Images::Iterm2),
        ("sixel", Images::Sixel),
        ("blocks", Images::Blocks),
        ("off", Images::Off),
    ];
}

impl ChoiceSetting for EditMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("emacs", EditMode::Emacs), ("vi", EditMode::Vi)];
}

impl ChoiceSetting for ColorChoice {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", ColorChoice::Auto),
        ("always", ColorChoice::Always),
        ("never", ColorChoice::Never),
    ];
}

impl AgentChoice {
    /// The agents that are available without an entry in `agents`.
    pub const WORDS: [&str; 2] = ["codex", "demo"];

    /// True for a valid name of an agent.
    pub(super) fn is_name(text: &str) -> bool {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        !text.is_empty() && text.chars().all(fits)
    }
}

impl std::str::FromStr for AgentChoice {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "codex" => Ok(AgentChoice::Codex),
            "demo" => Ok(AgentChoice::Demo),
            _ if AgentChoice::is_name(text) => Ok(AgentChoice::Named(text.to_owned())),
            _ => {
                let command = named(text, "acp:")
                    .filter(|line| shlex::split(line).is_some_and(|words| !words.is_empty()));
                command.map(AgentChoice::Acp).ok_or_else(|| InvalidValue {
                    allowed: "codex, demo, acp:COMMAND ARGUMENTS, or a name under `agents` in `config.json`".into(),
                })
            }
        }
    }
}

impl fmt::Display for AgentChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentChoice::Codex => f.write_str("codex"),
            AgentChoice::Demo => f.write_str("demo"),
            AgentChoice::Acp(command) => write!(f, "acp:{command}"),
            AgentChoice::Named(name) => f.write_str(name),
        }
    }
}

impl std::str::FromStr for RuntimeChoice {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text == "embedded" {
            return Ok(RuntimeChoice::Embedded);
        }
        named(text, "jupyter:")
            .map(RuntimeChoice::Jupyter)
            .or_else(|| named(text, "gateway:").map(RuntimeChoice::Gateway))
            .ok_or_else(|| InvalidValue {
                allowed:
                    "embedded, jupyter:NAME, jupyter:CONNECTION_FILE, gateway:URL, gateway:auto"
                        .into(),
            })
    }
}

impl fmt::Display for RuntimeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuntimeChoice::Embedded => f.write_str("embedded"),
            RuntimeChoice::Jupyter(name) => write!(f, "jupyter:{name}"),
            RuntimeChoice::Gateway(url) => write!(f, "gateway:{url}"),
        }
    }
}

/// The text behind `prefix`; `None` when it is empty.
fn named(text: &str, prefix: &str) -> Option<String> {
    let rest = text.strip_prefix(prefix)?.trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}
