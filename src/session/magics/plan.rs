//! `plan`: plan mode on and off, and acting on a plan.

use super::magic::{Magic, MagicContext, MagicEffect, PlanCommand, Run};

pub(super) const PLAN: Magic = Magic {
    name: "plan",
    arguments: "[on|off|act]",
    help: "let the agent look and plan, not act (Shift-Tab)",
    more: "In plan mode the agent reads and inspects; changes of files, cells in your session and commands that write \
           are refused, and the plan is its answer. Then you are asked: `y` has it carried out and ends the mode, \
           `e` puts the steps into the editor first, `n` goes on planning. `plan act` has the plan of the last answer \
           carried out.",
    run: Run::With(plan),
};

fn plan(magic: &Magic, argument: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let command = match argument {
        "" => PlanCommand::Switch(None),
        "on" => PlanCommand::Switch(Some(true)),
        "off" => PlanCommand::Switch(Some(false)),
        "act" => PlanCommand::Act,
        _ => {
            let Magic {
                name, arguments, ..
            } = magic;
            return Err(format!("Usage: %ipycodex {name} {arguments}"));
        }
    };
    Ok(vec![MagicEffect::Plan(command)])
}
