//! Our tools, a row each: what it is called, when a turn is offered it, how a call of it begins.
//!
//! Invariant: the same offer gives the same bytes, or threads would be seeded anew for nothing.

use super::shelf::Shelf;
use super::specs;
use super::tool::Begin;
use crate::agent::ToolSpec;
use crate::config::{AgentTools, Choices, RunCells};
use crate::runtime::RuntimeCapabilities;
use crate::session::outputs::{Outputs, READ_OUTPUT};
use crate::session::runtimes::RuntimeSlot;

/// What a turn is offered beside the user's functions.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Offer<'a> {
    /// There is an interpreter, and the agent may work with it.
    pub python: bool,
    /// Cells may be run, perhaps after a question.
    pub run_cells: bool,
    /// There are skills.
    pub load_skill: bool,
    /// What the runtime can do.
    pub able: &'a RuntimeCapabilities,
}

/// A tool of ours.
pub(super) struct ToolRow {
    pub name: &'static str,
    spec: fn(&RuntimeCapabilities) -> ToolSpec,
    is_offered: fn(Offer<'_>) -> bool,
    /// Checks the arguments and begins.
    pub begin: Begin,
    /// What it makes stands on the screen by the time it returns.
    shows_itself: bool,
}

/// Our tools, in the order the model sees them.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: specs::PYRUN,
        spec: specs::pyrun_spec,
        is_offered: |offer| offer.python && offer.able.snapshot,
        begin: super::pyrun::begin,
        shows_itself: false,
    },
    ToolRow {
        name: specs::RUN_CELLS,
        spec: specs::run_cells_spec,
        is_offered: |offer| offer.python && offer.run_cells,
        begin: super::run_cells::begin,
        shows_itself: true,
    },
    ToolRow {
        name: READ_OUTPUT,
        spec: |_| Outputs::spec(),
        is_offered: |_| true,
        begin: |arguments, desk| Err(desk.outputs.read(arguments)),
        shows_itself: false,
    },
    ToolRow {
        name: specs::NOTEBOOK,
        spec: specs::notebook_spec,
        is_offered: |_| true,
        begin: super::notebook::begin,
        shows_itself: false,
    },
    ToolRow {
        name: specs::LOAD_SKILL,
        spec: specs::load_skill_spec,
        is_offered: |offer| offer.load_skill,
        begin: super::load_skill::begin,
        shows_itself: false,
    },
];

impl<'a> Offer<'a> {
    /// What a turn that begins now is offered.
    pub(in crate::session) fn now(choices: &Choices, user: &'a RuntimeSlot, shelf: &Shelf) -> Self {
        Offer {
            python: choices.agent_tools != AgentTools::Shell && !user.is_unstartable(),
            run_cells: choices.run_cells != RunCells::Off,
            load_skill: !shelf.is_empty(),
            able: user.able(),
        }
    }

    /// The tools, always in this order.
    pub(in crate::session) fn specs(self) -> Vec<ToolSpec> {
        let offered = TOOLS.iter().filter(|row| (row.is_offered)(self));
        offered.map(|row| (row.spec)(self.able)).collect()
    }
}

/// True for the names that are ours whether or not they are offered.
pub(in crate::session) fn is_built_in(name: &str) -> bool {
    TOOLS.iter().any(|row| row.name == name)
}

/// Whether what a tool makes stands on the screen by the time it returns.
pub(in crate::session) fn shows_itself(name: &str) -> bool {
    TOOLS.iter().any(|row| row.name == name && row.shows_itself)
}
