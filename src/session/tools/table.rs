//! The table of built-in tools: name, condition for the offer, start of a call.
//!
//! Invariant: the same offer gives the same bytes; otherwise threads would be rebuilt for nothing.

use serde_json::Value;

use super::skill_registry::SkillRegistry;
use super::specs;
use super::tool::Begin;
use crate::agent::ToolSpec;
use crate::config::{AgentTools, Choices, RunCells};
use crate::outputs::{Outputs, READ_OUTPUT};
use crate::plan_mode::SHOW_PLAN;
use crate::runtime::RuntimeCapabilities;
use crate::runtimes::RuntimePeer;

/// The conditions that decide which built-in tools a turn is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolOffer<'a> {
    pub python: bool,
    /// Cells may be run, perhaps after an approval.
    pub run_cells: bool,
    pub load_skill: bool,
    pub able: &'a RuntimeCapabilities,
}

pub(super) struct ToolRow {
    pub name: &'static str,
    spec: fn(&RuntimeCapabilities) -> ToolSpec,
    is_offered: fn(ToolOffer<'_>) -> bool,
    pub begin: Begin,
    /// Its output is already on the screen when the call returns.
    shows_itself: bool,
}

pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: specs::PYRUN,
        spec: specs::pyrun_spec,
        is_offered: |offer| offer.python && offer.able.snapshot,
        begin: super::pyrun::begin,
        shows_itself: false,
    },
    ToolRow {
        name: specs::LOOK_BACK,
        spec: specs::look_back_spec,
        is_offered: |offer| offer.python && offer.able.snapshot && offer.able.checkpoints,
        begin: super::look_back::begin,
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
        begin: |arguments, context| Err(context.outputs.read(arguments)),
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

impl<'a> ToolOffer<'a> {
    pub(crate) fn current(
        choices: &Choices,
        user: &'a RuntimePeer,
        skills: &SkillRegistry,
    ) -> Self {
        ToolOffer {
            python: choices.agent_tools != AgentTools::Shell && !user.is_unstartable(),
            run_cells: choices.run_cells != RunCells::Off,
            load_skill: !skills.is_empty(),
            able: user.able(),
        }
    }

    /// Returns the offered tools, always in the order of the table.
    pub(crate) fn specs(self) -> Vec<ToolSpec> {
        let offered = TOOLS.iter().filter(|row| (row.is_offered)(self));
        offered.map(|row| (row.spec)(self.able)).collect()
    }
}

/// Returns true for the names of built-in tools, offered or not.
pub(crate) fn is_built_in(name: &str) -> bool {
    name == SHOW_PLAN || TOOLS.iter().any(|row| row.name == name)
}

/// Returns true for a call that changes nothing. A function of the user may do anything.
pub(crate) fn only_looks(name: &str, arguments: &Value) -> bool {
    match name {
        specs::PYRUN | specs::LOOK_BACK | READ_OUTPUT | specs::LOAD_SKILL | SHOW_PLAN => true,
        specs::NOTEBOOK => matches!(arguments["action"].as_str(), Some("list" | "read")),
        _ => false,
    }
}

/// Returns true when the output of the tool is already on the screen when the call returns.
pub(crate) fn shows_itself(name: &str) -> bool {
    TOOLS.iter().any(|row| row.name == name && row.shows_itself)
}
