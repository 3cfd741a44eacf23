//! Every key of `%ipycodex help keys`, in the spelling a terminal has for it and as tmux passes it on.
//!
//! Two tables: what is typed, then the key, then a bar, and the line with the cursor in it; what is typed, then the
//! key, and what is on the screen. tmux as it is installed keeps keys to itself that have no bytes of their own
//! (Shift-Enter, Ctrl-Enter, Ctrl-Shift-A, Shift- and Ctrl-Backspace; and Alt-Shift-1, which is Alt-! on most
//! keyboards); told to pass them on, it leaves none out.

pub(super) mod spelling;

use ipycodex::config::KeyAction;
use serde_json::json;

use super::questioning_agent::Asker;
use super::shell::{CTRL_C, CTRL_D, Shell};
use crate::mcp::client::Client;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE, cursor_line};
use crate::support::tmux::Tmux;
use spelling::{bytes, is_enhanced, pieces};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipycodex");

/// Action, what is typed before, the line after it.
const LINES: &[(&str, &str, &str)] = &[
    ("enter", "if 1:", "   ...:     |"),
    ("newline", "1", "   ...: |"),
    ("cancel", "foo", "In [3]: |"),
    ("leave", "ab\x01", "In [3]: |b"),
    ("accept_suggestion", "alph", "In [3]: alpha = 1|"),
    ("accept_word", "alph", "In [3]: alpha|"),
    ("complete", "alph", "In [3]: alpha|"),
    ("inspect", "if 1:\r", "   ...: |"),
    ("up", "", "In [3]: beta = 2|"),
    ("down", "\x1b[A\x1b[A", "In [3]: beta = 2|"),
    ("previous_entry", "", "In [3]: beta = 2|"),
    ("next_entry", "\x1b[1;3A\x1b[1;3A", "In [3]: beta = 2|"),
    ("left", "ab", "In [3]: a|b"),
    ("right", "ab\x01", "In [3]: a|b"),
    ("word_left", "foo bar", "In [3]: foo |bar"),
    ("word_right", "foo bar\x01", "In [3]: foo| bar"),
    ("line_start", "if 1:\rx", "   ...: |    x"),
    ("line_end", "ab\x01", "In [3]: ab|"),
    ("text_start", "if 1:\rx", "In [3]: |if 1:"),
    ("text_end", "if 1:\rx\x1b<", "   ...:     x|"),
    // A bar takes the place of what is selected.
    ("select_left", "abc", "In [3]: ab|"),
    ("select_right", "abc\x01", "In [3]: |bc"),
    ("select_up", "if 1:\rx", "In [3]: if 1:|"),
    ("select_down", "if 1:\rx\x1b<", "In [3]: |    x"),
    ("select_word_left", "foo bar", "In [3]: foo |"),
    ("select_word_right", "foo bar\x01", "In [3]: | bar"),
    ("select_line_start", "foo bar", "In [3]: |"),
    ("select_line_end", "foo bar\x01", "In [3]: |"),
    ("select_all", "if 1:\rx", "In [3]: |"),
    ("backspace", "ab", "In [3]: a|"),
    ("delete", "ab\x01", "In [3]: |b"),
    ("kill_line", "ab\x1b[D", "In [3]: a|"),
    ("kill_line_start", "ab\x1b[D", "In [3]: |b"),
    ("kill_text", "if 1:\rx", "In [3]: |"),
    ("kill_blank_word", "a foo.bar", "In [3]: a |"),
    ("kill_word_left", "a foo.bar", "In [3]: a foo.|"),
    ("kill_word_right", "foo bar\x01", "In [3]: | bar"),
    ("yank", "foo\x17", "In [3]: foo|"),
    ("yank_pop", "foo bar\x17\x1b[D\x15\x19", "In [3]: bar|"),
    ("undo", "foo\x15", "In [3]: foo|"),
    ("redo", "foo\x15\x1f", "In [3]: |"),
    ("transpose", "ab\x1b[D", "In [3]: ba|"),
    ("uppercase", "foo bar\x1bb", "In [3]: foo BAR|"),
    ("lowercase", "FOO\x01", "In [3]: foo|"),
    ("capitalize", "foo\x01", "In [3]: F|oo"),
];

