//! Checks the features of the terminal, as far as its environment shows them.
//!
//! In: the environment, and tmux's options. Out: findings.

use std::process::Command;

use super::finding::{DoctorContext, Finding, PATIENCE};
use crate::display::Pictures;
use crate::process::output_within;

/// Delay after Esc, in milliseconds, that a user notices.
const LATE: u32 = 100;

pub(super) fn look(context: &DoctorContext<'_>) -> Vec<Finding> {
    let environment = context.environment;
    let screen = context.screen;
    if !environment.stdout_is_terminal {
        let message = "standard output is not a terminal, so none was checked";
        return vec![Finding::ok("terminal", message)];
    }
    let name = environment.variable("TERM").unwrap_or("");
    let size = screen.size();
    let kind = match screen.is_rich() {
        true => Finding::ok(
            "terminal",
            format!("`{name}`, {} x {}", size.columns, size.rows),
        ),
        false => Finding::warning(
            "terminal",
            format!("TERM is `{name}`: the editor is plain, nothing is drawn"),
            "`export TERM=xterm-256color`, if your terminal is one",
        ),
    };
    let colours = match screen.colour() {
        true => Finding::ok("colours", "shown"),
        false => Finding::ok("colours", "not shown: NO_COLOR, TERM or `--color` say so"),
    };
    let pictures = Pictures::new(environment, context.settings.choices.images);
    vec![
        kind,
        colours,
        Finding::ok("pictures", pictures.describe_method(screen)),
        keys(context),
        clipboard(context),
        notices(context),
        characters(context),
    ]
}

/// Returns the value of a tmux option; `None` without tmux, or without a reply.
fn tmux_option(arguments: [&str; 2], context: &DoctorContext<'_>) -> Option<String> {
    context.environment.variable("TMUX")?;
    let mut command = Command::new(context.environment.find_program("tmux")?);
    command.arg("show-options").args(arguments);
    command.env_clear().envs(&context.environment.variables);
    let answer = output_within(&mut command, PATIENCE).ok()??;
    let said = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    Some(said).filter(|_| answer.status.success())
}

/// Checks the delay of Esc and Alt.
fn keys(context: &DoctorContext<'_>) -> Finding {
    let waits = tmux_option(["-sv", "escape-time"], context);
    let waits = waits.and_then(|it| it.parse::<u32>().ok());
    match waits.filter(|waits| *waits > LATE) {
        Some(waits) => Finding::warning(
            "keys",
            format!("tmux waits {waits} ms after Esc: Esc and Alt keys arrive late"),
            "`tmux set -s escape-time 10`, and the same line in ~/.tmux.conf",
        ),
        None if context.environment.supports_kitty_keyboard() => {
            let switch = match context.environment.variable("TERM_PROGRAM") {
                Some("WezTerm") => ", if `enable_kitty_keyboard` is on in WezTerm",
                Some("iTerm.app") => ", if iTerm2 may report modifiers by CSI u",
                _ => "",
            };
            let told = format!("Shift-Enter, Ctrl-Enter and others are told apart{switch}");
            Finding::ok("keys", told)
        }
        None => Finding::ok("keys", "`%ipycodex help keys` lists them"),
    }
}

/// Checks that the terminal accepts text for the clipboard, by its name: no terminal confirms it.
fn clipboard(context: &DoctorContext<'_>) -> Finding {
    let term = context.environment.variable("TERM").unwrap_or_default();
    match tmux_option(["-sv", "set-clipboard"], context).as_deref() {
        Some("off") => Finding::warning(
            "clipboard",
            "tmux does not pass text on to the clipboard: `%ipycodex copy` only reaches tmux's buffer",
            "`tmux set -s set-clipboard on`, and the same line in ~/.tmux.conf",
        ),
        Some(_) => Finding::ok("clipboard", "through tmux"),
        None if term.starts_with("linux") || term.starts_with("screen") => Finding::warning(
            "clipboard",
            format!("`{term}` cannot set the clipboard: `%ipycodex copy` does nothing"),
            "work in tmux, or in a terminal window of a desktop",
        ),
        None => Finding::ok(
            "clipboard",
            "by OSC 52; no terminal says whether it took the text",
        ),
    }
}

/// Checks the notifications about the end of a long run.
fn notices(context: &DoctorContext<'_>) -> Finding {
    let after = context.settings.choices.notify_after;
    match tmux_option(["-gv", "focus-events"], context).as_deref() {
        _ if after == 0 => Finding::ok("notices", "none: `notify_after` is 0"),
        Some("off") => Finding::warning(
            "notices",
            "tmux does not report whether you are looking, so you get no notice when a long run ends",
            "`tmux set -g focus-events on`, and the same line in ~/.tmux.conf",
        ),
        _ => Finding::ok(
            "notices",
            format!("for runs of more than {after} s that end while you look elsewhere"),
        ),
    }
}

/// Checks that the locale has characters beyond ASCII.
fn characters(context: &DoctorContext<'_>) -> Finding {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let named = names
        .iter()
        .find_map(|name| Some((*name, context.environment.variable(name)?)));
    let utf8 = |value: &str| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    match named {
        Some((_, value)) if utf8(value) => Finding::ok("characters", "UTF-8"),
        Some((name, _)) => Finding::warning(
            "characters",
            format!("{name} names a locale without UTF-8: programs in cells may print `?`"),
            format!("`export {name}=C.UTF-8`"),
        ),
        None => Finding::warning(
            "characters",
            "no locale is set: programs in cells may print `?`",
            "`export LANG=C.UTF-8`",
        ),
    }
}
