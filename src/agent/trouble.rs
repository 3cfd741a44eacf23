//! What goes wrong with the process of an agent, as a user reads it: one line, and what to do about it.
//!
//! For every agent that is a process. Texts of the peer are shown and never understood.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::failure::{AgentFailure, FailureKind};
use crate::text::{cut_characters, joined_words};

/// The longest foreign text in a message, in characters.
const LONGEST: usize = 300;

fn failure(kind: FailureKind, message: String, hint: &str) -> AgentFailure {
    AgentFailure {
        kind,
        message,
        hints: vec![hint.to_owned()],
    }
}

/// The process ended in mid-turn. `words` is the end of its standard error.
pub(super) fn died(
    name: &str,
    outcome: io::Result<(ExitStatus, String)>,
    junk: u64,
) -> AgentFailure {
    let (how, words) = match outcome {
        Ok((status, words)) => (status.to_string(), words),
        Err(error) => (error.to_string(), String::new()),
    };
    let mut message = format!("`{name}` ended before its answer was complete ({how})");
    if let Some(last) = last_line(&words) {
        message.push_str(": ");
        message.push_str(&last);
    }
    message.push_str(&not_protocol(junk));
    failure(
        FailureKind::Died,
        message,
        "the next prompt starts it again",
    )
}

/// The process did not answer.
pub(super) fn silent(name: &str, method: &str, patience: Duration, junk: u64) -> AgentFailure {
    failure(
        FailureKind::Silent,
        format!(
            "`{name}` did not answer `{method}` within {} s{}",
            patience.as_secs_f32(),
            not_protocol(junk)
        ),
        "it was stopped; the next prompt starts it again",
    )
}

/// A look-up got no answer; the process is left alone.
pub(super) fn unanswered(name: &str, method: &str, patience: Duration) -> AgentFailure {
    let message = format!(
        "`{name}` did not answer `{method}` within {} s",
        patience.as_secs_f32()
    );
    failure(FailureKind::Silent, message, "try again later")
}

/// Foreign text on one line, cut to [`LONGEST`] characters, without control characters.
pub(super) fn joined_and_cut(text: &str) -> String {
    let words = joined_words(&text.replace(char::is_control, " "));
    cut_characters(&words, LONGEST).into_owned()
}

fn last_line(words: &str) -> Option<String> {
    without_colours(words)
        .lines()
        .rev()
        .map(joined_and_cut)
        .find(|line| !line.is_empty())
}

/// `text` without CSI sequences: logs are coloured.
fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let mut rest = chars.clone();
            if rest.next() == Some('[') {
                for c in rest.by_ref() {
                    if ('@'..='~').contains(&c) {
                        break;
                    }
                }
                chars = rest;
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn not_protocol(junk: u64) -> String {
    match junk {
        0 => String::new(),
        1 => " (it also printed a line that is not part of the protocol)".into(),
        _ => format!(" (it also printed {junk} lines that are not part of the protocol)"),
    }
}
