//! Commands that name entries by their In numbers: `hide 3-5 8`, `show 8`, `copy 3`.
//!
//! Only the syntax is checked here; the session checks that the record has such entries.

use std::ops::RangeInclusive;

use super::magic::{CopyTarget, Magic, MagicContext, MagicEffect, Run};

pub(super) const COPY: Magic = Magic {
    name: "copy",
    arguments: "[answer|code|N]",
    help: "copy the last answer, its code, or In [N]",
    more: "`code` takes the answer's Python blocks; of an exchange In [N] the answer is taken. Alt-c on an empty line \
           copies the last answer.",
    run: Run::With(|_, what, _| {
        let copied = match what.trim() {
            "" | "answer" => CopyTarget::Answer,
            "code" => CopyTarget::Code,
            number => match range(number).filter(|range| range.start() == range.end()) {
                Some(range) => CopyTarget::Entry(*range.start()),
                None => return Err("Usage: %ipycodex copy [answer|code|N]".into()),
            },
        };
        Ok(vec![MagicEffect::Copy(copied)])
    }),
};

pub(super) const EDIT: Magic = Magic {
    name: "edit",
    arguments: "[N]",
    help: "edit a prompt; replace it and what came after it",
    more: "Brings the prompt In [N], or the last one (Alt-r), into the editor. Nothing changes until you send it: then \
           you are told what leaves the conversation and how far the interpreter steps back, and asked. Ctrl-C leaves \
           all as it is. Files stay as they are.",
    run: Run::With(|magic, number, _| {
        let line = prompt_number(magic, number)?;
        Ok(vec![MagicEffect::EditPrompt(line)])
    }),
};

pub(super) const FORK: Magic = Magic {
    name: "fork",
    arguments: "[N]",
    help: "go on in a new session from before a prompt",
    more: "`fork 7` begins a session that holds what came before the prompt In [7], and brings the prompt into the \
           editor; without N it holds all of this session. This session stays whole: `resume` and `-r` go back to it. \
           You are asked whether the interpreter, which both share, steps back too. Files stay as they are. \
           `sessions` shows which session was forked from which.",
    run: Run::With(|magic, number, _| {
        let before = prompt_number(magic, number)?;
        Ok(vec![MagicEffect::ForkSession(before)])
    }),
};

/// Parses the number of a prompt, or nothing.
fn prompt_number(magic: &Magic, number: &str) -> Result<Option<u32>, String> {
    let number = number.trim();
    if number.is_empty() {
        return Ok(None);
    }
    let one = range(number).filter(|range| range.start() == range.end());
    one.map(|range| Some(*range.start())).ok_or_else(|| {
        let name = magic.name;
        format!("Usage: %ipycodex {name} [N], where N is the number of a prompt, got '{number}'")
    })
}

pub(super) const fn row(name: &'static str, arguments: &'static str, help: &'static str) -> Magic {
    Magic {
        name,
        arguments,
        help,
        more: "",
        run: Run::With(hide_or_show),
    }
}

/// Parses In numbers and ranges of them; the list may be empty.
pub(super) fn ranges(magic: &Magic, numbers: &str) -> Result<Vec<RangeInclusive<u32>>, String> {
    let words = numbers
        .split([' ', ',', '\t'])
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            range(word).ok_or_else(|| {
                format!(
                    "{} takes In numbers and ranges of them, like `3-5 8`, got '{word}'",
                    magic.name
                )
            })
        })
        .collect()
}

fn hide_or_show(
    magic: &Magic,
    numbers: &str,
    _: &MagicContext<'_>,
) -> Result<Vec<MagicEffect>, String> {
    let lines = ranges(magic, numbers)?;
    if lines.is_empty() {
        return Err(format!("Usage: %ipycodex {} N, like `3-5 8`", magic.name));
    }
    Ok(vec![MagicEffect::Hide {
        lines,
        hidden: magic.name == "hide",
    }])
}

/// Parses `8` or `3-5`: from 1 on, not backwards.
fn range(word: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let (from, to) = match word.split_once('-') {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(word)?, number(word)?),
    };
    (from >= 1 && from <= to).then_some(from..=to)
}
