//! Whose a cell is, and what is left of it when it has ended.

use std::time::Duration;

use crate::output::CellOutput;
use crate::output::transcript::TranscriptText;
use crate::runtime::Ending;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellOrigin {
    /// The user, under this In number.
    User(u32),
    /// The user, with the wish to keep it private: numbered, recorded nowhere.
    Private,
    /// The agent, under this In number.
    Agent(u32),
    /// A replay by the user: under this In number, recorded or not.
    Replay { line: u32, recorded: bool },
    /// A start-up file: not numbered, not recorded.
    Startup,
    /// A skill, or the agent in a kernel of its own: not numbered, not recorded, not shown as a cell.
    Internal,
}

#[derive(Debug, Clone)]
pub(crate) struct CellResult {
    pub ending: Ending,
    pub shown: TranscriptText,
    /// Its outputs and values in order; only for the agent's cells and for cells that go into a notebook.
    pub outputs: Vec<CellOutput>,
    /// In number and source, where it goes into a notebook.
    pub kept: Option<(u32, String)>,
    /// Its pictures, as `data:` URLs, in order.
    pub images: Vec<String>,
    /// The exception as `Name: value`.
    pub raised: Option<String>,
    pub took: Duration,
    pub leaving: bool,
    /// The interpreter's directory afterwards, if the interpreter reported one.
    pub cwd: Option<String>,
}
