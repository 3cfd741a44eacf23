//! tmux between this process and the terminal: what it passes through, and the wrapper for sequences that pass.
//!
//! In: `$TMUX_PANE`. Out: tmux's answer about the pane and its terminal, or nothing. Invariant: the query ends
//! within [`PATIENCE`], whatever the server does. Documents: tmux(1), `allow-passthrough` and FORMATS, 3.3 and later
//! (earlier versions do not know the option and are treated as if it were off).

use std::process::Command;
use std::time::Duration;

use crate::process::output_within;

const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TmuxAnswer {
    /// Sequences for the terminal are passed through.
    pub(super) passthrough: bool,
    /// The outer terminal by its `TERM` and the name it reported, in lower case; may be empty.
    pub(super) terminal: String,
}

pub(super) fn ask(pane: Option<&str>) -> Option<TmuxAnswer> {
    let mut command = Command::new("tmux");
    command.args(["display-message", "-p"]);
    if let Some(pane) = pane {
        command.args(["-t", pane]);
    }
    command.arg("#{allow-passthrough}|#{client_termname} #{client_termtype}");
    let answer = output_within(&mut command, PATIENCE).ok()??;
    let well = answer.status.success();
    well.then(|| read_answer(std::str::from_utf8(&answer.stdout).ok()?))?
}

fn read_answer(line: &str) -> Option<TmuxAnswer> {
    let (option, terminal) = line.trim_end().split_once('|')?;
    Some(TmuxAnswer {
        passthrough: matches!(option, "on" | "all" | "1"),
        terminal: terminal.trim().to_ascii_lowercase(),
    })
}

/// Appends `sequence` in the wrapper that makes tmux pass it to the terminal.
pub(super) fn wrap(sequence: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1bPtmux;");
    for byte in sequence {
        if *byte == 0x1b {
            out.push(0x1b);
        }
        out.push(*byte);
    }
    out.extend_from_slice(b"\x1b\\");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tmux_answers() {
        let check = |line: &str, expected: Option<(bool, &str)>| {
            let answer = read_answer(line);
            let found = answer
                .as_ref()
                .map(|answer| (answer.passthrough, answer.terminal.as_str()));
            assert_eq!(found, expected, "{line}");
        };
        check(
            "on|xterm-kitty kitty(0.35.2)\n",
            Some((true, "xterm-kitty kitty(0.35.2)")),
        );
        check(
            "all|xterm-256color iTerm2 3.5\n",
            Some((true, "xterm-256color iterm2 3.5")),
        );
        check("off|xterm ", Some((false, "xterm")));
        check("| ", Some((false, "")));
        check("", None);
    }

    #[test]
    fn each_escape_is_doubled() {
        let mut out = Vec::new();
        wrap(b"\x1b_Ga=T;AA\x1b\\", &mut out);
        assert_eq!(out, b"\x1bPtmux;\x1b\x1b_Ga=T;AA\x1b\x1b\\\x1b\\");
    }
}
