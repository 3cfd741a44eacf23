//! Commands about earlier cells: `back` and `forward` step the interpreter, `when` asks it about its past, `replay`
//! runs cells again.

use super::entries::ranges;
use super::magic::{
    LookBackWish, Magic, MagicContext, MagicEffect, ReplayRequest, Run, StepRequest,
};

pub(super) const BACK: Magic = Magic {
    name: "back",
    arguments: "[N|list]",
    help: "take the interpreter to before the last cell",
    more: "`back 5` goes back to before In [5] of this session; `back list` shows how far back it can go. Cells that \
           are stepped over leave the conversation but stay in the record. Then it shows which files of the working \
           directory would be put back, and asks (`rewind_files`); what others have changed since stays. Other \
           processes are not restored.",
    run: Run::With(back),
};

pub(super) const FORWARD: Magic = Magic {
    name: "forward",
    arguments: "",
    help: "undo the last `back`",
    more: "This works as long as nothing else has run; files that `back` has put back follow.",
    run: Run::Alone(|| MagicEffect::Step(StepRequest::Forward)),
};

pub(super) const CHANGES: Magic = Magic {
    name: "changes",
    arguments: "[N]",
    help: "list what cells and the agent changed in files",
    more: "`changes 5` shows the differences that In [5] made, a cell, a command or a prompt. Files below the working \
           directory count, up to 8 MiB each, but not what `.gitignore` names.",
    run: Run::With(changes),
};

pub(super) const WHEN: Magic = Magic {
    name: "when",
    arguments: "[--replay] EXPR",
    help: "show a value after each earlier cell",
    more: "It is evaluated in the checkpoints that `back` can go to, and changes nothing; `→` marks where the value \
           changed. `when --replay EXPR` runs the recorded cells of this session again instead, in an interpreter of \
           its own that changes no files and has no network; the values may differ where cells depend on those.",
    run: Run::With(when),
};

pub(super) const REPLAY: Magic = Magic {
    name: "replay",
    arguments: "[show] [N…]",
    help: "run the cells of an earlier interpreter again",
    more: "`replay 3-5 8` runs just those, `replay show` lists what would run. Each runs under its number; `s` skips \
           one, Ctrl-C stops.",
    run: Run::With(replay),
};

pub(super) const ASIDE: Magic = Magic {
    name: "aside",
    arguments: ".PROMPT",
    help: "have the agent work beside the prompt",
    more: "The agent gets a fork of the conversation and of the interpreter, and answers while you go on; Alt-Enter \
           does the same with a prompt that you type while something runs. Its cells run there without asking, and \
           change nothing but files in a folder of their own. `jobs` lists it, `show N` shows its answer, `kill N` \
           ends it. What it offers at the end, `merge N` brings here: names and files, or only the cells.",
    run: Run::With(|magic, line, _| match line.trim().strip_prefix('.') {
        Some(prompt) if !prompt.trim().is_empty() => {
            Ok(vec![MagicEffect::Aside(prompt.to_owned())])
        }
        _ => Err(format!("Usage: %ipycodex {} .PROMPT", magic.name)),
    }),
};

pub(super) const WAIT: Magic = Magic {
    name: "wait",
    arguments: "N",
    help: "wait for what works beside the prompt",
    more: "Ctrl-C ends the waiting, not the cell or the turn.",
    run: Run::With(|magic, line, _| Ok(vec![MagicEffect::Wait(number(magic, line)?)])),
};

pub(super) const ANSWER: Magic = Magic {
    name: "answer",
    arguments: "N TEXT",
    help: "answer a cell in the background at `input()`",
    more: "`jobs` tells which cells wait, `show N` what they ask. The line is recorded, as every command is.",
    run: Run::With(|magic, line, _| {
        let line = line.trim_start();
        let (cell, text) = line.split_once(' ').unwrap_or((line, ""));
        let cell = number(magic, cell)?;
        Ok(vec![MagicEffect::AnswerCell(cell, text.to_owned())])
    }),
};

pub(super) const KILL: Magic = Magic {
    name: "kill",
    arguments: "N",
    help: "end what works beside the prompt",
    more: "Of what has ended, it drops what was not merged.",
    run: Run::With(|magic, line, _| Ok(vec![MagicEffect::KillCell(number(magic, line)?)])),
};

pub(super) const MERGE: Magic = Magic {
    name: "merge",
    arguments: "N",
    help: "bring over what was changed beside the prompt",
    more: "Names that only it has added, changed or deleted come by themselves. Where a name was changed here, too, \
           you are asked: theirs, mine, or both under two names. What cannot be carried, an open file or a generator, \
           is named and stays behind. Of a turn, files come, too, and you are asked first: `d` shows all of it, `c` \
           takes only its cells, `x` drops it.",
    run: Run::With(|magic, line, _| Ok(vec![MagicEffect::MergeCell(number(magic, line)?)])),
};

/// Reads the number of a cell.
fn number(magic: &Magic, line: &str) -> Result<u32, String> {
    match line.trim().parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err(format!(
            "Usage: %ipycodex {} {}, where N is the number of a cell, got '{}'",
            magic.name,
            magic.arguments,
            line.trim()
        )),
    }
}

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

fn changes(_: &Magic, line: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let line = match line.trim() {
        "" => None,
        number => match number.parse() {
            Ok(number @ 1..) => Some(number),
            _ => {
                return Err(format!(
                    "Usage: %ipycodex changes [N], where N is the number of a cell or a prompt, got '{number}'"
                ));
            }
        },
    };
    Ok(vec![MagicEffect::Changes(line)])
}

fn when(_: &Magic, rest: &str, _: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    const REPLAY: &str = "--replay";
    let rest = rest.trim();
    let before = rest
        .strip_prefix(REPLAY)
        .filter(|code| code.is_empty() || code.starts_with([' ', '\t']));
    let after = || {
        rest.strip_suffix(REPLAY)
            .filter(|code| code.ends_with([' ', '\t']))
    };
    let replayed = before.or_else(after);
    let code = replayed.unwrap_or(rest).trim();
    if code.is_empty() {
        return Err(
            "Usage: %ipycodex when [--replay] EXPR, for example `when len(rows)`".to_owned(),
        );
    }
    Ok(vec![MagicEffect::LookBack(LookBackWish {
        code: code.to_owned(),
        replay: replayed.is_some(),
    })])
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
