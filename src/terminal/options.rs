//! The options of the REPL.

use std::path::PathBuf;
use std::sync::Arc;

use super::greeting::Greeting;
use crate::config::{EditMode, Keymap};
use crate::display::Pictures;
use crate::environment::Environment;
use crate::markdown::Appearance;
use crate::record::Recall;
use crate::report::Report;
use crate::screen::Screen;
use crate::session::{LoadRequest, Notice};

pub struct ReplOptions {
    /// The writer.
    pub screen: Screen,
    /// How markdown looks.
    pub appearance: Appearance,
    /// How pictures are drawn.
    pub pictures: Pictures,
    /// Inputs of earlier sessions.
    pub recall: Recall,
    /// Earlier inputs are suggested while typing.
    pub history_hint: bool,
    /// Everything is a prompt.
    pub prompt_mode: bool,
    pub keys: Arc<Keymap>,
    /// The line editor's manner.
    pub edit_mode: EditMode,
    /// The command line of the user's own editor.
    pub external_editor: Option<String>,
    /// No code theme is configured: it follows the terminal's background.
    pub asks_background: bool,
    /// Printed before the first prompt.
    pub reports: Vec<Report>,
    /// Printed before anything else.
    pub greeting: Option<Greeting>,
    /// Replayed while the prompt can be used, after the files at home.
    pub startup: Option<LoadRequest>,
    /// Loaded before the first prompt, in this order.
    pub load: Vec<LoadRequest>,
    /// Runs when that is loaded, as if it had been typed.
    pub first: Option<String>,
    /// Home directory and search path.
    pub environment: Environment,
    /// The record, and the directory of what was too long for it.
    pub record: [PathBuf; 2],
    /// Called at the first prompt, with a function that prints notices above it.
    pub ready: Ready,
    /// Called before a signal ends the program.
    pub dying: Box<dyn Fn() + Send>,
    /// An earlier session is taken up: its end is shown before the first prompt.
    pub resumed: bool,
}

/// Called at the first prompt, with a function that prints notices above it.
pub type Ready = Box<dyn FnOnce(Box<dyn Fn(&Notice) + Send>) + Send>;
