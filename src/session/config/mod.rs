//! Settings from the file, the environment and the command line, resolved once.
//!
//! [`resolve::resolve`] returns a [`Settings`] snapshot and reports on faults; a broken file never keeps the program
//! from starting. A change at run time is a command to the session, which changes its own copy.
//!
//! Absent on purpose: the effect of each setting.

mod agents;
mod choice;
mod choices;
mod file;
mod jsonc;
mod keymap;
mod paths;
mod provenance;
mod resolve;
mod settings;

pub use agents::{AgentCommand, Agents, SERVER_NAMES, is_server_name, mcp_servers};
pub use choice::{
    AgentChoice, AgentTools, ChoiceSetting, EditMode, Images, InvalidValue, KernelMode,
    RewindFiles, RunCells, RuntimeChoice, Seconds,
};
pub use choices::Choices;
pub use file::ConfigFile;
pub use keymap::{ActionRow, Chord, ChordPriority, GROUPS, KeyAction, KeyMatch, Keymap, Stroke};
pub use paths::Paths;
pub use provenance::{Provenance, SettingOrigin};
pub use resolve::{ConfigFlags, Settings, resolve};
pub use settings::{SETTINGS, Setting, SettingValues, TakesEffect};