/// Keys that do more than change a line, once there is an answer of nine blocks: action, what is typed before, what is
/// on the screen then (behind a NUL: at its top), and what is typed to come back to the line, which is `x` then.
const SCREENS: &[(&str, &str, &str, &str)] = &[
    ("clear_screen", "\x03x", "\0In [2]: x", ""),
    ("prompt_mode", "x", "Pr [2]: x", "\x1bp"),
    ("shell_mode", "x", "$ [2]: x", "\x1bs"),
    ("plan_mode", "", "[plan] In [2]:", "\x1b[Zx"),
    ("open_editor", "x", "In [2]: edited", ""),
    ("suggest", "x", "In [2]: xturn over", ""),
    ("blocks", "", "In [2]: b1\n   ...: b2\n", ""),
    ("block_1", "", "In [2]: b1\n", ""),
    ("block_2", "", "In [2]: b2\n", ""),
    ("block_3", "", "In [2]: b3\n", ""),
    ("block_4", "", "In [2]: b4\n", ""),
    ("block_5", "", "In [2]: b5\n", ""),
    ("block_6", "", "In [2]: b6\n", ""),
    ("block_7", "", "In [2]: b7\n", ""),
    ("block_8", "", "In [2]: b8\n", ""),
    ("block_9", "", "In [2]: b9\n", ""),
    ("block_next", "\x1b!", "In [2]: b2\n", ""),
    ("block_previous", "\x1b!", "In [2]: b9\n", ""),
    ("recall", "", "(replaces In [1] and after) .go", ""),
    ("copy", "", "copied the answer of [1]", ""),
    ("unfold", "", "+line 59", ""),
    ("search_history", "x", "(reverse-search)", "\x07"),
    ("answer", "x", "Run this in your session?", "n"),
    ("suspend", "x", "\nshell>", "\x15fg\r"),
    // The last: it takes a number.
    ("submit", "for n in [6]:\rprint(n * 7)", "\n42\n", ""),
];

/// Waits for this line, what is suggested in grey left out.
fn at(pty: &Pty, what: &str, line: &str) {
    pty.wait_until(&format!("{line:?} at the cursor ({what})"), |screen| {
        cursor_line(screen).trim_end() == line.trim_end()
    });
}

/// Types this at an empty prompt; what is typed has been read, and what is suggested for it is there.
fn typed(pty: &Pty, before: &str) {
    for piece in pieces(before) {
        let read = pty.raw().len();
        pty.send(&piece);
        // The editor paints after each key.
        await_true("a paint", || pty.raw().len() > read);
    }
    if before == "alph" {
        pty.wait_until("a suggestion", |screen| {
            screen
                .contents()
                .lines()
                .last()
                .is_some_and(|line| line.contains("alpha = 1"))
        });
    }
}

/// The chords of an action.
fn chords(action: &str) -> &'static [&'static str] {
    let row = KeyAction::rows().find(|row| row.name == action);
    row.expect("an action").chords
}

/// Presses all keys of [`LINES`] that the terminal lets through.
fn check_lines(pty: &Pty, passes: impl Fn(&str) -> bool) {
    with_two_cells(pty);
    for (action, before, after) in LINES {
        for chord in chords(action).iter().filter(|chord| passes(chord)) {
            at(pty, before, "In [3]:");
            typed(pty, before);
            pty.send(&bytes(chord));
            if *before == "alph" {
                // What is there for it may have to be looked up.
                at(pty, chord, &after.replace('|', ""));
            }
            pty.send("|");
            let what = format!("{action} by {chord} after {before:?}");
            at(pty, &what, after);
            pty.send(CTRL_C);
        }
    }
}

/// Presses all keys of [`SCREENS`] that the terminal lets through. The shell is at its first prompt.
fn check_screens(pty: &Pty, home: &Home, passes: impl Fn(&str) -> bool) {
    at(pty, "a prompt", "In [1]:");
    pty.send_line(".go");
    let mut prompt = "In [2]:";
    for (action, before, after, back) in SCREENS {
        for chord in chords(action).iter().filter(|chord| passes(chord)) {
            at(pty, "a prompt", prompt);
            pty.send("\x0c");
            pty.wait_until("a clear screen", |screen| {
                screen.contents().trim_end() == prompt
            });
            typed(pty, before);
            let client = (*action == "answer").then(|| asking(pty, home));
            pty.send(&bytes(chord));
            pty.wait_until(&format!("{after:?} ({action} by {chord})"), |screen| {
                format!("\0{}\n", screen.contents()).contains(after)
            });
            if !back.is_empty() {
                pty.send(back);
                at(pty, back, &format!("{prompt} x"));
            }
            drop(client);
            if *action == "submit" {
                prompt = if prompt == "In [2]:" {
                    "In [3]:"
                } else {
                    "In [4]:"
                };
                continue;
            }
            pty.send(CTRL_C);
        }
    }
    at(pty, "a prompt", prompt);
}

