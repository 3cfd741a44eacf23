//! The options of the REPL.

use std::path::PathBuf;
use std::sync::Arc;

use super::greeting::Greeting;
use crate::config::{EditMode, Keymap};
use crate::display::Pictures;
use crate::environment::Environment;
use crate::markdown::Appearance;
use crate::record::Recall;
use crate::screen::Screen;
use crate::session::{LoadRequest, Notice};
use crate::text::report::Report;

pub struct ReplOptions {
    pub screen: Screen,
    pub appearance: Appearance,
    pub pictures: Pictures,
    pub recall: Recall,
    /// Suggest earlier inputs while the user types.
    pub history_hint: bool,
    pub prompt_mode: bool,
    pub keys: Arc<Keymap>,
    pub edit_mode: EditMode,
    /// The command line of the user's own editor.
    pub external_editor: Option<String>,
    /// No code theme is configured: the theme follows the terminal's background.
    pub asks_background: bool,
    /// Printed before the first prompt.
    pub reports: Vec<Report>,
    /// Printed before anything else.
    pub greeting: Option<Greeting>,
    /// Replayed while the prompt is usable, after the start-up files.
    pub startup: Option<LoadRequest>,
    /// Loaded before the first prompt, in this order.
    pub load: Vec<LoadRequest>,
    /// Runs as if typed once those are loaded.
    pub first: Option<String>,
    /// Provides the home directory and the search path.
    pub environment: Environment,
    /// The record, and the directory of texts too long for it.
    pub record: [PathBuf; 2],
    /// Called at the first prompt, with a function that prints notices above it.
    pub ready: Ready,
    /// Called before a signal ends the program.
    pub dying: Box<dyn Fn() + Send>,
    /// An earlier session is resumed: its end is shown before the first prompt.
    pub resumed: bool,
}

pub type Ready = Box<dyn FnOnce(Box<dyn Fn(&Notice) + Send>) + Send>;
