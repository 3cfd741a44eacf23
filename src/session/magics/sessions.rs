//! Commands about sessions: `resume` changes to another one, `new` to an empty one, `rename` names this one.

use super::magic::{Magic, MagicContext, MagicEffect, Run, unquoted};

pub(super) const RESUME: Magic = Magic {
    name: "resume",
    arguments: "[ID|NAME]",
    help: "go on with another session; the variables stay",
    more: "Without ID you pick one from a list. This session ends here.",
    run: Run::With(resume),
};

pub(super) const NEW: Magic = Magic {
    name: "new",
    arguments: "[NAME]",
    help: "begin an empty session; the variables stay",
    more: "This session ends here; `%ipycodex resume` goes back to it.",
    run: Run::With(new),
};

pub(super) const RENAME: Magic = Magic {
    name: "rename",
    arguments: "NAME",
    help: "name this session",
    more: "`ipycodex -r NAME` then goes on with it.",
    run: Run::With(rename),
};

fn resume(_: &Magic, wanted: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let wanted = unquoted(wanted).trim();
    if wanted.is_empty() {
        return Ok(vec![MagicEffect::PickSession]);
    }
    Ok(vec![MagicEffect::Resume(wanted.to_owned())])
}

fn new(_: &Magic, name: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let name = unquoted(name).trim();
    if name.chars().any(char::is_control) {
        return Err("A session's name is one line of text.".to_owned());
    }
    let name = (!name.is_empty()).then(|| name.to_owned());
    Ok(vec![MagicEffect::NewSession(name)])
}

fn rename(_: &Magic, name: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let name = unquoted(name).trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("Usage: %ipycodex rename NAME".to_owned());
    }
    if name.parse::<i64>().is_ok() {
        return Err(format!(
            "a name must not be a number: `-r {name}` means the session with that ID"
        ));
    }
    Ok(vec![MagicEffect::Rename(name.to_owned())])
}
