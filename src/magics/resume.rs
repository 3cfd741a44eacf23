//! Commands about sessions taken up: `resume 43` changes to one, `replay 3-5` runs cells of this one again.

use super::entries::ranges;
use super::order::{Again, Magic, MagicOrder, View, unquoted};

/// The row of `resume`.
pub(super) const RESUME: Magic = Magic {
    name: "resume",
    arguments: "[ID|NAME]",
    help: "end this session here and go on with another one, picked from a list unless named; the variables stay",
    run: resume,
};

/// The row of `replay`.
pub(super) const REPLAY: Magic = Magic {
    name: "replay",
    arguments: "[show] [N…]",
    help: "run cells of an earlier interpreter again, or `replay 3-5 8`; `show` lists them",
    run: replay,
};

fn resume(_: &Magic, wanted: &str, _: &View<'_>) -> Result<Vec<MagicOrder>, String> {
    let wanted = unquoted(wanted).trim();
    if wanted.is_empty() {
        return Ok(vec![MagicOrder::PickSession]);
    }
    Ok(vec![MagicOrder::Resume(wanted.to_owned())])
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
