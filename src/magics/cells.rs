//! `back` and `forward`: steps of the interpreter.

use super::order::{Magic, MagicOrder, Steps, View, alone};

/// `back`.
pub(super) const BACK: Magic = Magic {
    name: "back",
    arguments: "[N|list]",
    help: "take the interpreter to before the last cell",
    more: "`back 5` goes back to before In [5] of this session; `back list` shows how far back it can go. Cells that \
           are stepped over leave the conversation but stay in the record; files and other processes are not restored.",
    run: back,
};

/// `forward`.
pub(super) const FORWARD: Magic = Magic {
    name: "forward",
    arguments: "",
    help: "undo the last `back`",
    more: "This works as long as nothing else has run.",
    run: |magic, rest, _| alone(magic, rest, MagicOrder::Step(Steps::Forward)),
};

fn back(_: &Magic, to: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let steps = match to.trim() {
        "" => Steps::Back(None),
        "list" => Steps::List,
        number => match number.parse() {
            Ok(number @ 1..) => Steps::Back(Some(number)),
            _ => {
                return Err(format!(
                    "Usage: %ipycodex back [N|list], where N is the number of a cell, got '{number}'"
                ));
            }
        },
    };
    Ok(vec![MagicOrder::Step(steps)])
}
