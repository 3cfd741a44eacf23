//! A turn beside the prompt, as far as it has come.

use super::shown::Shown;
use crate::events::TurnOutcome;
use crate::question::OfferedFile;
use crate::record::ForkOrigin;

/// The turn, and what it offers.
pub(crate) struct AsideTurn {
    pub(super) prompt: String,
    pub(super) shown: Shown,
    /// Sources of the cells that it has run in its interpreter.
    pub(super) cells: Vec<String>,
    /// Files that it has written, by their path below its folder.
    pub(super) files: Vec<OfferedFile>,
    /// How the turn has ended.
    pub(super) outcome: Option<TurnOutcome>,
    pub(super) origin: Option<ForkOrigin>,
}
