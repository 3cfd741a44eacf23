//! `allowed`: what may be done without asking, for good.

use super::magic::{Magic, MagicContext, MagicEffect, Run};

pub(super) const ALLOWED: Magic = Magic {
    name: "allowed",
    arguments: "[revoke N]",
    help: "list or revoke what you allowed for good",
    more: "At a question, `a` allows changes of one kind of files in one folder, or one exact command in one \
           directory, from then on and in every session. It is not offered for what may leave the sandbox, nor for \
           cells in your session.",
    run: Run::With(allowed),
};

fn allowed(
    magic: &Magic,
    argument: &str,
    _: &MagicContext<'_>,
) -> Result<Vec<MagicEffect>, String> {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let revoked = match words[..] {
        [] => Some(None),
        ["revoke", number] => number.parse().ok().map(Some),
        _ => None,
    };
    let usage = || format!("Usage: %ipycodex {} {}", magic.name, magic.arguments);
    Ok(vec![MagicEffect::Allowed(revoked.ok_or_else(usage)?)])
}
