//! Settings: what the file, the environment and the command line say, resolved once.
//!
//! [`resolve::resolve`] turns them into a [`Settings`] snapshot and reports of what was wrong; a broken file never
//! keeps the program from starting. A change at run time is a command to the session, not to these values.
//!
//! Absent on purpose: what the settings do.

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
    AgentChoice, AgentTools, ChoiceSetting, EditMode, Images, InvalidValue, KernelMode, RunCells,
    RuntimeChoice, Seconds,
};
pub use choices::Choices;
pub use file::ConfigFile;
pub use keymap::{ActionRow, Chord, ChordPriority, GROUPS, KeyAction, KeyMatch, Keymap, Stroke};
pub use paths::Paths;
pub use provenance::{Provenance, SettingOrigin};
pub use resolve::{ConfigFlags, Settings, resolve};
pub use settings::{SETTINGS, Setting, SettingValues, TakesEffect};