/// A client that asks for something.
fn asking(pty: &Pty, home: &Home) -> Client {
    let mut client = Client::greeted(home, &["--here"]);
    let cells = json!({"cells": [{"code": "1", "title": "one"}]});
    client.begin(
        "tools/call",
        json!({"name": "run_cells", "arguments": cells}),
    );
    pty.wait_for("tester wants to run a cell here");
    client
}

/// A home with an editor, and an agent whose answer is long and has nine blocks.
fn with_an_answer() -> Home {
    let mut home = Home::new();
    let lines: String = (0..60).map(|n| format!("+line {n}\n")).collect();
    let diff = format!("@@ -0,0 +1,60 @@\n{lines}");
    let change = json!({"path": "/p/a.py", "kind": {"type": "update"}, "diff": diff});
    let item =
        json!({"type": "fileChange", "id": "e1", "status": "completed", "changes": [change]});
    let blocks: String = (1..10)
        .map(|n| format!("```python\nb{n}\n```\n\n"))
        .collect();
    let turn = json!([{"note": "item/completed", "params": {"item": item}}, {"text": blocks}]);
    Asker::script(&mut home, json!([turn]));
    home.install_script("my-editor", "#!/bin/sh\necho edited >\"$1\"\n");
    home.set("VISUAL", "my-editor");
    home.set("PS1", "shell> ");
    home
}

fn with_two_cells(pty: &Pty) {
    for (number, cell) in [(1, "alpha = 1"), (2, "beta = 2")] {
        at(pty, "a prompt", &format!("In [{number}]:"));
        pty.send_line(cell);
    }
    at(pty, "a prompt", "In [3]:");
}

#[test]
fn ctrl_g_leaves_a_search_and_the_text_stays() {
    let shell = Shell::new();
    with_two_cells(&shell.pty);
    shell.pty.send("draft");
    at(&shell.pty, "draft", "In [3]: draft");
    shell.pty.send("\x12");
    shell.pty.send("alp");
    shell.pty.wait_for("alpha = 1");
    shell.pty.send("\x07");
    at(&shell.pty, "ctrl-g", "In [3]: draft");
}

#[test]
fn every_action_is_tested() {
    let screens = SCREENS.iter().map(|row| row.0);
    let named = LINES.iter().map(|row| row.0).chain(screens);
    // A cell has to run for it: see `background.rs`.
    let named: Vec<&str> = named.chain(["background"]).collect();
    for row in KeyAction::rows() {
        let count = named.iter().filter(|name| **name == row.name).count();
        assert_eq!(count, 1, "{}", row.name);
        assert!(!row.chords.is_empty(), "{}", row.name);
    }
}

#[test]
fn every_key_in_the_spelling_of_a_terminal() {
    check_lines(&Shell::new().pty, |_| true);
}

/// Settings of tmux: as it is installed, and with all that it can pass on.
const SETTINGS: [&str; 2] = ["", "set -s extended-keys always\n"];

#[test]
fn every_key_that_changes_a_line_under_tmux() {
    for settings in SETTINGS {
        let home = Home::new();
        let words = [PROGRAM, "--agent", "demo"];
        let Some(tmux) = Tmux::running(&home, settings, &words, SIZE) else {
            return;
        };
        check_lines(&tmux.pty, |chord| {
            !settings.is_empty() || !is_enhanced(chord)
        });
    }
}

#[test]
fn every_key_that_does_more_under_tmux() {
    for settings in SETTINGS {
        let home = with_an_answer();
        let bash = ["bash", "--norc", "--noprofile", "-i"];
        let Some(tmux) = Tmux::running(&home, settings, &bash, SIZE) else {
            return;
        };
        tmux.pty.wait_for("shell>");
        tmux.pty.send_line(PROGRAM);
        check_screens(&tmux.pty, &home, |chord| {
            !settings.is_empty() || !is_enhanced(chord)
        });
        assert!(
            tmux.buffer().ends_with("```python\nb9\n```\n\nturn over"),
            "{}",
            tmux.buffer()
        );
        tmux.pty.send(CTRL_D);
        at(&tmux.pty, "leave", "shell>");
    }
}
