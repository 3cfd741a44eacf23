//! Commands about earlier cells: `back` and `forward` step the interpreter, `replay` runs cells again.

use super::entries::ranges;
use super::magic::{Magic, MagicContext, MagicEffect, ReplayRequest, Run, StepRequest};

pub(super) const BACK: Magic = Magic {
    name: "back",
    arguments: "[N|list]",
    help: "take the interpreter to before the last cell",
    more: "`back 5` goes back to before In [5] of this session; `back list` shows how far back it can go. Cells that \
           are stepped over leave the conversation but stay in the record; files and other processes are not restored.",
    run: Run::With(back),
};

pub(super) const FORWARD: Magic = Magic {
    name: "forward",
    arguments: "",
    help: "undo the last `back`",
    more: "This works as long as nothing else has run.",
    run: Run::Alone(|| MagicEffect::Step(StepRequest::Forward)),
};

pub(super) const REPLAY: Magic = Magic {
    name: "replay",
    arguments: "[show] [N…]",
    help: "run the cells of an earlier interpreter again",
    more: "`replay 3-5 8` runs just those, `replay show` lists what would run. Each runs under its number; `s` skips \
           one, Ctrl-C stops.",
    run: Run::With(replay),
};

fn back(_: &Magic, to: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let steps = match to.trim() {
        "" => StepRequest::Back(None),
        "list" => StepRequest::List,
        number => match number.parse() {
            Ok(number @ 1..) => StepRequest::Back(Some(number)),
            _ => {
                return Err(format!(
                    "Usage: %ipycodex back [N|list], where N is the number of a cell, got '{number}'"
                ));
            }
        },
    };
    Ok(vec![MagicEffect::Step(steps)])
}

fn replay(magic: &Magic, rest: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let (show, numbers) = match rest.strip_prefix("show") {
        Some(numbers) if numbers.is_empty() || numbers.starts_with([' ', '\t']) => (true, numbers),
        _ => (false, rest),
    };
    Ok(vec![MagicEffect::Replay(ReplayRequest {
        lines: ranges(magic, numbers)?,
        show,
    })])
}
