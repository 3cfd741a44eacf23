//! The words settings are written in, for the file, the command line and `%ipycodex` alike.

use std::fmt;
use std::time::Duration;

use crate::agent::{Approvals, Effort, Sandbox, ThreadMode, WebSearchUse};
use crate::screen::ColorChoice;
use crate::text::similar::did_you_mean;

/// Which agent answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    /// `codex`
    Codex,
    /// `demo`
    Demo,
    /// `acp:COMMAND ARGUMENTS`: the command line.
    Acp(String),
    /// One of `agents` in the settings file.
    Named(String),
}

/// What runs cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeChoice {
    /// `embedded`
    Embedded,
    /// `jupyter:NAME`: a kernelspec or a connection file.
    Jupyter(String),
    /// `gateway:URL`, or `gateway:auto`.
    Gateway(String),
}

/// Whether the model may run cells in the live session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCells {
    /// `ask`
    Ask,
    /// `preview`: as that, below what they would do.
    Preview,
    /// `auto`
    Auto,
    /// `off`
    Off,
}

/// How long something may take, in seconds; 0: as long as it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub u32);

impl Seconds {
    /// The limit there is.
    pub fn limit(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_secs(self.0.into()))
    }
}

/// How long a kernel of the agent's own lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelMode {
    /// `session`
    Session,
    /// `per-call`
    PerCall,
}

/// What the agent works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTools {
    /// `both`
    Both,
    /// `python`: no shell of its own.
    Python,
    /// `shell`: no Python of ours.
    Shell,
}

/// How pictures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// `auto`
    Auto,
    /// `kitty`
    Kitty,
    /// `iterm2`
    Iterm2,
    /// `sixel`
    Sixel,
    /// `blocks`
    Blocks,
    /// `off`
    Off,
}

/// Keys of the line editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditMode {
    /// `emacs`
    Emacs,
    /// `vi`
    Vi,
}

/// A setting that is one of a few words.
pub trait ChoiceSetting: Copy + PartialEq + Sized + 'static {
    /// Every value with its word, in the order they are told.
    const WORDS: &'static [(&'static str, Self)];

    /// The value `word` stands for; case does not matter.
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

    /// The word for this value.
    fn word(self) -> &'static str {
        Self::WORDS
            .iter()
            .find(|(_, value)| *value == self)
            .map_or("", |(word, _)| word)
    }
}

/// A word that is not among those allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    /// What is, in words.
    pub allowed: String,
}

impl InvalidValue {
    /// `given` is none of `words`; the one it looks like is named.
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
    /// The agents that need no name of the user's.
    pub const WORDS: [&str; 2] = ["codex", "demo"];

    /// An agent can be called this.
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

/// What follows `prefix`, when something does.
fn named(text: &str, prefix: &str) -> Option<String> {
    let rest = text.strip_prefix(prefix)?.trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}
