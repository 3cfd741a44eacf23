//! Commands about sessions: `resume 43` changes to one, `new` to an empty one, `replay 3-5` runs cells of this one
//! again.

use super::entries::ranges;
use super::order::{Again, Magic, MagicOrder, View, unquoted};

/// The row of `resume`.
pub(super) const RESUME: Magic = Magic {
    name: "resume",
    arguments: "[ID|NAME]",
    help: "go on with another session; the variables stay",
    more: "Without ID you pick one from a list. This session ends here.",
    run: resume,
};

/// The row of `new`.
pub(super) const NEW: Magic = Magic {
    name: "new",
    arguments: "[NAME]",
    help: "begin an empty session; the variables stay",
    more: "This session ends here; `%ipycodex resume` goes back to it.",
    run: new,
};

/// The row of `replay`.
pub(super) const REPLAY: Magic = Magic {
    name: "replay",
    arguments: "[show] [N…]",
    help: "run the cells of an earlier interpreter again",
    more: "`replay 3-5 8` runs just those, `replay show` lists what would run. Each runs under its number; `s` skips \
           one, Ctrl-C stops.",
    run: replay,
};

fn resume(_: &Magic, wanted: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let wanted = unquoted(wanted).trim();
    if wanted.is_empty() {
        return Ok(vec![MagicOrder::PickSession]);
    }
    Ok(vec![MagicOrder::Resume(wanted.to_owned())])
}

fn new(_: &Magic, name: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let name = unquoted(name).trim();
    if name.chars().any(char::is_control) {
        return Err("A session's name is one line of text.".to_owned());
    }
    let name = (!name.is_empty()).then(|| name.to_owned());
    Ok(vec![MagicOrder::NewSession(name)])
}

fn replay(magic: &Magic, rest: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let (show, numbers) = match rest.strip_prefix("show") {
        Some(numbers) if numbers.is_empty() || numbers.starts_with([' ', '\t']) => (true, numbers),
        _ => (false, rest),
    };
    Ok(vec![MagicOrder::Replay(Again {
        lines: ranges(magic, numbers)?,
        show,
    })])
}
