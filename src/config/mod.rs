//! Settings: what the file, the environment and the command line say, resolved once.
//!
//! [`resolve::resolve`] turns them into a [`Settings`] snapshot and reports of what was wrong; a broken file never keeps
//! the program from starting. A change at run time is a command to the session, not to these values.
//!
//! Absent on purpose: what the settings do.

mod choice;
mod choices;
mod file;
mod jsonc;
mod keymap;
mod paths;
mod resolve;
mod settings;

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::{Effort, Search};
use crate::screen::ColorChoice;

pub use choice::{Choice, WrongValue};
pub use choices::Choices;
pub use file::ConfigFile;
pub use keymap::{Chord, GROUPS, KeyAction, Keymap, Meaning, Row, Stroke};
pub use paths::Paths;
pub use resolve::resolve;
pub use settings::{SETTINGS, Setting, Values, When};

/// What the command line may set; what is absent is decided by the environment, the file or the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFlags {
    /// `--model`
    pub model: Option<String>,
    /// `--completion-model`
    pub completion_model: Option<String>,
    /// `--think`
    pub think: Option<Effort>,
    /// `--search`
    pub search: Option<Search>,
    /// `--code-theme`
    pub code_theme: Option<String>,
    /// `--agent`
    pub agent: Option<AgentChoice>,
    /// `--python`
    pub python: Option<PathBuf>,
    /// `--runtime`
    pub runtime: Option<RuntimeChoice>,
    /// `--hist-file`
    pub hist_file: Option<PathBuf>,
    /// `--config-dir`
    pub config_dir: Option<PathBuf>,
    /// `--color`
    pub color: Option<ColorChoice>,
    /// `--no-ipython`
    pub no_ipython: bool,
    /// `-p`: turns the file's `prompt_mode` round.
    pub prompt_mode: bool,
    /// `--no-record`
    pub no_record: bool,
}

/// What holds for this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What the file can set, flags and environment applied.
    pub choices: Choices,
    /// What the line editor's keys do.
    pub keys: Arc<Keymap>,
    /// When output is coloured.
    pub color: ColorChoice,
    /// IPython's shell is used where it can be imported.
    pub ipython: bool,
    /// Sessions are recorded.
    pub record: bool,
    /// The command that starts Codex, without its arguments; never empty.
    pub codex_command: Vec<String>,
    /// The instructions of the user (`sysp.txt`), or ours.
    pub system_prompt: String,
    /// Where everything is.
    pub paths: Paths,
}

/// Which agent answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    /// `codex`
    Codex,
    /// `demo`
    Demo,
    /// `acp:COMMAND ARGUMENTS`: the command line.
    Acp(String),
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
    /// `auto`
    Auto,
    /// `off`
    Off,
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
